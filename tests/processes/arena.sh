#!/bin/sh
# Each word of the arena of two processes that exchange verified data is set to 0, 1, its maximum,
# its own index, its neighbour's index and its neighbour's word, 2,500 times in all, chosen by a
# seed: they get errors, and neither die, nor stay in a call, nor write where they must not.
# WORDS=0: every word and every value, in each way (campaign.sh); ARENA_SEED: another choice.
. "$(dirname "$0")/../datsim/begin.sh"
arena=$top/tests/processes/arena
needs "$arena"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99
seed=${ARENA_SEED:-1}

echo 1..5
holds "in real time" "$arena" "${WORDS:-1000}" "$seed"
DATSIM_COPY=bounce
export DATSIM_COPY
holds "where payload goes through the arena" "$arena" "${WORDS:-500}" "$((seed + 1))"
unset DATSIM_COPY
DATSIM_LOCKSTEP=50
DATSIM_TRACE=$scratch/trace
export DATSIM_LOCKSTEP DATSIM_TRACE
holds "in lockstep, traced" "$arena" "${WORDS:-500}" "$((seed + 2))"
DATSIM_FAULTS='packets=ACK nth=1000000000 verdict=drop'
export DATSIM_FAULTS
holds "where each packet is observed" "$arena" "${WORDS:-500}" "$((seed + 3))"
holds "nothing is left" [ -z "$(ls -A datsim)" ]
