#!/bin/bash
# ./check counts the numbers of an earlier run only if its tests passed and nothing that they depend
# on has changed since (tests/check/unchanged.sh, and test_in in tests/check/stages.sh).
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests" "$work/build/log" "$work/build/a/tests"
cp -r "$top_srcdir/tests/check" "$work/tests" && cd "$work" || exit 99
log=build/log
fresh=
. tests/check/unchanged.sh
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git init -q . 2> /dev/null
echo source > source.c
echo program > build/a/tests/program
n=0

# result TITLE STATUS: one line of TAP
result() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}

# as_before WORD...: would the stage take over its result, with these arguments of make?
as_before() { still_true tests "$(fingerprint tests build/a "$@")"; }
# passes WORD...: it runs and passes
passes() {
	echo "7 0 2" > build/log/tests.counts
	keep_result tests "$(fingerprint tests build/a "$@")"
	rm build/log/tests.*
}
# again TITLE COMMAND...: once the command has run, the tests have to run again
again() {
	local title=$1
	shift
	passes TESTS=all
	"$@"
	! as_before TESTS=all
	result "$title" $?
}
write() { echo text > "$1"; }
commit() {
	git -c user.name=a -c user.email=a@example.org -c commit.gpgsign=false \
		commit -q --no-verify --allow-empty -m "$1"
}

echo 1..21
! as_before TESTS=all
result "tests that never ran are to run" $?
echo "skipped: no device here" > build/log/tests.note
passes TESTS=all
as_before TESTS=all
result "nothing has changed: the result is that of the last run" $?
[ "$(cat build/log/tests.counts)" = "7 0 2" ]
result "with its numbers" $?
grep -qx 'skipped: no device here' build/log/tests.note
result "and its notes" $?
grep -q "^these tests ran on .* at ..:.. and nothing has changed since" build/log/tests.note
result "and a line that says so" $?
write build/a/tests/program.log
write build/a/tests/program.trs
mkdir build/a/tests/work
write build/a/tests/work/page
write build/a/libdat-1.tar.gz
as_before TESTS=all
result "what tests and stage distcheck leave behind is no change" $?
! as_before TESTS=few
result "other tests are to run" $?
passes TESTS=all
fresh=yes
! as_before TESTS=all
result "--again: they are to run" $?
fresh=
! as_before TESTS=all
result "a run that did not pass, or was interrupted, leaves no result" $?
again "a source has changed" write source.c
again "a source is new" write new.c
again "a source is gone" rm new.c
again "a mode has changed" chmod +x source.c
again "a program was built again" write build/a/tests/program
again "a file has another time, and its bytes are those before" touch -d @1 source.c
again "the environment has changed" export UNCHANGED_TEST=1
again "a limit has changed" ulimit -S -n $(($(ulimit -S -n) - 1))
title="there is another commit, and no file has changed"
if [ -d .git ]; then
	again "$title" commit second
else
	echo "ok $((n += 1)) - $title # SKIP git is missing"
fi

# The same by test_in, with a make that only counts its calls and fails if it is told to.
. tests/check/stages.sh
make() {
	echo run >> build/log/runs
	return "$(cat build/log/status)"
}
count_tests() { echo "7 0 2" > "$log/$1.counts"; }
# runs TITLE STAGE STATUS TIMES: of two calls so many run the tests, which end with the status
runs() {
	echo "$3" > build/log/status
	: > build/log/runs
	test_in a "$2" check > build/log/said 2>&1
	test_in a "$2" check > build/log/said 2>&1
	[ "$(wc -l < build/log/runs)" -eq "$4" ]
	result "$1" $?
}
runs "a stage that fails runs again" tests 1 2
runs "a stage that passes does not" tests 0 1
runs "a stage that does not run all tests does" determinism 0 2
