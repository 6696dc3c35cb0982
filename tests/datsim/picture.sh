#!/bin/sh
# datsim show --svg: the diagram says what the trace says, is XML, and is the same every time.
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

echo 1..26
holds "the story leaves a trace" "$datsim" test --trace "$scratch/story.trace" "$story"
holds "its diagram is drawn" "$datsim" show --svg "$svg" "$scratch/story.trace"
holds "it is XML" xmllint --noout "$svg"
holds "a second drawing" "$datsim" show --svg "$scratch/b.svg" "$scratch/story.trace"
holds "drawn twice, it is the same to the byte" cmp "$svg" "$scratch/b.svg"
sed -n '/script begins/,/script ends/p' "$scratch/story.trace" > "$scratch/body"
holds "every packet is an arrow" same_count arrows "class='arrow" "$svg" " packet " "$scratch/body"
holds "every watermark event has its flag" same_count flags "<path class='flag'.*/>\$" "$svg" \
	"evd1 event number=ASYNC_SRQ_LOW_WATERMARK" "$scratch/body"
holds "the queue has its graph" grep -q "class='name' x=.*>b.S</text>" "$svg"
holds "EPs are called what the script calls them" grep -q ">b.ep</text>" "$svg"
holds "a mark that is armed and one that is spent look different" \
	sh -c "grep -q \"class='armed'\" $svg && grep -q \"class='spent'\" $svg"
holds "all of a trace with everything in it" "$datsim" show --all --svg "$svg" "$pieces"
holds "it is XML too" xmllint --noout "$svg"
printf 'libdat trace 1\n5 emu0.ep1 state from=A to=<&%b\n' "'\\377\\001" > "$scratch/odd.trace"
holds "text that XML may not hold is made harmless" \
	sh -c "\"$datsim\" show --svg $svg $scratch/odd.trace && xmllint --noout $svg"
holds "a file that cannot be written" refuses 2 'cannot write /nowhere/x.svg' show --svg /nowhere/x.svg "$pieces"
echo "no trace" > "$scratch/not.trace"
holds "what is no trace is not drawn" refuses 2 'not a trace' show --svg "$svg" "$scratch/not.trace"

wire=$here/timeline/wire.trace
holds "RDMA and faults are drawn" "$datsim" show --svg "$svg" "$wire"
holds "and are XML" xmllint --noout "$svg"
sed -n '/script begins/,/script ends/p' "$wire" > "$scratch/body"
holds "what was lost is crossed out" same_count crosses "class='cross'" "$svg" " drop \| corrupt " \
	"$scratch/body"
holds "what came late says why" grep -q "class='halo wrong.*>SEND #4 delayed by fault 1</text>" "$svg"

# x of the lifeline whose name that is
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

# What is sent again leaves when it is sent again, not when it was posted.
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
	from=$(sed -n "s|.*cx='\\([0-9.]*\\)' cy='\\([0-9.]*\\)'.*>sends again from #1.*|M\\1 \\2L|p" "$svg")
	echo "from $from"
	[ -n "$from" ] && [ "$(grep -c "class='arrow plain' d='$from" "$svg")" -eq 2 ]
}
holds "what is sent again leaves when it is sent again" again
holds "what was lost left when it was posted" \
	sh -c "y=\$(sed -n \"s|.*cy='\\\\([0-9.]*\\\\)'.*>dat_ep_post_send(ep, 64)</text>.*|\\\\1|p\" $svg | head -1)
	grep -q \"class='arrow wrong lost' d='M[0-9.]* \${y}L\" $svg"

"$datsim" show --svg "$svg" "$wire"
# Labels of packets cover neither each other nor what stands beside lifelines.
holds "labels of packets lie apart" awk -F"'" '
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
holds "words that are too long are cut" \
	sh -c "\"$datsim\" show --svg $svg $scratch/long.trace && xmllint --noout $svg &&
	grep -q 'xxx…<title>.*$long</title></text>' $svg"
"$datsim" test --trace "$scratch/hard.trace" "$here/../scripts/srq/marks-limit-an-ep.dsim" > /dev/null
"$datsim" show --svg "$svg" "$scratch/hard.trace"
holds "a hard mark is in the legend where there is one" grep -q '>a hard mark</text>' "$svg"
holds "who found a failure says so in red" \
	grep -q "class='halo wrong.*>fails #3: OVER_LIMIT</text>" "$svg"
