#!/bin/sh
# Random walks and programs over many seeds, all orders of longer ends, and datsim explore for a
# while: campaign.sh [BUILD-DIR]. TAP, for ./check --full.
#
# SEEDS, STEPS, SCHEDULES, KILLS and CROWDS in the environment make it longer or shorter. What it
# did goes to BUILD-DIR/tests/campaign.md, a page that says the same wherever and whenever it is
# made; ./check puts it in doc/results/, with the commit.
build=$(cd "${1:-${top_builddir:-.}}" && pwd) || exit 99
seeds=${SEEDS:-1000}
steps=${STEPS:-3000}
page=$build/tests/campaign.md
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export CK_DEFAULT_TIMEOUT=600
unset CK_TAP_LOG_FILE_NAME CK_VERBOSITY

for count in "$seeds" "$steps" "${SCHEDULES:-1}" "${KILLS:-1}" "${ARENAS:-5}" \
	"${ORDERS_DEPTH:-1}"; do
	[ "$count" -ge 1 ] && continue
	echo "Bail out! expected counts of at least 1, got $count: nothing would be tested"
	exit 1
done

n=0
# result OK TITLE: one line of TAP
result() {
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

# run PROGRAM FOLDER VARIABLE: all seeds, as many at a time as there are processors; one line a seed
# in $work/PROGRAM, failures in PROGRAM.failed
run() {
	seq 1 "$seeds" | xargs -P "$(nproc)" -I @ sh -c "
		$3_SEED=@ $3_STEPS=$steps $build/tests/$2/$1 > $work/out.@ 2>&1 ||
			mv $work/out.@ $work/$1.@.failed"
	cat "$work"/out.* | grep "^# $1 seed=" > "$work/$1"
	rm -f "$work"/out.*
}

# failures PROGRAM: how many seeds failed; the first ones are shown
failures() {
	find "$work" -name "$1.*.failed" | sort -V > "$work/failed"
	while read -r file; do
		grep -a '^# step\|^# replay' "$file" || echo "# $file: $(tail -n 1 "$file")"
	done < "$work/failed" | head -n 20 >&2
	wc -l < "$work/failed"
}

# sums PROGRAM: name and sum of every count, for each profile, as rows of a table
sums() {
	awk '{
		profile = $0; sub(/.* profile=/, "", profile); sub(/ .*/, "", profile)
		for (i = 5; i <= NF; i++) {
			split($i, pair, "=")
			if (!(pair[1] in place)) { place[pair[1]] = ++names; name[names] = pair[1] }
			sum[profile, pair[1]] += pair[2]
		}
	} END {
		for (i = 1; i <= names; i++)
			if (name[i] != "steps" && name[i] != "trace_bytes")
				printf "| %s | %d | %d |\n", name[i],
					sum["ib", name[i]], sum["iwarp", name[i]]
	}' "$work/$1"
}

# never PROGRAM: what no walk of a profile ever met. Not every profile can overtake or starve long.
never() {
	awk -F ' *[|] *' -v program="$1" '
		$3 == 0 && $2 != "overtaken" &&
			!($2 == "soft_events" && program == "test_walk_srq") { print $2 " (ib)" }
		$4 == 0 { print $2 " (iwarp)" }' "$work/$1.sums"
}

{
	echo "# Random walks: the last long campaign"
	echo
	echo "Made by \`tests/campaign.sh\`: seeds 1 to $seeds, $steps steps each, every seed"
	echo "twice. Even seeds walk in profile ib, odd ones in iwarp. After each step all counts,"
	echo "events, completions and data are compared with the model, and the traces of both runs"
	echo "byte for byte."
	echo "test_programs runs each seed a third time, untraced."
} > "$page"

