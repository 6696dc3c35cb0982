#!/bin/sh
# datsim run: programs as they are, what they are told, what is said of them, what they exit with.
. "$(dirname "$0")/begin.sh"
forgets=$top/tests/datsim/forgets
needs "$forgets"
cd "$scratch" || exit 99
TMPDIR=$scratch/tmp
mkdir tmp
export TMPDIR

echo 1..24
expect 0 'left +nothing' run -- "$top/examples/srq_server"
expect 0 '800 RECV, .*12 ASYNC_SRQ_LOW_WATERMARK' run "$top/examples/srq_server"
expect 0 '400 replies verified' run --quiet "$top/examples/srq_server"
holds "quiet says nothing of its own" sh -c '! grep -q simulated out'
expect 0 'trace +one.trace' run --trace one.trace --seed 7 "$top/examples/srq_server"
expect 0 'trace +two.trace' run --trace two.trace --seed 7 "$top/examples/srq_server"
holds "run twice, the traces are the same" cmp one.trace two.trace
holds "the seed is in the trace" grep -q '^# seed=7$' one.trace
expect 0 'left +nothing' run --trace three.trace --profile iwarp "$top/examples/srq_server"
holds "so is the profile" grep -q '^# profile=iwarp$' three.trace
expect 5 'left +nothing' run "$forgets" emu0 close
expect 5 'left +emu0.ia1, emu0.pz1, emu0.evd2' run "$forgets" emu0 forget
expect 137 'was ended by signal 9' run --trace dead.trace "$forgets" emu0 die
holds "one that was killed left its trace" grep -q 'emu0.pz1 create' dead.trace
expect 5 'refused +dat_evd_resize' run "$forgets" emu0 close
expect 3 'there is no adapter "ib0"' run "$forgets" ib0 close
expect 5 'left +nothing' run --alias ib0=emu0 "$forgets" ib0 close
expect 2 'no such option, or not with that value' run --alias ib0 "$forgets" ib0 close
expect 0 'opened no simulated adapter' run true
expect 127 'nonesuch: No such file' run nonesuch
expect 126 'Permission denied' run "$scratch/one.trace"
expect 2 'expected a program' run --
holds "nothing stays in TMPDIR" [ -z "$(ls tmp)" ]
TMPDIR=/nowhere
expect 99 'cannot make a folder' run ls
