#!/bin/bash
# The Check suites of threads on the device of tests/stubverbs, without a kernel and in real time.
# fabric.sh runs the others on the fabric. deviations.tsv in this folder names each test that needs
# the simulation, and what this device does otherwise, and why. TAP.
# shellcheck disable=SC2034
kind=stub like=rxe device=stub0
. "$top_srcdir/tests/passthrough/run.sh"

# The runtime of AddressSanitizer insists on being the first library of the process. A compiler that
# links it into programs (clang) has no library of it.
runtime=$(LD_LIBRARY_PATH=$build/tests/stubverbs ldd "$build/tests/stubverbs/librdmacm.so.1" |
	awk '$1 ~ /^lib[at]san\./ { print $3 }')

# on_device COMMAND...: the stub in place of libibverbs, librdmacm and getifaddrs
on_device() {
	timeout 300 env LD_LIBRARY_PATH="$build/tests/stubverbs" \
		LD_PRELOAD="$runtime $build/tests/stubverbs/librdmacm.so.1" \
		DAT_HW_MODULE="$build/passthrough/.libs/passthrough.so" "$@"
}

run_all 'test_threads*'
