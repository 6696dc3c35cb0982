#!/bin/sh
# datsim show --pcapng: equal bytes every time, clear errors, and, if tshark is installed, packets
# that it dissects without complaint. tests/unit/capture reads the file.
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

# counts FILTER NUMBER: does tshark find this number of packets?
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

no_malformed() {
	tshark "$@" -n -r "$scratch/a" -Y '_ws.malformed || _ws.expert.severity >= 0x800000' \
		> "$scratch/complaints" 2> /dev/null
	cat "$scratch/complaints"
	[ ! -s "$scratch/complaints" ]
}

says() {
	fields "$1" frame.comment | grep -F "$2"
}

trace=$here/timeline/wire.trace
iwarp=$here/timeline/iwarp.trace

plan=71
echo 1..$plan
holds "a capture is written" "$datsim" show --pcapng "$scratch/a" "$trace"
"$datsim" show --pcapng "$scratch/b" "$trace"
holds "a second run gives an equal file" cmp "$scratch/a" "$scratch/b"
holds "it begins with a section" bytes 0 0a0d0d0a
holds "in little-endian order" bytes 8 4d3c2b1a
holds "a diagram and a capture in one call" \
	"$datsim" show --svg "$scratch/svg" --pcapng "$scratch/b" "$trace"
holds "both files are written" cmp "$scratch/a" "$scratch/b"

sed 's/profile=ib/profile=opa/' "$trace" > "$scratch/opa.trace"
holds "a trace of another profile is refused" \
	refuses 'expects a trace of profile ib or iwarp, found profile opa' "$scratch/c" \
	"$scratch/opa.trace"
sed 's/op=WRITE_ONLY/op=WAVE/' "$trace" > "$scratch/other.trace"
holds "a packet that RoCEv2 does not have is named" \
	refuses 'other.trace:[0-9]*: a packet that RoCEv2 does not have: .*op=WAVE' "$scratch/c" \
	"$scratch/other.trace"
sed 's/op=CM_RTU/op=CM_RTZ/' "$iwarp" > "$scratch/other.trace"
holds "a packet that iWARP does not have is named" \
	refuses 'other.trace:[0-9]*: a packet that iWARP does not have: .*op=CM_RTZ' "$scratch/c" \
	"$scratch/other.trace"
echo 'no trace' > "$scratch/none.trace"
holds "a file that is no trace is refused" refuses 'not a trace' "$scratch/c" "$scratch/none.trace"
holds "a file that cannot be written" refuses 'cannot write /nowhere/c' /nowhere/c "$trace"

holds "- is the standard output" sh -c "'$datsim' show --pcapng - '$trace' | cmp - '$scratch/b'"
# A program's capture is that of its trace; with - it has stdout for itself.
program=$top/examples/srq_server
needs "$program"
run_capture() {
	(cd "$scratch" && "$datsim" run --capture "$1" --trace run.trace -- "$program" 2> errors) &&
		"$datsim" show --pcapng "$scratch/d" "$scratch/run.trace"
}
run_to_file() {
	run_capture run.pcapng > "$scratch/printed" && cmp "$scratch/d" "$scratch/run.pcapng"
}
holds "datsim run --capture writes the same packets" run_to_file
holds "what the program prints stays where it was" grep -q . "$scratch/printed"
run_to_pipe() { run_capture - > "$scratch/piped" && cmp "$scratch/d" "$scratch/piped"; }
holds "or puts them alone into a pipe" run_to_pipe
holds "with what the program prints on stderr" grep -qF "$(head -n 1 "$scratch/printed")" \
	"$scratch/errors"
expect 2 'cannot write /nowhere/c' run --capture /nowhere/c -- "$program"

# ---- the packets while they pass ----

