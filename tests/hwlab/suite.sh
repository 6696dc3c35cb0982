#!/bin/bash
# suite.sh BUILD-DIR: the tests that run inside the lab. TAP on stdout; the plan comes last.
build=$1
n=0
# Seconds in which an expected event comes, and in which a program ends. They only end what hangs:
# beside other work a machine may be many times slower than alone.
# shellcheck disable=SC2034 # suites.sh and processes.sh use it
patience=300
limit=3000
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/hwlab/idle.sh"
idle_watch &
watcher=$!
trap 'kill $watcher' EXIT

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

# parity DEVICE KIND: runs the parity program on a device and compares its answers with the
# emulator's
export DAT_HW_MODULE="$build/passthrough/.libs/passthrough.so"
parity() {
	DAT_PROVIDER=hw DAT_HW_RNR_RETRY=3 timeout $limit \
		"$build/tests/parity/parity" "$1" "$1" > "/tmp/$1.parity" 2>&1
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

# The scripts and Check suites of the tree run on both devices at once, because each of them leaves
# a processor idle.
. "$source/tests/hwlab/suites.sh"
suites_of() {
	scripts "$1" "$2"
	checks "$1" "$2"
}
suites_of rxe0 rxe &
on_rxe=$!
suites_of siw0 siw &
wait $on_rxe $!
echo "# scripts and suites on both: $SECONDS s since the start"

# processes DEVICE ADDRESS: programs in separate processes, which compare the received data
. "$source/tests/hwlab/processes.sh"
processes rxe0 10.0.0.1
processes siw0 10.0.1.1
. "$source/tests/hwlab/dapl.sh"
with_dapl rxe0 10.0.0.1 veth0
with_dapl siw0 10.0.1.1 dummy0
# The times of a message are printed and not judged: only with all rows.
if [ "$rows" = 0 ]; then
	. "$source/tests/hwlab/costs.sh"
	costs rxe0 10.0.0.1 veth0
	costs siw0 10.0.1.1 dummy0
fi

# Names, addresses, and datsim on each device
. "$source/tests/hwlab/names.sh"
names rxe0 veth0 10.0.0.1 fd00:0:0:1::1
names siw0 dummy0 10.0.1.1 fd00:0:0:2::1
looks rxe0
looks siw0
conforms rxe0 rxe
conforms siw0 siw

# Another user runs copies: the build tree may be in a folder that only its owner can enter.
public=/run/public
mkdir -m 755 $public
for file in .libs/libdat.so.1 passthrough/.libs/passthrough.so tests/parity/.libs/parity \
	tests/parity/parity; do
	[ ! -e "$build/$file" ] || [ -e "$public/${file##*/}" ] ||
		install -m 755 "$build/$file" $public
done

# ordinary COMMAND...: as an ordinary user
ordinary() {
	DAT_PROVIDER=hw DAT_HW_MODULE=$public/passthrough.so LD_LIBRARY_PATH=$public \
		timeout $limit setpriv --reuid 1000 --clear-groups "$@" 2>&1
}

# forbidden FILE WORDS: a user without access to a device file gets an error that says so
forbidden() {
	chmod 600 /dev/infiniband/$1
	ordinary $public/parity rxe0 rxe0 sends | grep -q "no permission to open $2"
	verdict $? "$1 is closed to this user: said so"
	chmod 666 /dev/infiniband/$1
}
forbidden 'uverbs*' 'its device in /dev/infiniband'
forbidden rdma_cm /dev/infiniband/rdma_cm
ordinary bash -c "ulimit -l 64; $public/parity rxe0 rxe0 sends" |
	grep -q 'may lock 64 KiB only'
verdict $? "memory may not be locked: said so"
ip link set dummy0 down
DAT_PROVIDER=hw timeout $limit "$build/tests/parity/parity" siw0 siw0 sends 2>&1 |
	grep -q 'the link is down'
verdict $? "siw0: the link is down: said so"
ip link set dummy0 up
ip addr flush dev veth0
DAT_PROVIDER=hw timeout $limit "$build/tests/parity/parity" rxe0 rxe0 sends 2>&1 |
	grep -q 'rxe0 has no IP address'
verdict $? "rxe0 has no address: said so"
ip addr add 10.0.0.1/24 dev veth0

# Fault rules of calls and completions work on a device, too; rules of packets are refused.
spoiled() {
	DAT_PROVIDER=hw DATSIM_FAULTS="line=1 $1" timeout $limit \
		"$build/tests/parity/parity" rxe0 rxe0 sends 2>&1 | grep -q "$2"
	verdict $? "rxe0: fault $1: $2"
}
spoiled 'spoil=fail call=dat_ep_post_send nth=3 error=2147680256' \
	'sends.stopped at post_send.*INSUFFICIENT_RESOURCES'
spoiled 'spoil=complete_as nth=2 completions=1 status=8' \
	'sends.sends DTO SUCCESS 1 x1, DTO TRANSPORT 0 x1, DTO FLUSHED 0 x3'
spoiled 'verdict=drop packets=SEND' 'libdat: DATSIM_FAULTS: '

# The same faults, requested by a script.
scripted() {
	echo "fault $1" > /tmp/faults.dsim
	DAT_PROVIDER=hw timeout $limit "$build/tools/datsim/datsim" run \
		--script /tmp/faults.dsim -- "$build/tests/parity/parity" rxe0 rxe0 sends 2>&1 |
		tee /tmp/scripted | grep -qE "$2"
	verdict $? "rxe0: datsim run --script, fault $1: $2"
}
scripted 'call dat_ep_post_send nth=3 fail DAT_INSUFFICIENT_RESOURCES' \
	'sends.stopped at post_send.*INSUFFICIENT_RESOURCES'
scripted 'call dat_ep_post_send nth=3 fail DAT_INSUFFICIENT_RESOURCES' \
	'on a device, which has no trace'
scripted 'link emu0>emu1 loss 5%' 'libdat: DATSIM_FAULTS: '

# A child of fork has none of its parent's objects, and does not disturb them.
forked() {
	DAT_PROVIDER=hw timeout $limit "$build/tests/parity/parity" "$1" "$1" forked \
		> /tmp/forked 2>&1
	grep -qx 'forked.handle 0' /tmp/forked
	verdict $? "$1: a forked child has no valid handle"
	grep -qx 'forked.anew 0' /tmp/forked
	verdict $? "$1: a forked child opens the adapter anew"
	grep -qx 'forked.message comes' /tmp/forked
	verdict $? "$1: the parent of a forked child has lost nothing"
}
forked rxe0
forked siw0

# Thousands of connections, only with all rows: they take ten minutes of processor time.
if [ "$rows" = 0 ]; then
	. "$source/tests/hwlab/churn.sh"
	churn rxe0
	churn siw0
fi

# A process is killed while it sends; its peer gets an event, and the device keeps working.
killed() {
	export DAT_PROVIDER=hw
	timeout $limit "$build/tests/parity/parity" "$1" "$1" survivor > "/tmp/$1.survivor" 2>&1 &
	says "/tmp/$1.survivor" 'ready yes'
	timeout $limit "$build/tests/parity/parity" "$1" "$1" victim > /dev/null 2>&1
	wait $!
	grep -q 'end DISCONNECTED' "/tmp/$1.survivor" && grep -q 'done yes' "/tmp/$1.survivor"
	verdict $? "$1: a process is killed in the middle, its peer is disconnected"
	timeout $limit "$build/tests/parity/parity" "$1" "$1" sends | grep -q 'data same'
	verdict $? "$1: the device is usable after that"
}
killed rxe0
killed siw0

# The device is removed while messages are in flight.
unplugged() {
	timeout $limit "$build/tests/parity/parity" "$1" "$1" unplug > "/tmp/$1.unplug" 2>&1 &
	says "/tmp/$1.unplug" 'ready yes'
	sleep 1
	timeout $limit rdma link delete "$1"
	verdict $? "$1: it can be deleted while it is used"
	wait $!
	verdict $? "$1: the program that used it ends by itself"
	for line in 'a BROKEN' 'b BROKEN' 'async IA_CATASTROPHIC' 'done yes'; do
		grep -q "unplug.$line" "/tmp/$1.unplug"
		verdict $? "$1: unplugged under load: $line"
	done
}
unplugged rxe0
unplugged siw0

# A wire with losses: only with all rows, as it takes more than a minute of processor time.
if [ "$rows" = 0 ]; then
	. "$source/tests/hwlab/wire.sh"
	wires
fi

echo "1..$n"
