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

# The parity program on a device, its answers laid beside the emulator's: parity DEVICE KIND
source=$(cd "$(dirname "$0")/../.." && pwd)
export DAT_HW_MODULE="$build/passthrough/.libs/passthrough.so"
parity() {
	DAT_PROVIDER=hw DAT_HW_RNR_RETRY=3 timeout 150 "$build/tests/parity/parity" "$1" "$1" > "/tmp/$1.parity" 2>&1
	while read -r line; do
		case $line in
		'ok '*) verdict 0 "parity, ${line#ok }" ;;
		'not ok '*) verdict 1 "parity, ${line#not ok }" ;;
		*) echo "$line" ;;
		esac
	done <<- END
		$("$source/tests/parity/lay.sh" "$2" "/tmp/$1.parity")
	END
}
parity rxe0 rxe
parity siw0 siw

echo "1..$n"
