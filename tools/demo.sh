#!/bin/sh
# The story of the low watermark, told by datsim: demo.sh BUILD_DIR. ./demo builds and calls this.
here=$(cd "$(dirname "$0")/.." && pwd)
datsim=${1:?usage: demo.sh BUILD_DIR}/tools/datsim/datsim
if [ ! -x "$datsim" ]; then
	echo "demo.sh: there is no $datsim" >&2
	exit 1
fi
COLUMNS=${COLUMNS:-80} # where there is no terminal
export COLUMNS
echo
echo "datsim test --show doc/demo.dsim: two adapters on a simulated fabric, in virtual"
echo "time, without RDMA hardware. Counts of the shared receive queue S: its size, the"
echo "buffers that are available, and those that were posted and are not reaped yet."
echo
"$datsim" test --show "$here/doc/demo.dsim" || exit
echo
echo "The same as a test, with every expectation of the script checked:"
"$datsim" test "$here/doc/demo.dsim" | sed 's|- .*/doc/|- doc/|'
cat << 'END'

What else there is to see:
  ./demo pair       a verbs client and server: explored, a bug found and drawn
  doc/tutorial.md   from the first script to thousands of schedules
  build/demo/tools/datsim/datsim shell
                    type calls, see what they do
END
