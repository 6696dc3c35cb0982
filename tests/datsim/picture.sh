#!/bin/sh
# datsim show --svg: the diagram says what the trace says, is XML, and is the same every time.
here=$(cd "$(dirname "$0")" && pwd)
datsim=${top_builddir:-$here/../..}/tools/datsim/datsim
if [ ! -x "$datsim" ]; then
	echo "Bail out! tools/datsim/datsim is not built"
	exit 1
fi
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0

# is WHAT COMMAND...: the command succeeds
is() {
	n=$((n + 1))
	what=$1
	shift
	if "$@" > "$scratch/out" 2>&1; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		sed 's/^/#   /' "$scratch/out"
	fi
}

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
	"$datsim" "$@" > "$scratch/said" 2>&1
	got=$?
	cat "$scratch/said"
	[ $got -eq "$status" ] && grep -q "$text" "$scratch/said"
}

story=$here/../../doc/demo.dsim
pieces=$here/timeline/pieces.trace
svg=$scratch/a.svg

echo 1..19
is "the story leaves a trace" "$datsim" test --trace "$scratch/story.trace" "$story"
is "its diagram is drawn" "$datsim" show --svg "$svg" "$scratch/story.trace"
is "it is XML" xmllint --noout "$svg"
is "a second drawing" "$datsim" show --svg "$scratch/b.svg" "$scratch/story.trace"
is "drawn twice, it is the same to the byte" cmp "$svg" "$scratch/b.svg"
sed -n '/script begins/,/script ends/p' "$scratch/story.trace" > "$scratch/body"
is "every packet is an arrow" same_count arrows "class='arrow" "$svg" " packet " "$scratch/body"
is "every watermark event has its flag" same_count flags "<path class='flag'.*/>\$" "$svg" \
	"evd1 event number=ASYNC_SRQ_LOW_WATERMARK" "$scratch/body"
is "the queue has its graph" grep -q "class='name' x=.*>b.S</text>" "$svg"
is "EPs are called what the script calls them" grep -q ">b.ep</text>" "$svg"
is "a mark that is armed and one that is spent look different" \
	sh -c "grep -q \"class='armed'\" $svg && grep -q \"class='spent'\" $svg"
is "all of a trace with everything in it" "$datsim" show --all --svg "$svg" "$pieces"
is "it is XML too" xmllint --noout "$svg"
printf 'libdat trace 1\n5 emu0.ep1 state from=A to=<&%b\n' "'\\377\\001" > "$scratch/odd.trace"
is "text that XML may not hold is made harmless" \
	sh -c "\"$datsim\" show --svg $svg $scratch/odd.trace && xmllint --noout $svg"
is "a file that cannot be written" refuses 2 'cannot write /nowhere/x.svg' show --svg /nowhere/x.svg "$pieces"
echo "no trace" > "$scratch/not.trace"
is "what is no trace is not drawn" refuses 2 'not a trace' show --svg "$svg" "$scratch/not.trace"

wire=$here/timeline/wire.trace
is "RDMA and faults are drawn" "$datsim" show --svg "$svg" "$wire"
is "and are XML" xmllint --noout "$svg"
sed -n '/script begins/,/script ends/p' "$wire" > "$scratch/body"
is "what was lost is crossed out" same_count crosses "class='cross'" "$svg" " drop \| corrupt " \
	"$scratch/body"
is "what came late says why" grep -q "class='halo wrong.*>SEND #4 delayed by fault 1</text>" "$svg"
