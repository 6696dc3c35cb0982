#!/bin/sh
# The programs of the package rdmacm-utils, as they come, on the simulated fabric: between two
# processes, in real time and in lockstep. Judged by what they print.
. "$(dirname "$0")/begin.sh"
needs librdmacm rdmacm-utils rping rdma_server rdma_client rdma_xserver rdma_xclient ucmatose \
	udaddy mckey cmtime

# run OPTIONS -- PROGRAM ARGS + PROGRAM ARGS
run() {
	"$datsim" run "$@"
}

# cmtime of release 44 is a server that does not end: the client ends it. That of release 56 ends,
# connects with queue pairs and without, and prints how long all connections took.
run_cmtime() {
	# shellcheck disable=SC2016
	PIDFILE=$work/pid "$datsim" run --quiet -- sh -c 'echo $$ > "$PIDFILE"; exec cmtime "$@"' \
		sh "$@" + sh -c 'cmtime -s localhost "$@"; kill "$(cat "$PIDFILE")" || :' sh "$@"
	case $? in 143 | 0) ;; *) return 1 ;; esac # by SIGTERM, or by itself
}

# They fail, as they say, and the server waits for a request that cannot come.
no_xrc() {
	! run --lockstep -- rdma_xserver -c x + rdma_xclient -c x -s localhost
}
no_datagrams() {
	! run --lockstep -- udaddy + udaddy -s localhost
}

echo 1..26
prints "rping, in real time, with data verified" 100 'ping data: rdma-ping-[0-9]+: ' \
	run -- rping -s -C 100 -V + rping -c -a localhost -C 100 -V -v
cp "$work/out" "$work/rping"
prints "its connection ends, and nothing is left" 1 "^  left +nothing$" cat "$work/rping"
prints "rping at the address of an adapter" 5 'ping data: rdma-ping-[0-9]+: ' \
	run -- rping -s -C 5 -V + rping -c -a 198.18.0.1 -C 5 -V -v
prints "rping in lockstep, whose threads wait for each other, leaves one trace" 1 '^same$' \
	same_trace rping -s -C 20 -V + rping -c -a localhost -C 20 -V
run --lockstep --trace "$work/rping.trace" -- rping -s -C 1 + rping -c -a localhost -C 1 \
	> "$work/rping" 2>&1
# The server is in the column beside the times, the client in the one beyond the wire.
"$datsim" show "$work/rping.trace" > "$work/timeline" 2>&1
prints "a timeline names the calls and events of the server" 2 \
	'^ *[0-9.]+ (rdma_accept\(id1\)|rdma_get_cm_event\(id1\) = RDMA_CM_EVENT_ESTABLISHED)$' \
	cat "$work/timeline"
prints "and those of the client" 2 \
	'^ *[0-9.]+ {20,}(rdma_connect\(id1, 7174\)|rdma_get_cm_event\(id1\) = .*_ESTABLISHED)$' \
	cat "$work/timeline"
prints "rdma_client and rdma_server" 2 '^rdma_(client|server): end 0$' \
	run -- rdma_server + rdma_client
prints "their traces in lockstep are equal" 1 '^same$' same_trace rdma_server + rdma_client
prints "rdma_xclient and rdma_xserver, RC" 2 '^rdma_x(client|server): end 0$' \
	run -- rdma_xserver -c r + rdma_xclient -c r -s localhost
prints "their traces in lockstep are equal" 1 '^same$' \
	same_trace rdma_xserver -c r + rdma_xclient -c r -s localhost
prints "of XRC they say that there is none" 1 '^rdma_create_ep: Operation not supported$' no_xrc
prints "ucmatose" 2 '^return status 0$' run -- ucmatose + ucmatose -s localhost
prints "ucmatose with 20 connections, in lockstep" 2 '^return status 0$' \
	run --lockstep -- ucmatose -c 20 -C 10 -S 4096 + ucmatose -c 20 -C 10 -S 4096 -s localhost
prints "their traces are equal" 1 '^same$' \
	same_trace ucmatose -c 5 + ucmatose -c 5 -s localhost
prints "udaddy, in real time" 2 '^return status 0$' run -- udaddy + udaddy -s localhost
# The address of its peer, in the event, has a GRH there.
prints "udaddy between adapters of link layer Ethernet" 2 '^return status 0$' \
	run -- env DATSIM_LINK_LAYER=ethernet udaddy + \
	env DATSIM_LINK_LAYER=ethernet udaddy -s localhost
prints "udaddy with 5 connections, in lockstep" 2 '^return status 0$' \
	run --lockstep -- udaddy -c 5 -C 10 + udaddy -c 5 -C 10 -s localhost
prints "their traces are equal" 1 '^same$' \
	same_trace udaddy -c 5 -C 10 + udaddy -c 5 -C 10 -s localhost
prints "mckey" 2 '^return status 0$' run -- mckey -m 239.1.2.3 + mckey -m 239.1.2.3 -s
cp "$work/out" "$work/mckey"
prints "both joined one group" 2 'joined dgid: ff12:4001:ffff::f01:203 ' cat "$work/mckey"
prints "mckey in lockstep, whose sender destroys its queue pair after the posts" 2 \
	'^return status 0$' run --lockstep -- mckey -m 239.1.2.3 + mckey -m 239.1.2.3 -s
if cmtime --help 2>&1 | grep -q num_threads; then
	prints "cmtime with 50 connections" 2 '^full connect +[1-9]' run_cmtime -c 50
else
	prints "cmtime with 50 connections" 7 '^[a-z ]+: +[0-9]+\.' run_cmtime -c 50
fi
export DATSIM_PROFILE=iwarp
prints "rping between RNICs, with data verified" 20 'ping data: rdma-ping-[0-9]+: ' \
	run -- rping -s -C 20 -V + rping -c -a localhost -C 20 -V -v
prints "ucmatose between RNICs, in lockstep" 2 '^return status 0$' \
	run --lockstep -- ucmatose -c 5 -C 10 + ucmatose -c 5 -C 10 -s localhost
prints "rdma_xclient and rdma_xserver between RNICs" 2 '^rdma_x(client|server): end 0$' \
	run -- rdma_xserver -c r + rdma_xclient -c r -s localhost
prints "udaddy finds no queue pairs of type UD" 1 \
	'^udaddy: unable to create QP: Operation not supported$' no_datagrams
