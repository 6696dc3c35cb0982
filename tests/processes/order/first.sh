#!/bin/sh
# The first messages of a connection between two processes come after ESTABLISHED, on one EVD for
# both. How the processes copy payload is DATSIM_COPY.
. "$(dirname "$0")/../../datsim/begin.sh"
first=$top/tests/processes/order/first
needs "$first"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

passes() {
	DATSIM_COPY=$1 DATSIM_FABRIC=first timeout 600 "$first" "$2"
}

echo 1..4
for copy in direct bounce; do
	holds "ESTABLISHED_comes_before_the_first_Receives: $copy" passes $copy plain
	holds "ESTABLISHED_comes_before_the_first_Receives_of_an_SRQ: $copy" passes $copy srq
done
