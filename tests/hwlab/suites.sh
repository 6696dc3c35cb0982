# shellcheck shell=bash disable=SC2154 # $build, $source and $n are suite.sh's
# The suites of the tree on a device. Their output is left in /lab/suites and judged outside.
# Sourced by suite.sh.
#
# Slowness is not a deviation: an expected event may take $patience seconds. A test that neither
# passed nor deviated as deviations.tsv says runs once more; it then waits a second, not 10 ms,
# before it concludes that no event comes.
table=$source/tests/hwlab/deviations.tsv
out=/lab/suites
kernel=$(uname -r | cut -d. -f1-2)
mkdir -p $out

# HWLAB_ROWS: the number of rows of each test that is a table, evenly spread; 0: all.
rows=${HWLAB_ROWS:-3}

# again DEVICE KIND WHAT: names of tests that neither passed nor deviated as deviations.tsv says
again() {
	awk -f "$source/tests/hwlab/judge.awk" -v kind="$2" -v kernel="$kernel" -v what="$3" \
		-v rows="$rows" -v ask=names "$table" "$out/$3.$1"
}

# scripts DEVICE KIND: runs the scripts
scripts() {
	local name
	run_scripts "$1" tests/scripts > "$out/scripts.$1" 2>&1
	for name in $(again "$1" "$2" scripts); do
		run_scripts "$1" --slow 20 "tests/scripts/$name.dsim" >> "$out/scripts.$1" 2>&1
	done
}
run_scripts() {
	local device=$1
	shift
	(cd "$source" && timeout $limit \
		"$build/tools/datsim/datsim" test --provider hw --device "$device" "$@")
}

# From deviations.tsv, for KIND: the tests that each suite skips, and those that wait for an event
# which never comes.
declare -A skips vain
read_table() {
	local kind test says
	skips=()
	vain=()
	while IFS=$'\t' read -r kind test says _; do
		case $kind in
		*@*) [ "${kind#*@}" = "$kernel" ] || continue ;;
		esac
		[ "${kind%@*}" = "$1" ] || [ "${kind%@*}" = all ] || continue
		[ "$says" != SLOW ] || [ "$rows" = 0 ] || says=SKIP
		case $says in
		SKIP) skips[${test% *}]+="${test##* } " ;;
		*'dequeue gave'*) vain[${test% *}]+="${test##* } " ;;
		esac
	done < "$table"
}

# on_device DEVICE SUITE: runs it with the variables of tests/support/device.c
on_device() {
	UNIT_DEVICE=$1 UNIT_ROWS=$rows UNIT_SKIP=${skips[$2]} UNIT_IN_VAIN=${vain[$2]} \
		DAT_HW_RNR_RETRY=3 \
		UNIT_PATIENCE_MS=$((patience * 1000)) \
		CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent CK_DEFAULT_TIMEOUT=$((5 * patience)) \
		top_builddir=$build top_srcdir=$source \
		timeout $limit "$build"/tests/unit/*/"$2"
}

# checks DEVICE KIND: runs the Check suites that lab.sh chose, except those that deviations.tsv
# skips as a whole
checks() {
	local suite name
	read_table "$2"
	for suite in $(cat /lab/chosen); do
		case " ${skips[$suite]}" in *' * '*) continue ;; esac
		on_device "$1" "$suite" > "$out/$suite.$1" 2> "$out/$suite.$1.err"
		for name in $(again "$1" "$2" "$suite"); do
			CK_RUN_CASE=$name UNIT_SETTLE_MS=1000 on_device "$1" "$suite" \
				>> "$out/$suite.$1" 2>> "$out/$suite.$1.err"
		done
	done
}
