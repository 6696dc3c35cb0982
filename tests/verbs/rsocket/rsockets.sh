#!/bin/sh
# rstream, riostream, rcopy and udpong of the package rdmacm-utils, as they come: rsockets on the
# simulated fabric, between two processes. Judged by what they print.
. "$(dirname "$0")/../begin.sh"
needs librdmacm rdmacm-utils rstream riostream rcopy udpong

row='^custom +[0-9.]+[km]? +'

# both OPTIONS OF DATSIM -- PROGRAM ARGS: the program, and itself as its client
both() {
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	"$datsim" run $options -- --node one "$@" + --node two "$@" -s localhost
}

# One packet is lost in any case, so that a run cannot pass without losses.
printf 'fault link %s drop nth=7\nfault link %s loss 5%% optional\n' 'one>two' 'one>two' \
	'two>one' 'two>one' > "$work/loss.dsim"
echo 'fault link two>one down from=150us' > "$work/dead.dsim"

run() {
	"$datsim" run "$@"
}

# The own port is down when the client connects; the second time it stays so.
echo 'fault adapter two down at 0us for 900us' > "$work/down.dsim"
echo 'fault adapter emu0 down at 0us' > "$work/down-for-good.dsim"
no_port() {
	! "$datsim" run --script "$work/down-for-good.dsim" -- rstream -T b -S 64 -I 1 -C 1 \
		-s 198.18.0.2
}

refused() {
	! "$datsim" run -- rstream -T b -S 64 -I 1 -C 1 -s 198.18.0.1
}

# The server of rcopy does not end: the client ends it.
copy() {
	head -c 1000000 /dev/urandom > "$work/source"
	# shellcheck disable=SC2016
	PIDFILE=$work/pid "$datsim" run --quiet -- sh -c 'echo $$ > "$PIDFILE"; exec rcopy' \
		+ sh -c 'rcopy "$1" "localhost:$2"; kill "$(cat "$PIDFILE")"' sh "$work/source" \
		"$work/target"
	[ $? -eq 143 ] && cmp "$work/source" "$work/target" # by SIGTERM
}

# In lockstep it is known that no client can come any more, so datsim ends the server.
copy_is_ended() {
	! "$datsim" run --lockstep -- rcopy + rcopy "$work/source" "localhost:$work/target3" &&
		cmp "$work/source" "$work/target3"
}

# The same, but it dies when it makes the file: it may write only 512 bytes.
copy_dies() {
	# shellcheck disable=SC2016
	"$datsim" run -- sh -c 'ulimit -c 0; ulimit -f 1; exec rcopy' \
		+ rcopy "$work/source" "localhost:$work/target2"
	[ $? -eq 153 ] # by SIGXFSZ
}

# suites COMMAND...: run every call, with threads that share an rsocket
suites() {
	local suite
	for suite in test_rsocket test_rsocket_poll test_rsocket_values test_rsocket_waits; do
		"$@" "$top_builddir/tests/verbs/rsocket/$suite" || return
	done
}

# One of them in lockstep: nothing has to be preempted.
suite_in_lockstep() {
	CK_FORK=no DATSIM_LOCKSTEP=600000 "$datsim" run --lockstep --quiet \
		--trace "$work/calls" -- "$1" &&
		! grep preempted "$work/calls"
}

in_lockstep() {
	suites suite_in_lockstep && echo all hold
}

# Between RNICs, whose requests are flushed when the peer closes the connection.
between_rnics() {
	suites env DATSIM_PROFILE=iwarp && echo all hold
}

# explored RUNS TEST: one of those, both ends in one thread, with packet faults, in virtual time
explored() {
	CK_FORK=no CK_RUN_CASE=$2 "$datsim" explore --runs "$1" -- \
		"$top_builddir/tests/verbs/rsocket/test_rsocket"
}

# A link goes down: the sending side says so. The other one has nothing to send, and does not end.
dead() {
	! both --lockstep --script "$work/dead.dsim" -- rstream -T b -S 5000 -C 20 -I 10
}

