# shellcheck shell=bash
# Sourced by ./check: runs stages, counts and reports their results.
#
# A stage is a function. Its output goes to build/log/STAGE.log. It may write in build/log
#   STAGE.counts  "passed failed skipped", if it ran tests; other stages count as one test
#   STAGE.failed  the text to show if it failed
#   STAGE.note    a line to show in any case
# Status 77 means that there was nothing to run; the note tells the reason.

log=build/log
total_passed=0
total_failed=0
total_skipped=0
failed_stages=
running=
if [ -t 1 ]; then terminal=yes; else terminal=no; fi

# Stages run in lanes: those of a lane one after the other, the lanes beside each other. A configure
# script, a link, the last test of a stage each leave all processors but one idle; another lane uses
# them. Stages that share a build are in one lane, except the lab, which keeps its results apart.
# tsan, clang and fuzz are in the lane of the lab, because asan takes longest.
lane_of() {
	case $1 in
	asan | small) echo sanitizers ;;
	hwlab | hwlab_all | clang | tsan | fuzz) echo lab ;;
	*) echo normal ;;
	esac
}
declare -A lane_pid=() lane_says=()

# launch LANE STAGE...: starts a lane in the background, in process groups of its own, so that
# stop_stage can end it
launch() {
	local lane=$1 pipe=$log/$1.lane fd
	shift
	mkdir -p $log
	rm -f "$pipe"
	mkfifo "$pipe" || return
	set -m
	run_lane "$@" > "$pipe" &
	set +m
	lane_pid[$lane]=$!
	exec {fd}< "$pipe"
	lane_says[$lane]=$fd
}

# run_lane STAGE...: prints "STAGE STATUS SECONDS CPU-SECONDS" after each
run_lane() {
	local stage status began stat before
	trap 'kill -- -$running 2> /dev/null; exit 143' INT TERM HUP
	for stage; do
		began=$SECONDS
		read -ra stat < /proc/$BASHPID/stat
		before=$((stat[15] + stat[16])) # cutime, cstime: hundredths of a second
		rm -f $log/"$stage".*
		set -m
		("stage_$stage" "$stage") > "$log/$stage.log" 2>&1 < /dev/null &
		running=$!
		set +m
		wait $running
		status=$?
		kill -- -$running 2> /dev/null # processes that a killed make left behind
		[ $status -eq 0 ] || failed_stages="$failed_stages $stage"
		read -ra stat < /proc/$BASHPID/stat
		echo "$stage $status $((SECONDS - began))" \
			$(((stat[15] + stat[16] - before) / 100))
	done
}

# run_stage NUMBER STAGE TITLE: reports a stage once its lane has run it
run_stage() {
	local stage=$2 status passed failed skipped verdict name seconds cpu
	echo "[$1] $stage: $3"

	read_result "$stage" "${lane_says[$(lane_of "$stage")]}"
	if [ -s "$log/$stage.counts" ]; then
		read -r passed failed skipped < "$log/$stage.counts"
		[ $status -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
		if [ $((passed + failed + skipped)) -eq 0 ]; then
			failed=1
			echo "no test ran: expected at least one" > "$log/$stage.failed"
		fi
	else
		case $status in
		0) passed=1 failed=0 skipped=0 ;;
		77) passed=0 failed=0 skipped=1 ;;
		*) passed=0 failed=1 skipped=0 ;;
		esac
	fi
	total_passed=$((total_passed + passed))
	total_failed=$((total_failed + failed))
	total_skipped=$((total_skipped + skipped))

	verdict=ok
	[ "$passed" -gt 0 ] || verdict=skipped
	if [ "$failed" -gt 0 ]; then
		verdict=FAILED
		failed_stages="$failed_stages $stage"
		show_failure "$stage"
	fi
	[ ! -s "$log/$stage.note" ] || sed 's/^/      /' "$log/$stage.note"
	echo "      $verdict: $passed passed, $failed failed, $skipped skipped" \
		"($seconds s, CPU $cpu s)"
}