pair=$top/examples/pair
needs "$pair/client"
# On a busy machine no thread loses its turn either.
run_pair() {
	(cd "$scratch" && DATSIM_LOCKSTEP=600000 "$datsim" run --lockstep --capture "$1" \
		--trace run.trace -- "$pair/server" + "$pair/client" 198.18.0.1 2> errors)
}
lockstep_is_whole() {
	run_pair run.pcapng && "$datsim" show --pcapng "$scratch/d" "$scratch/run.trace" &&
		cmp "$scratch/d" "$scratch/run.pcapng"
}
holds "two programs in lockstep: the packets of their trace" lockstep_is_whole
again() { run_pair - > "$scratch/piped" && cmp "$scratch/d" "$scratch/piped"; }
holds "and the same ones each time" again
# The program does not end before its packets were read.
mkfifo "$scratch/seen"
is_seen() { timeout 60 sh -c "echo seen > '$scratch/seen'"; }
live() {
	timeout 60 "$datsim" run --capture - -- sh -c "$program; read -r word < '$scratch/seen'" \
		2> "$scratch/errors" | {
		head -c 20000 > "$scratch/first" && is_seen
		cat > "$scratch/rest"
	}
	cat "$scratch/first" "$scratch/rest" | cmp - "$scratch/alone"
}
"$datsim" run --quiet --capture "$scratch/alone" -- "$program" > /dev/null
holds "packets come while the program runs, and the rest later" live
shared() {
	timeout 60 "$datsim" run --capture - -- \
		sh -c "'$pair/server'; read -r word < '$scratch/seen'" + \
		"$pair/client" 198.18.0.1 2> "$scratch/errors" | {
		head -c 4000 > /dev/null && is_seen
		cat
	} | wc -c
}
several() { [ "$(shared)" -gt 4000 ]; }
holds "those of several programs, too" several
gone() {
	{
		"$datsim" run --capture - -- "$program" 2> "$scratch/errors"
		echo $? > "$scratch/status"
	} | head -c 300 > "$scratch/first"
	cat "$scratch/errors" "$scratch/status"
	[ "$(cat "$scratch/status")" -eq 0 ] && grep -q 'left *nothing' "$scratch/errors" &&
		grep -q 'the capture ends here: its reader has gone away; the programs go on' \
			"$scratch/errors"
}
holds "a reader that goes away ends the capture, not the program" gone
full() {
	"$datsim" run --capture - -- "$program" > /dev/full 2> "$scratch/errors"
	[ $? -eq 2 ] && grep 'cannot write -: No space' "$scratch/errors"
}
holds "a capture that cannot be written whole fails" full
terminal() {
	script -qec "'$datsim' $1" /dev/null < /dev/null > "$scratch/shown"
	[ $? -eq 2 ] && grep 'expected a pipe or a file as standard output, found a terminal' \
		"$scratch/shown"
}
holds "packets do not go to a terminal" terminal "show --pcapng - $trace"
holds "nor those of a program" terminal "run --capture - -- $program"

# ---- filters ----

"$datsim" show --pcapng "$scratch/c" --from 100000s "$trace" 2> "$scratch/errors"
holds "a filter that no packet fits is said" grep -q 'note: no packet fits the filter' \
	"$scratch/errors"

if ! command -v tshark > /dev/null; then
	while [ $n -lt $plan ]; do
		n=$((n + 1))
		echo "ok $n # SKIP tshark is not installed"
	done
	exit 0
fi

# filtered FILTER NUMBER OPTION...: how many packets of a filtered capture are these?
filtered() {
	filter=$1
	number=$2
	shift 2
	cp "$scratch/a" "$scratch/whole"
	"$datsim" show --pcapng "$scratch/a" "$@" "$trace"
	counts "$filter" "$number"
	kept=$?
	mv "$scratch/whole" "$scratch/a"
	return $kept
}
live_tshark() {
	timeout 60 "$datsim" run --capture - -- \
		sh -c "$program > /dev/null; read -r word < '$scratch/seen'" 2> "$scratch/errors" |
		(tshark -n -l -c 10 -i - 2> /dev/null && is_seen) |
		grep -c 'RRoCE'
}
seen() { [ "$(live_tshark)" -eq 10 ]; }
holds "tshark -i - shows packets while they pass" seen
holds "tshark has no complaint" no_complaint
holds "a filter by time" filtered frame "$(fields 'frame.time_epoch >= 0.000012 &&
	frame.time_epoch <= 0.000015' frame.number | wc -l)" --from 12us --until 15us
holds "and nothing else" filtered 'frame.time_epoch < 0.000012 || frame.time_epoch > 0.000015' 0 \
	--from 12us --until 15us
holds "a filter by a word of the timeline" filtered frame 1 --grep 'dropped by fault 1'
holds "or of the comment" filtered frame "$(says frame 'op=ACK' | wc -l)" --grep 'op=ACK'
holds "tshark finds RoCEv2 in every packet" counts 'udp.dstport == 4791 && infiniband' \
	"$(fields frame frame.number | wc -l)"
holds "dropped packets, and each packet of a line that stands for several" \
	counts infiniband.bth 44
holds "messages: first, middle, last, only" counts 'infiniband.bth.opcode <= 4' 12
holds "Writes" counts 'infiniband.bth.opcode >= 6 && infiniband.bth.opcode <= 10' 4
holds "Reads and their responses" counts \
	'infiniband.bth.opcode >= 12 && infiniband.bth.opcode <= 16' 8
holds "a NAK for a wrong key" counts 'infiniband.aeth.syndrome == 0x62' 1
holds "requests and replies of connection management" counts 'infiniband.mad.mgmtclass == 7' 9
holds "a dropped packet names its fault" says 'infiniband.bth.psn == 16777207' \
	'dropped by fault 1'
