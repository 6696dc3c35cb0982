#!/bin/sh
# Long messages between processes, of which both ends copy a part: one may be late, fail or die.
. "$(dirname "$0")/../datsim/begin.sh"
split=$top/tests/processes/stream/split
needs "$split"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

echo 1..2
# Where a process cannot write to another one's memory, there is nothing to divide.
divided() {
	DATSIM_FABRIC=split "$split" > told
	status=$?
	cat told
	[ $status = 77 ] && grep -q '^skipped: ' told || return $status
}
holds "each arrives whole, or not at all if an end dies" divided
holds "nothing is left" [ -z "$(ls -A datsim)" ]
