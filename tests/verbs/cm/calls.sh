#!/bin/sh
# Every call of libibverbs and librdmacm that does or asks something of an adapter has a line in the
# trace, once and in order, or one that it was refused: calls.c, in lockstep, twice. The lines, and
# how timelines show them, are compared with files. With --write it writes the files; review the
# difference before you commit it.
datsim=$top_builddir/tools/datsim/datsim
program=$top_builddir/tests/verbs/cm/calls
expected=$top_srcdir/tests/verbs/cm

if [ ! -x "$program" ]; then
	echo "1..0 # SKIP librdmacm is not built"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0
write=${1:-}

# holds TITLE COMMAND...
holds() {
	n=$((n + 1))
	title=$1
	shift
	if "$@" > "$work/out" 2>&1; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		sed 's/^/# /' "$work/out"
	fi
}

run() {
	"$datsim" run --lockstep --quiet --trace "$work/$2.trace" -- --node one "$program" "$1"
}

# lines WORD: those of calls, without their times
lines() {
	sed -nE 's/^[0-9]+ ([^ ]+ (refuse|ibv_|rdma_).*)/\1/p' "$work/$1.trace"
}

# shown WORD OPTIONS: the same in a timeline
shown() {
	word=$1
	shift
	LC_ALL=C "$datsim" show --width 120 "$@" "$work/$word.trace" |
		sed -nE 's/^ *[0-9]+\.[0-9]{3} (one(-emu[0-9])?: (ibv|rdma)_.*[^ ])/\1/p' |
		sed -E 's/   .*//'
}

# same FILE COMMAND...: prints what the file has
same() {
	file=$expected/$1
	shift
	"$@" > "$work/now"
	[ "$write" != --write ] || cp "$work/now" "$file"
	diff "$file" "$work/now"
}

# filtered WANTED PATTERN OPTIONS...: so many lines of the traces of librdmacm match
filtered() {
	wanted=$1
	pattern=$2
	shift 2
	shown cm "$@" > "$work/rows"
	cat "$work/rows"
	[ "$(wc -l < "$work/rows")" -eq "$wanted" ] && ! grep -vE "$pattern" "$work/rows"
}

# A call that is drawn, and none of those that ask or acknowledge.
drawn() {
	"$datsim" show --svg "$work/picture.svg" "$work/cm.trace" || return 1
	grep -q '>rdma_establish(id1)<' "$work/picture.svg" &&
		! grep -E '>(rdma_(ack|create|destroy|get_cm)_|ibv_query_)[a-z_]*\(' \
			"$work/picture.svg"
}

echo 1..14
for word in verbs cm; do
	holds "the calls succeed: $word" run "$word" "$word"
	run "$word" again
	holds "a second run leaves the same trace" cmp "$work/$word.trace" "$work/again.trace"
	holds "each has its line" same "calls-$word.lines" lines "$word"
	holds "a timeline has them all" same "calls-$word.shown" shown "$word" --all
done
holds "without --all it leaves out acknowledgements" filtered 0 . --grep '_ack_'
holds "--qp takes the calls about a queue pair" filtered 1 'rdma_create_qp\(\) = qp1' \
	--qp one-emu1.qp1 --grep rdma_create
holds "--program takes those of a device" filtered 1 '^one-emu1: rdma_notify' \
	--program one-emu1 --grep 'rdma_(notify|establish)'
port_is_down() {
	echo "fault adapter one down at 1us" > "$work/down.dsim"
	"$datsim" run --lockstep --quiet --script "$work/down.dsim" --trace "$work/down.trace" \
		-- --node one "$program" port
	[ "$(shown down | grep -c 'ibv_query_port() = DOWN')" -eq 1 ]
}
holds "a port that is down is shown" port_is_down
# Outside lockstep, where the child does not join the fabric.
childs() {
	DATSIM_TRACE=$work/child.trace "$program" child && lines child > "$work/childs" &&
		cat "$work/childs" &&
		printf 'emu0 ibv_%s_device\n' open close | cmp - "$work/childs"
}
holds "a child writes nothing into the trace of its parent" childs
holds "a picture draws what changes something" drawn
