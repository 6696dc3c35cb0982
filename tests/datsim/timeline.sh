#!/bin/sh
# The exact output of datsim show: compares the timelines of recorded traces with files, at several
# widths, with and without UTF-8; what filters select. With --write it writes the files; review the
# difference before you commit it.
. "$(dirname "$0")/begin.sh"
cd "$here/timeline" || exit 99
write=${1:-}

# shows LOCALE EXPECTED ARGS...
shows() {
	n=$((n + 1))
	locale=$1
	expected=$2
	shift 2
	LC_ALL=$locale "$datsim" show "$@" > "$scratch/shown" 2>&1
	if [ "$write" = --write ]; then
		cp "$scratch/shown" "$expected"
	fi
	if cmp -s "$scratch/shown" "$expected"; then
		echo "ok $n - datsim show $* ($locale)"
	else
		echo "not ok $n - datsim show $* ($locale)"
		diff "$expected" "$scratch/shown" | sed 's/^/#   /'
	fi
}

# fits WIDTH FILE...: no line is wider, and none of its words is cut off
fits() {
	awk -v most="$1" '{ gsub(/[\200-\277]/, "") } length > most || /~$|~ / { bad = 1; print }
		END { exit bad }' "$2"
}

traces='pieces wire program programs verbs-pair'
echo 1..74
for name in $traces; do
	for width in 80 120 200; do
		shows C.UTF-8 "$name.$width" --width $width "$name.trace"
		LC_ALL=C holds "no line is wider than $width" fits $width "$name.$width"
	done
done
narrow() {
	for name in $traces; do
		"$datsim" show --width 40 "$name.trace" > "$scratch/narrow" &&
			LC_ALL=C fits 40 "$scratch/narrow" || return
	done
}
holds "nor than 40, which is the least" narrow
# The trace of a script whose faults are of every kind: a row of each has its words and its line.
holds "a script with each kind of fault" \
	"$datsim" test --trace "$scratch/faults.trace" faults.script
for width in 80 120 200; do
	shows C.UTF-8 "faults.$width" --width $width "$scratch/faults.trace"
	LC_ALL=C holds "no line is wider than $width" fits $width "faults.$width"
done
shows C pieces.ascii pieces.trace
shows C pieces-all.ascii --all pieces.trace
shows C wire-all.ascii --all wire.trace
for file in pieces pieces-all wire-all; do
	LC_ALL=C holds "nor than 100 elsewhere" fits 100 "$file.ascii"
done

# only FILE ARGS...: rows of a timeline that a filter selects, without the titles
only() {
	file=$1
	shift
	LC_ALL=C "$datsim" show --width 200 "$@" "$file" | sed 1,2d
}
# rows WANTED PATTERN ARGS...: so many rows, and each matches the pattern
rows() {
	wanted=$1
	pattern=$2
	shift 2
	only "$@" > "$scratch/rows"
	cat "$scratch/rows"
	[ "$(wc -l < "$scratch/rows")" -eq "$wanted" ] && ! grep -vE "$pattern" "$scratch/rows"
}
holds "--from and --until are both included" rows 2 '^ +(10.041|50.041) ' programs.trace \
	--from 10.041 --until 50041ns
holds "a moment before and after are not" rows 0 . programs.trace --from 10.042us --until 50.040us
holds "--ep takes the packets of an EP, to it and from it" rows 3 '>' programs.trace \
	--ep server.ep1 --until 6.041 --grep '>.*(RTU|SEND|WRITE)'
holds "and no call of another" rows 0 . programs.trace --ep server.ep1 --grep 'post_rdma_read'
holds "or of each" rows 2 'CONNECTED' programs.trace --ep ep1 --grep '^[^ ]+ CONNECTED'
holds "--qp is the same for verbs" rows 1 'RDMA_WRITE, 600' verbs-pair.trace --qp server.qp1 \
	--grep 'post_send.*RDMA_WRITE'
holds "--program takes calls and packets" rows 4 'client|ep1' programs.trace --program client \
	--until 2 --grep 'CM_RE|ep_connect'