for program in test_walk_srq test_walk_ep test_programs; do
	folder=walk variable=WALK
	[ $program != test_programs ] || folder=random variable=PROGRAM
	if [ ! -x "$build/tests/$folder/$program" ]; then
		echo "1..0 # SKIP tests/$folder/$program is not built"
		exit 0
	fi
	run $program $folder $variable
	failed=$(failures $program)
	sums $program > "$work/$program.sums"
	missed=$(never $program)
	result "$failed" "$program: $seeds seeds of $steps steps, $failed failed"
	result "$(printf %s "$missed" | grep -c .)" "$program: everything there is to meet was met"
	[ -z "$missed" ] || echo "$missed" | sed 's/^/# never: /'
	{
		echo
		echo "## $program: $((seeds - failed)) of $seeds seeds passed"
		echo
		echo "| met | ib | iwarp |"
		echo "|---|--:|--:|"
		cat "$work/$program.sums"
	} >> "$page"
done

# All orders of four calls, with two messages of three
depth=${ORDERS_DEPTH:-4}
two=${ORDERS_DEPTH_TWO:-3}
ORDERS_SAY=1 ORDERS_DEPTH=$depth ORDERS_DEPTH_TWO=$two \
	"$build/tests/random/test_orders" > "$work/orders" 2>&1
status=$?
orders=$(awk '/^# start/ { sum += $(NF - 1) } END { print sum + 0 }' "$work/orders")
grep '^# replay' "$work/orders" | head -n 20 >&2
result $status "test_orders: $orders orders of $depth calls, of $two with two messages"
{
	echo
	echo "## test_orders: $orders orders of the end of a connection"
	echo
	echo "All orders of $depth calls, of $two with two messages in flight, in every world of"
	echo "the test."
} >> "$page"

# Programs in which nothing is known to be wrong, under many schedules of faults
schedules=${SCHEDULES:-20000}
{
	echo
	echo "## datsim explore: $schedules schedules of faults for each of these programs"
	echo
	echo "Seed 1, with all kinds of faults that a connection survives; \`flush-fixed\` also"
	echo "with the faults that break one."
	echo
} >> "$page"
# explore TITLE ARGS...
explore() {
	title=$1
	shift
	"$build/tools/datsim/datsim" explore -j 0 --runs "$schedules" \
		--out "$work/found.dsim" "$@" > "$work/explored" 2>&1
	status=$?
	result $status "$title: $schedules schedules"
	[ $status = 0 ] && echo "- \`$title\`: all hold" >> "$page" && return
	cat "$work/explored" >&2
	found=$(head -n 1 "$work/explored" | sed 's/.*: schedule/schedule/')
	echo "- \`$title\`: $found" >> "$page"
}
for program in credit double-free rearm reset two-ways; do
	explore "tests/planted/$program-fixed" -- "$build/tests/planted/$program-fixed"
done
explore tests/planted/flush-fixed --faults all,break -- "$build/tests/planted/flush-fixed"
explore examples/srq_server -- "$build/examples/srq_server"
explore 'examples/rpc/rpc both' -- "$build/examples/rpc/rpc" both

# Several programs together: what is planted is found and fails again, its twins hold
schedules=$(((schedules + 3) / 4))
AGAIN=20 RUNS=$schedules top_builddir=$(cd "$build" && pwd) \
	sh "$(dirname "$0")/datsim/explore-pairs.sh" > "$work/pairs" 2>&1
! grep -A30 '^not ok\|^Bail' "$work/pairs" >&2
status=$?
title="tests/planted/pairs: $schedules schedules of each mended one, 20 replays of each other"
result $status "$title"
[ $status = 0 ] && echo "- $title: as expected" >> "$page"

