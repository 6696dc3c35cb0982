#!/bin/sh
# instructions.sh [BUILD-DIR]: instructions of a message, and of a schedule of datsim explore, as
# callgrind counts them. TAP.
#
# Each case runs for N and for 2N rounds; the difference is exactly N rounds, without the cost of
# starting, connecting and ending. The counts do not depend on the load of the machine: a second run
# must give the same number.
build=${1:-${top_builddir:-.}}
bench=$build/bench/bench_message

most_one=641    # instructions a message, one pair, one outstanding
most_verbs=681  # the same over libibverbs
most_calls=651  # of which in its four calls: without the instructions of the program itself
most_window=634 # the same, 64 outstanding
most_traced=1072 # as most_one, with a trace in memory
most_shared=1308 # as most_one, in a fabric that processes may share
most_lines=2160  # as most_shared, traced
most_kind=1.8    # a Send of another kind beside the ordinary one, between processes
most_percent=3  # difference between 1,000 or 4,000 pairs and one
most_idle=2048  # bytes of an idle connected pair
most_many=1.5   # a message between 1,024 adapters beside one of a pair
most_queue=2.5  # an event beside 100,000 pending ones and beside 1,000
most_schedule=210000 # a schedule of the smallest script that moves a message

if [ ! -x "$bench" ]; then
	echo "1..0 # SKIP bench/bench_message is not built"
	exit 0
fi
if ! command -v valgrind > /dev/null; then
	echo "1..0 # SKIP valgrind is not installed"
	exit 0
fi

# count PROGRAM ARGS: instructions of the whole program
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 |
		sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

# total CASE SIDE ROUNDS: of bench_message
total() {
	count "$bench" "$@"
}

# total_verbs ROUNDS: of the same job over libibverbs on the fabric: all instructions, and those of
# the program's own code
total_verbs() {
	LD_LIBRARY_PATH=$build/verbs/.libs valgrind --tool=callgrind \
		--callgrind-out-file="$work/verbs" "$build/bench/bench_verbs" "$1" number 2>&1 |
		sed -n 's/.*Collected : \([0-9]*\).*/\1/p' | tr '\n' ' '
	callgrind_annotate --threshold=100 "$work/verbs" | awk '/bench_verbs\.[ch]:/ {
		gsub(",", "", $1); own += $1 } END { print own + 0 }'
}

# per_message CASE SIDE ROUNDS MESSAGES-PER-ROUND: with one decimal
per_message() {
	short=$(total "$1" "$2" "$3")
	long=$(total "$1" "$2" $((2 * $3)))
	[ -n "$short" ] && [ -n "$long" ] || return
	echo $(((10 * (long - short) / ($3 * $4) + 0))) | sed 's/.$/.&/'
}

n=0
# verdict TITLE CONDITION: CONDITION is an awk expression
verdict() {
	n=$((n + 1))
	if awk "BEGIN { exit !($2) }"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
	fi
}

skip() {
	n=$((n + 1))
	echo "ok $n # SKIP the verbs front or its benchmark is not built"
}

# per_free UNREAPED: to create and free an Endpoint while its EVD holds completions of another
per_free() {
	short=$(total free "$1" 20)
	long=$(total free "$1" 120)
	[ -n "$short" ] && [ -n "$long" ] && echo $(((long - short) / 100))
}

# name, rounds of a run, messages of a round, title
cases='one 2000 1 one outstanding
window 2048 1 64 outstanding
many 3 1000 1,000 pairs, one outstanding
more 2 4000 4,000 pairs, one outstanding'

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
echo "1..17"
echo "# instructions a message     library   floor   ratio"
echo "$cases" | while read -r name rounds messages title; do
	library=$(per_message "$name" library "$rounds" "$messages")
	again=$(per_message "$name" library "$rounds" "$messages")
	floor=$(per_message "$name" floor "$rounds" "$messages")
	echo "${library:-0}" > "$work/$name"
	echo "${again:-0}" > "$work/$name.again"
	echo "$title ${library:-0} ${floor:-1}" | awk '{
		floor = $NF; library = $(NF - 1); NF -= 2
		printf "# %-27s%8.1f%8.1f%8.2f\n", $0, library, floor, library / floor }'
