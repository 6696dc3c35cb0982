#!/bin/sh
# Mistakes in command lines and in the environment: what datsim says, and that it says it at once.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99

printf "use adapter a@emu0\n    a: dat_pz_query(pz)\n" > good.dsim
cp /bin/true program
echo 1..14

# A program where a script is wanted.
expect 2 "^program: expected a script, found a program: .datsim run -- program. runs it" \
	explore program
expect 2 "^# program: expected a script, found a program" test program

# A program that cannot be started has an error of its own, and is not one without a library.
started() { ! "$datsim" run -- "$@" 2>&1 | grep -q "nothing was tested"; }
chmod 644 good.dsim
expect 127 "datsim: ./nonesuch exits with 127" run -- ./nonesuch
holds "which is no program that opened no adapter" started ./nonesuch
holds "nor is a file that is none" started ./good.dsim

# A node has its name behind -- or +.
expect 2 "^datsim run: --node is for one program, behind -- or [+]" run --node x ./program
expect 2 "^datsim explore: --node is for one program" explore --node x ./program
expect 2 "^datsim show: unknown option --node" show --node x
expect 2 "^datsim run: expected --node NAME PROGRAM" run ./program + --node
expect 2 "^datsim run: expected --node NAME PROGRAM" run ./program + --node + ./program

# A schedule that fails may take hours to find: the file for it is tried before.
expect 2 "^datsim explore: --out nowhere/x.dsim cannot be written: No such file" \
	explore --out nowhere/x.dsim good.dsim

# Each variable, with a letter too many; and a name that is near to none.
misspelt() {
	for name in $("$datsim" info | grep -o "^  DATSIM_[A-Z_]*"); do
		env "${name}X=1" "$datsim" info 2>&1 > info.out | grep -F "did you mean $name?" ||
			return
	done
}
holds "a note says which variable was meant" misspelt
env DATSIM_LATENCY=7 "$datsim" test good.dsim > out 2> errors
holds "a name of which the unit is missing is recognised, too" \
	grep -q "DATSIM_LATENCY, which has no effect; did you mean DATSIM_LATENCY_NS[?]" errors
holds "a variable of the user stays without one" sh -c "! env DATSIM_HOME=/tmp DATSIM_SEED=1 \
	\"$datsim\" test good.dsim 2>&1 | grep note"
