#!/bin/sh
# A process is stopped while it holds the fabric's lock, before some of the stores that it makes
# then: one that waits for a bounded time gets errors, one without a bound goes on later. STOPS:
# before so many stores; 0: all. ./check --full does all of them (campaign.sh).
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
stop=$top/tests/processes/stop
needs "$server"
needs "$stop"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# stopped COUNT SEED
stopped() {
	if [ "${STOPS:-$1}" = 0 ]; then
		"$stop" "$server"
	else
		"$stop" "$server" "${STOPS:-$1}" "$2"
	fi
}

echo 1..3
holds "a stopped holder of the lock does not stop the others" stopped 16 1
DATSIM_COPY=bounce
export DATSIM_COPY
holds "nor where payload goes through the arena" stopped 6 2
unset DATSIM_COPY
DATSIM_LOCKSTEP=50
export DATSIM_LOCKSTEP
holds "nor where they take turns" stopped 6 3
