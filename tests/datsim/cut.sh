#!/bin/sh
# A trace that is cut off at any byte, by a full disk or the death of its program: its whole lines
# are read, and a note says that it is cut.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99

cat > whole.trace << 'END'
libdat trace 1
# profile=ib
5 emu0.ep1 create
110 emu0.ep1 set_watermark soft=12 hard=34
# end lines=2
END
# bytes LINES: length of so many lines
bytes() {
	head -n "$1" whole.trace | wc -c
}

# shown FILE WATERMARK: the first event is shown, and the watermark as often as told
shown() {
	"$datsim" show --all "$1" > out 2> said && grep -q 'dat_ep_create(ep1)' out &&
		[ "$(grep -c watermark out)" -eq "$2" ] &&
		grep -q "^$1: note: the trace is cut off$3" said && return
	echo "$1:"
	cat out said
	return 1
}

# cut_within LINES WATERMARK: at each byte of the line behind so many
cut_within() {
	at=$(bytes "$1")
	end=$(bytes $(($1 + 1)))
	shown_as="; its program"
	while [ "$at" -lt "$end" ]; do
		head -c "$at" whole.trace > "$at.trace"
		shown "$at.trace" "$2" "$shown_as" || return
		shown_as=" within a line"
		at=$((at + 1))
	done
}

# died TEXT: the file of a program that died has more room, which newlines fill
died() {
	{
		head -n 3 whole.trace
		# shellcheck disable=SC2059
		printf "$1"
		printf '\n\n\n\n\n\n\n\n'
	} > died.trace
}

echo 1..11
holds "cut within an event" cut_within 3 0
holds "cut within the end mark" cut_within 4 1
died '110 emu0.ep1 set_waterm'
holds "a program died while it wrote" shown died.trace 0 " within a line"
died '110 emu0.ep1 set_waterm\0\0\0'
holds "a program died while it wrote a piece of a line" shown died.trace 0 " within a line"
died '110 emu0.ep1 set_watermark soft=12 hard=34\n\0'
holds "a program died when a line was written" shown died.trace 1 "; its program"
head -c 20 whole.trace > header.trace
expect 2 'header.trace: it is cut off before its first event' show header.trace
head -c 10 whole.trace > first.trace
expect 2 'first.trace:1: the trace is cut off in its first line' show first.trace
expect 0 'dat_ep_create.ep1' show whole.trace
holds "nothing is said of a whole one" sh -c '! grep -q note out'

# The account of datsim run counts what is there.
# shellcheck disable=SC2016
expect 0 'cut +the trace ends within a line: ' run sh -c 'head -c 60 whole.trace > "$DATSIM_TRACE"'
holds "the account has the event" grep -qE 'left +emu0.ep1' out
