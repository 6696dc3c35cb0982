#!/bin/sh
# When events of librdmacm and of devices come, exactly: cm_events.c in lockstep, in virtual time.
datsim=$top_builddir/tools/datsim/datsim
program=$top_builddir/tests/verbs/cm/cm_events

if [ ! -x "$program" ]; then
	echo "1..0 # SKIP librdmacm is not built"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

ok() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$work/out"
	fi
}

# run OPTIONS -- ARGS: the program with them, in lockstep, as the node "one"
run() {
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	"$datsim" run --lockstep --quiet $options \
		-- --node one "$program" "$@" > "$work/out" 2>&1
}

# script LINE: the one fault of the next runs
script() {
	echo "$1" > "$work/script.dsim"
}

# said LINE...: these are all its lines, but for the last one
said() {
	printf '%s\n' "$@" "done" | cmp -s - "$work/out"
}

echo 1..29
run -- part && said "0 us: client DISCONNECTED 0" "1 us: server DISCONNECTED 0" \
	"512000 us: client TIMEWAIT_EXIT 0" "512000 us: server TIMEWAIT_EXIT 0"
ok $? "timewait takes 512 ms, from when a side has both disconnected and heard of the end"
run -- part 18
said "0 us: client DISCONNECTED 0" "1 us: server DISCONNECTED 0" \
	"1024000 us: client TIMEWAIT_EXIT 0" "512000 us: server TIMEWAIT_EXIT 0"
ok $? "a longer timeout of acknowledgements makes it longer, at that side"
run -- part 1
said "0 us: client DISCONNECTED 0" "1 us: server DISCONNECTED 0" \
	"128000 us: client TIMEWAIT_EXIT 0" "512000 us: server TIMEWAIT_EXIT 0"
ok $? "and a short one as short as the delay of the device"
DATSIM_PROFILE=iwarp run -- part
grep -qF "rdma_get_cm_event waits forever" "$work/out" && ! grep -q TIMEWAIT_EXIT "$work/out"
ok $? "an RNIC has no timewait"

run -- last receive && said "10 us: client DISCONNECTED 0" "11 us: server DISCONNECTED 0" \
	"11 us: Send success 0" "11 us: Receive success 0"
ok $? "a message that was posted arrives, though its sender disconnects at once"
run -- last && said "100 us: client DISCONNECTED 0" "101 us: server DISCONNECTED 0" \
	"101 us: Send Work Request Flushed Error 0"
ok $? "a disconnect waits no longer than 100 us for a Receive"
DATSIM_PROFILE=iwarp run -- last receive && grep -qx "[0-9]* us: Receive success 0" "$work/out"
ok $? "the message arrives between RNICs, too"

script "fault adapter one down at 1ms for 2ms"
run --script "$work/script.dsim" -- port again && said "1000 us: port error down 2" \
	"3000 us: port active active 5" "537873 us: Send success 0"
ok $? "a port goes down and comes up: two events, two states, and a retry gets through"
script "fault adapter one down at 1ms"
run --script "$work/script.dsim" -- port && said "1000 us: port error down 2" \
	"4295968 us: Send transport retry counter exceeded 0"
ok $? "a port stays down: each retry is lost, too"
script "fault adapter one down at 1ms for 2ms"
DATSIM_LINK_LAYER=ethernet run --script "$work/script.dsim" -- port again &&
	grep -qx "1000 us: port error down 3" "$work/out"
ok $? "a port of link layer Ethernet is disabled then"

script "fault adapter one down at 1ms for 2ms"
run --script "$work/script.dsim" -- resolve 1 && said "1000 us: port error down 2" \
	"2100 us: client ADDR_ERROR -110" "3000 us: port active active 5" \
	"3100 us: client ADDR_RESOLVED 0"
ok $? "while the port is down an address is not resolved in the time given; then it is"
run --script "$work/script.dsim" -- resolve 1000 && said "1000 us: port error down 2" \
	"3000 us: client ADDR_RESOLVED 0"
ok $? "or it is as soon as the port comes up"
run --script "$work/script.dsim" -- resolve -1 &&
	grep -qx "3000 us: client ADDR_RESOLVED 0" "$work/out"
ok $? "a negative time has no end"
run --script "$work/script.dsim" -- route 1 && said "100 us: client ADDR_RESOLVED 0" \
	"1000 us: port error down 2" "2000 us: client ROUTE_ERROR -110" \
	"3000 us: client ROUTE_RESOLVED 0" "3001 us: server CONNECT_REQUEST 0"
ok $? "so it is with a route, and the id connects after that"
DATSIM_LINK_LAYER=ethernet run --script "$work/script.dsim" -- route 1 &&
	grep -qx "1000 us: client ROUTE_RESOLVED 0" "$work/out"
ok $? "without InfiniBand no route is asked for"
# late LINE: the port goes down and comes up, and there is that fault
late() {
	printf '%s\n' "fault adapter one down at 1ms for 2ms" "$1" > "$work/script.dsim"
}