holds "a comment has the script's names of both ends" says 'infiniband.bth.psn == 16777207' \
	'a.ep > b.ep'
holds "times are those of the timeline" counts 'frame.time_epoch == 0.000012545' 1
timeline_has() { LC_ALL=C "$datsim" show "$trace" | grep "^ *$1"; }
holds "which has this packet then" timeline_has '12.545.*MIDDLE #3.*dropped by fault 1'
holds "packets of the set-up are at 0" counts 'frame.time_epoch == 0' 3
holds "and say so" says 'frame.number == 1' 'ns before the script begins'

"$datsim" test --trace "$scratch/sizes.trace" "$here/../scripts/ep/messages.dsim" > /dev/null
"$datsim" show --pcapng "$scratch/a" "$scratch/sizes.trace"
holds "messages of 0 bytes, 1, an MTU and one more" counts 'infiniband.bth.opcode <= 4' 15
# tshark takes any Send for RPC over RDMA, and complains if it is shorter than eight bytes.
holds "no complaint without tshark's guess of RPC over RDMA" \
	no_complaint --disable-heuristic rpcrdma_infiniband
holds "padding only where it is needed" counts \
	'infiniband.bth.opcode <= 4 && infiniband.bth.padcnt == 0' 11

# ---- retries, and packets that trip a fault ----

# A READ that is retried asks for what is missing, and its response begins anew with that.
cat > "$scratch/read.dsim" << 'END'
fabric mtu=256
use    connected a@emu0 b@emu1
       fault link b>a drop opcode=READ_RESPONSE nth=2
       fault link b>a drop opcode=READ_RESPONSE nth=4
       a: dat_ep_post_rdma_read(ep, 1000, b.mem)
*      a: event request DTO_COMPLETION
       b: dat_ep_post_recv(ep, 64)
       fault link a>b down opcode=SEND nth=1
       a: dat_ep_post_send(ep, 64)
2.5ms  heal
*      b: event recv DTO_COMPLETION
END
cat > "$scratch/nak.dsim" << 'END'
use    connected a@emu0 b@emu1
       fault link a>b nak invalid_request opcode=WRITE nth=1
       a: dat_ep_post_rdma_write(ep, 64, b.mem)
*      a: event request DTO_COMPLETION status=REMOTE_RESPONDER
END
retried() {
	"$datsim" test --trace "$scratch/retry.trace" "$scratch/read.dsim" &&
		"$datsim" show --pcapng "$scratch/a" "$scratch/retry.trace" || return
	sed -n 's/.* op=\(READ[A-Z_]*\) message=1 packet=\([0-9]\).*/\1 \2/p' \
		"$scratch/retry.trace" | tr '\n' ' ' > "$scratch/ops"
	cat "$scratch/ops"
	[ "$(cat "$scratch/ops")" = "READ_REQUEST 0 READ_RESPONSE_FIRST 0 READ_RESPONSE_FIRST 1 \
READ_RESPONSE_MIDDLE 2 READ_RESPONSE_ONLY 3 " ]
}
holds "the trace of a retried Read begins its response anew" retried
requests() {
	fields 'infiniband.bth.opcode == 12' infiniband.bth.psn infiniband.reth.dmalen |
		awk 'NR == 1 { first = $1 } { print $1 - first, $2 }' | tr '\n' ' ' \
		> "$scratch/asked"
	cat "$scratch/asked"
	[ "$(cat "$scratch/asked")" = "0 1000 1 744 3 232 " ]
}
holds "the capture's requests ask for the rest, at its PSN" requests
holds "a packet that takes its link down is there once, then again" counts \
	'infiniband.bth.opcode == 4' 2
holds "and in the trace" sh -c "[ \$(grep -c 'SEND_ONLY.*psn' '$scratch/retry.trace') -eq 2 ]"
invalid() {
	"$datsim" test --trace "$scratch/nak.trace" "$scratch/nak.dsim" &&
		"$datsim" show --pcapng "$scratch/a" "$scratch/nak.trace" || return
	counts 'infiniband.aeth.syndrome == 0x61' 1
}
holds "a NAK for an invalid request says so, whatever status the program gets" invalid

# ---- the profile of Wireshark ----

profile=$scratch/home/.config/wireshark/profiles/libdat
mkdir -p "$profile"
cp "$here"/../../tools/wireshark/* "$profile"
columns() {
	HOME=$scratch/home XDG_CONFIG_HOME='' tshark -C libdat -n -r "$scratch/b" \
		2> "$scratch/noise" > "$scratch/columns"
	head -n 20 "$scratch/columns"
	grep -q '0.000012545 emu1 .*0x000101 16777207 .*dropped by fault 1' "$scratch/columns"
}
holds "the profile has columns for adapter, QP, PSN and faults" columns
filters() {
	sed -n 's/^@[^@]*@\([^@]*\)@.*/\1/p' "$profile/colorfilters" > "$scratch/filters"
	while read -r filter; do
		have=$(tshark -n -r "$scratch/b" -Y "$filter" 2> "$scratch/noise" | wc -l)
		[ "$have" -gt 0 ] || {
			echo "nothing matches $filter"
			return 1
		}
	done < "$scratch/filters"
	[ "$(wc -l < "$scratch/filters")" -eq 6 ]
}
holds "each of its colours is for some packet" filters

