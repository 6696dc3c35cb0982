#!/bin/sh
# Each word of the arena of two processes that exchange verified data is set to 0, 1, its maximum,
# its own index, its neighbour's index and its neighbour's word, some 2,900 times in all, chosen by
# a seed: they get errors, and neither die, nor stay in a call, nor write where they must not. The
# processes use uDAPL, then libibverbs and librdmacm.
# WORDS=0: every word and every value, in each way (campaign.sh); ARENA_SEED: another choice.
# ARENA_ROWS: a file that gets a row of doc/results/arena.md for each way.
. "$(dirname "$0")/../datsim/begin.sh"
needs "$top/tests/processes/arena"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99
seed=${ARENA_SEED:-1}

# sweep WAY WORDS: $program sets so many words.
sweep() {
	holds "$program $1" "$top/tests/processes/$program" "${WORDS:-$2}" "$seed"
	seed=$((seed + 1))
	[ -n "$ARENA_ROWS" ] || return 0
	counts='s/^# \(.*\) words set, \(.*\) without effect; \(.*\) pairs$/\1 | \2 | \3/p'
	echo "| $program | $1 | $(sed -n "$counts" said) | $(grep -c '^# the ' said) |" \
		>> "$ARENA_ROWS"
}

# sweep_ways WORDS: in real time, and half as many in each other way.
sweep_ways() {
	sweep "in real time" "$1"
	DATSIM_COPY=bounce
	export DATSIM_COPY
	sweep "where payload goes through the arena" $(($1 / 2))
	unset DATSIM_COPY
	DATSIM_LOCKSTEP=50
	DATSIM_TRACE=$scratch/trace
	export DATSIM_LOCKSTEP DATSIM_TRACE
	sweep "in lockstep, traced" $(($1 / 2))
	DATSIM_FAULTS='packets=ACK nth=1000000000 verdict=drop'
	export DATSIM_FAULTS
	sweep "where each packet is observed" $(($1 / 2))
	unset DATSIM_LOCKSTEP DATSIM_TRACE DATSIM_FAULTS
}

echo 1..9
program=arena
sweep_ways 1000
program=arena_verbs
if [ -x "$top/tests/processes/arena_verbs" ]; then
	sweep_ways 120
else
	for n in 5 6 7 8; do echo "ok $n - $program # SKIP librdmacm is not built"; done
fi
holds "nothing is left" [ -z "$(ls -A datsim)" ]
