#!/bin/sh
# The trace, the timeline and the account of a program with one request of each kind: compared with
# the files beside this one. With --write it writes them; review the difference before you commit.
# Its capture is read by tshark, if that is installed.
. "$(dirname "$0")/../../verbs/begin.sh"
here=$(cd "$(dirname "$0")" && pwd)
kinds=$top_builddir/tests/datsim/kinds/kinds
[ -x "$kinds" ] || skip "tests/datsim/kinds/kinds is not built"
write=${1:-}

# equals TITLE FILE GOLDEN
equals() {
	n=$((n + 1))
	[ "$write" != --write ] || cp "$2" "$here/$3"
	if cmp -s "$2" "$here/$3"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		diff "$here/$3" "$2" | sed 's/^/# /'
	fi
}

echo 1..15
cd "$work" || exit 99
"$datsim" run --trace kinds.trace -- "$kinds" > out 2>&1
sed -i '/^# command=/d' kinds.trace
# Connections of librdmacm begin with a PSN near its wrap, with small internal limits with another.
psn=$(sed -n 's/.* op=SEND_FIRST .* psn=//p' kinds.trace | head -n 1)
awk -v more=$((16777200 - psn)) 'match($0, / psn=167771[0-9]+/) {
	sub(/psn=[0-9]+/, "psn=" substr($0, RSTART + 5, RLENGTH - 5) + more)
}
{ print }' kinds.trace > usual.trace
equals "each call and packet is in the trace" usual.trace kinds.trace
LC_ALL=C "$datsim" show kinds.trace > shown
equals "the timeline names calls, objects and statuses as verbs does" shown kinds.ascii
LC_ALL=C "$datsim" show --all kinds.trace > shown
equals "so does the one with all lines" shown kinds-all.ascii
sed -i -e '1,/exits with/s|^datsim: .*/kinds|datsim: kinds|' -e '/^  trace /d' out
equals "the report counts them by these names" out kinds.report

# fields FILTER FIELD...: of the packets that tshark finds
fields() {
	filter=$1
	shift
	for field; do
		set -- "$@" -e "$field"
		shift
	done
	tshark -n -r kinds.pcapng -Y "infiniband.bth.opcode == $filter" -T fields -E occurrence=f \
		"$@" 2> /dev/null | tr '\t' ' '
}

# packet TITLE OPCODE VALUES FIELD...
packet() {
	title=$1
	opcode=$2
	wanted=$3
	shift 3
	n=$((n + 1))
	got=$(fields "$opcode" "$@")
	[ "$got" = "$wanted" ] && echo "ok $n - $title" && return
	echo "not ok $n - $title"
	echo "# wanted $wanted, got: $got"
}

"$datsim" show --pcapng kinds.pcapng kinds.trace || echo "Bail out! no capture"
if ! command -v tshark > /dev/null; then
	while [ $n -lt 15 ]; do
		n=$((n + 1))
		echo "ok $n # SKIP tshark is not installed"
	done
	exit 0
fi
n=$((n + 1))
tshark -n -r kinds.pcapng --disable-heuristic rpcrdma_infiniband \
	-Y '_ws.malformed || _ws.expert.severity >= 0x400000' > complaints 2> /dev/null
[ ! -s complaints ] && echo "ok $n - tshark has no complaint" || {
	echo "not ok $n - tshark has no complaint"
	sed 's/^/# /' complaints
}
packet "a Send with immediate data goes to the number of the QP" 5 "0x000012 12345678" \
	infiniband.bth.destqp infiniband.immdt
packet "a Write with immediate data has the key and the length, too" 11 "0x00000201 64 12345678" \
	infiniband.reth.r_key infiniband.reth.dmalen infiniband.immdt
packet "a Send that invalidates has the key" 23 "0c000101" infiniband.ieth
packet "a compare and swap has its operands and asks for an answer" 19 "0x00000201 7 0 1" \
	infiniband.reth.r_key infiniband.atomiceth.swapdt infiniband.atomiceth.cmpdt \
	infiniband.bth.a
packet "a fetch and add has what it adds" 20 "5" infiniband.atomiceth.swapdt
packet "each is answered by an atomic acknowledgement, in order" 18 "31 6
31 7" infiniband.aeth.syndrome infiniband.aeth.msn
packet "a datagram has its Q_Key, the sender and immediate data" \
	"101 && infiniband.deth.q_key == 0x11111111" "0x002012 0x00002011 12345678" \
	infiniband.bth.destqp infiniband.deth.srcqp infiniband.immdt
packet "the answer to a Read of several packets begins" 13 "$((psn + 6))" infiniband.bth.psn
packet "and ends" 15 "$((psn + 8))" infiniband.bth.psn
sed -e 's/emu0/server-emu0/g' -e 's/emu1/client-emu0/g' kinds.trace > shared.trace
"$datsim" show --pcapng kinds.pcapng shared.trace
packet "adapters of a shared fabric have an address each" 19 "198.18.0.1 198.18.0.2" ip.src ip.dst
