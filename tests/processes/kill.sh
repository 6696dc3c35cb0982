#!/bin/sh
# Processes are killed at any moment, some with the fabric's lock, while another is answered again and
# again: all its answers are right. ROUNDS: so often it is, each way.
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
client=$top/examples/pair/client
needs "$server"
needs "$client"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# survive FABRIC: the server and the survivor end as they should
survive() {
	DATSIM_FABRIC=$1
	DATSIM_TRACE=$scratch/$1.trace
	export DATSIM_FABRIC DATSIM_TRACE
	"$datsim" fabric create "$1" || return 1
	timeout 600 "$server" 2 > server 2>&1 &
	serves=$!
	timeout 600 "$client" localhost "${ROUNDS:-10000}" > survivor 2>&1 &
	survives=$!
	killed=0
	while kill -0 $survives 2> noise; do
		killed=$((killed + 1))
		rm -f victim
		"$client" localhost 100000000 > victim 2>&1 &
		victim=$!
		# Mostly it is killed once it is connected: how long that takes depends on the machine.
		[ $((killed % 4)) = 0 ] || until [ -s victim ] || ! kill -0 $serves 2> noise; do sleep 0.005; done
		sleep "0.0$((killed * 7 % 3))"
		kill -9 $victim
		wait $victim 2> noise
		if grep -v connected victim; then
			return 1
		fi
	done
	# The second client is the last: the server outlives all victims.
	wait $survives && "$client" localhost 1 && wait $serves && "$datsim" fabric destroy "$1"
}

# told FABRIC: what they say of it; processes were found to be gone
told() {
	cat server survivor
	grep -qx "${ROUNDS:-10000} answers" survivor && grep -qE ' answers, 2 clients, [1-9]' server &&
		grep -q 'note process .* is gone' "$1.trace"
}

echo 1..6
holds "the survivor is answered to the end" survive direct
holds "all answers are right" told direct
DATSIM_COPY=bounce
export DATSIM_COPY
holds "so it is where payload goes through the arena" survive bounce
holds "all answers are right there" told bounce
unset DATSIM_FABRIC DATSIM_COPY DATSIM_TRACE

# Nobody is left to see to anything.
DATSIM_FABRIC=left "$server" 1 > server &
dies=$!
until "$datsim" fabric show left 2> noise | grep -q waiting; do sleep 0.01; done
kill -9 $dies
wait $dies 2> noise
holds "a fabric that all died on is listed" sh -c '"$1" fabric list | grep -q "^left  *0 processes"' - "$datsim"
holds "and can be ended" "$datsim" fabric destroy left
