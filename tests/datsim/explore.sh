#!/bin/sh
# datsim explore of scripts: it finds planted bugs, shrinks them, and prints a command that replays
# them.
. "$(dirname "$0")/begin.sh"
planted=${top_srcdir:-$here/../..}/tests/planted
cd "$scratch" || exit 99
cp "$planted"/*.dsim .
runs=1000
again='2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20'
nm "$datsim" | grep -q __asan_init && again='2 3'

# replays STATUS: runs the printed replay command twenty times; each run must exit with STATUS.
replays() {
	command=$(sed -n 's/^replay:   datsim //p' out)
	[ -n "$command" ] || return 1
	# shellcheck disable=SC2086
	"$datsim" $command > first
	[ $? -eq "$1" ] && grep -q '^not ok 1' first || return 1
	for _ in $again; do
		# shellcheck disable=SC2086
		"$datsim" $command > again
		[ $? -eq "$1" ] && cmp first again || return 1
	done
}
short() { [ "$(wc -l < "$1")" -le 15 ]; }
has_fault() { grep -qE '^(fault|link) ' "$1"; }
holds_without() {
	grep -vE '^(fault|link) ' "$1" > without.dsim
	"$datsim" test without.dsim
}
# The printed script equals the file.
printed() { sed -n 's/^  //p' out | head -n "$(wc -l < "$1")" | cmp - "$1"; }

echo 1..72
for bug in event-order one-packet flush watermark credits memory; do
	code=1
	[ $bug = memory ] && code=3 # a checker finds that
	# Some editors write a byte order mark in front.
	[ $bug = one-packet ] && printf '\357\273\277' | cat - "$planted/$bug.dsim" > $bug.dsim
	expect $code 'shrunk to [0-9]+ lines?' explore --seed 1 --runs $runs $bug.dsim
	holds "$bug: at most 15 lines" short $bug.shrunk.dsim
	holds "$bug: it has a fault" has_fault $bug.shrunk.dsim
	holds "$bug: without the fault the script passes" holds_without $bug.shrunk.dsim
	holds "$bug: the printed script equals the file" printed $bug.shrunk.dsim
	holds "$bug: fails again, 20 times of 20" replays $code
done
expect 0 "^clean.dsim: $runs schedules of seed 1 hold" explore --seed 1 --runs $runs clean.dsim
printf %s "$(grep -v '^end' clean.dsim)" > open.dsim
expect 0 '^open.dsim: 40 schedules of seed 1 hold' explore --seed 1 --runs 40 open.dsim
holds "its last line does not end" [ "$(wc -l < open.dsim)" -lt "$(grep -c '' open.dsim)" ]

# A schedule depends only on the seed and its number, not on the process that runs it or on the
# first one.
expect 1 'schedule [0-9]+ of seed 5 fails' explore --seed 5 --runs $runs credits.dsim
number=$(sed -n 's/.*: schedule \([0-9]*\) of seed 5 fails.*/\1/p' out)
cp credits.shrunk.dsim whole.dsim
holds "the report says which packet each fault hit" grep -qE \
	'^  line [0-9]+, at [0-9.]+ us: [A-Z_]+ #[0-9]+ from [ab].ep to [ab].ep: ' out
holds "a diagram is kept beside the script" grep -q '<svg' credits.shrunk.svg
holds "the packets, too" [ -s credits.shrunk.pcapng ]
expect 0 '^credits.shrunk.trace: the same again' replay credits.shrunk.trace
expect 1 "schedule $number of seed 5 fails, after 0 " explore --seed 5 --first "$number" --runs 1 \
	credits.dsim
holds "run alone, the schedule shrinks to the same script" cmp credits.shrunk.dsim whole.dsim
share=$((number % 3 + 1))
expect 1 "schedule $number of seed 5 fails" explore --seed 5 --shard $share/3 --out third.dsim \
	credits.dsim
holds "a third of the schedules finds the same script" cmp third.dsim whole.dsim
expect 1 "schedule $number of seed 5 fails, after $number " explore -j 2 --seed 5 --runs $runs \
	--out two.dsim credits.dsim
holds "two schedules at a time find the same script" cmp two.dsim whole.dsim
expect 1 "schedule $number of seed 5 fails, after $number " explore --seed 5 --runs $runs \
	--out counted.dsim --json counted.json credits.dsim
