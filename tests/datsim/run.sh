#!/bin/sh
# datsim run: programs as they are, what they are told, what is said of them, what they exit with.
here=$(cd "$(dirname "$0")" && pwd)
top=${top_builddir:-$here/../..}
datsim=$top/tools/datsim/datsim
forgets=$top/tests/datsim/forgets
if [ ! -x "$datsim" ] || [ ! -x "$forgets" ]; then
	echo "Bail out! tools/datsim/datsim or tests/datsim/forgets is not built"
	exit 1
fi
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 99
TMPDIR=$scratch/tmp
mkdir tmp
export TMPDIR
n=0

# run STATUS PATTERN ARGS...: exit status, and what both streams hold
run() {
	n=$((n + 1))
	wanted=$1
	pattern=$2
	shift 2
	"$datsim" run "$@" > out 2>&1 < /dev/null
	status=$?
	if [ $status -eq "$wanted" ] && grep -qE -e "$pattern" out; then
		echo "ok $n - run $(echo "$*" | sed "s|$top/||g")"
		return
	fi
	echo "not ok $n - run $*"
	echo "#   exit status $status, expected $wanted; expected to find: $pattern"
	sed 's/^/#   /' out
}

# holds WHAT COMMAND...
holds() {
	n=$((n + 1))
	what=$1
	shift
	if "$@" > said 2>&1; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		sed 's/^/#   /' said
	fi
}

echo 1..24
run 0 'left +nothing' -- "$top/examples/srq_server"
run 0 '800 RECV, .*12 ASYNC_SRQ_LOW_WATERMARK' "$top/examples/srq_server"
run 0 '400 replies verified' --quiet "$top/examples/srq_server"
holds "quiet says nothing of its own" sh -c '! grep -q simulated out'
run 0 'trace +one.trace' --trace one.trace --seed 7 "$top/examples/srq_server"
run 0 'trace +two.trace' --trace two.trace --seed 7 "$top/examples/srq_server"
holds "run twice, the traces are the same" cmp one.trace two.trace
holds "the seed is in the trace" grep -q '^# seed=7$' one.trace
run 0 'left +nothing' --trace three.trace --profile iwarp "$top/examples/srq_server"
holds "so is the profile" grep -q '^# profile=iwarp$' three.trace
run 5 'left +nothing' "$forgets" emu0 close
run 5 'left +emu0.ia1, emu0.pz1, emu0.evd2' "$forgets" emu0 forget
run 137 'was ended by signal 9' --trace dead.trace "$forgets" emu0 die
holds "one that was killed left its trace" grep -q 'emu0.pz1 create' dead.trace
run 5 'refused +dat_evd_resize' "$forgets" emu0 close
run 3 'there is no adapter "ib0"' "$forgets" ib0 close
run 5 'left +nothing' --alias ib0=emu0 "$forgets" ib0 close
run 2 'no such option, or not with that value' --alias ib0 "$forgets" ib0 close
run 0 'opened no simulated adapter' true
run 127 'nonesuch: No such file' nonesuch
run 126 'Permission denied' "$scratch/one.trace"
run 2 'expected a program' --
holds "nothing stays in TMPDIR" [ -z "$(ls tmp)" ]
TMPDIR=/nowhere
run 99 'cannot make a folder' ls
