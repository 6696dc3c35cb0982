#!/bin/sh
# datsim explore of programs: it finds planted bugs, shrinks them and prints a command that replays
# them; it reports nothing about the same programs without the bug. RUNS: schedules of each correct
# program. Under AddressSanitizer forks are slow, so all counts are smaller.
. "$(dirname "$0")/begin.sh"
planted=$top/tests/planted
behaves=$top/tests/datsim/behaves
needs "$planted/credit"
needs "$behaves"
needs "$planted/hostile/udapl"
cd "$scratch" || exit 99
ulimit -c 0
unset UBSAN_OPTIONS
runs=${RUNS:-200}
again='2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20'
if nm "$planted/double-free" | grep -q __asan_init; then
	runs=${RUNS:-20}
	again='2 3'
fi

# replays STATUS: runs the printed replay command twenty times; exit status and report must not
# change.
once() {
	(eval "$command") > whole 2>&1
	[ $? -eq "$1" ] && sed -n '/^datsim: /,$p' whole
}
replays() {
	command=$(sed -n 's/^replay: *//p' out | sed "s|datsim run|'$datsim' run|")
	once "$1" > first && [ -s first ] || return 1
	for _ in $again; do
		once "$1" > again && cmp first again || return 1
	done
}
short() { [ "$(wc -l < "$1")" -le 15 ] && [ -s "$1" ]; }
# The printed script, which ends with an empty line, equals the file.
printed() {
	sed -n '/shrunk to/,/^replay:/p' out | sed '1,2d; /^$/,$d; s/^  //' | cmp - "$1"
}

# finds BUG STATUS HOW OPTIONS...
finds() {
	bug=$1
	code=$2
	how=$3
	shift 3
	expect 0 'left +nothing' run "$planted/$bug"
	expect "$code" "schedule [0-9]+ of seed 1 $how.*shrunk to [0-9]+ lines?" \
		explore -j 2 --seconds 60 "$@" -- "$planted/$bug"
	cp out "$bug.out"
	[ "$code" = 4 ] && code=134 # a replay ends a deadlocked program by abort()
	holds "$bug: at most 15 lines" short "$bug.shrunk.dsim"
	holds "$bug: the printed script equals the file" printed "$bug.shrunk.dsim"
	holds "$bug: fails again, 20 times of 20" replays "$code"
	holds "$bug: its trace, diagram and packets are kept" beside "$bug.shrunk"
	expect 0 "$runs schedules of seed 1 hold" explore -j 2 --runs "$runs" "$@" -- \
		"$planted/$bug-fixed"
}
# They are those of the failing run; both ways to the packets agree on their number.
beside() {
	"$datsim" replay "$1.trace" && grep -q '<svg' "$1.svg" &&
		"$datsim" show --pcapng again.pcapng "$1.trace" && cmp "$1.pcapng" again.pcapng
}
# The parts of a report, from its title to an empty line
section() { sed -n "/^$1:\$/,/^\$/p" out; }

echo 1..126
finds credit 1 'exits with 1'
finds rearm 1 'exits with 1'
finds reset 4 'is stuck'
finds two-ways 1 'exits with 1'
if nm "$planted/double-free" | grep -q __asan_init; then
	finds double-free 99 'exits with 99'
else
	finds double-free 134 'is ended by signal 6'
fi
finds flush 4 'is stuck' --faults all,break
expect 0 "$runs schedules of seed 1 hold" explore --runs "$runs" -- "$planted/flush"

# An adapter of iWARP completes a Write that is not at its target yet.
DATSIM_PROFILE=iwarp
export DATSIM_PROFILE
expect 1 'schedule [0-9]+ of seed 1 exits with 1.*shrunk to 1 line:' explore --runs 20 \
	--faults hostile -- "$planted/hostile/udapl" delivered
holds "an early completion is all it takes" grep -qx 'fabric complete=sent' \
	udapl.shrunk.dsim
expect 0 '20 schedules of seed 1 hold' explore --runs 20 --faults hostile -- \
	"$planted/hostile/udapl" delivered fixed
unset DATSIM_PROFILE

