#!/bin/sh
# Long messages between processes, of which both ends copy a part: one may be late, fail or die.
. "$(dirname "$0")/../datsim/begin.sh"
split=$top/tests/processes/stream/split
needs "$split"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

echo 1..2
holds_or_skips "each arrives whole, or not at all if an end dies" env DATSIM_FABRIC=split "$split"
holds "nothing is left" [ -z "$(ls -A datsim)" ]
