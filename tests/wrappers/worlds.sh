#!/bin/sh
# The same calls in other worlds: on a fabric that other processes may share, where objects lie in
# shared memory, and each test of the two programs is a process that joins it; on devices of link
# layer Ethernet; and, those of librdmacm, on RNICs.
. "$(dirname "$0")/../verbs/begin.sh"
[ -e "$libs/librdmacm.so.1" ] || skip "librdmacm is not built"
export FUZZ_ROUNDS=8

# calls_of LIBRARY SETTING
calls_of() {
	env "$2" "$top_builddir/tests/wrappers/test_fuzz_$1" && echo all hold
}

echo 1..5
for library in verbs rdmacm; do
	prints "calls of $library on a shared fabric" 1 '^all hold$' \
		calls_of $library "DATSIM_FABRIC=wrappers.$$"
	prints "calls of $library on Ethernet" 1 '^all hold$' \
		calls_of $library DATSIM_LINK_LAYER=ethernet
done
prints "calls of rdmacm on RNICs" 1 '^all hold$' calls_of rdmacm DATSIM_PROFILE=iwarp
