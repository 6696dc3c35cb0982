#!/bin/bash
# What ./check says of a stage, above all of one that tested nothing (tests/check/report.sh), and of
# a word that it or ./demo does not know (tests/check/nearest.sh).
sources=$(cd "$top_srcdir" && pwd)
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests" "$work/build/log" "$work/build/a"
cp -r "$top_srcdir/tests/check" "$work/tests" && cd "$work" || exit 99
. tests/check/report.sh
n=0

# ran STAGE RESULT...: the stage ran one test that had these results
ran() {
	local stage=$1 result
	shift
	rm -f build/a/*
	for result; do
		echo ":test-result: $result" >> build/a/test.trs
	done
	echo 'ok 1 - a test # SKIP no device here' > build/a/test.log
	count_tests "$stage" build/a
}
stage_good() { ran "$1" PASS SKIP; }
stage_bad() { ran "$1" PASS FAIL && return 1; }
stage_skipped() { ran "$1" SKIP SKIP; }
stage_none() { ran "$1"; }
# A long log: a message beside each result, as the driver writes it.
stage_long() {
	local i
	ran "$1" PASS FAIL
	for ((i = 1; i <= 60; i++)); do
		printf 'ok %d - row\nPASS: tests/long.sh %d - row\n# message %d\n' $i $i $i
	done | sed 's/^ok 40/not ok 40/; s/^PASS: tests.long.sh 40/FAIL: tests\/long.sh 40/' \
		> build/a/test.log
	count_tests "$1" build/a
	return 1
}
stage_silent() { :; }
stage_absent() { return 77; }

# says TITLE STATUS PATTERN STAGE...: the stages give this status, and the report has the pattern
says() {
	local title=$1 status=$2 pattern=$3 got
	shift 3
	(
		launch normal "$@"
		for stage; do run_stage 1/1 "$stage" "title of $stage"; done
		report_total
		! nothing_tested || exit 77
		[ $total_failed -eq 0 ]
	) > said 2>&1
	got=$?
	n=$((n + 1))
	if [ $got -eq "$status" ] && grep -qE "$pattern" said; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title: status $got"
		sed 's/^/#   /' said
	fi
}

echo 1..19
says "a stage that passes" 0 '^      ok: 1 passed, 0 failed, 1 skipped ' good
says "the last line has the sum" 0 '^2 passed, 0 failed, 1 skipped$' good silent
says "a stage without tests is one test" 0 '^1 passed, 0 failed, 0 skipped$' silent
says "a stage that fails" 1 '^      FAILED: 1 passed, 1 failed, 0 skipped ' bad
says "all tests of a stage are skipped" 77 '^      skipped: 0 passed, 0 failed, 2 skipped ' skipped
says "the reason is told" 77 '^      skipped: no device here$' skipped
says "and that nothing was tested" 77 '^nothing was tested: all of it was skipped' skipped
says "a stage that cannot run" 77 '^nothing was tested' absent
says "beside one that passes it is no matter" 0 '^1 passed, 0 failed, 3 skipped$' good skipped
says "a stage of tests that runs none fails" 1 '^      FAILED: 0 passed, 1 failed' none
says "and says why" 1 'no test ran: expected at least one' none
says "a long log is cut to the failure" 1 '^    FAIL: tests/long.sh 40 - row$' long
grep -q '# message 40$' said && [ "$(grep -c '# message' said)" -eq 2 ]
verdict=$?
n=$((n + 1))
[ $verdict -eq 0 ] || echo -n 'not '
echo "ok $n - and to the messages beside it"
[ $verdict -eq 0 ] || sed 's/^/#   /' said

# suggests PATTERN COMMAND...: status 2, and the first line of the message ends so
suggests() {
	local pattern=$1
	shift
	n=$((n + 1))
	(cd "$sources" && "$@") > said 2>&1 < /dev/null
	if [ $? -eq 2 ] && head -n 1 said | grep -qE "$pattern\$"; then
		echo "ok $n - $*"
	else
		echo "not ok $n - $*: expected ... $pattern"
		sed 's/^/#   /' said
	fi
}
suggests "found 'tets'; did you mean tests[?]" ./check tets
suggests "found '--ful'; did you mean --full[?]" ./check --ful
suggests "belongs to 'connnect'; did you mean connect[?]" ./check only connnect
suggests "found 'srq'; for the tests of srq: ./check only srq" ./check srq
suggests "found 'elephant'" ./check elephant
suggests "found 'pari'; did you mean pair[?]" ./demo pari
