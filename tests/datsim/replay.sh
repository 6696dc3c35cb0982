#!/bin/sh
# datsim replay: runs the command that a trace names, and compares the traces.
. "$(dirname "$0")/begin.sh"
forgets=$top/tests/datsim/forgets
needs "$forgets"
cd "$scratch" || exit 99
TMPDIR=$scratch/tmp
mkdir tmp
export TMPDIR

# replays STATUS PATTERN TRACE
replays() {
	"$datsim" replay "$3" > out 2>&1 < /dev/null
	status=$?
	cat out
	[ $status -eq "$1" ] && grep -qE -e "$2" out
}

# header LINE TRACE
header() {
	grep -vE '^[0-9]' "$2"
	grep -qxF -e "$1" "$2"
}

cp "$here/../../doc/demo.dsim" "it's one.dsim"
cat > fails.dsim << 'END'
use adapter a@emu0
    a: dat_pz_query(pz) -> {ia_handle=pz}
END

echo 1..31
"$datsim" test --seed 7 --trace a.trace "it's one.dsim" > /dev/null
holds "a script's trace names the command" \
	header "# command=datsim test --seed 7 'it'\\''s one.dsim'" a.trace
holds "a script's trace names the script" header "# script=it's one.dsim" a.trace
holds "a second run gives an equal file" replays 0 '^a.trace: the same again, [0-9]+ lines$' a.trace
holds "settings of the environment do not matter" \
	env DATSIM_LATENCY_NS=77 DATSIM_SEED=3 DATSIM_MTU=256 "$datsim" replay a.trace
DATSIM_LATENCY_NS=5000 "$datsim" test --trace knob.trace fails.dsim > /dev/null
holds "knobs are part of the command" \
	header '# command=DATSIM_LATENCY_NS=5000 datsim test fails.dsim' knob.trace
holds "a failing script fails again" replays 0 'the same again' knob.trace

# named NAME TITLE WORD: the trace of a script of that name gives it as WORD, and replays
named() {
	cp -- "it's one.dsim" "$1"
	"$datsim" test --trace named.trace -- "$1" > /dev/null
	holds "a name with $2 is on one line of the header" \
		header "# command=datsim test $3" named.trace
	holds "and replays" replays 0 'the same again' named.trace
}
named 'größe.dsim' 'letters of UTF-8' "'größe.dsim'"
named "$(printf 'two\nlines it'\''s \\.dsim')" 'a newline' \
	"\$'two\\012lines it\\047s \\134.dsim'"
named -a.dsim 'a dash before it' ./-a.dsim
named "$(printf 'gr\366\337e.dsim')" 'letters of Latin-1' "\$'gr\\366\\337e.dsim'"

sed 's/bytes=64 /bytes=65 /' a.trace > b.trace
holds "another trace: the line is shown" replays 1 '^b.trace:[0-9]+: another trace' b.trace
holds "the old line of the trace" grep -q '^  then: .* bytes=65 ' out
holds "the new line of the trace" grep -q '^  now:  .* bytes=64 ' out
head -n 40 a.trace > cut.trace
holds "a shorter trace" replays 1 '^cut.trace:41: another trace' cut.trace
holds "the end of the shorter trace is shown" grep -q '^  then: (the end)$' out
printf 'use adapter a@emu0\n    a: dat_pz_create(ia) -> pz2\n' > fails.dsim
holds "a changed script" replays 1 'another trace' knob.trace
rm fails.dsim
holds "a removed script" replays 2 'run again, it left no trace' knob.trace

"$datsim" run --quiet --trace p.trace --seed 9 -- "$top/examples/srq_server"
holds "a program's trace names it" header \
	"# command=datsim run --seed 9 -- $top/examples/srq_server" p.trace
holds "the replay gives the same trace" replays 0 'p.trace: the same again' p.trace
"$datsim" run --quiet --trace dead.trace "$forgets" emu0 die
holds "the trace of a program that was killed replays" replays 0 'dead.trace: the same again' \
	dead.trace

# As on a full disk.
{
	echo 'libdat trace 1'
	echo "# command=datsim run -- sh -c ': > \"\$DATSIM_TRACE\"'"
	echo '0 emu0.ia1 create'
} > full.trace
holds "an empty trace is no other one" replays 2 'run again, it left no trace' full.trace

DATSIM_TRACE=own.trace DATSIM_RETRY=3 "$forgets" emu0 close
holds "a trace made without datsim: how to repeat it" \
	replays 2 'DATSIM_PROFILE=ib DATSIM_SEED=1 DATSIM_RETRY=3 DATSIM_TRACE=new.trace' own.trace
sed 's/^# command=.*/# command=touch owned/' a.trace > evil.trace
holds "another command is not run" replays 2 "none of datsim's" evil.trace
sed 's/^# command=.*/# command=datsim test --trace owned x.dsim/' a.trace > evil.trace
holds "a command that writes another file is not run" replays 2 "none of datsim's" evil.trace
sed 's/^# command=.*/# command=datsim test --junit=owned x.dsim/' a.trace > evil.trace
holds "in whichever way it is written" replays 2 "none of datsim's" evil.trace
holds "neither command was run" [ ! -e owned ]
holds "nothing stays in TMPDIR" [ -z "$(ls tmp)" ]