cp reset.out out
waits() {
	section 'where it is' > it
	sed -n 2p it | grep -qE '^  dat_evd_wait on emu0.evd3, fed by emu0.ep1' &&
		grep -qE '^  since [0-9.]+ us: emu1: ' it
}
holds "what it waits for, and since when" waits
takes() {
	sed -n '/^what it takes, by [0-9]* more runs:$/,/^$/s/^  //p' out > takes
	grep -qE '^[0-9]+ other lines of the schedule can be left out$' takes &&
		grep -q '^line 1: in place of corrupt, drop does it, too; dup.* does not$' takes &&
		grep -q '^line 2: in place of emu1>emu0, emu0>emu1 does not do it$' takes &&
		grep -qE '^line 1: the first one from any time up to [0-9]+us on ' takes &&
		grep -q '^the seed does not matter: seed=2, ' takes
}
holds "what it takes" takes
hits() {
	section 'what the faults hit' > hit
	grep -cE '^  line [12], at [0-9.]+ us: ACK #1 from emu1.ep1 to emu0.ep1: ' hit | grep -qx 2
}
holds "each fault hit one packet" hits
rows() { [ "$(section 'the end of the timeline' | sed '1,3d; $d' | wc -l)" -eq 15 ]; }
holds "the end of the timeline has 15 rows" rows

# The ways in which a program can end; each needs a schedule that changes the latency.
ends() {
	code=$1
	says=$2
	how=$3
	shift 3
	expect "$code" "$says" explore --runs 50 "$@" -- "$behaves" "$how"
}
replay_says() { grep -qE "^replay: +$1" out; }
alone() { [ "$(sed -n 's/^  //p' out | head -n 1)" = "$(cat behaves.shrunk.dsim)" ]; }
ends 0 '50 schedules of seed 1 hold' well
ends 7 'exits with 7' fail
holds "the script has only the latency" grep -qE '^fabric latency=[0-9]+ns$' \
	behaves.shrunk.dsim
holds "the script has only that line" alone
quoted() { grep -q '^it said:' out; }
holds "a program that says nothing is not quoted" eval '! quoted'
cp out first
ends 7 'exits with 7' fail -j 2
holds "two runners find the same schedule" cmp out first
number=$(sed -n 's/.*: schedule \([0-9]*\) of seed 1.*/\1/p' out)
ends 7 "schedule $number of seed 1 exits with 7, after 0 that hold" fail --first "$number" --out \
	other.dsim
holds "--out names the file" cmp other.dsim behaves.shrunk.dsim
share=$((number % 3 + 1))
ends 7 "schedule $number of seed 1 exits with 7" fail --shard $share/3
ends 134 'is ended by signal 6' crash
ends 3 'leaves 2 objects \(emu0.ia1 emu0.evd1\)' leave
ends 4 'is stuck \(dat_evd_wait on emu0.evd1 waits forever' wait
holds "a replay of a deadlock ends" replay_says 'DATSIM_STUCK=abort datsim run --script'
ends 4 'hangs' spin --hang 0.2
holds "a replay of a program that hangs ends" replay_says 'datsim run --hang 0.2 --script'
ends 4 'hangs' sleep --hang 0.02
expect 0 'has 2 threads when it opens its fabric: it is started anew' explore --runs 3 -- \
	"$behaves" threads
holds "then its schedules pass" grep -q '3 schedules of seed 1 hold' out
expect 0 'leaves 2 objects .* without any fault: the objects that it leaves are not a failure' \
	explore --runs 3 -- env DATSIM_LATENCY_NS=5 "$behaves" leave

# A program that goes round: what it repeats is told, and does not fill the trace.
cp "$planted/rearm-round" .
expect 4 'hangs \(over [0-9]+,000 times .*ASYNC_SRQ_LOW_WATERMARK.*; no message moved since' \
	explore --first 24 --hang 0.2 -- ./rearm-round
small() { [ "$(wc -c < rearm-round.shrunk.trace)" -lt 200000 ]; }
holds "the trace has the beginning of it only" eval 'small &&
	grep -q "note no message moves any more: the same goes on" rearm-round.shrunk.trace'
holds "the timeline shows what was before" eval 'section "the end of the timeline" |
	grep -q " RECV 64 B"'
expect 4 '^  over [0-9]+,000 times .*set_lw.*; no message moved since [0-9.]+ us' \
	run --hang 0.2 --trace round.trace --script rearm-round.shrunk.dsim -- ./rearm-round
