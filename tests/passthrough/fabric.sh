#!/bin/bash
# The same as suites.sh on the devices of the simulated fabric, by this project's own libibverbs and
# librdmacm: the passthrough on a NIC whose data path, connections and errors are those of verbs.
# TAP.
# shellcheck disable=SC2034
kind=fabric like=none device=emu0
. "$top_srcdir/tests/passthrough/run.sh"

if [ ! -e "$build/verbs/.libs/libibverbs.so.1" ]; then
	echo "1..0 # SKIP built without the libibverbs of the fabric"
	exit 0
fi

# A fabric of its own, in lockstep: time is virtual, so no test waits for a clock, and two runs are
# the same. A Send without a Receive ends after three retries, instead of never.
on_device() {
	timeout 300 env LD_LIBRARY_PATH="$build/verbs/.libs" DATSIM_VERBS=emu DAT_HW_RNR_RETRY=3 \
		DATSIM_FABRIC="fabric-sh-$BASHPID" DATSIM_LOCKSTEP=2000 \
		LD_PRELOAD="$build/verbs/.libs/libdat-turns.so" \
		ASAN_OPTIONS="verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
		DAT_HW_MODULE="$build/passthrough/.libs/passthrough.so" "$@"
}

run_all
echo "1..$n"
