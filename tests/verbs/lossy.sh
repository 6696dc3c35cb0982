#!/bin/sh
# Other people's programs on links that lose packets, in lockstep: they end, and find their data as
# it was sent. On a link that is dead one says so.
datsim=$top_builddir/tools/datsim/datsim

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ -e "$top_builddir/verbs/.libs/librdmacm.so.1" ] || skip "librdmacm is not built"
for program in ibv_rc_pingpong:ibverbs-utils ib_send_bw:perftest rping:rdmacm-utils; do
	command -v "${program%:*}" > /dev/null || skip "missing: apt-get install ${program#*:}"
done
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	skip "a program without a sanitizer cannot load a library with one"
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
# One packet is lost in any case, so that a run cannot pass without losses.
printf 'fault link %s drop nth=7\nfault link %s loss 5%% optional\n' 'one>two' 'one>two' \
	'two>one' 'two>one' > loss.dsim
echo 'fault link two>one down from=100us' > dead.dsim
n=0

ok() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' out
	fi
}

# pair SCRIPT PROGRAM ARGS: it, and itself with `localhost` as its peer
pair() {
	script=$1
	shift
	"$datsim" run --lockstep --script "$script" -- --node one "$@" + --node two "$@" localhost \
		> out 2>&1 < /dev/null
}

# lossy TIMES LINE PROGRAM ARGS: the pair succeeds, both links lost packets, so many lines match
lossy() {
	times=$1
	line=$2
	shift 2
	pair loss.dsim "$@" && [ "$(grep -cE "$line" out)" -eq "$times" ]
	ok $? "$1, with losses"
}

# A TCP port for the programs to meet at; they do not look for a free one.
port=$((40000 + $$ % 10000))
row='^ *[0-9]+ +[0-9]+ +[0-9.]+ '

echo 1..7
lossy 2 '^50 iters in ' ibv_rc_pingpong -g 0 -e -c -n 50 -p $port
lossy 2 "$row" ib_send_bw -u 4 -n 50 -p $((port + 1))
lossy 2 "$row" ib_write_bw -u 4 -n 50 -p $((port + 2))
lossy 1 "$row" ib_read_lat -u 4 -n 30 -p $((port + 3))
lossy 2 "$row" ib_atomic_bw -u 4 -n 30 -p $((port + 4))
"$datsim" run --lockstep --script loss.dsim -- --node one rping -s -C 10 -V \
	+ --node two rping -c -a localhost -C 10 -V -v > out 2>&1 < /dev/null &&
	[ "$(grep -c '^ping data: rdma-ping-' out)" -eq 10 ]
ok $? "rping, with losses"
! pair dead.dsim ib_write_bw -u 4 -n 1000 -p $((port + 5)) &&
	grep -q '^ *Failed status 12: ' out
ok $? "ib_write_bw says that its peer is out of reach: status 12, retries exceeded"
