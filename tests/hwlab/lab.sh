#!/bin/sh
# lab.sh [BUILD-DIR]: runs the suite in the lab and prints its TAP. ./check hwlab runs it.
#
# HWLAB_KERNEL: Debian's kernel series, one after the other ("6.12 6.1" runs both). HWLAB_ROWS: see
# suites.sh. HWLAB_PART=K/N: of the Check suites only the K-th, the (K+N)-th, ...; by default an
# eighth of them, the next one with the next commit. With HWLAB_ROWS=0 all.
build=${1:-${top_builddir:-.}}
source=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
lab="$source/tests/hwlab/hwlab.sh"
build=$(cd "$build" && pwd) || exit 99
kernels=${HWLAB_KERNEL:-6.12}
n=0
status=0
part=1/1
if [ "${HWLAB_ROWS:-}" != 0 ]; then
	commits=$(git -C "$source" rev-list --count HEAD 2> /dev/null)
	part=$((${commits:-0} % 8 + 1))/8
fi
part=${HWLAB_PART:-$part}
chosen=$(printf '%s\n' "$source"/tests/unit/*/test_*.c | sed 's,.*/,,; s/\.c$//' |
	awk -v k="${part%/*}" -v n="${part#*/}" 'NR % n == k % n')

if [ -z "$chosen" ]; then
	echo "Bail out! HWLAB_PART=$part chooses no suite: expected K/N, with K from 1 to N"
	exit 99
fi

# numbered PREFIX: prints TAP with numbers from n + 1 and the prefix, without its plan; the count
# goes to $build/hwlab/count
numbered() {
	awk -v n="$n" -v prefix="$1" -v count="$build/hwlab/count" '
		/^(not )?ok / { n++; sub(/ok [0-9]+ - /, "ok " n " - " prefix) }
		/^1\.\.[0-9]+$/ { plan = 1; next }
		{ print; fflush() }
		END {
			if (!plan)
				print "not ok " ++n " - " prefix "the lab has run to its end"
			print n > count
		}'
}

# judged DEVICE KIND: judges its scripts and suites; one without output is a failure unless it is
# skipped
judged() {
	for what in scripts $chosen; do
		: >> "$keep/suites/$what.$1"
		awk -f "$source/tests/hwlab/judge.awk" -v device="$1" -v kind="$2" \
			-v kernel="$kernel" -v what="$what" -v rows="${HWLAB_ROWS:-3}" -v last=0 \
			"$source/tests/hwlab/deviations.tsv" "$keep/suites/$what.$1"
	done
}

# Each test that deviations.tsv names must exist.
known() {
	awk -F '\t' '!/^#/ && $2 ~ /^test_/ { split($2, part, " "); print part[1], part[2] }' \
		"$source/tests/hwlab/deviations.tsv" | sort -u | while read -r suite name; do
		[ "$name" != '*' ] || name=START_TEST
		cat "$source"/tests/unit/*/"$suite.c" "$source"/tests/unit/*/[!t]*.c 2> /dev/null |
			grep -q "$name" ||
			echo "# deviations.tsv: no test $suite $name"
	done
}

mkdir -p "$build/hwlab"
unknown=$(known)
if [ -n "$unknown" ]; then
	echo "$unknown"
	echo "Bail out! deviations.tsv names tests that are not there"
	exit 99
fi
# Compiled outside of the guest, which is slow.
rm -f "$build/hwlab/bench_dat2"
sh "$source/bench/bench_dat2.sh" "$build/hwlab/bench_dat2" > "$build/hwlab/no_dapl"
for kernel in $kernels; do
	keep=$build/hwlab
	prefix=
	[ "$kernel" = "${kernels%% *}" ] || { keep=$build/hwlab/$kernel && prefix="$kernel: "; }
	why=$("$lab" --kernel "$kernel" --have 2>&1)
	case $? in
	0) ;;
	77)
		n=$((n + 1))
		echo "ok $n - kernel $kernel # SKIP ${why#hwlab: }"
		continue
		;;
	*)
		echo "Bail out! $why"
		exit 99
		;;
	esac
	rm -rf "$keep/suites"
	mkdir -p "$keep/suites"
	echo "$chosen" > "$keep/chosen"
	began=$(date +%s)
	"$lab" --kernel "$kernel" --keep "$keep" --seconds "${HWLAB_SECONDS:-1500}" \
		env HWLAB_ROWS="${HWLAB_ROWS:-}" bash "$source/tests/hwlab/suite.sh" "$build" \
		> "$keep/tap" 2>&1 || status=$?
	{
		cat "$keep/tap"
		judged rxe0 rxe
		judged siw0 siw
	} > "$keep/all"
	numbered "$prefix" < "$keep/all"
	n=$(cat "$build/hwlab/count")
	echo "# kernel $kernel: $(($(date +%s) - began)) s;" \
		"part $part of the suites of tests/unit (HWLAB_PART=$part repeats it)"
done
# The device columns of doc/conformance.md are made of rxe.tsv and siw.tsv. After a lab with all
# rows, copy its results there and run make conformance; a lab with few rows has not run the SLOW
# tests.
columns() {
	for kind in rxe siw; do
		n=$((n + 1))
		shown=$build/hwlab/$kind.tsv
		kept=$source/tests/conformance/$kind.tsv
		awk -v device=${kind}0 -f "$source/tests/hwlab/results.awk" "$build/hwlab/all" \
			> "$shown"
		awk -F '\t' -v kind=$kind -v chosen="$(echo "$chosen" | tr '\n' ' ')" \
			-f "$source/tests/hwlab/columns.awk" "$source/tests/hwlab/deviations.tsv" \
			"$shown" "$kept" > "$shown.changes"
		if [ ! -s "$shown.changes" ]; then
			echo "ok $n - tests/conformance/$kind.tsv has what ${kind}0 shows"
		else
			echo "not ok $n - tests/conformance/$kind.tsv has what ${kind}0 shows"
			sed 's/^/#   /' "$shown.changes"
			status=1
		fi
	done
}
[ "${kernels%% *}" != 6.12 ] || [ ! -s "$build/hwlab/all" ] || columns
echo "1..$n"
exit $status
