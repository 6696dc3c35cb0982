#!/bin/sh
# All of datsim's scripts in one process, for `make check-valgrind`: most of a run under valgrind is
# its start and the leak check at its end. $DSIM_TESTS names the scripts. TAP, a line a script.
datsim=$top_builddir/tools/datsim/datsim
if [ ! -x "$datsim" ]; then
	echo "Bail out! tools/datsim/datsim is not built"
	exit 1
fi
cd "$top_srcdir" || exit 99
eval "exec $DATSIM_WRAPPER \"\$datsim\" test $DSIM_TESTS"
