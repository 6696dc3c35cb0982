#!/bin/sh
# A process is stopped while it holds the fabric's lock, before some of the stores that it makes
# then: one that waits for a bounded time gets errors, one without a bound goes on later. STOPS:
# before so many stores; all: before every one, as ./check --full does. Most of a stop is waiting,
# so PARTS fabrics of their own are tried side by side then. PAGE: a table of that goes there.
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
stop=$top/tests/processes/stop
needs "$server"
needs "$stop"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# stopped HOW COUNT SEED
stopped() {
	how=$1
	shift
	if [ "${STOPS:-}" = all ]; then
		every "$how" "${PARTS:-12}"
	else
		"$stop" "$server" "${STOPS:-$1}" "$2"
	fi
}

# every HOW PARTS: all of them come to their ends; the sum of what they did is said
every() {
	parts=
	failed=0
	for i in $(seq "$2"); do
		"$stop" "$server" part "$i" "$2" > "part$i" 2>&1 &
		parts="$parts $!"
	done
	for part in $parts; do
		wait "$part" || failed=$((failed + 1))
	done
	stops=$(sed -n 's/.*ok 1 - stopped before \([0-9]*\) of.*/\1/p' part* |
		awk '{ sum += $1 } END { print sum + 0 }')
	echo "stopped before $stops stores"
	grep '^#\|^not ok' part*
	[ -z "${PAGE:-}" ] || echo "| $how | $stops | $failed |" >> "$PAGE"
	rm -f part*
	[ $failed = 0 ] && [ "$stops" -gt 0 ]
}

# The parts of a run end at the first stop that goes wrong.
begin_page() {
	cat > "$PAGE" << 'END'
# A process stopped at each holding of the lock

Made by `STOPS=all tests/processes/stop.sh`, which `./check --full` runs. A process is stopped
before each store that it makes into the arena of a shared fabric while it holds the fabric's lock,
from its first call to its last. Each time one process beside it waits for 0.4 s, leaves the fabric
with errors, and comes back once the stop is over; another one waits without a bound and loses
nothing. The stopped process is killed, or continues and lives on without an error. Nothing of it is
left in the arena. Of some moments there are more or fewer in each life, so the number of stores is
not the same in each run. Twelve processes do a twelfth of the stores each, and end at the first
that goes wrong.

| payload, time | stores | processes that ended early |
|---|--:|--:|
END
}

[ -z "${PAGE:-}" ] || begin_page
echo 1..3
holds "a stopped holder of the lock does not stop the others" \
	stopped "by the kernel, real time" 16 1
DATSIM_COPY=bounce
export DATSIM_COPY
holds "nor where payload goes through the arena" stopped "through the arena, real time" 6 2
unset DATSIM_COPY
DATSIM_LOCKSTEP=50
export DATSIM_LOCKSTEP
holds "nor where they take turns" stopped "by the kernel, in turns" 6 3
