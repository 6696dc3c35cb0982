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

echo 1..19
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