done
one=$(cat "$work/one") many=$(cat "$work/many") window=$(cat "$work/window")
more=$(cat "$work/more")

verdict "one outstanding: $one instructions, at most $most_one" "$one > 0 && $one <= $most_one"
verdict "64 outstanding: $window instructions, at most $most_window" \
	"$window > 0 && $window <= $most_window"
verdict "1,000 pairs: $many instructions, within $most_percent % of one pair's $one" \
	"$one > 0 && $many <= $one * (1 + $most_percent / 100) && \
	$many >= $one * (1 - $most_percent / 100)"
traced=$(per_message one traced 2000 1)
verdict "one outstanding, traced: ${traced:-?} instructions, at most $most_traced" \
	"${traced:-0} > 0 && ${traced:-0} <= $most_traced"
echo "# one outstanding, traced    ${traced:-?}"

# shared SIDE: of a message of a shared fabric whose one process has both ends, so that each poll
# finds one. Its helper, a thread of its own, is not counted.
shared() {
	short=$(shared_total "$1" 2000)
	long=$(shared_total "$1" 4000)
	[ -n "$short" ] && [ -n "$long" ] && echo $(((long - short) / 2000))
}
shared_total() {
	DATSIM_FABRIC=message XDG_RUNTIME_DIR=$work valgrind --tool=callgrind \
		--toggle-collect=library_run --callgrind-out-file=/dev/null \
		"$bench" one "$1" "$2" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
direct=$(shared library) lines=$(shared traced)
echo "# in a shared fabric         ${direct:-?}, traced ${lines:-?}"
verdict "in a shared fabric: ${direct:-?} instructions, at most $most_shared" \
	"${direct:-0} > 0 && ${direct:-0} <= $most_shared"
verdict "in a shared fabric, traced: ${lines:-?} instructions, at most $most_lines" \
	"${lines:-0} > 0 && ${lines:-0} <= $most_lines"
for name in one window many more; do
	cmp -s "$work/$name" "$work/$name.again" || echo "# $name: the second run differs"
done > "$work/differ"
cat "$work/differ"
verdict "the same numbers a second time" "$(wc -l < "$work/differ") == 0"
few=$(per_free 16) all=$(per_free 2016)
verdict "an Endpoint made and freed beside 2,016 unreaped completions: ${all:-?} instructions, \
within $most_percent % of ${few:-?} beside 16" \
	"${few:-0} > 0 && ${all:-0} > 0 && ${all:-0} <= ${few:-0} * (1 + $most_percent / 100)"
idle=$("$bench" idle 1000 4000)
verdict "idle connected pair: ${idle:-?} bytes, at most $most_idle" \
	"${idle:-0} > 0 && ${idle:-0} <= $most_idle"

verdict "4,000 pairs: $more instructions, within $most_percent % of one pair's $one" \
	"$one > 0 && $more <= $one * (1 + $most_percent / 100) && \
	$more >= $one * (1 - $most_percent / 100)"

# spread ADAPTERS PARTNERS: instructions of a message, each adapter with so many partners
spread() {
	short=$(count "$bench" adapters "$1" "$2" 2)
	long=$(count "$bench" adapters "$1" "$2" 4)
	[ -n "$short" ] && [ -n "$long" ] && echo $(((long - short) / ($1 * $2 * 2)))
}
spread=$(spread 1024 2)
verdict "1,024 adapters: ${spread:-?} instructions a message, at most $most_many of $one" \
	"${spread:-0} > 0 && ${spread:-0} <= $one * $most_many"

# added FIRST: to connect 100 more pairs beside so many
added() {
	short=$(count "$bench" setup "$1")
	long=$(count "$bench" setup $(($1 + 100)))
	[ -n "$short" ] && [ -n "$long" ] && echo $(((long - short) / 100))
}
first=$(added 100) last=$(added 10000)
verdict "a pair set up beside 10,000: ${last:-?} instructions, within $most_percent % of \
${first:-?} beside 100" \
	"${first:-0} > 0 && ${last:-0} > 0 && ${last:-0} <= ${first:-0} * (1 + $most_percent / 100)"

# event PENDING: to take one off the queue and queue another
event() {
	short=$(count "$build/bench/bench_queue" "$1" 10000)
	long=$(count "$build/bench/bench_queue" "$1" 30000)
	[ -n "$short" ] && [ -n "$long" ] && echo $(((long - short) / 20000))
}
few=$(event 1000) all=$(event 100000)
verdict "an event beside 100,000: ${all:-?} instructions, at most $most_queue of ${few:-?} \
beside 1,000" "${few:-0} > 0 && ${all:-0} > 0 && ${all:-0} <= ${few:-0} * $most_queue"

if [ -e "$build/verbs/.libs/librdmacm.so.1" ] && [ -x "$build/bench/bench_verbs" ]; then
	# short, its own; long, its own
	# shellcheck disable=SC2046
	set -- $(total_verbs 2000) $(total_verbs 4000)
	verbs=$(((${3:-0} - ${1:-0}) / 2000))
	own=$(((${4:-0} - ${2:-0}) / 2000))
	printf '# %-27s%6d    its four calls %d, at most %d\n' "libibverbs, one outstanding" \
		"$verbs" $((verbs - own)) "$most_calls"
	verdict "libibverbs, one outstanding: $verbs instructions, at most $most_verbs" \
		"$verbs > 0 && $verbs <= $most_verbs"
	verdict "libibverbs, its four calls: $((verbs - own)) instructions, at most $most_calls" \
		"$own > 0 && $own < $verbs && $verbs - $own <= $most_calls"
else
	skip
	skip
fi

# kind NAME MESSAGES: of a message of that kind of Send on a fabric that processes may share, with
# so many in a round
kind() {
	short=$(kind_total "$1" 500)
	long=$(kind_total "$1" 1500)
	[ -n "$short" ] && [ -n "$long" ] && echo $(((long - short) / 1000 / $2))
}
kind_total() {
	LD_LIBRARY_PATH=$build/verbs/.libs DATSIM_FABRIC=message XDG_RUNTIME_DIR=$work valgrind \
		--tool=callgrind --toggle-collect=run_kind --callgrind-out-file=/dev/null \
		"$build/bench/bench_kinds" "$2" "$1" 2>&1 |
		sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
if [ -e "$build/verbs/.libs/librdmacm.so.1" ] && [ -x "$build/bench/bench_kinds" ]; then
	ordinary=$(kind ordinary 1)
	worst=0
	for name in unsignaled inline solicited segments list:8 batch inline-batch; do
		count=$(kind "${name%:*}" "$(echo "$name:1" | cut -d: -f2)")
		echo "# ${name%:*}: ${count:-no figure}, ordinary $ordinary"
		[ "${count:-999999}" -le "$worst" ] || worst=${count:-999999}
	done
	verdict "the dearest kind of Send between processes: $worst instructions, at most \
$most_kind of $ordinary" "${ordinary:-0} > 0 && $worst <= ${ordinary:-0} * $most_kind"
else
	skip
fi

# schedules RUNS: of datsim explore, in an empty environment and with an empty dat.conf. Of more
# memory, a kernel before 6.11 lists its mappings (emu/pages.h).
schedules() {
	env -i PATH="$PATH" DAT_OVERRIDE="$work/dat.conf" valgrind --tool=callgrind \
		--callgrind-out-file=/dev/null "$build/tools/datsim/datsim" explore \
		--runs "$1" "$work/smallest.dsim" 2>&1 |
		sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
: > "$work/dat.conf"
cat > "$work/smallest.dsim" << 'END'
use connected a@emu0 b@emu1 memory=64K
       b: dat_ep_post_recv(ep, 64)
       a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION length=64
*      a: event request DTO_COMPLETION
end quiet
END
short=$(schedules 200) long=$(schedules 400)
schedule=$(((${long:-0} - ${short:-0}) / 200))
echo "# a schedule                 $schedule"
verdict "the smallest schedule of datsim explore: $schedule instructions, at most $most_schedule" \
	"$schedule > 0 && $schedule <= $most_schedule"