holds "it is said by whom it was ended" grep -q '^datsim: ended after 0.2 seconds (--hang)' out
expect 0 'the same again' replay rearm-round.shrunk.trace
# Without --hang it goes on, but says so, and what was the same all the time leaves the trace.
mkfifo fifo
goes_on() {
	(exec env --default-signal=INT "$datsim" run --trace round.trace \
		--script rearm-round.shrunk.dsim -- ./rearm-round) 2> fifo &
	pid=$!
	{ read -r first && kill -"$1" $pid && cat; } < fifo > out
	wait $pid
	[ $? = "$2" ] &&
		echo "$first" | grep -qE '^datsim run: it goes round: over [0-9]+,000 times '
}
said() {
	grep -qx 'datsim: ended by a signal: it goes round:' out &&
		grep -qE '^  over [0-9]+,000 times .*set_lw.*; no message moved since' out &&
		[ "$(wc -c < round.trace)" -lt 200000 ]
}
holds "run without --hang says that a program goes round" goes_on INT 130
holds "and, once it is ended, what it repeats" said
holds "by SIGTERM, too" eval 'goes_on TERM 143 && said'
expect 2 'hang wants seconds from 0.01 to 3600, got .long.' run --hang long -- true

# A program that cannot be forked where it opens its fabric is started again for each schedule: here
# all forks share the offset of one file.
printf a > file
expect 0 'cannot go on twice from where it opens its fabric' explore --runs 3 -- \
	sh -c "exec '$behaves' read 9 9< file"
cat > slow.sh << 'END'
#!/bin/sh
"$behaves" well
[ "${DATSIM_LATENCY_NS:-0}" -lt 20000 ] || exit 9
END
export behaves
chmod +x slow.sh
expect 9 'slow.sh opens no fabric itself: it is started anew' explore --runs 200 -- ./slow.sh
holds "the script has only the latency" grep -qE '^fabric latency=[0-9]+ns$' slow.sh.shrunk.dsim

# Asked to end when the failure is short, while it is repeated: only then a file is its stderr.
cat > asks.sh << 'END'
#!/bin/sh
[ -z "$DATSIM_LATENCY_NS" ] || [ ! -f /proc/self/fd/2 ] || kill -TERM "$(cat tool)"
exec "$behaves" fail
END
chmod +x asks.sh
asked_late() {
	env --default-signal=INT sh -c 'echo $$ > tool; exec "$@"' - "$datsim" explore \
		--runs 50 -- ./asks.sh > out 2>&1
	status=$?
	cat out
	[ $status = 7 ] && grep -q 'shrunk to 1 line:$' out && grep -q '^replay: ' out &&
		! grep -q 'asked to end' out
}
holds "asked to end after it has shrunk a failure, it has that failure's status" asked_late

# A program that fails without a schedule is not explored.
expect 3 'exits with 3 without any fault: nothing was explored' explore -- sh -c 'exit 3'
expect 137 'is ended by signal 9 \(Killed\) without any fault' explore -- sh -c 'kill -9 $$'
expect 127 'nonesuch: No such file' explore -- ./nonesuch
expect 126 'round.trace: Permission denied' explore -- ./round.trace
expect 2 'opened no simulated adapter: nothing was explored' explore -- true
expect 2 'expected one script, or' explore --out x --
expect 127 'exits with 127 without any fault: nothing was explored' explore -- ./nonesuch
expect 2 'hang wants seconds from 0.01 to 3600, got .long.' explore --hang long -- true
ln -s nowhere/x taken.dsim # so it cannot be written, although its folder can
expect 7 'cannot write taken.dsim' explore --runs 50 --out taken.dsim -- "$behaves" fail
export DATSIM_FABRIC=shared
expect 2 'DATSIM_FABRIC is set' explore -- "$behaves"
unset DATSIM_FABRIC
export DAT_PROVIDER=hw
expect 2 'DAT_PROVIDER=hw: programs are explored on emu' explore -- "$behaves"
unset DAT_PROVIDER
expect 0 '^[^ ]*srq_server: 50 schedules of seed 1 hold$' explore -j 2 --runs 50 -- \
	"$top/examples/srq_server"