late "fault event RDMA_CM_EVENT_ADDR_ERROR delay 500us"
run --script "$work/script.dsim" -- resolve 1 && said "1000 us: port error down 2" \
	"2600 us: client ADDR_ERROR -110" "3000 us: port active active 5" \
	"3100 us: client ADDR_RESOLVED 0"
ok $? "an error of the address comes later"
late "fault event RDMA_CM_EVENT_ADDR_ERROR delay 1ms"
run --script "$work/script.dsim" -- resolve 1 && said "1000 us: port error down 2" \
	"3000 us: client ADDR_RESOLVED 0"
ok $? "or not at all, if the port comes up before"
late "fault event RDMA_CM_EVENT_ROUTE_ERROR delay 500us"
run --script "$work/script.dsim" -- route 1 && said "100 us: client ADDR_RESOLVED 0" \
	"1000 us: port error down 2" "2500 us: client ROUTE_ERROR -110" \
	"3000 us: client ROUTE_RESOLVED 0" "3001 us: server CONNECT_REQUEST 0"
ok $? "an error of the route comes later"
late "fault event RDMA_CM_EVENT_ROUTE_ERROR lose"
run --script "$work/script.dsim" -- route 1 && said "100 us: client ADDR_RESOLVED 0" \
	"1000 us: port error down 2" "3000 us: client ROUTE_RESOLVED 0" \
	"3001 us: server CONNECT_REQUEST 0"
ok $? "or is lost"
script "fault event RDMA_CM_EVENT_TIMEWAIT_EXIT nth=1 delay 100ms"
run --script "$work/script.dsim" -- part && said "0 us: client DISCONNECTED 0" \
	"1 us: server DISCONNECTED 0" "612000 us: client TIMEWAIT_EXIT 0" \
	"512000 us: server TIMEWAIT_EXIT 0"
ok $? "an id stays in timewait for longer"
script "fault event RDMA_CM_EVENT_TIMEWAIT_EXIT nth=1 lose"
run --script "$work/script.dsim" -- part
grep -qF "rdma_get_cm_event waits forever" "$work/out" && ! grep -q TIMEWAIT_EXIT "$work/out"
ok $? "or without end"
script "fault event RDMA_CM_EVENT_ESTABLISHED delay 5ms"
run --script "$work/script.dsim" -- part && said "0 us: client DISCONNECTED 0" \
	"1 us: server DISCONNECTED 0" "512000 us: client TIMEWAIT_EXIT 0" \
	"512000 us: server TIMEWAIT_EXIT 0"
ok $? "an event that is delayed while its program waits for it comes in lockstep, too"
script "fault adapter one remove at 1ms"
run --script "$work/script.dsim" -- removal && said "1000 us: local catastrophic error active 5" \
	"1000 us: client DEVICE_REMOVAL 0" "rdma_disconnect(client): EIO" \
	"rdma_accept(client, &param): EINVAL" \
	"rdma_bind_addr(late, (struct sockaddr *)&in): EIO" "1001 us: server DISCONNECTED 0"
ok $? "a device is removed: its id hears it, calls fail, the peer hears when the id is destroyed"
run --script "$work/script.dsim" -- removal-there &&
	said "1000 us: local catastrophic error active 5" "1000 us: server CONNECT_REQUEST 0" \
		"1000 us: listener DEVICE_REMOVAL 0" "1000 us: server DEVICE_REMOVAL 0" \
		"rdma_accept(server, &param): EIO" "rdma_listen(listener, 1): EINVAL" \
		"1001 us: client REJECTED 28" "1101 us: client ADDR_RESOLVED 0" \
		"1101 us: client ROUTE_RESOLVED 0" "1103 us: client REJECTED 8"
ok $? "a listener hears it, and so does a request that was not fetched"
script "fault adapter one fatal at 1ms"
run --script "$work/script.dsim" -- removal
grep -qx "1000 us: local catastrophic error active 5" "$work/out" &&
	! grep -q DEVICE_REMOVAL "$work/out"
ok $? "a failure alone is no removal"
printf 'fault adapter one down at 1ms for 2ms\nfault adapter one down at 2ms for 3ms\n' \
	> "$work/script.dsim"
run --script "$work/script.dsim" -- resolve 1000 && said "1000 us: port error down 2" \
	"5000 us: client ADDR_RESOLVED 0"
ok $? "of two faults that overlap, the last one brings the port up"
printf 'fault adapter one down at 1ms for 2ms\nfault adapter one down at 3050us for 9ms\n' \
	> "$work/script.dsim"
run --script "$work/script.dsim" -- destroy && said "1000 us: port error down 2" \
	"3000 us: client ADDR_RESOLVED 0" "12050 us: client ADDR_RESOLVED 0"
ok $? "an id that is destroyed while it waits hears nothing"
run -- late-answer && said "0 us: client ESTABLISHED 0" "1 us: client DISCONNECTED 0"
ok $? "a server that ends before its answer is fetched: the client hears it a packet's time later"
DATSIM_PROFILE=iwarp run -- late-answer &&
	said "0 us: client ESTABLISHED 0" "1 us: client DISCONNECTED 0"
ok $? "an RNIC's, too, though its queue pair takes the connection over first"
