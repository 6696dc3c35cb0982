#!/bin/sh
# Nonsense is written into the arena of processes that exchange messages, and of processes that
# join: they get errors, and neither crash nor hang. ARENAS: the number of arenas of each kind.
# ./check --full runs more of them (campaign.sh).
. "$(dirname "$0")/../datsim/begin.sh"
hostile=$top/tests/processes/hostile
needs "$hostile"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

echo 1..4
holds "no process crashes or hangs" "$hostile" "${ARENAS:-15}" 1
DATSIM_COPY=bounce
export DATSIM_COPY
holds "nor where payload goes through the arena" "$hostile" "${ARENAS:-10}" 1000
unset DATSIM_COPY
DATSIM_LOCKSTEP=50
export DATSIM_LOCKSTEP
holds "nor where they take turns" "$hostile" "${ARENAS:-10}" 2000
holds "nothing is left" [ -z "$(ls -A datsim)" ]
