# shellcheck shell=bash disable=SC2154 # $build, $source and $n are suite.sh's
# The suites of the tree on a device, judged by judge.awk with deviations.tsv. Sourced by suite.sh.

# Those that are about queues, watermarks and data; of their tests, each that needs the simulation says so and is skipped.
# shellcheck disable=SC2034
checks='dto srq_lw srq_query'

# judge DEVICE KIND WHAT: its TAP is on stdin
judge() {
	awk -f "$source/tests/hwlab/judge.awk" -v device="$1" -v kind="$2" -v what="$3" -v last="$n" \
		"$source/tests/hwlab/deviations.tsv" - | tee /tmp/judged
	n=$((n + $(grep -cE '^(not )?ok ' /tmp/judged)))
}

# scripts DEVICE KIND
scripts() {
	(cd "$source" && timeout 300 "$build/tools/datsim/datsim" test --provider hw --device "$1" tests/scripts) \
		> "/lab/scripts.$1" 2>&1
	judge "$1" "$2" scripts < "/lab/scripts.$1"
}

# check_suite DEVICE KIND NAME
check_suite() {
	UNIT_DEVICE=$1 CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent CK_DEFAULT_TIMEOUT=10 \
		timeout 150 "$build/tests/unit/test_$3" > "/lab/$3.$1" 2> "/lab/$3.$1.err"
	judge "$1" "$2" "test_$3" < "/lab/$3.$1"
}