# There are no rsockets for datagrams.
no_datagrams() {
	! run -- udpong
}

echo 1..25
prints "rstream" 2 "$row" both -- rstream -S 1000 -C 50 -I 20
cp "$work/out" "$work/rstream"
prints "its connections end; what its listener, which it does not close, has is left" 1 \
	'^  left +one-emu0.pd1, one-emu1.pd1$' cat "$work/rstream"
prints "rstream, blocking, with data verified" 2 "$row" \
	both -- rstream -T b -T v -S 100000 -I 20 -C 5
prints "rstream, waiting by rpoll" 2 "$row" both -- rstream -T a -T b -T v -S 5000 -I 20 -C 5
prints "rstream, asking rpoll without waiting" 2 "$row" \
	both --lockstep -- rstream -T a -T v -S 5000 -I 20 -C 5
prints "rstream at the addresses of adapters, with small buffers" 2 "$row" \
	run -- rstream -b 198.18.0.1 -B 4096 -S 65536 -I 2 -C 2 \
	+ rstream -b 198.18.0.3 -s 198.18.0.1 -B 4096 -S 65536 -I 2 -C 2
prints "rstream by rdma_getaddrinfo, with a keepalive time" 3 '^  time: 5$' \
	both -- rstream -T r -k 5 -S 64 -I 10 -C 1
prints "its traces in lockstep are equal" 1 '^same$' \
	same_trace rstream -S 3000 -C 10 -I 10 + rstream -S 3000 -C 10 -I 10 -s localhost
prints "riostream" 2 "$row" both -- riostream -S 1000 -C 50 -I 2
prints "riostream, blocking, with data verified" 2 "$row" \
	both -- riostream -T b -T v -S 100000 -C 1 -I 5
prints "rstream on links that lose packets, with data verified" 2 "$row" \
	both --lockstep --script "$work/loss.dsim" -- rstream -T b -T v -S 5000 -C 20 -I 10
prints "riostream on links that lose packets, with data verified" 2 "$row" \
	both --lockstep --script "$work/loss.dsim" -- riostream -T b -T v -S 5000 -C 20 -I 1
prints "rstream whose link goes down" 1 '^r(send|recv): Connection timed out$' dead
prints "rstream whose client waits until its port is up" 2 "$row" \
	both --lockstep --script "$work/down.dsim" -- rstream -S 64 -I 10 -C 1
prints "rstream whose client has no port" 1 '^rconnect: Connection timed out$' no_port
prints "udpong says that there are no datagrams" 1 \
	'^rsocket failed: Socket type not supported$' no_datagrams
prints "rcopy" 1 '^1000000 bytes in ' copy
prints "rcopy in lockstep, whose server waits forever then" 1 \
	'^datsim: rcopy waited forever, and was ended$' copy_is_ended
prints "a copy whose server dies ends, and nothing of its client is left" 1 \
	'^  left +(sh-emu[01]\.[a-z]+[0-9]+(, )?)+$' copy_dies
prints "the calls of rsockets, by threads too, in lockstep" 1 '^all hold$' in_lockstep
prints "the same between RNICs" 1 '^all hold$' between_rnics
# A schedule of the stream of all sizes takes a third of a second. LOSSY=all, as ./check --full sets
# it: 40 of them.
schedules=10
[ "${LOSSY:-}" != all ] || schedules=40
prints "a stream on links with faults" 1 " $schedules schedules of seed 1 hold$" \
	explored $schedules data_arrives_in_order_whatever_the_sizes
prints "the end of one" 1 ' 40 schedules of seed 1 hold$' \
	explored 40 what_was_sent_before_a_close_is_read_after_it
prints "riowrite on links with faults" 1 ' 40 schedules of seed 1 hold$' \
	explored 40 riowrite_places_data_before_the_next_message
prints "a client without a server is refused" 1 '^rconnect: Connection refused$' refused
