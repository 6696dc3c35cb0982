#!/bin/sh
# The first messages of a connection between two processes come after ESTABLISHED, on one EVD for
# both. How the processes copy payload is DATSIM_COPY. First the order of events is forced; then
# CONNECTIONS connections are made beside LOAD busy processes (./check --full: many of both).
. "$(dirname "$0")/../../datsim/begin.sh"
first=$top/tests/processes/order/first
needs "$first"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# passes COPY ARGS...
passes() {
	copy=$1
	shift
	DATSIM_COPY=$copy DATSIM_FABRIC=first timeout 600 "$first" "$@"
}

echo 1..8
for copy in direct bounce; do
	holds "ESTABLISHED_comes_before_the_first_Receives: $copy" passes $copy plain
	holds "ESTABLISHED_comes_before_the_first_Receives_of_an_SRQ: $copy" passes $copy srq
done

many=${CONNECTIONS:-50}
load=${LOAD:-4}
busy=
while [ "$load" -gt 0 ]; do
	load=$((load - 1))
	(while :; do :; done) &
	busy="$busy $!"
done
# shellcheck disable=SC2064 # those that run now
[ -z "$busy" ] || trap "kill $busy; rm -rf '$scratch'" EXIT
for copy in direct bounce; do
	holds "and so it is under load: $copy" passes $copy plain "$many"
	holds "and so it is of an SRQ under load: $copy" passes $copy srq "$many"
done
