#!/bin/bash
# What runs inside the lab: suite.sh BUILD-DIR. TAP on stdout; the plan comes last.
build=$1
n=0

# verdict STATUS TITLE
verdict() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

device_there() {
	ibv_devices | grep -qw "$1" && rdma link show "$1/1" | grep -q 'state ACTIVE'
}

echo "# Linux $(uname -r)"
for device in rxe0 siw0; do
	device_there $device
	verdict $? "$device is there and active"
done
"$build/tools/datsim/datsim" --version > /dev/null
verdict $? "programs of the build run here"
echo "1..$n"
