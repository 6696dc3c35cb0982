#!/bin/sh
# datsim show --pcapng: the same bytes every time, what it cannot do said clearly, and, where tshark is
# installed, packets that it takes apart without a complaint. tests/unit/test_capture.c reads the file.
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

refuses() {
	text=$1
	shift
	"$datsim" show --pcapng "$@" > "$scratch/said" 2>&1
	got=$?
	cat "$scratch/said"
	[ $got -eq 2 ] && grep -q "$text" "$scratch/said"
}

bytes() {
	[ "$(od -An -tx1 -j "$1" -N 4 "$scratch/a" | tr -d ' ')" = "$2" ]
}

# fields FILTER FIELD...
fields() {
	filter=$1
	shift
	for field; do
		set -- "$@" -e "$field"
		shift
	done
	tshark -n -r "$scratch/a" -Y "$filter" -T fields "$@" 2> /dev/null
}

# How many packets tshark finds for a filter.
counts() {
	have=$(fields "$1" frame.number | wc -l)
	echo "$1: $have, wanted $2"
	[ "$have" -eq "$2" ]
}

no_complaint() {
	tshark "$@" -n -r "$scratch/a" -Y '_ws.malformed || _ws.expert.severity >= 0x400000' \
		> "$scratch/complaints" 2> /dev/null
	cat "$scratch/complaints"
	[ ! -s "$scratch/complaints" ]
}

says() {
	fields "$1" frame.comment | grep -F "$2"
}

trace=$here/timeline/wire.trace

echo 1..23
is "a capture is written" "$datsim" show --pcapng "$scratch/a" "$trace"
"$datsim" show --pcapng "$scratch/b" "$trace"
is "it is the same again" cmp "$scratch/a" "$scratch/b"
is "it begins with a section" bytes 0 0a0d0d0a
is "in little-endian order" bytes 8 4d3c2b1a
is "a diagram may be asked for beside it" \
	"$datsim" show --svg "$scratch/svg" --pcapng "$scratch/b" "$trace"
is "then both are written" cmp "$scratch/a" "$scratch/b"

sed 's/profile=ib/profile=iwarp/' "$trace" > "$scratch/iwarp.trace"
is "a trace of iWARP is refused" \
	refuses 'is for profile ib, and this trace is of profile iwarp' "$scratch/c" "$scratch/iwarp.trace"
sed 's/op=WRITE_ONLY/op=WAVE/' "$trace" > "$scratch/other.trace"
is "a packet that RoCEv2 does not have is named" \
	refuses 'other.trace:[0-9]*: a packet that RoCEv2 does not have: .*op=WAVE' "$scratch/c" \
	"$scratch/other.trace"
echo 'no trace' > "$scratch/none.trace"
is "so is what is no trace" refuses 'not a trace' "$scratch/c" "$scratch/none.trace"
is "and a file that cannot be written" refuses 'cannot write /nowhere/c' /nowhere/c "$trace"

if ! command -v tshark > /dev/null; then
	while [ $n -lt 23 ]; do
		n=$((n + 1))
		echo "ok $n # SKIP tshark is not installed"
	done
	exit 0
fi

is "tshark has nothing to complain about" no_complaint
is "it finds RoCEv2 in every packet" counts 'udp.dstport == 4791 && infiniband' \
	"$(fields frame frame.number | wc -l)"
is "dropped packets too, and a line of several packets as several" \
	counts infiniband.bth 44
is "messages: first, middle, last, only" counts 'infiniband.bth.opcode <= 4' 12
is "Writes" counts 'infiniband.bth.opcode >= 6 && infiniband.bth.opcode <= 10' 4
is "Reads and their responses" counts 'infiniband.bth.opcode >= 12 && infiniband.bth.opcode <= 16' 8
is "answers, one of them a NAK for a wrong key" counts 'infiniband.aeth.syndrome == 0x62' 1
is "requests and replies of connection management" counts 'infiniband.mad.mgmtclass == 7' 9
is "a packet that was dropped says by what" says 'infiniband.bth.psn == 16777207' 'dropped by fault 1'
is "times are virtual nanoseconds" counts 'frame.time_epoch == 0.000018545' 1

"$datsim" test --trace "$scratch/sizes.trace" "$here/../scripts/ep/messages.dsim" > /dev/null
"$datsim" show --pcapng "$scratch/a" "$scratch/sizes.trace"
is "messages of 0 bytes, 1, an MTU and one more" counts 'infiniband.bth.opcode <= 4' 15
# It takes any Send for RPC over RDMA, and reads eight bytes to see that it is none.
is "no complaint, if tshark does not guess what is in them" \
	no_complaint --disable-heuristic rpcrdma_infiniband
is "where padding is, and where none" counts 'infiniband.bth.opcode <= 4 && infiniband.bth.padcnt == 0' 11
