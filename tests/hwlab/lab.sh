#!/bin/sh
# Runs the suite in the lab and passes its TAP on: lab.sh [BUILD-DIR]. ./check hwlab runs it.
build=${1:-${top_builddir:-.}}
source=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
lab="$source/tests/hwlab/hwlab.sh"
build=$(cd "$build" && pwd) || exit 99

why=$("$lab" --have 2>&1)
case $? in
0) ;;
77)
	echo "1..0 # SKIP ${why#hwlab: }"
	exit 0
	;;
*)
	echo "Bail out! $why"
	exit 99
	;;
esac
"$lab" --kernel "${HWLAB_KERNEL:-6.12}" --keep "$build/hwlab" --seconds "${HWLAB_SECONDS:-1500}" \
	bash "$source/tests/hwlab/suite.sh" "$build"
status=$?

# The device columns of doc/conformance.md are made of these: copy them to tests/conformance/ where they changed.
for kind in rxe siw; do
	awk -v device=${kind}0 -f "$source/tests/hwlab/results.awk" "$build/hwlab/output" > "$build/hwlab/$kind.tsv"
	cmp -s "$build/hwlab/$kind.tsv" "$source/tests/conformance/$kind.tsv" ||
		echo "# what ${kind}0 shows has changed: $build/hwlab/$kind.tsv, tests/conformance/$kind.tsv"
done
exit $status
