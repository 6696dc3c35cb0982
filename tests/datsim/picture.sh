#!/bin/sh
# datsim show --svg: the diagram shows what is in the trace, is XML, and is the same every time.
. "$(dirname "$0")/begin.sh"

same_count() {
	have=$(grep -c "$2" "$3")
	want=$(grep -c "$4" "$5")
	echo "$1: $have, wanted $want"
	[ "$have" -eq "$want" ] && [ "$want" -gt 0 ]
}

refuses() {
	status=$1
	text=$2
	shift 2
	"$datsim" "$@" > "$scratch/refusal" 2>&1
	got=$?
	cat "$scratch/refusal"
	[ $got -eq "$status" ] && grep -q "$text" "$scratch/refusal"
}

story=$here/../../doc/demo.dsim
pieces=$here/timeline/pieces.trace
svg=$scratch/a.svg

echo 1..29
holds "the demo writes a trace" "$datsim" test --trace "$scratch/story.trace" "$story"
holds "its diagram is drawn" "$datsim" show --svg "$svg" "$scratch/story.trace"
holds "it is XML" xmllint --noout "$svg"
holds "a second drawing" "$datsim" show --svg "$scratch/b.svg" "$scratch/story.trace"
holds "drawn twice, the files are equal" cmp "$svg" "$scratch/b.svg"
sed -n '/script begins/,/script ends/p' "$scratch/story.trace" > "$scratch/body"
holds "every packet is an arrow" same_count arrows "class='arrow" "$svg" " packet " "$scratch/body"
holds "every watermark event has its flag" same_count flags "<path class='flag'.*/>\$" "$svg" \
	"evd1 event number=ASYNC_SRQ_LOW_WATERMARK" "$scratch/body"
holds "the queue has its graph" grep -q "class='name' x=.*>b.S</text>" "$svg"
holds "EPs have the script's names" grep -q ">b.ep</text>" "$svg"
holds "armed and fired watermarks look different" \
	sh -c "grep -q \"class='armed'\" $svg && grep -q \"class='spent'\" $svg"
holds "a trace with all kinds of lines is drawn with --all" "$datsim" show --all --svg "$svg" \
	"$pieces"
holds "it is XML too" xmllint --noout "$svg"
printf 'libdat trace 1\n5 emu0.ep1 state from=A to=<&%b\n' "'\\377\\001" > "$scratch/odd.trace"
holds "characters that XML cannot hold are replaced" \
	sh -c "\"$datsim\" show --svg $svg $scratch/odd.trace && xmllint --noout $svg"
holds "a file that cannot be written" refuses 2 'cannot write /nowhere/x.svg' show --svg \
	/nowhere/x.svg "$pieces"
echo "no trace" > "$scratch/not.trace"
holds "a file that is no trace is refused" refuses 2 'not a trace' show --svg "$svg" \
	"$scratch/not.trace"

wire=$here/timeline/wire.trace
holds "RDMA and faults are drawn" "$datsim" show --svg "$svg" "$wire"
holds "the drawing is XML" xmllint --noout "$svg"
sed -n '/script begins/,/script ends/p' "$wire" > "$scratch/body"
holds "lost packets are crossed out" same_count crosses "class='cross'" "$svg" " drop \| corrupt " \
	"$scratch/body"
holds "a delayed packet names its fault" \
	grep -q "class='halo wrong.*>SEND #4 delayed by fault 1</text>" "$svg"

# x_of NAME: the x coordinate of a lifeline
x_of() {
	sed -n "s|.*<text class='name mid' x='\\([0-9.]*\\)' y='47.0'>$1</text>.*|\\1|p" "$svg"
}

order() {
	x_of 'a.ep' > "$scratch/x" && x_of 'b.ep' >> "$scratch/x" && x_of 'a.ep2' >> "$scratch/x" &&
		x_of 'b.ep2' >> "$scratch/x" && x_of 'a.ep3' >> "$scratch/x"
	tr '\n' ' ' < "$scratch/x"
	[ "$(wc -l < "$scratch/x")" -eq 5 ] && sort -n -c "$scratch/x"
}
holds "the ends of a connection stand side by side" order

