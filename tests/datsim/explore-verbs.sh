#!/bin/sh
# datsim explore of programs of verbs and librdmacm: it finds planted bugs, its replays fail alike,
# and it reports nothing about the same programs without the bug. RUNS: schedules of each of these.
. "$(dirname "$0")/begin.sh"
planted=$top/tests/planted/verbs
if [ ! -x "$planted/flush" ]; then
	echo "1..0 # SKIP librdmacm is not built"
	exit 0
fi
cd "$scratch" || exit 99
ulimit -c 0
runs=${RUNS:-200}
if ${NM:-nm} "$datsim" | grep -q __asan_init; then
	runs=${RUNS:-10}
fi

# replays STATUS: the printed replay command ends so, twice, and says the same
once() {
	(eval "$command") > whole 2>&1
	[ $? -eq "$1" ] && sed -n '/^datsim: /,$p' whole
}
replays() {
	command=$(sed -n 's/^replay: *//p' out | sed "s|datsim run|'$datsim' run|")
	once "$1" > first && [ -s first ] && once "$1" > again && cmp first again
}

# finds BUG STATUS HOW OPTIONS...
finds() {
	bug=$1
	code=$2
	how=$3
	shift 3
	expect 0 'left +nothing' run "$planted/$bug"
	expect "$code" "schedule [0-9]+ of seed [0-9] $how.*shrunk to [0-9]+ lines?" \
		explore --runs 200 "$@" -- "$planted/$bug"
	[ "$code" = 4 ] && code=134 # a replay ends a program that is stuck by abort()
	holds "$bug: fails again" replays "$code"
	expect 0 "$runs schedules of seed [0-9] hold" explore --runs "$runs" "$@" -- \
		"$planted/$bug-fixed"
}

echo 1..20
finds two-ways 1 'exits with 1'
finds reuse 1 'exits with 1'
finds one-poll 4 'is stuck \(ibv_get_cq_event waits forever'
finds flush 4 'is stuck \(ibv_get_cq_event waits forever' --faults all,break
# It wants no retry after RNR NAK. One schedule in some hundreds shows it; seed 2 has an early one.
finds late-recv 1 'exits with 1' --seed 2 \
	--faults drop,corrupt,loss,delay,reorder,duplicate,latency