# Processes that die
{
	echo
	echo "## Processes of a shared fabric that are killed"
	echo
	echo "Killed before each store into the arena that a process makes in its life, and at"
	echo "${KILLS:-1000} moments. After each death the answers of a witness are right, and all"
	echo "that the dead process had was freed. Payload goes by \`process_vm_writev\`, or"
	echo "through the arena."
	echo
} >> "$page"
# die TITLE COPY ARGS...: $program is killed
die() {
	title=$1
	copy=$2
	shift 2
	DATSIM_COPY=$copy XDG_RUNTIME_DIR=$work "$build/tests/processes/$program" \
		"$build/examples/pair/server" "$@" > "$work/died" 2>&1
	status=$?
	result $status "$title"
	[ $status = 0 ] && echo "- $title: nothing else suffers" >> "$page" && return
	cat "$work/died" >&2
	echo "- $title: $(grep '^# ' "$work/died" | tail -n 1)" >> "$page"
}
for copy in direct bounce; do
	program=die
	die "killed before each store, $copy" $copy stores
	die "killed at ${KILLS:-1000} moments, $copy" $copy random "${KILLS:-1000}"
	program=die_verbs
	[ -x "$build/tests/processes/$program" ] || continue
	die "a program of verbs, killed before each store, $copy" $copy stores
	die "a program of verbs, killed at ${KILLS:-1000} moments, $copy" $copy \
		random "${KILLS:-1000}"
done
program=die
CROWDS=${CROWDS:-200} STRIDE=1 top_builddir=$build \
	sh "$(dirname "$0")/processes/overtake.sh" > "$work/crowds" 2>&1
! grep -A30 '^not ok' "$work/crowds" >&2
result $? "${CROWDS:-200} crowds of 8 processes, and a bystander killed before each store"

# nonsense COPY FIRST: arenas that others write into
nonsense() {
	title="${ARENAS:-1000} arenas with nonsense in them, $1"
	DATSIM_COPY=${1%,*} XDG_RUNTIME_DIR=$work \
		"$build/tests/processes/hostile" "${ARENAS:-1000}" "$2" > "$work/written" 2>&1
	status=$?
	result $status "$title"
	[ $status = 0 ] && echo "- $title: no process crashes or hangs" >> "$page" && return
	cat "$work/written" >&2
	echo "- $title: $(grep -c '^# seed' "$work/written") of them end badly" >> "$page"
}
nonsense direct 1
nonsense bounce 1000001
DATSIM_LOCKSTEP=50 ARENAS=$((${ARENAS:-1000} / 5)) nonsense "direct, in turns" 2000001

# Every word of an arena, every value
WORDS=${WORDS:-0} top_builddir=$build sh "$(dirname "$0")/processes/arena.sh" > "$work/words" 2>&1
! grep '^not ok' "$work/words" >&2
status=$?
title="every word of an arena set to six values, in four ways"
result $status "$title"
[ $status = 0 ] && echo "- $title: no process crashes or hangs" >> "$page"

# Processes that take turns
DATSIM_LOCKSTEP=50 die "in turns: killed before 500 of the stores" direct stores 500
DATSIM_LOCKSTEP=50 die "in turns: killed at 100 moments" direct random 100
RUNS=20 top_builddir=$build sh "$(dirname "$0")/processes/lockstep.sh" > "$work/turns" 2>&1
! grep '^not ok' "$work/turns" >&2
status=$?
result $status "traces of programs in turns are the same, 20 runs of each seed"
{
	echo
	echo "## Processes that take turns"
	echo
	echo "20 runs of each program with each seed of \`tests/processes/lockstep.sh\`:"
	if [ $status = 0 ]; then
		echo "every trace is the same as the first."
	else
		echo "not all traces are the same."
	fi
} >> "$page"

# All that is tested of processes, by an ordinary user in a container that permits little
CONTAINER_SUITES="borders.sh hostile.sh kill.sh lockstep.sh overtake.sh pair.sh run.sh stream.sh" \
	top_builddir=$build sh "$(dirname "$0")/processes/container.sh" > "$work/ordinary" 2>&1
! grep -A30 '^not ok' "$work/ordinary" >&2
status=$?
result $status "an ordinary user in a container, every script of tests/processes"
{
	echo
	echo "## By an ordinary user without capabilities"
	echo
	echo "Every script of \`tests/processes\`, where no process may reach into another:"
	if [ $status = 0 ]; then echo "all pass."; else echo "not all pass."; fi
} >> "$page"

echo "1..$n"
sed 's/^/# /' "$page"
