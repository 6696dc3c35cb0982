#!/bin/sh
# The checkers of datsim run, which read the trace: a program of verbs on a NIC that lies to it. The
# lies are those of lies.h, by their numbers.
# shellcheck disable=SC2154 # set by the Makefile
top=$(cd "$top_builddir" && pwd)
datsim=$top/tools/datsim/datsim
lies=$top/tests/checkers/.libs/libverbs-lies.so
kinds=$top/tests/datsim/kinds/kinds
planted=$top/tests/planted/verbs/two-ways-fixed
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

# The library that lies contains parts of libibverbs, so each of their variables exists twice in a
# program, which AddressSanitizer would report.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_odr_violation=0
export ASAN_OPTIONS

# notices TITLE LIE STATUS WORDS: the exit status, and what the checkers say
notices() {
	n=$((n + 1))
	"$datsim" run -- env LD_PRELOAD="$lies" DATSIM_LIE="$2" "$kinds" > "$work/out" 2>&1
	status=$?
	if [ "$3" -eq $status ] && { [ "$4" ] && grep -qF "checker: $4" "$work/out" ||
		{ [ ! "$4" ] && ! grep -q 'checker:' "$work/out"; }; }; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed "s/^/# $status: /" "$work/out"
	fi
}

# explores TITLE LIE STATUS WORDS: datsim explore, where the NIC lies in runs with faults alone
explores() {
	n=$((n + 1))
	"$datsim" explore --runs 20 --out "$work/shrunk.dsim" -- env LD_PRELOAD="$lies" \
		DATSIM_LIE="$2" DATSIM_LIE_LATER=1 "$planted" > "$work/out" 2>&1
	status=$?
	if [ "$3" -eq $status ] && grep -qE "$4" "$work/out"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed "s/^/# $status: /" "$work/out"
	fi
}

[ -e "$lies" ] || {
	echo "1..0 # SKIP the verbs front is not built"
	exit 0
}
echo 1..8
notices "a NIC that does not lie" 0 0 ''
notices "a completion that comes twice" 1 1 'the program gets'
notices "a completion that is lost" 2 1 'the program gets completions in order'
notices "the next completion first" 3 3 'the program gets completions in order'
notices "a completion with another wr_id" 4 3 'the program gets completions in order'
notices "a Receive whose completion is lost" 10 1 'Receives complete in the order of the posts'
explores "a NIC that does not lie, under packet faults" 0 0 '20 schedules of seed 1 hold'
explores "a completion with another wr_id, in runs with faults alone" 4 3 \
	'schedule [0-9]+ of seed 1 breaks a rule of the checkers \(the program gets completions in'
