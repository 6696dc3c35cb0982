# shellcheck shell=bash
# Sourced by suites.sh and fabric.sh: the scripts and the Check suites of tests/unit on a device
# that needs no kernel. The caller sets `kind`, which names its rows of deviations.tsv, `like`, a
# kind of the lab whose rows hold, too, and `device`, and defines on_device COMMAND..., which runs a
# command where that device is; it may set `profile`, the name of the device in the results and in
# rows for KIND@PROFILE.
# `run_all [PATTERN]` prints TAP without a plan: of the suites of that name, or of the scripts and
# all suites.
here=$top_srcdir/tests/passthrough
build=$(cd "$top_builddir" && pwd) || exit 99
source=$(cd "$top_srcdir" && pwd) || exit 99
n=0

if [ ! -e "$build/passthrough/.libs/passthrough.so" ]; then
	echo "1..0 # SKIP built without the passthrough"
	exit 0
fi
work=$(mktemp -d) || exit 99
# bash also runs this in a job that a signal ends before its program has begun.
trap '[ $BASHPID != $$ ] || rm -rf "$work"' EXIT

# Our rows, and those of the lab for all devices and for `like`, except where ours say otherwise.
table=$work/deviations.tsv
awk -F '\t' -v OFS='\t' -v kind="$kind" -v like="$like" '
	/^#/ { next }
	FNR == NR {
		if ($1 != kind && index($1, kind "@") != 1) next
		if ($1 == kind) own[$2] = 1
		if ($3 != "AGREES") rows = rows $0 "\n"
		next
	}
	($1 == "all" || $1 == like) && !($2 in own) { $1 = kind; print }
	END { printf "%s", rows }
' "$here/deviations.tsv" "$source/tests/hwlab/deviations.tsv" > "$table"

# listed SUITE SAYS: the tests of a suite whose row says that
listed() {
	awk -F '\t' -v suite="$1" -v says="$2" '
		index($2, suite " ") == 1 && $3 ~ says {
			printf "%s ", substr($2, length(suite) + 2)
		}
	' "$table"
}

# run_scripts [FILE [SCRIPT...]]: these scripts, or all; FILE gets what datsim prints
run_scripts() {
	local to=${1:-scripts}
	[ $# -gt 1 ] || set -- "$to" tests/scripts
	(cd "$source" && on_device "$build/tools/datsim/datsim" test --provider hw \
		--device "$device" "${@:2}") > "$work/$to" 2>&1
}

# run_suite SUITE [SETTLE]: a process for each test, also where the caller has CK_FORK=no, since one
# that deviates from its expectation leaves its objects behind
run_suite() {
	UNIT_DEVICE=$device UNIT_ROWS=3 UNIT_SETTLE_MS=${2:-3} UNIT_PATIENCE_MS=5000 \
		UNIT_SKIP=$(listed "$1" '^SKIP$') UNIT_IN_VAIN=$(listed "$1" 'dequeue gave') \
		CK_FORK=yes CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent CK_DEFAULT_TIMEOUT=20 \
		on_device "$build"/tests/unit/*/"$1" >> "$work/$1" 2>> "$work/$1.err"
}

verdicts() {
	awk -f "$source/tests/hwlab/judge.awk" -v device="${profile:-$kind}" -v kind="$kind" \
		-v kernel="${profile:-none}" -v rows=3 -v what="$1" -v last="$n" "${@:2}" \
		"$table" "$work/$1"
}

# On a busy machine an event may come after the moment that a test gives it: such a test runs again.
judge() {
	local name
	[[ $1 == scripts* ]] || for name in $(verdicts "$1" -v ask=names); do
		CK_RUN_CASE=$name run_suite "$1" 300
	done
	verdicts "$1" | tee "$work/judged"
	n=$((n + $(grep -c '^\(not \)\?ok ' "$work/judged")))
}

run_all() {
	local suite suites= scripts=
	for suite in "$source"/tests/unit/*/${1:-test_*}.c; do
		# A fabric of several processes is the emulator's.
		case $suite in */unit/shared/*) continue ;; esac
		suite=${suite##*/}
		suite=${suite%.c}
		case " $(listed "$suite" '^SKIP$')" in *' * '*) continue ;; esac
		suites="$suites $suite"
	done
	[ $# -gt 0 ] || scripts=scripts
	[ -z "$scripts" ] || run_scripts &
	# They wait more than they compute.
	for suite in $suites; do
		while [ "$(jobs -rp | wc -l)" -ge 6 ]; do
			wait -n
		done
		run_suite "$suite" &
	done
	wait
	for suite in $scripts $suites; do
		judge "$suite"
	done
}