expect 0 '^[^ ]*rpc: 50 schedules of seed 1 hold$' explore -j 2 --runs 50 -- \
	"$top/examples/rpc/rpc" both
expect 0 '^[^ ]*cluster: 50 schedules of seed 1 hold$' explore -j 2 --runs 50 -- \
	"$top/examples/cluster/cluster" 8

# What a run leaves behind ends with it, whether the program is forked or started anew.
cat > leaves.sh << 'END'
#!/bin/sh
"$behaves" well
sleep 1000 > /dev/null &
echo $! >> left
END
none_left() {
	[ "$(wc -l < left)" -ge 3 ] || return 1
	# They have been killed, which may take a moment. A zombie is of no matter.
	for _ in $(seq 2000); do
		live=
		for pid in $(cat left); do
			! grep -q '^State:.*[RSD] ' "/proc/$pid/status" 2> /dev/null || live=yes
		done
		[ "$live" ] || return 0
	done
	return 1
}
expect 0 '3 schedules of seed 1 hold' explore --runs 3 -- sh leaves.sh
holds "children of a run do not outlive it" none_left

# The names in its trace are none that a script can have, so no schedule of it can be read.
cat > renames.sh << END
#!/bin/sh
"$behaves" well
sed -i 's/emu0\\./emu-0./g' "\$DATSIM_TRACE"
END
expect 2 "schedule [0-9]+ of seed 1 cannot be run: schedule:[0-9]+:[0-9]+: " explore --runs 50 \
	--faults loss -- sh renames.sh
silent() { ! grep -qE ' holds?$' out; }
holds "a schedule that cannot be read does not hold" silent
expect 2 'cannot be run' explore --runs 50 --store broken --faults loss -- sh renames.sh
holds "nor in a campaign" silent

# A shell script that hangs ends with its children, but not those of a shell that became datsim.
cat > wraps.sh << 'END'
#!/bin/sh
"$behaves" sleep &
echo $! > inner
wait
END
hangs() {
	sh -c "sleep 1000 > /dev/null & echo \$! > helper
		DATSIM_LATENCY_NS=5 exec '$datsim' run --hang 0.02 -- sh wraps.sh" 2>&1
	[ $? = 4 ] && kill "$(cat helper)" && ! kill -0 "$(cat inner)"
}
holds "children of a program that hangs end with it, and no others" hangs

# On a terminal: how far it is, and what it does beside running schedules.
progress() {
	TERM=${kind:-xterm} script -qec "stty cols ${columns:-80}; exec '$datsim' $*" /dev/null \
		< /dev/null | tr '\r' '\n' > seen
}
progress explore --seconds 1 -- "$behaves" well
holds "progress: number, rate, failures and time left" grep -qE \
	'^[0-9]+ schedules, [0-9]+ a second, 0 failed, [01] s left' seen
columns=30
progress explore --seconds 1 -- "$behaves" well
unset columns
esc=$(printf '\033')
holds "it fits a narrow terminal, whose lines would stay if they were folded" eval \
	'grep -E "^[0-9]+ schedules, [0-9]+ a sec" seen && ! grep -E "^[0-9].{29}[^$esc]*$esc" seen'
kind=dumb
progress explore --seconds 1 -- "$behaves" well
unset kind
holds "there is none on a terminal that has no way to overwrite it" eval \
	'grep "schedules of seed 1 hold" seen && ! grep "$esc\|a second" seen'
progress explore --first 24 --hang 0.2 -- ./rearm-round
holds "it goes on while a failure is shortened" grep -qE \
	'^a failure is shortened: [0-9]+ runs?, [0-9]+ lines? left' seen
holds "one run and one line are not told as several" eval \
	'! grep -E "(^|[^0-9])1 (runs|lines|schedules)" seen'

# The traces of runs are in memory, if there is room, or in a folder that TMPDIR names.
mkdir tmp
cat > where.sh << 'END'
#!/bin/sh
echo "$DATSIM_TRACE" >> where
exec "$behaves" well
END
chmod +x where.sh
# kept WHERE COMMAND...: a schedule of where.sh has its trace where the expression says.
kept() {
	rm -f where
	where=$1
	shift
	"$@" "$datsim" explore --runs 3 -- ./where.sh > out 2>&1 || return 1
	cat where
	[ "$(grep -cE "$where" where)" = "$(grep -c . where)" ] && [ -s where ]
}
memory=/tmp
[ "$(df --output=fstype /dev/shm | tail -n 1)" != tmpfs ] ||
	[ "$(df --output=avail /dev/shm | tail -n 1)" -lt $((257 * 1024 * $(nproc))) ] ||
	memory=/dev/shm
