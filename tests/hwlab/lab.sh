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
exec "$lab" --kernel "${HWLAB_KERNEL:-6.12}" --keep "$build/hwlab" --seconds "${HWLAB_SECONDS:-280}" \
	bash "$source/tests/hwlab/suite.sh" "$build"
