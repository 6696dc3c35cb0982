#!/bin/sh
# Processes are killed, before some of the stores they make into the arena and at any moment: a
# server and another client go on, all that the dead had comes back. They use uDAPL, then libibverbs
# and librdmacm. KILLS: at so many moments, each way; STORES: before so many of the stores. ./check
# --full does all of them (campaign.sh).
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
client=$top/examples/pair/client
die=$top/tests/processes/die
needs "$server"
needs "$client"
needs "$die"
undo=$top/tests/processes/undo
needs "$undo"
ages=$top/tests/processes/ages
needs "$ages"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

echo 1..18
holds "killed before a store" "$die" "$server" stores "${STORES:-120}"
holds "killed at any moment" "$die" "$server" random "${KILLS:-100}"
DATSIM_COPY=bounce
export DATSIM_COPY
holds "before a store, where payload goes through the arena" \
	"$die" "$server" stores "${STORES:-60}" 2
holds "at any moment there" "$die" "$server" random "${KILLS:-100}" 2
unset DATSIM_COPY
holds "a death is seen within 100 ms" "$die" "$server" notice 11
# half: a message arrives whole or not at all, and no message of another process is lost.
half() {
	DATSIM_FABRIC=half "$undo"
}
holds_or_skips "before each store of a Send, which is whole or not there" half
# noted: the same, traced; a message that comes has the lines that say so, and no other has.
noted() {
	DATSIM_TRACE=$scratch/noted.trace
	export DATSIM_TRACE
	half
	status=$?
	unset DATSIM_TRACE
	[ $status = 0 ] || return $status
	complete=$(grep -c ' complete op=RECV status=SUCCESS ' noted.trace)
	reaped=$(grep -c ' reap op=RECV status=SUCCESS ' noted.trace)
	echo "$complete complete, $reaped reaped"
	[ "$complete" -gt 0 ] && [ "$complete" = "$reaped" ]
}
holds_or_skips "and so are its lines" noted
# A survivor tells processes, adapters and connections that used the same entry apart.
holds_or_skips "before each store of an opening: no generation goes back" \
	env DATSIM_FABRIC=old "$ages"
die_verbs=$top/tests/processes/die_verbs
# verbs TITLE ARGS...: of libibverbs and librdmacm
verbs() {
	title="$1, a program of verbs"
	shift
	if [ -x "$die_verbs" ]; then
		holds "$title" "$die_verbs" - "$@"
	else
		n=$((n + 1))
		echo "ok $n - $title # SKIP librdmacm is not built"
	fi
}
verbs "before a store" stores $((${STORES:-120} / 2))
verbs "at any moment" random $((${KILLS:-100} / 4))
DATSIM_COPY=bounce
export DATSIM_COPY
verbs "before a store, where payload goes through the arena" stores $((${STORES:-120} / 6)) 2
unset DATSIM_COPY
# Fewer, because a process killed in its turn stops all others until its death is noticed.
DATSIM_LOCKSTEP=50
export DATSIM_LOCKSTEP
holds "before a store, where they take turns" "$die" "$server" stores $((${STORES:-120} / 6)) 3
verbs "before a store, where they take turns" stores $((${STORES:-120} / 20)) 3
holds "at any moment of a turn" "$die" "$server" random $((${KILLS:-100} / 20)) 3
unset DATSIM_LOCKSTEP

# told: the trace names the process that died
told() {
	"$datsim" fabric create traced || return 1
	DATSIM_FABRIC=traced DATSIM_NODE=ghost "$server" 1 > server &
	dies=$!
	until "$datsim" fabric show traced 2> noise | grep -q waiting; do sleep 0.01; done
	kill -9 $dies
	wait $dies 2> noise
	"$datsim" fabric destroy traced && grep -q 'note process .*, ghost, is gone' told.trace
}
DATSIM_TRACE=$scratch/told.trace
export DATSIM_TRACE
holds "the trace says who died" told
unset DATSIM_TRACE

# No process is left that could clean the fabric up.
DATSIM_FABRIC=left "$server" 1 > server &
dies=$!
until "$datsim" fabric show left 2> noise | grep -q waiting; do sleep 0.01; done
kill -9 $dies
wait $dies 2> noise
holds "a fabric that all died on is listed" \
	sh -c '"$1" fabric list | grep -q "^left  *0 processes"' - "$datsim"
holds "and can be ended" "$datsim" fabric destroy left
holds "nothing is left of any" [ -z "$(ls -A datsim)" ]
