#!/bin/sh
# datsim show --pcapng: the same bytes every time, what it cannot do said clearly, and, where tshark is
# installed, packets that it takes apart without a complaint. tests/unit/test_capture.c reads the file.
. "$(dirname "$0")/begin.sh"

refuses() {
	text=$1
	shift
	"$datsim" show --pcapng "$@" > "$scratch/refusal" 2>&1
	got=$?
	cat "$scratch/refusal"
	[ $got -eq 2 ] && grep -q "$text" "$scratch/refusal"
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
holds "a capture is written" "$datsim" show --pcapng "$scratch/a" "$trace"
"$datsim" show --pcapng "$scratch/b" "$trace"
holds "it is the same again" cmp "$scratch/a" "$scratch/b"
holds "it begins with a section" bytes 0 0a0d0d0a
holds "in little-endian order" bytes 8 4d3c2b1a
holds "a diagram may be asked for beside it" \
	"$datsim" show --svg "$scratch/svg" --pcapng "$scratch/b" "$trace"
holds "then both are written" cmp "$scratch/a" "$scratch/b"

sed 's/profile=ib/profile=iwarp/' "$trace" > "$scratch/iwarp.trace"
holds "a trace of iWARP is refused" \
	refuses 'is for profile ib, and this trace is of profile iwarp' "$scratch/c" "$scratch/iwarp.trace"
sed 's/op=WRITE_ONLY/op=WAVE/' "$trace" > "$scratch/other.trace"
holds "a packet that RoCEv2 does not have is named" \
	refuses 'other.trace:[0-9]*: a packet that RoCEv2 does not have: .*op=WAVE' "$scratch/c" \
	"$scratch/other.trace"
echo 'no trace' > "$scratch/none.trace"
holds "so is what is no trace" refuses 'not a trace' "$scratch/c" "$scratch/none.trace"
holds "and a file that cannot be written" refuses 'cannot write /nowhere/c' /nowhere/c "$trace"

if ! command -v tshark > /dev/null; then
	while [ $n -lt 23 ]; do
		n=$((n + 1))
		echo "ok $n # SKIP tshark is not installed"
	done
	exit 0
fi

holds "tshark has nothing to complain about" no_complaint
holds "it finds RoCEv2 in every packet" counts 'udp.dstport == 4791 && infiniband' \
	"$(fields frame frame.number | wc -l)"
holds "dropped packets too, and a line of several packets as several" \
	counts infiniband.bth 44
holds "messages: first, middle, last, only" counts 'infiniband.bth.opcode <= 4' 12
holds "Writes" counts 'infiniband.bth.opcode >= 6 && infiniband.bth.opcode <= 10' 4
holds "Reads and their responses" counts 'infiniband.bth.opcode >= 12 && infiniband.bth.opcode <= 16' 8
holds "answers, one of them a NAK for a wrong key" counts 'infiniband.aeth.syndrome == 0x62' 1
holds "requests and replies of connection management" counts 'infiniband.mad.mgmtclass == 7' 9
holds "a packet that was dropped says by what" says 'infiniband.bth.psn == 16777207' 'dropped by fault 1'
holds "times are virtual nanoseconds" counts 'frame.time_epoch == 0.000018545' 1

"$datsim" test --trace "$scratch/sizes.trace" "$here/../scripts/ep/messages.dsim" > /dev/null
"$datsim" show --pcapng "$scratch/a" "$scratch/sizes.trace"
holds "messages of 0 bytes, 1, an MTU and one more" counts 'infiniband.bth.opcode <= 4' 15
# It takes any Send for RPC over RDMA, and reads eight bytes to see that it is none.
holds "no complaint, if tshark does not guess what is in them" \
	no_complaint --disable-heuristic rpcrdma_infiniband
holds "where padding is, and where none" counts 'infiniband.bth.opcode <= 4 && infiniband.bth.padcnt == 0' 11
