#!/bin/sh
# The parity program on the emulator must give the answers kept here, which are those that devices
# are compared with.
parity=$top_builddir/tests/parity/parity
answers=$(mktemp) || exit 99
trap 'rm -f "$answers"' EXIT

echo 1..1
"$parity" emu0 emu1 > "$answers" 2>&1
if diff "$top_srcdir/tests/parity/emulator.txt" "$answers" > "$answers.diff"; then
	echo "ok 1 - the emulator answers as tests/parity/emulator.txt has it"
else
	echo "not ok 1 - the emulator answers as tests/parity/emulator.txt has it"
	sed 's/^/#   /' "$answers.diff"
fi
rm -f "$answers.diff"
