#!/bin/sh
# Schedules of datsim explore a second with 1, 2 and 4 workers, and the processor time of one, as
# rows of doc/results/scaling.md: scaling.sh [BUILD-DIR]. SECONDS_EACH: of each measurement; RUNNER
# is put in front of each command (chrt -f 5, on a machine that does other things, too).
build=$(cd "${1:-${top_builddir:-.}}" && pwd) || exit 99
source=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 99
export seconds="${SECONDS_EACH:-4}" runner="${RUNNER:-}" datsim="$build/tools/datsim/datsim"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
cp "$source/tests/planted/clean.dsim" . || exit 99

# One measurement: rate, and processor time of all processes
cat > measure.py << 'END'
import json, os, resource, subprocess, sys
e = os.environ
command = e["runner"].split() + [e["datsim"], "explore", "-j", sys.argv[1], "--seconds",
    e["seconds"], "--json", "result.json"] + sys.argv[2:]
subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
result = json.load(open("result.json"))
print("| %.0f | %.2f " % (result["rate"],
    1e3 * (used.ru_utime + used.ru_stime) / result["schedules"]), end="", flush=True)
END

# row TITLE ARGS...
row() {
	printf '| %s ' "$1"
	shift
	for jobs in 1 2 4; do
		python3 measure.py $jobs "$@"
	done
	echo '|'
}
echo "Commit $(git -C "$source" rev-parse --short HEAD 2> /dev/null || echo unknown)."
echo
echo '| target | -j 1, a second | ms of CPU | -j 2 | ms of CPU | -j 4 | ms of CPU |'
echo '|---|--:|--:|--:|--:|--:|--:|'
row "a script, \`clean.dsim\`" clean.dsim
row "a script, with coverage" --coverage clean.dsim
row "a program, \`credit-fixed\`" -- "$build/tests/planted/credit-fixed"
row "a program, with coverage" --coverage -- "$build/tests/planted/credit-fixed"
row "a program of several EPs, \`rpc both\`" -- "$build/examples/rpc/rpc" both
row "a pair in lockstep, \`lodger-fixed\`" --lockstep -- --node server \
	"$build/tests/planted/pairs/lodger-fixed" serve + --node client \
	"$build/tests/planted/pairs/lodger-fixed" 0