# ---- iWARP ----

# With this option tshark dissects late segments too.
late='-o tcp.analyze_sequence_numbers:FALSE'

# iwarp_fields FILTER FIELD...: one line a packet
iwarp_fields() {
	filter=$1
	shift
	for field; do
		set -- "$@" -e "$field"
		shift
	done
	# shellcheck disable=SC2086
	tshark -n $late -r "$scratch/a" -Y "$filter" -T fields "$@" 2> /dev/null
}

iwarp_counts() {
	have=$(iwarp_fields "$1" frame.number | wc -l)
	echo "$1: $have, wanted $2"
	[ "$have" -eq "$2" ]
}

iwarp_says() {
	iwarp_fields "$1" frame.comment | grep -F "$2"
}

# no_wrong_sum FILTER GOOD BAD: the number of right and of wrong checksums
no_wrong_sum() {
	tshark -n -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -r "$scratch/a" -Y "$1" -V \
		2> /dev/null > "$scratch/sums"
	have=$(grep -c 'Checksum Status: Good' "$scratch/sums")
	bad=$(grep -c 'Checksum Status: Bad' "$scratch/sums")
	echo "$have good, $bad bad, wanted $2 and $3"
	[ "$have" -eq "$2" ] && [ "$bad" -eq "$3" ]
}

good_crcs() {
	# shellcheck disable=SC2086
	have=$(tshark -n $late -r "$scratch/a" -V 2> /dev/null | grep -c '(Good CRC32)')
	echo "$have, wanted $1"
	[ "$have" -eq "$1" ]
}

"$datsim" show --pcapng "$scratch/a" "$iwarp"
# shellcheck disable=SC2086
holds "tshark finds nothing malformed in a capture of iWARP" no_malformed $late
holds "tshark finds MPA frames in every segment with data" iwarp_counts \
	'tcp.len > 0 && !iwarp_mpa' 0
holds "MPA requests and replies, one of them a rejection" iwarp_counts \
	'iwarp_mpa.req || iwarp_mpa.rep' 6
holds "with private data" iwarp_counts 'iwarp_mpa.privatedata contains "version 2"' 1
holds "their CRCs are right" good_crcs 28
holds "all checksums are right but that of the corrupted packet" no_wrong_sum tcp 50 1
holds "Sends" iwarp_counts 'iwarp_rdma.opcode == 3' 12
holds "Writes, two of no bytes" iwarp_counts 'iwarp_rdma.opcode == 0' 8
holds "Read Requests" iwarp_counts 'iwarp_rdma.opcode == 1' 2
holds "Read Responses" iwarp_counts 'iwarp_rdma.opcode == 2' 5
holds "a Terminate: no buffer" iwarp_counts 'iwarp_rdma.term_errcode_ddp_untagged == 2' 1
holds "a dropped segment names its fault, and is retransmitted" \
	iwarp_says 'tcp.seq_raw == 16780080' 'dropped by fault 1'
holds "connections begin and end" iwarp_counts 'tcp.flags.syn == 1 || tcp.flags.fin == 1' 9
holds "without a listener, a reset" iwarp_counts 'tcp.flags.reset == 1' 1

# Comments name the line of the script that sent a packet, and that of the fault that dropped it.
cat > "$scratch/lines.dsim" << 'END'
fabric profile=PROFILE
use    connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) x2
       fault link a>b drop opcode=SEND nth=1

       a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION length=64
       a: dat_ep_disconnect(ep, ABRUPT)
*      b: event connect DISCONNECTED
end
END
lines() {
	sed "s/PROFILE/$1/" "$scratch/lines.dsim" > "$scratch/$1.dsim"
	(cd "$scratch" && "$datsim" test --trace lines.trace "$1.dsim" &&
		"$datsim" show --pcapng a lines.trace) || return
	iwarp_fields frame frame.comment | tee "$scratch/comments"
	[ "$(grep -c "^$1.dsim:6.*op=SEND" "$scratch/comments")" -ge 2 ] &&
		grep -q "dropped by fault 1, $1.dsim:4" "$scratch/comments" &&
		grep -q "^$1.dsim:8.*op=CM_DREQ" "$scratch/comments"
}
for profile in ib iwarp; do
	holds "comments name lines of the script ($profile)" lines $profile
done
