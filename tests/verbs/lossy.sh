#!/bin/sh
# Other people's programs on links that lose 5 % of all packets, in lockstep: they end, and find
# their data as it was sent, with each of some seeds (LOSSY=all, as ./check --full sets it: 25).
# On a link that is dead one says so.
#
# A pingpong destroys its queue pair as soon as it has all of its own. If the last acknowledgement
# to its peer is lost, nothing is left that could send it again, and the peer's last Send ends with
# status 12, as on a device. Programs that tell each other of the end before they leave, by TCP as
# those of perftest or by rdma_disconnect, do not meet that.
. "$(dirname "$0")/begin.sh"
needs librdmacm ibverbs-utils ibv_rc_pingpong ibv_srq_pingpong
needs librdmacm perftest ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat \
	ib_atomic_bw ib_atomic_lat
needs librdmacm rdmacm-utils rping

few='1 2'
two=1
[ "${LOSSY:-}" != all ] || few=$(seq -s ' ' 25) two=$few
cd "$work" || exit 99
# One packet is lost in any case, so that a run cannot pass without losses.
printf 'fault link %s drop nth=7\nfault link %s loss 5%% optional\n' 'one>two' 'one>two' \
	'two>one' 'two>one' > loss.dsim
echo 'fault link two>one down from=100us' > dead.dsim
row='^ *[0-9]+ +[0-9]+ +[0-9.]+ '

# run SCRIPT PROGRAM ARGS + PROGRAM ARGS, with $seed: none is preempted, however slow the machine
# is, or other packets would be lost the next time. ib_write_lat alone, which spins on memory, is
# after $turn ms.
turn=600000
run() {
	script=$1
	shift
	DATSIM_LOCKSTEP=$turn "$datsim" run --lockstep --seed "$seed" --script "$script" -- \
		--node one "$@" > out 2>&1 < /dev/null
}

# both SCRIPT PROGRAM ARGS: it, and itself with `localhost` as its peer
both() {
	script=$1
	shift
	next_port
	run "$script" "$@" -p $port + --node two "$@" -p $port localhost
}

# has TIMES LINE
has() {
	[ "$(grep -cE "$2" out)" -eq "$1" ]
}

# test_each TITLE SEEDS CHECK ARGS: a test that passes if the check does with each seed
test_each() {
	n=$((n + 1))
	title=$1
	seeds=$2
	shift 2
	for seed in $seeds; do
		"$@" && continue
		echo "not ok $n - $title"
		{ echo "seed $seed" && cat out; } | sed 's/^/# /'
		return
	done
	echo "ok $n - $title"
}

# perftest LINES PROGRAM ARGS: so many rows of results; -F as in perftest.sh
perftest() {
	lines=$1
	shift
	both loss.dsim "$@" -F && has "$lines" "$row"
}

# An end has all of its data, and so has the other one, or it was left. With the last seed, both
# ends must have had all in some run.
pingpong() {
	both loss.dsim "$@"
	has 0 'invalid data' || return 1
	if has 2 ' iters in '; then
		whole=yes
	else
		has 1 ' iters in ' && has 1 'status transport retry counter exceeded \(12\)' ||
			return 1
	fi
	[ "$seed" != "${seeds##* }" ] || [ -n "$whole" ]
}

# lossy SEEDS LINES PROGRAM ARGS; pingpongs SEEDS PROGRAM ARGS
lossy() {
	seeds=$1
	lines=$2
	shift 2
	test_each "$*, with losses" "$seeds" perftest "$lines" "$@"
}
pingpongs() {
	seeds=$1
	whole=
	shift
	test_each "$*, with losses: data as it was sent" "$seeds" pingpong "$@"
}

pings() {
	run loss.dsim rping -s -C 10 -V + --node two rping -c -a localhost -C 10 -V -v &&
		has 10 '^ping data: rdma-ping-'
}

dead() {
	! both dead.dsim ib_write_bw -u 4 -n 1000 && has 1 '^ *Failed status 12: '
}

echo 1..14
pingpongs "$few" ibv_rc_pingpong -g 0 -e -c -n 50
pingpongs "$few" ibv_rc_pingpong -g 0 -e -c -n 10 -s 65536
pingpongs "$few" ibv_srq_pingpong -g 0 -e -c -n 20 -q 2 -s 65536
test_each "rping, with losses: data as it was sent" "$few" pings
lossy "$few" 2 ib_send_bw -u 4 -n 50
lossy "$two" 2 ib_send_bw -u 10 -n 5 -s 1048576
lossy "$two" 2 ib_send_lat -u 4 -n 30
lossy "$few" 2 ib_write_bw -u 4 -n 50
lossy "$few" 2 ib_read_bw -u 4 -n 50
lossy "$two" 1 ib_read_lat -u 4 -n 30
lossy "$few" 2 ib_atomic_bw -u 4 -n 30
lossy "$two" 1 ib_atomic_lat -u 4 -n 30
turn=5
lossy "$two" 2 ib_write_lat -u 10 -n 10
turn=600000
test_each "ib_write_bw says that its peer is out of reach: status 12, retries exceeded" 1 dead
