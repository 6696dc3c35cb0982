# shellcheck shell=bash disable=SC2154 # $build, $patience and $limit are suite.sh's
# Two devices with a wire between them: two processes hear of each other while packets are lost, the
# link flaps or is cut, or one of them is killed. Sourced by suite.sh.
#
# A device sends to an address of its own machine without a wire; and rxe and siw know no other
# network namespace than the first (rxe_net.c: rxe_net_init, rxe_find_route4). So the kernel's table
# of local addresses comes after rules that send each address of the wire over it: only what has
# come in by an interface is local.
#
# The wire is cut by netem: when an interface is down, rxe fails the message at once, without a
# retransmission (rxe_req.c: rxe_requester).

# wire A B ADDRESS-A ADDRESS-B: two interfaces with a wire between them
wire() {
	local device
	ip link add "$1" type veth peer name "$2"
	for device in "$1" "$2"; do
		sysctl -qw "net.ipv4.conf.$device.accept_local=1" \
			"net.ipv4.conf.$device.rp_filter=0"
		ip rule add priority 10 iif "$device" lookup local
		tc qdisc add dev "$device" root netem loss 0%
	done
	ip rule add priority 20 to "$3" lookup 100
	ip rule add priority 20 to "$4" lookup 100
	ip address add "$3/32" dev "$1"
	ip address add "$4/32" dev "$2"
	wire_up "$@"
	wire_up "$2" "$1" "$4" "$3"
}

# wire_up A B ADDRESS-A ADDRESS-B: the end A up, and the way from it to B, which the kernel forgets
# when the end goes down
wire_up() {
	ip link set "$1" up
	ip route replace "$4" dev "$1" src "$3" table 100
	ip neighbour replace "$4" dev "$1" lladdr "$(cat "/sys/class/net/$2/address")" nud permanent
}

# lossy PERCENT...: each end of the wire loses so much of what it sends; with several, 100 ms of
# each. One tc does it all, because a program takes long to start here.
lossy() {
	local percent end
	for percent; do
		for end in "$end_a" "$end_b"; do
			echo "qdisc change dev $end root netem loss $percent%"
		done
		[ "$percent" = 0 ] || [ $# -eq 1 ] || read -rt 0.1 <> /tmp/pause
	done | tc -batch -
}

# dropped: the number of packets that the wire has lost
dropped() {
	{
		tc -s qdisc show dev "$end_a"
		tc -s qdisc show dev "$end_b"
	} | awk '/dropped/ { sub(",", "", $7); n += $7 } END { print n + 0 }'
}

# at_wire DEVICE OTHER SCENARIO: runs a scenario of the parity program
at_wire() {
	exec env DAT_PROVIDER=hw DAT_OVERRIDE=/dev/null timeout $limit \
		"$build/tests/parity/parity" "$1" "$2" "$3" > "/tmp/$1.$3" 2>&1
}

# begin: the asking side on device A, the answering one on device B
begin() {
	rm -f "$asks" "$answers"
	at_wire "$device_b" "$device_b" answer &
	answering=$!
	says "$answers" 'ready yes'
	at_wire "$device_a" "$device_b" ask &
	asking=$!
	says "$answers" 'connection ESTABLISHED'
	lost=$(dropped)
}

# tell SIGNAL FILE: to the scenario that has written it, and may have ended
tell() {
	kill "-$1" "$(sed -n 's/^[a-z]*\.pid //p' "$2")" 2> /dev/null
}

# one_ends: waits until one of the two has heard of the end
one_ends() {
	local i
	for ((i = 0; i < 10 * patience; i++)); do
		! grep -qs 'end ' "$asks" "$answers" || return 0
		sleep 0.1
	done
}

# ended WHAT ASKED END-A END-B: what the two have said
ended() {
	local status=0
	wait $asking $answering
	grep -qxE "ask.asked $2" "$asks" || status=1
	grep -qxE "ask.end $3" "$asks" || status=2
	grep -qxE "answer.end $4" "$answers" || status=3
	verdict $status "$kind wire: $1"
	[ $status -eq 0 ] || sed 's/^/# /' "$asks" "$answers"
}

# loses COUNT: waits until the wire has lost so many packets since the beginning
loses() {
	until [ $(($(dropped) - lost)) -ge "$1" ]; do
		sleep 0.1
	done
}

# cut_shortly: cuts the wire for 100 ms, until that hits a packet
cut_shortly() {
	until [ "$(dropped)" -gt "$lost" ]; do
		lossy 100 0
	done
}

# on_wire KIND A B ADDRESS-A ADDRESS-B
on_wire() {
	kind=$1 device_a=$1_a device_b=$1_b end_a=$2 end_b=$3
	asks=/tmp/$device_a.ask answers=/tmp/$device_b.answer
	wire "$2" "$3" "$4" "$5"
	rdma link add "$device_a" type "$1" netdev "$2"
	rdma link add "$device_b" type "$1" netdev "$3"

	begin
	lossy 2
	loses 5
	tell TERM "$asks"
	ended "2 % of the packets are lost: all messages arrive, both ends hear of the end" \
		all DISCONNECTED DISCONNECTED
	lossy 0

	begin
	cut_shortly
	tell TERM "$asks"
	ended "it is cut for 100 ms: all messages arrive, both ends hear of the end" \
		all DISCONNECTED DISCONNECTED

	begin
	lossy 100
	one_ends
	lossy 0
	tell USR1 "$asks"
	tell USR1 "$answers"
	ended "it is cut until a message fails: both ends hear of it" some \
		'(BROKEN|DISCONNECTED)' '(BROKEN|DISCONNECTED)'

	begin
	tell KILL "$answers"
	wait $asking $answering
	grep -qxE 'ask.end (BROKEN|DISCONNECTED)' "$asks"
	verdict $? "$kind wire: one process is killed: the other hears of it"

	# The last: if a message of the connection manager fails meanwhile, rxe leaves its QP in the
	# error state, and the device makes no more connections (rxe_req.c: rxe_requester).
	begin
	ip link set "$2" down
	wire_up "$2" "$3" "$4" "$5"
	tell TERM "$asks"
	tell USR1 "$asks"
	tell USR1 "$answers"
	ended "the link is down and up again: it goes on, or both ends hear of it" '(all|some)' \
		'(BROKEN|DISCONNECTED)' '(BROKEN|DISCONNECTED)'
}

wires() {
	if ! tc qdisc add dev dummy0 root netem loss 0%; then
		n=$((n + 1))
		echo "ok $n - devices with a wire # SKIP this kernel has no module sch_netem"
		return
	fi
	tc qdisc delete dev dummy0 root
	mkfifo /tmp/pause
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	sysctl -qw net.ipv4.tcp_retries2=3 # siw leaves it to TCP when to give up
	ip rule add priority 30 lookup local
	ip rule delete priority 0
	on_wire rxe wire0 wire1 10.1.0.1 10.1.0.2
	on_wire siw wire2 wire3 10.2.0.1 10.2.0.2
}