# read_result STAGE FD: sets name, status, seconds and cpu. Meanwhile, on a terminal, shows the last
# line of the stage's log.
read_result() {
	local columns line got
	if [ $terminal = yes ]; then
		columns=$(tput cols 2> /dev/null || echo 80)
		while :; do
			read -r -t 0.3 -u "$2" name status seconds cpu
			got=$?
			[ $got -gt 128 ] || break
			line=$(tail -n 1 "$log/$1.log" 2> /dev/null | tr -cd '[:print:]')
			line="      $SECONDS s  $line"
			printf '\r\033[K%s' "${line:0:columns - 1}"
		done
		printf '\r\033[K'
	else
		read -r -u "$2" name status seconds cpu
		got=$?
	fi
	# A lane that was killed says nothing.
	if [ $got -ne 0 ] || [ "$name" != "$1" ]; then
		status=1 seconds=$SECONDS cpu=0
	fi
}

# Handles an interrupt.
stop_stage() {
	kill "${lane_pid[@]}" 2> /dev/null
	echo
	echo "interrupted"
	total_failed=$((total_failed + 1))
	report_total
	exit 130
}

# Shows the failing tests and their messages; if there are none, the errors; else the end of the
# log.
show_failure() {
	local stage=$1
	echo
	if [ -s "$log/$stage.failed" ]; then
		cat "$log/$stage.failed"
	elif grep -qE '(error|Error|undefined reference|\*\*\*)' "$log/$stage.log"; then
		grep -nE -B1 -A4 '([Ee]rror:|undefined reference|No rule to make|ERROR:|FAIL:)' \
			"$log/$stage.log" |
			grep -vE '^([0-9]+-(PASS|SKIP): |--$)' | head -n 60 | sed 's/^/    /'
		echo "    ..."
		tail -n 6 "$log/$stage.log" | sed 's/^/    /'
	else
		tail -n 30 "$log/$stage.log" | sed 's/^/    /'
	fi
	[ "$(wc -l < "$log/$stage.log")" -le 1 ] || echo "    (complete log: $log/$stage.log)"
	echo
}

# count_tests STAGE BUILD: counts the tests that ran in folder BUILD, and keeps the messages of
# those that failed.
count_tests() {
	local trs name
	# Without a .trs file awk reads nothing and prints zeros, which run_stage does not accept.
	find "$2" -name '*.trs' -print0 |
		xargs -0 awk -f tests/check/tap-sum.awk > "$log/$1.counts"
	! grep -q '^0 0 [1-9]' "$log/$1.counts" || skip_reasons "$2" >> "$log/$1.note"
	find "$2" -name '*.trs' | sort | while read -r trs; do
		grep -qE '^:test-result: (FAIL|XPASS|ERROR)' "$trs" || continue
		name=$(sed -nE 's/^(FAIL|XPASS|ERROR): ([^ ]*) .*/\2/p' "${trs%.trs}.log" |
			head -n 1)
		echo "  FAILED ${name:-$trs}"
		failing_lines "${trs%.trs}.log"
	done > "$log/$1.failed"
}

# skip_reasons BUILD: why the tests that ran in this folder were skipped, each reason once
skip_reasons() {
	find "$1" -name '*.trs' | sed 's/trs$/log/' |
		xargs -d '\n' sed -n 's/.*# SKIP /skipped: /p' | sort -u | head -n 10
}

# failing_lines LOG: a test's log without the lines of passed tests, and without the TAP lines that
# the driver repeats. A long log is cut to the failed tests and the messages beside them.
failing_lines() {
	local cut=$1.cut
	# A message of a sanitizer or of valgrind may begin in the middle of a line of the driver.
	awk '/^(ok |not ok |(PASS|SKIP): |1\.\.[0-9]+$)/ && !/runtime error:|==[0-9]+==/ { next }
		{ print }' \
		"$1" > "$cut"
	if [ "$(wc -l < "$cut")" -gt 50 ]; then
		awk -f tests/check/failing.awk "$1" | head -n 60
		echo "... (more in $1)"
	else
		cat "$cut"
	fi | sed 's/^/    /'
	rm -f "$cut"
}

# Did nothing pass and nothing fail?
nothing_tested() { [ $((total_passed + total_failed)) -eq 0 ]; }

report_total() {
	local stage
	if [ -n "$failed_stages" ]; then
		echo
		echo "Failed stages:$failed_stages"
		for stage in $failed_stages; do
			[ ! -s "$log/$stage.failed" ] || grep -h '^  FAILED' "$log/$stage.failed" |
				sed "s/^  FAILED/  $stage:/"
		done
	fi
	echo
	! nothing_tested || echo "nothing was tested: all of it was skipped, as told above"
	echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
}