# A retransmission leaves when it is sent again, not when it was posted.
cat > "$scratch/again.dsim" << 'END'
use    connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) x2
       fault link a>b drop opcode=SEND nth=1
       a: dat_ep_post_send(ep, 64)
+9us   a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION x2
end
END
again() {
	"$datsim" test --trace "$scratch/again.trace" "$scratch/again.dsim" &&
		"$datsim" show --svg "$svg" "$scratch/again.trace" || return
	at="cx='\\([0-9.]*\\)' cy='\\([0-9.]*\\)'"
	from=$(sed -n "/>sends again from #1/s|.*$at.*|M\\1 \\2L|p" "$svg")
	echo "from $from"
	[ -n "$from" ] && [ "$(grep -c "class='arrow plain' d='$from" "$svg")" -eq 2 ]
}
holds "a retransmission leaves when it is sent again" again
lost_at_post() {
	y=$(sed -n "/>dat_ep_post_send(ep, 64)</s|.*cy='\\([0-9.]*\\)'.*|\\1|p" "$svg" | head -1)
	grep -q "class='arrow wrong lost' d='M[0-9.]* ${y}L" "$svg"
}
holds "a lost packet left when it was posted" lost_at_post

"$datsim" show --svg "$svg" "$wire"
# Labels of packets cover neither each other nor the labels of lifelines.
holds "labels of packets do not overlap" awk -F"'" '
	/<text class=.packet/ {
		y = $6
		x = $4
		sub(/[^>]*>/, "", $7)
		for (i = 1; i <= n; i++)
			if (ys[i] - y < 6 && y - ys[i] < 6 && xs[i] - x < 20 && x - xs[i] < 20) {
				print "at", x, y
				bad = 1
			}
		xs[++n] = x
		ys[n] = y
	}
	END { exit bad || n < 5 }' "$svg"
long=$(printf 'x%.0s' 1 2 3 4 5 6 7 8 9 10)
long=$long$long$long$long$long$long$long
printf 'libdat trace 1\n5 emu0.ep1 state from=A to=%s\n' "$long" > "$scratch/long.trace"
holds "long labels are cut" \
	sh -c "\"$datsim\" show --svg $svg $scratch/long.trace && xmllint --noout $svg &&
	grep -q 'xxx…<title>.*$long</title></text>' $svg"
"$datsim" test --trace "$scratch/hard.trace" "$here/../scripts/srq/marks-limit-an-ep.dsim" > \
	/dev/null
"$datsim" show --svg "$svg" "$scratch/hard.trace"
holds "a hard watermark is in the legend" grep -q '>a hard mark</text>' "$svg"
printf '%s\n' 'use connected a@emu0 b@emu1 srq=S max=4' 'b: dat_ep_set_watermark(ep, INFINITE, 0)' \
	'end quiet' > "$scratch/zero.dsim"
"$datsim" test --trace "$scratch/zero.trace" "$scratch/zero.dsim" > "$scratch/zero.out"
"$datsim" show --svg "$scratch/zero.svg" "$scratch/zero.trace"
holds "so is one of 0" grep -q '>a hard mark</text>' "$scratch/zero.svg"
holds "a failure is red at the EP that found it" \
	grep -q "class='halo wrong.*>fails #3: OVER_LIMIT</text>" "$svg"
printf 'libdat trace 1\n0 - note script begins\n1000 emu0.ep1 create\n5000 - note half past\n' \
	> "$scratch/note.trace"
printf '9000 emu0.ep1 free\n9000 - note script ends\n' >> "$scratch/note.trace"
holds "a note is drawn" \
	sh -c "\"$datsim\" show --svg $svg $scratch/note.trace && grep -q 'half past' $svg"
holds "and its time is not, where nothing happens" sh -c "! grep -q '>5.000</text>' $svg"
