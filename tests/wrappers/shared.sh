#!/bin/sh
# The same calls on a fabric that other processes may share, where objects lie in shared memory:
# each test of the two programs is a process that joins it.
. "$(dirname "$0")/../verbs/begin.sh"
[ -e "$libs/librdmacm.so.1" ] || skip "librdmacm is not built"
export DATSIM_FABRIC="wrappers.$$" FUZZ_ROUNDS=8

calls_of() {
	"$top_builddir/tests/wrappers/test_fuzz_$1" && echo all hold
}

echo 1..2
for library in verbs rdmacm; do
	prints "calls of $library on a shared fabric" 1 '^all hold$' calls_of $library
done
