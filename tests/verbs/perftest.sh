#!/bin/sh
# The programs of the package perftest, as they come, between two processes in lockstep. Judged by
# the table that both ends print.
datsim=$top_builddir/tools/datsim/datsim

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ -e "$top_builddir/verbs/.libs/libibverbs.so.1" ] || skip "the verbs front is not built"
command -v ib_send_bw > /dev/null || skip "perftest is missing: apt-get install perftest"
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	skip "a program without a sanitizer cannot load a library with one"
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

# A TCP port for the programs to meet at; they do not look for a free one.
port=$((30000 + $$ % 10000))

# pair LINES PROGRAM ARGS: both ends print so many lines of the results' table; a row begins with
# the bytes and the iterations.
pair() {
	n=$((n + 1))
	lines=$1
	shift
	port=$((port + 1))
	if "$datsim" run --quiet --lockstep -- "$@" -p $port + "$@" -p $port localhost \
		> "$work/out" 2>&1 < /dev/null &&
		[ "$(grep -cE '^ *[0-9]+ +[0-9]+ +[0-9.]+ ' "$work/out")" -eq "$lines" ]; then
		echo "ok $n - $*"
	else
		echo "not ok $n - $*"
		sed 's/^/# /' "$work/out"
	fi
}

echo 1..13
pair 2 ib_send_bw -n 50 -q 8
pair 2 ib_send_bw -n 50 -b -e
pair 2 ib_send_bw -n 50 --use_old_post_send
pair 2 ib_write_bw -n 50 -s 100000 -q 8 -b
pair 2 ib_read_bw -n 50 -s 100000 -e
pair 2 ib_send_lat -n 50 -s 64 -I 64
pair 1 ib_read_lat -n 50
pair 2 ib_atomic_bw -n 50
pair 1 ib_atomic_lat -n 50 -A CMP_AND_SWAP
pair 2 ib_send_bw -c UD -n 50 -s 2048
pair 2 ib_send_lat -c UD -n 50
pair 2 ib_send_bw -c UC -n 50 -b
pair 2 ib_write_bw -c UC -n 50 -q 2