holds "traces of schedules are in memory" kept "^$memory/datsim-[^/]*/trace[0-9]+$" env -u TMPDIR
holds "traces are in TMPDIR if it is set" kept "^$scratch/tmp/datsim-[^/]*/trace[0-9]+$" \
	env TMPDIR="$scratch/tmp"

# unread COMMAND...: with a pipe for its output whose reader has gone
mkfifo reader
unread() {
	: < reader &
	exec 4> reader
	wait $!
	env --default-signal=PIPE TMPDIR="$scratch/tmp" "$@" >&4 2> out < /dev/null
	status=$?
	exec 4>&-
	cat out
	ls -A tmp
	[ -z "$(ls -A tmp)" ]
}
holds "explore ends and removes the traces if nothing reads what it finds" eval \
	'unread "$datsim" explore --runs 100000 --faults all,break --store unread -j 2 -- \
		"$planted/reset" && [ $status = 141 ] && grep -q "was asked to end" out'
holds "nor does a script whose reader has gone run on" eval \
	'unread "$datsim" explore --runs 10000000 --store unread \
		"$here/../planted/event-order.dsim" && [ $status = 141 ]'

# small COMMAND...: with a /dev/shm that has no room for the longest trace, as in a container
small() {
	# shellcheck disable=SC2016
	unshare -rm sh -c 'mount -t tmpfs -o size=16m tmpfs /dev/shm && exec "$@"' - "$@"
}
if small true 2> noise; then
	holds "traces are in /tmp if /dev/shm is small" kept "^/tmp/datsim-[^/]*/trace[0-9]+$" \
		small env -u TMPDIR
else
	cannot "no file system can be mounted" "traces are in /tmp if /dev/shm is small"
fi

# A program that has no rights over this tool, in a user namespace of its own.
if unshare -r true 2> noise; then
	expect 0 'hold$' explore --runs 5 -- unshare -r "$behaves" well
else
	cannot "no user namespaces" "a program in a user namespace of its own"
fi

# A run that opens no adapter has no trace.
cat > late.sh << 'END'
#!/bin/sh
[ "${DATSIM_SEED:-0}" -lt 20000 ] || exit 3
"$behaves" well &
wait $!
END
chmod +x late.sh
untraced='script:   late.sh.shrunk.dsim \(the run left no trace\)'
unset TMPDIR
expect 3 "$untraced" explore --runs 60 -- ./late.sh
TMPDIR=$scratch/tmp
export TMPDIR
expect 3 "$untraced" explore --runs 60 -- ./late.sh

# What asks explore to end ends the run, too, and leaves no folder.
gone() { ! kill -0 "$(cat pid)"; }
cat > ends.sh << 'END'
#!/bin/sh
"$behaves" well
[ "$1" = first ] || [ "${DATSIM_LATENCY_NS:-0}" -ge 20000 ] || exit 0
echo $$ > pid
kill -"$2" $PPID
exec sleep 60
END
chmod +x ends.sh
expect 143 'asked to end: 0 schedules have begun, and none' explore -- ./ends.sh first TERM
holds "the run has ended" gone
holds "nothing stays in TMPDIR" [ -z "$(ls tmp)" ]
expect 130 'asked to end: 0 schedules have begun' explore -- ./ends.sh first INT
expect 143 'asked to end: [1-9][0-9]* schedules? ha(s|ve) begun' explore --runs 200 -- \
	./ends.sh later TERM
holds "that run has ended, too" gone
holds "it says how to go on" grep -qE '^datsim explore: to go on .* --first [1-9][0-9]*$' out
# The schedule that it names is the one that was not over: it is asked to end there again.
first=$(sed -n 's/.*to go on .* --first //p' out)
expect 143 'asked to end: 1 schedule has begun' explore --first "$first" --runs 1 -- \
	./ends.sh later TERM