holds "--program takes an actor of a script" rows 6 ' b: ' wire.trace --program b \
	--until 6 --grep '^b: [dr].*2|^b: .*ESTAB'
faults() {
	only programs.trace --grep fault > "$scratch/rows"
	cat "$scratch/rows"
	grep -q 'fault 2, line 2: delay READ_REQUEST on client>server' "$scratch/rows" &&
		grep -q 'client>server READ #2 delayed by fault 2, line 2' "$scratch/rows"
}
holds "faults have their link, their rule and its line" faults
timed() {
	for name in $traces; do
		only "$name.trace" --all --width 400 |
			grep -vE '^ *([0-9]+\.[0-9]{3}|set-up) |^$' && return 1
	done
	return 0
}
holds "every line that is not folded has a time" timed
folded() {
	printf '%s\n' 'libdat trace 1' '7500 - note this goes on in a line of its own' \
		'8000 - note' '# end lines=2' > "$scratch/note.trace"
	only "$scratch/note.trace" --width 40 > "$scratch/rows"
	printf '%s\n' '' '   7.500 this goes on in a line of its' '         own' '   8.000 ' |
		diff - "$scratch/rows"
}
holds "so has a note; where it goes on there is none" folded
no_ids() { ! grep -E ' 100[0-9]([^.0-9]|$)' faults.200; }
holds "no fault of a script is called by a number of the trace" no_ids
# older LINE: how it is shown in a trace without the words of rules, and with a line of the script
older() {
	{
		printf 'libdat trace 1\n0 emu0.ep1 create\n5 - note line 4\n'
		printf '5 - rule add=%d verdict=fail\n6 %s\n' "$2" "$1"
	} > "$scratch/older.trace"
	sed "/note line/d" "$scratch/older.trace" > "$scratch/oldest.trace"
	for file in older oldest; do
		only "$scratch/$file.trace" --grep fault | sed 's/  */ /g'
	done > "$scratch/rows"
	cat "$scratch/rows"
}
old_call() {
	older 'emu0.ep1 fault rule=1001 does=fail at=post_send' 1001
	[ "$(cat "$scratch/rows")" = " 0.005 fault, line 4: fail
 0.006 emu0.ep1 post_send fails by fault, line 4
 0.005 fault 1001: fail
 0.006 emu0.ep1 post_send fails by fault 1001" ]
}
holds "a trace without the words of its rules is shown with what it has" old_call
share() {
	{
		printf 'libdat trace 1\n0 emu0.ep1 create\n5 - rule is=1 line=1 from=emu0 to=emu1 '
		echo 'verdict=drop probability=50000'
		echo '5 - rule is=2 line=2 from=emu0 to=emu1 verdict=delay delay_ns=9 probability=1'
		printf '5 - rule is=1001 line=3 spoil=fail call=ibv_post_send error=12 '
		echo 'probability=125000'
		echo '6 emu0.ep1 fault rule=1001 does=fail at=post_send'
	} > "$scratch/share.trace"
	only "$scratch/share.trace" --grep fault | sed 's/  */ /g' > "$scratch/rows"
	cat "$scratch/rows"
	[ "$(cat "$scratch/rows")" = " 0.005 fault 1, line 1: loss 5% on emu0>emu1
 0.005 fault 2, line 2: delay on emu0>emu1 delay_ns=9 probability=0.0001%
 0.005 fault, line 3: fail ibv_post_send error=12 probability=12.5%
 0.006 emu0.ep1 post_send fails by fault, line 3" ]
}
holds "a share is shown as scripts write it" share
note() {
	printf 'libdat trace 1\n0 emu0.ep1 create\n5 - note %s\n' "$1" > "$scratch/note.trace"
	only "$scratch/note.trace" | grep -qF "$1"
}
holds "a program's own note is shown, whatever it begins with" note 'rule of line 4 is broken'
holds "also if it is short" note 'rule of line 4:'
shown() { only programs.trace --all --grep "$1" | grep -qE "$2"; }
for call in 'ia_open(ia1)' 'ep_connect(ep1)' 'cr_accept(ep1)' 'psp_create(psp1, 7700)'; do
	holds "dat_$call is shown" shown . "dat_$(echo "$call" | sed 's/[()]/[&]/g')"
done
coloured() {
	LC_ALL=C "$datsim" show --color="$1" pieces.trace | grep -q "$(printf '\033\[')"
}
holds "--color=always colours a file" coloured always
holds "--color=never does not" sh -c "! '$datsim' show --color=never pieces.trace |
	grep -q '$(printf '\033\[')'"
expect 2 "no EP or QP is called \"ep9\" in this trace; there are: client.ep1, server.ep1" \
	show --ep ep9 programs.trace
expect 2 'no program is called "emu"' show --program emu programs.trace
# What becomes of an object without a call for it.
{
	printf 'libdat trace 1\n0 server-emu0.listen1 rdma_listen port=7\n'
	printf '1 client-emu0.id1 free\n1 server-emu0.listen1 free\n2 client-emu0.cr1 create\n'
	printf '2 client-emu0.cr1 free\n3 server-emu0.evd1 overflow\n3 server-emu0.cq1 overflow\n'
	printf '4 client-emu0.qp1 unfinished qpn=17 requests=2\n4 client-emu0.qp1 path mtu=1024\n'
	printf '5 client-emu0>server-emu0 set latency_ns=700\n# end lines=10\n'
} > "$scratch/ends.trace"
words() {
	LC_ALL=C "$datsim" show --all --width 200 "$scratch/ends.trace" |
		sed '1,3d; s/^ *[0-9.]* *//' > "$scratch/words"
	printf '%s\n' 'id1 is connected no more' 'listen1 listens no more' 'cr1 arrives' \
		'cr1 ends' 'evd1 overflows' 'cq1 overflows' 'qp1 is destroyed, unfinished: 2' \
		'qp1 has a path: mtu=1024' 'client>server: latency_ns=700' | diff - "$scratch/words"
}
holds "what becomes of an object without a call is told in words" words
# What ./demo shows a stranger, on a terminal of 80 columns.
story() {
	env TERM=dumb LC_ALL=C script -qec "stty cols 80; sh '$here/../../tools/demo.sh' '$top'" \
		/dev/null < /dev/null | tr -d '\r' > "$scratch/told"
	grep -q '^ok 1 - doc/demo.dsim' "$scratch/told" && grep -q './demo pair' "$scratch/told" &&
		! grep -E '.{81}' "$scratch/told"
}
holds "the demo tells its story at 80 columns" story
piped() {
	env -u COLUMNS LC_ALL=C sh "$here/../../tools/demo.sh" "$top" > "$scratch/told" &&
		! grep -E '.{81}' "$scratch/told"
}
holds "so it does in a pipe" piped
progress() {
	sed -n '/^show_progress()/,/^}/p' "$here/../../demo" > "$scratch/progress.sh"
	bash -c '. "$1"; true & show_progress $!' - "$scratch/progress.sh" | grep -q . &&
		grep -q 'show_progress \$!' "$here/../../demo"
}
holds "and shows on a terminal that it builds" progress
by_columns() { COLUMNS=80 "$datsim" show pieces.trace | cmp - "$1"; }
"$datsim" show --width 80 pieces.trace > "$scratch/narrow"
holds "COLUMNS is the width where there is no terminal" by_columns "$scratch/narrow"
# A line with a moment asks after each step how many events there are. That is not in the trace, but
# what happens at the same time is.
cat > "$scratch/moment.dsim" << 'END'
fabric latency=1us bandwidth=0
use    connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) x2
       a: dat_ep_post_send(ep, 1)
       a: dat_ep_post_send(ep, 2)
+1us   b: event recv DTO_COMPLETION length=1
       b: event recv DTO_COMPLETION length=2
*      a>b SEND message=1
*      a>b SEND message=2
end    quiet
END
expect 0 '^ok 1' test "$scratch/moment.dsim"
