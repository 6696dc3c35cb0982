#!/bin/sh
# Run one script, as `make check` does: run-datsim.sh SCRIPT. The wrapper, if any, is valgrind.
datsim=$top_builddir/tools/datsim/datsim
if [ ! -x "$datsim" ]; then
	echo "Bail out! tools/datsim/datsim is not built"
	exit 1
fi
eval "exec $DATSIM_WRAPPER \"\$datsim\" test \"\$1\""
