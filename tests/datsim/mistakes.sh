#!/bin/sh
# Mistakes in command lines and in the environment: what datsim says, and that it says it at once.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99

printf "use adapter a@emu0\n    a: dat_pz_query(pz)\n" > good.dsim
cp /bin/true program
echo 1..2

# A program where a script is wanted.
expect 2 "^program: expected a script, found a program: .datsim run -- program. runs it" \
	explore program
expect 2 "^# program: expected a script, found a program" test program