expect 0 "^clean.dsim: $runs schedules of seed 1 hold" explore -j 3 --runs $runs clean.dsim
# On a terminal it shows its progress. Some containers have no pseudo-terminals.
if script -qec true typescript < /dev/null > /dev/null 2>&1; then
	script -qec "'$datsim' explore --seconds 1 clean.dsim" typescript < /dev/null > /dev/null
	holds "a line of progress" grep -qaE '[0-9]+ schedules, [0-9]+ a second' typescript
	script -qec "'$datsim' explore -j 2 --seconds 1 clean.dsim" typescript < /dev/null > \
		/dev/null
	holds "a line of progress with -j" grep -qaE '[0-9]+ schedules, [0-9]+ a second' \
		typescript
else
	n=$((n + 2))
	reason="script(1) cannot open a terminal here"
	echo "ok $((n - 1)) - a line of progress # SKIP $reason"
	echo "ok $n - also where others do the work # SKIP $reason"
fi
expect 0 ' schedules of seed 1 hold' explore -j 2 --seconds 1 clean.dsim

# If a script opens its adapters itself, explore cannot set their links before.
expect 0 ': 300 schedules of seed 1 hold' explore --runs 300 \
	"${top_srcdir:-$here/../..}/tests/scripts/connect/from-nothing.dsim"

# Afterwards the fabric must become quiet.
cat > busy.dsim << 'END'
fabric rnr_retry=7 rnr_timer=100ms
use connected a@emu0 b@emu1
    a: dat_ep_post_send(ep, 1)
END
expect 4 'does not become quiet' explore --runs 5 busy.dsim

# Lines that do not matter go one by one, too.
cat > late.dsim << 'END'
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) x6
       b: dat_evd_dequeue(async) = DAT_QUEUE_EMPTY
       a: dat_ep_post_send(ep, 64) x6
       b: dat_pz_create(ia) -> other
+20us  note "time for all of them"
       b: event recv DTO_COMPLETION x6
       b: dat_pz_free(other)
END
expect 1 'shrunk to 6 lines' explore --faults drop --runs 300 late.dsim
holds "no line is left that does not matter" \
	sh -c '! grep -E "dequeue|_pz_" late.shrunk.dsim'

# Faults that break connections are used only on request; then a script that expects a message
# fails.
expect 0 'hold' explore --faults delay,reorder --runs 100 clean.dsim
expect 1 'fault link .* (down|dead|drop|nak)' explore --faults break --runs 100 clean.dsim
cat > survives.dsim << 'END'
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64)
       a: dat_ep_post_send(ep, 64)
end quiet
END
expect 0 '^survives.dsim: 500 schedules' explore --faults all,break --runs 500 survives.dsim
expect 2 'faults wants kinds .* of drop, .*, got .lost.' explore --faults lost clean.dsim

cat > wrong.dsim << 'END'
use adapter a@emu0
    a: dat_pz_query(pz) -> {ia_handle=pz}
END
expect 1 'nothing was explored' explore wrong.dsim
printf '# Failure: gave other values\n' | cat - wrong.dsim > must.dsim
expect 2 'is to fail' explore must.dsim
echo 'use adapter' > bad.dsim
expect 2 'bad.dsim:1:12: expected an actor' explore bad.dsim
expect 2 'nonesuch.dsim: No such file' explore nonesuch.dsim
expect 2 'shard wants I/N, .*, got .4/3.' explore --shard 4/3 clean.dsim
expect 2 'runs wants a whole number from 1 to [0-9]+, got .many.' explore --runs many clean.dsim
ln -s nowhere/x taken.dsim # so it cannot be written, although its folder can
expect 1 'cannot write taken.dsim' explore --out taken.dsim --runs $runs event-order.dsim

# Ctrl-C and the like end explore with a summary, from which it goes on.
ended() {
	timeout -s "$1" --foreground 0.5 env --default-signal=INT "$datsim" explore $jobs \
		--shard 2/3 --seconds 60 clean.dsim > out 2>&1
	[ $? = 124 ] &&
		grep -qE 'asked to end: [1-9][0-9]* schedules? ha(s|ve) ended, and none has' out &&
		grep -qE '^datsim explore: to go on .* --first [1-9][0-9]*$' out
}
jobs=
holds "SIGINT ends it, with a summary" ended INT
jobs='-j 2'
holds "SIGTERM ends it and its workers, with a summary" ended TERM
