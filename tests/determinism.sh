#!/bin/sh
# Everything twice, and the traces byte for byte: determinism.sh [BUILD-DIR]. TAP.
#
# Runs each random walk and each datsim script in two processes and compares what they leave.
# Another seed has to leave something else, or the seed would mean nothing.
build=${1:-${top_builddir:-.}}
source=${top_srcdir:-$(dirname "$0")/..}
datsim=$build/tools/datsim/datsim
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

n=0
# result OK TITLE: one line of TAP
result() {
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

# walk PROGRAM SEED FILE: leaves its trace in FILE; one that fails leaves none
walk() {
	WALK_SEED=$2 WALK_STEPS=1000 WALK_TRACE=$3 "$build/tests/walk/$1" > "$work/output" 2>&1 || {
		sed 's/^/# /' "$work/output" | grep -a 'replay\|step' | head -n 5
		rm -f "$3"
	}
}

# compare TITLE: the traces one and two are there and the same
compare() {
	if [ ! -s "$work/one" ] || [ ! -s "$work/two" ]; then
		result 1 "$1: no trace was left"
	elif cmp -s "$work/one" "$work/two"; then
		result 0 "$1"
	else
		result 1 "$1"
		diff "$work/one" "$work/two" | head -n 6 | sed 's/^/# /'
	fi
}

# twice TITLE COMMAND...: COMMAND FILE leaves a trace in FILE
twice() {
	title=$1
	shift
	rm -f "$work/one" "$work/two"
	"$@" "$work/one"
	"$@" "$work/two"
	compare "$title"
}

walks() {
	for program in test_walk_srq test_walk_ep test_walk_loss; do
		[ -x "$build/tests/walk/$program" ] || continue
		# An odd seed chooses iwarp, which the model of losses does not have.
		seeds='2 3'
		[ $program != test_walk_loss ] || seeds='2 6'
		for seed in $seeds; do
			twice "$program, seed $seed" walk $program $seed
		done
		walk $program 4 "$work/two"
		cmp -s "$work/one" "$work/two"
		result $((! $?)) "$program: another seed, another walk"
	done
}

# A script that must fail leaves a trace as well.
script() {
	"$datsim" test --trace "$2" "$1" > /dev/null 2>&1
}

scripts() {
	[ -x "$datsim" ] || return
	find "$source/tests/scripts" -name '*.dsim' | sort > "$work/scripts"
	while read -r file; do
		twice "${file#"$source"/tests/scripts/}" script "$file"
	done < "$work/scripts"
}

walks
scripts
if [ $n = 0 ]; then
	echo "1..0 # SKIP no walk and no datsim is built in $build"
else
	echo "1..$n"
fi
