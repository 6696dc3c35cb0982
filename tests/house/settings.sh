#!/bin/sh
# AM_TESTS_ENVIRONMENT of tests/Makefile.inc.am hides the caller's settings from the tests, except
# the wrapper by which stage valgrind runs datsim.
cd "$top_builddir" || exit 99
n=0

# seen: the environment of a test
seen() {
	{
		echo 'include Makefile'
		# shellcheck disable=SC2016 # make expands it
		printf 'seen:\n\t@$(AM_TESTS_ENVIRONMENT) env\n'
	} | env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DAT_PROVIDER=hw DATSIM_SEED=7 DATSIM_A.B=1 \
		DATSIM_TRACE='a b' DATSIM_WRAPPER='a wrapper' make -s -f - seen
}

# verdict TITLE STATUS
verdict() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}

echo 1..3
environment=$(seen)
! echo "$environment" | grep -E '^(DAT_PROVIDER|DATSIM_(SEED|TRACE))='
verdict "a test sees no setting of its caller" $?
echo "$environment" | grep -qx 'DATSIM_WRAPPER=a wrapper'
verdict "the wrapper of datsim reaches the scripts" $?
echo "$environment" | grep -qx 'DAT_OVERRIDE=/dev/null'
verdict "a variable whose name no shell takes does no harm" $?
