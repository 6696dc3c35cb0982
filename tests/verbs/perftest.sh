#!/bin/sh
# The programs of the package perftest, as they come, between two processes. Judged by the table
# that they print. PERFTEST=all, as ./check --full sets it: each program with each of its options,
# in lockstep and in real time. Otherwise each program once, and each option but -a.
#
# Not in lockstep: ib_write_lat, which spins on memory; only with -R, where each such wait is
# preempted after 5 ms. Not in real time: -R, for the client asks once for a listener that the
# server makes meanwhile, and its further attempts wait for nothing; -q 8 -b -e, for release 4.5
# waits for an event though it has not taken all completions (its later commit 14955fe mends that).
# After each row perftest measures the processor's clock for 0.2 s, so -a takes seconds. On a busy
# machine that measurement may fail: the end exits, and the other one polls for its next message
# forever. With -F the end prints 0 in place of a rate; but a latency would be "inf", so latencies
# are printed in cycles (-C), for which perftest needs no clock.
. "$(dirname "$0")/begin.sh"
needs libibverbs perftest ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat \
	ib_atomic_bw ib_atomic_lat
has_rdmacm=$([ -e "$libs/librdmacm.so.1" ] && echo yes)

# both ROWS PROGRAM ARGS: both ends together print so many rows of the results' table, which begin
# with the bytes and the iterations. In lockstep, or if $way is empty in real time.
both() {
	rows=$1
	cycles=
	shift
	case $1 in *_lat) cycles=-C ;; esac
	prints "$*${way:+, in lockstep}" "$rows" '^ *[0-9]+ +[0-9]+ +[0-9.]+ ' \
		pair --quiet $way -- "$@" -F $cycles
}

# connected ROWS PROGRAM ARGS: the same by -R
connected() {
	[ -n "$has_rdmacm" ] && [ -n "$way" ] && both "$@" -R
}

once() {
	way=--lockstep
	both 2 ib_send_bw -n 50 -q 8
	both 2 ib_send_bw -n 50 -b -e
	both 2 ib_send_bw -n 50 --use_old_post_send
	both 2 ib_send_bw -n 50 -c UC -b
	both 2 ib_send_bw -n 50 -c UD -s 2048
	both 2 ib_write_bw -n 50 -s 100000 -q 8 -b
	both 2 ib_write_bw -n 50 -c UC -q 2
	both 2 ib_read_bw -n 50 -s 100000 -e
	both 2 ib_atomic_bw -n 50 -q 8 -b
	both 2 ib_send_lat -n 50 -s 64 -I 64
	both 2 ib_send_lat -n 50 -c UD
	both 1 ib_read_lat -n 5 -s 8388608
	both 1 ib_atomic_lat -n 50 -A CMP_AND_SWAP
	connected 2 ib_send_bw -n 50 -q 8
	connected 2 ib_send_bw -n 20 -c UD -q 8 -b -e
	connected 2 ib_send_lat -n 50 -e
	connected 2 ib_write_bw -n 50 -s 64 -I 64
	connected 2 ib_read_bw -n 50 -b
	connected 1 ib_atomic_lat -n 50
	way=
	both 2 ib_send_bw -n 50 -q 8 -b
	both 2 ib_write_lat -n 50 -s 64 -I 64
	both 2 ib_read_bw -n 50 -e
}

# sizes TYPE ENDS: how many rows -a makes; a datagram is no longer than the MTU
sizes() {
	echo $(($2 * ($([ "$1" = UD ] && echo 12 || echo 23))))
}

# each ROWS TYPE PROGRAM OPTIONS...: one run with each of the options
each() {
	rows_each=$1
	type=$2
	program=$3
	shift 3
	for with in "$@"; do
		# shellcheck disable=SC2086
		both "$rows_each" $program -n 50 -c $type $with
		# shellcheck disable=SC2086
		[ $type = UC ] || connected "$rows_each" $program -n 50 -c $type $with
	done
}

# Of -a, the server of ib_write_bw and ib_read_bw prints the last row alone. The server of
# ib_read_lat and ib_atomic_lat prints none.
all() {
	inline='-s 64 -I 64'
	for way in --lockstep ''; do
		whole=${way:+-q 8 -b -e}
		for t in RC UC UD; do
			each 2 $t ib_send_bw '' '-q 8' -b -e "$inline" "-q 8 $inline"
			each 2 $t ib_send_bw ${whole:+"$whole"}
			each 2 $t ib_send_lat '' -e "$inline"
			both "$(sizes $t 2)" ib_send_bw -n 5 -c $t -a
			both "$(sizes $t 2)" ib_send_lat -n 5 -c $t -a
		done
		for t in RC UC; do
			each 2 $t ib_write_bw '' '-q 8' -b '-q 8 -b' "$inline" "-q 8 $inline"
			both 24 ib_write_bw -n 5 -c $t -a
			[ -z "$way" ] || continue
			each 2 $t ib_write_lat '' "$inline"
			both 46 ib_write_lat -n 5 -c $t -a
		done
		DATSIM_LOCKSTEP=5 connected 2 ib_write_lat -n 10 -s 64 -I 64
		each 2 RC ib_read_bw '' '-q 8' -b -e ${whole:+"$whole"}
		each 1 RC ib_read_lat '' -e
		both 24 ib_read_bw -n 5 -a
		both 1 ib_read_lat -n 5 -s 8388608
		for how in FETCH_AND_ADD CMP_AND_SWAP; do
			each 2 RC ib_atomic_bw "-A $how" "-A $how $whole"
			each 1 RC ib_atomic_lat "-A $how" "-A $how -e"
		done
	done
}

once
[ "${PERFTEST:-}" != all ] || all
echo "1..$n"
