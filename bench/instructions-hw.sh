#!/bin/sh
# instructions-hw.sh [BUILD-DIR]: instructions of a 64-byte message on the passthrough, counted by
# callgrind. TAP.
#
# The device is that of tests/stubverbs, whose cost is minimal. The same job is also counted over
# bare verbs and, if installed, over Debian's DAPL: the difference to bare verbs is the cost of a
# layer. Each call is counted with everything that it calls. A program is one end of a message: it
# posts once and dequeues once. The limit of 120 instructions above bare verbs applies to one end.
build=${1:-${top_builddir:-.}}
build=$(cd "$build" && pwd) || exit 99
source=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
stub=$build/tests/stubverbs

wanted_end=120 # instructions above bare verbs, of either end
most_both=220  # of both together
rounds=1000
steps="step_post_send step_take_send step_post_recv step_take_recv"

if [ ! -x "$build/bench/bench_verbs" ] || [ ! -e "$stub/librdmacm.so.1" ]; then
	echo "1..0 # SKIP built without the passthrough"
	exit 0
fi
if ! command -v valgrind > /dev/null; then
	echo "1..0 # SKIP valgrind is not installed"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# in_steps FILE: from a callgrind file, the inclusive cost of each step that run_steps calls
in_steps() {
	awk '/^fn=/ { inside = ($0 == "fn=run_steps" || $0 ~ / run_steps$/) }
		/^fn=\([0-9]+\) / { name[substr($1, 4)] = $2; inside = $2 == "run_steps" }
		/^fn=\([0-9]+\)$/ { inside = name[substr($1, 4)] == "run_steps" }
		/^cfn=\([0-9]+\) / { name[substr($1, 5)] = $2 }
		/^cfn=/ { called = name[substr($1, 5)] }
		/^calls=/ {
			if (inside && (getline line) > 0) {
				split(line, field, " ")
				cost[called] += field[2]
			}
		}
		END { for (called in cost) print called, cost[called] }' "$1"
}

# per_step NAME PROGRAM ARGS...: instructions of each step, into $work/NAME. The difference of N and
# 2N rounds excludes the work that only the first calls do.
per_step() {
	name=$1
	shift
	for n in $rounds $((2 * rounds)); do
		LD_LIBRARY_PATH=$stub LD_PRELOAD=$stub/librdmacm.so.1 valgrind --tool=callgrind \
			--callgrind-out-file="$work/out.$n" --toggle-collect=run_steps "$@" "$n" \
			> "$work/log" 2>&1 || return
		in_steps "$work/out.$n" > "$work/steps.$n"
	done
	awk -v rounds="$rounds" 'NR == FNR { first[$1] = $2; next }
		{ printf "%s %d\n", $1, ($2 - first[$1]) / rounds + 0.5 }' \
		"$work/steps.$rounds" "$work/steps.$((2 * rounds))" > "$work/$name"
}

conf() {
	for adapter in emu0 emu1; do
		echo "$adapter $1 nonthreadsafe default $2 \"\""
	done
}

per_step bare "$build/bench/bench_verbs"

conf u1.2 'libdat.so.1 dapl.1.2 "stub0"' > "$work/libdat.conf"
DAT_PROVIDER=hw DAT_OVERRIDE=$work/libdat.conf \
	DAT_HW_MODULE=$build/passthrough/.libs/passthrough.so \
	per_step libdat "$build/bench/bench_message" one steps

if no_dapl=$(sh "$source/bench/bench_dat2.sh" "$work/bench_dat2"); then
	conf u2.0 'libdaplofa.so.2 dapl.2.0 "192.0.2.1 0"' > "$work/dapl.conf"
	DAT_OVERRIDE=$work/dapl.conf per_step dapl "$work/bench_dat2"
	no_dapl="it did not run on the stub"
fi

# numbers NAME: the cost of the four calls, of each end, of both; nothing if one is missing
numbers() {
	[ -s "$work/$1" ] || return
	# shellcheck disable=SC2086
	awk -v steps="$steps" '{ cost[$1] = $2 }
		END {
			split(steps, step, " ")
			for (i = 1; i <= 4; i++)
				if (!(cost[step[i]] > 0)) exit
			sender = cost[step[1]] + cost[step[2]]
			receiver = cost[step[3]] + cost[step[4]]
			print cost[step[1]], cost[step[2]], sender, \
				cost[step[3]], cost[step[4]], receiver, sender + receiver
		}' "$work/$1"
}

# row TITLE NUMBERS...
row() {
	# shellcheck disable=SC2183
	printf '# %-24s %6s %8s %8s   %6s %8s %8s   %6s\n' "$@"
}

# above NAME: the difference of each number to that of bare verbs
above() {
	[ -n "$bare" ] && echo "$bare $(numbers "$1")" |
		awk 'NF == 14 { for (i = 1; i <= 7; i++) printf "%d ", $(i + 7) - $i }'
}

bare=$(numbers bare)
libdat=$(above libdat)
dapl=$(above dapl)

echo 1..5
row "instructions" send dequeue sender recv dequeue receiver both
# shellcheck disable=SC2046,SC2086
{
	row "bare verbs" $bare
	row "libdat, DAT_PROVIDER=hw" $(numbers libdat)
	row "  above bare verbs" $libdat
	[ -z "$dapl" ] || row "Debian's DAPL 2.1.10" $(numbers dapl)
	[ -z "$dapl" ] || row "  above bare verbs" $dapl
}
echo "# wanted: at most $wanted_end above bare verbs for an end (a post and a dequeue)"

n=0
# verdict STATUS TITLE
verdict() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

# at_most NUMBER LIMIT TITLE
at_most() {
	[ "${1:-0}" -gt 0 ] && [ "$1" -le "$2" ]
	verdict $? "$3: ${1:-?} instructions above bare verbs, at most $2"
}

# shellcheck disable=SC2086
set -- $libdat
[ $# -eq 7 ]
verdict $? "every call is counted"
at_most "${3:-}" $wanted_end "the sender's end"
at_most "${6:-}" $wanted_end "the receiver's end"
both=${7:-0}
at_most "$both" $most_both "both ends of a message"
if [ -z "$dapl" ]; then
	echo "ok 5 - fewer than DAPL needs # SKIP $no_dapl"
else
	# shellcheck disable=SC2086
	set -- $dapl
	[ "$both" -gt 0 ] && [ "$both" -lt "$7" ]
	verdict $? "fewer than DAPL needs: $both, not $7"
fi
