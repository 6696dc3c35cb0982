#!/bin/sh
# Runs the suite in the lab and passes its TAP on: lab.sh [BUILD-DIR]. ./check hwlab runs it.
#
# HWLAB_KERNEL: Debian's kernel series, one after the other; "6.12 6.1" are both. HWLAB_ROWS: see suites.sh.
build=${1:-${top_builddir:-.}}
source=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
lab="$source/tests/hwlab/hwlab.sh"
build=$(cd "$build" && pwd) || exit 99
kernels=${HWLAB_KERNEL:-6.12}
n=0
status=0

# numbered PREFIX: TAP numbered from n + 1, with the prefix, without its plan; counted in $build/hwlab/count
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

# A test that deviations.tsv names has to be there.
known() {
	awk -F '\t' '!/^#/ && $2 ~ /^test_/ { split($2, part, " "); print part[1], part[2] }' \
		"$source/tests/hwlab/deviations.tsv" | sort -u | while read -r suite name; do
		[ "$name" != '*' ] || name=START_TEST
		cat "$source/tests/unit/$suite.c" "$source"/tests/unit/[!t]*.c 2> /dev/null | grep -q "$name" ||
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
	mkdir -p "$keep"
	began=$(date +%s)
	"$lab" --kernel "$kernel" --keep "$keep" --seconds "${HWLAB_SECONDS:-1500}" \
		env HWLAB_ROWS="${HWLAB_ROWS:-}" bash "$source/tests/hwlab/suite.sh" "$build" > "$keep/tap" 2>&1 || status=$?
	numbered "$prefix" < "$keep/tap"
	n=$(cat "$build/hwlab/count")
	echo "# kernel $kernel: $(($(date +%s) - began)) s"
done
echo "1..$n"

# The device columns of doc/conformance.md are made of these: copy them to tests/conformance/ where they changed.
for kind in rxe siw; do
	[ -e "$build/hwlab/output" ] || break
	awk -v device=${kind}0 -f "$source/tests/hwlab/results.awk" "$build/hwlab/output" > "$build/hwlab/$kind.tsv"
	cmp -s "$build/hwlab/$kind.tsv" "$source/tests/conformance/$kind.tsv" ||
		echo "# what ${kind}0 shows has changed: $build/hwlab/$kind.tsv, tests/conformance/$kind.tsv"
done
exit $status
