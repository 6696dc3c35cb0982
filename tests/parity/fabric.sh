#!/bin/sh
# The parity program with DAT_PROVIDER=hw over this project's own libibverbs and librdmacm, on the
# simulated fabric: the answers of hardware (differences.tsv), in lockstep and in real time; two
# processes in lockstep, twice, with equal traces, and so examples that poll. TAP.
here=$top_srcdir/tests/parity
build=$(cd "$top_builddir" && pwd) || exit 99
datsim=$build/tools/datsim/datsim
n=0

if [ ! -e "$build/passthrough/.libs/passthrough.so" ] ||
	[ ! -e "$build/verbs/.libs/libibverbs.so.1" ]; then
	echo "1..0 # SKIP built without the passthrough, or without the libibverbs of the fabric"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
# A Send without a Receive ends after three retries, instead of never.
DAT_HW_RNR_RETRY=3
DAT_HW_MODULE=$build/passthrough/.libs/passthrough.so
export DAT_HW_RNR_RETRY DAT_HW_MODULE

ok() {
	if [ "$1" = 0 ]; then
		echo "ok $((n += 1)) - $2"
	else
		echo "not ok $((n += 1)) - $2"
		sed 's/^/# /' "$work/said"
	fi
}

# answers OPTIONS: the scenarios, and their answers in the file `answers`
answers() {
	timeout 120 "$datsim" run --over-verbs "$@" --quiet -- "$build/tests/parity/parity" \
		emu0 emu1 > "$work/answers" 2> "$work/said"
}

# scripted FAULT SAYS: a run with that fault, in which it acts, prints a line like that
scripted() {
	echo "fault $1" > "$work/faults.dsim"
	timeout 60 "$datsim" run --over-verbs --script "$work/faults.dsim" -- \
		"$build/tests/parity/parity" emu0 emu1 sends > "$work/said" 2>&1 &&
		grep -q "$2" "$work/said"
	ok $? "a fault: $1"
}

# pair TRACE: two programs in lockstep
pair() {
	timeout 60 "$datsim" run --over-verbs --lockstep --trace "$1" -- \
		"$build/examples/pair/server" + "$build/examples/pair/client" 198.18.0.1 10 \
		> "$work/said" 2>&1 && grep -qx '10 answers' "$work/said" &&
		grep -qE '^ *left +nothing$' "$work/said" && ! grep -q preempted "$1"
}

# polls LINE PROGRAMS: two runs in lockstep print that line, end well, and leave equal traces
polls() {
	line=$1
	shift
	for run in 1 2; do
		timeout 20 "$datsim" run --over-verbs --lockstep --trace "$work/polls.$run" \
			-- "$@" > "$work/said" 2>&1 && grep -qxF "$line" "$work/said" &&
			grep -qE '^ *left +nothing$' "$work/said" &&
			! grep preempted "$work/polls.$run" >> "$work/said" || return 1
	done
	cmp "$work/polls.1" "$work/polls.2" >> "$work/said"
}

# info VARIABLE... [COMMAND]: `datsim info` by hand, without the help of datsim run
info() {
	timeout 60 env DAT_PROVIDER=hw LD_LIBRARY_PATH="$build/verbs/.libs" "$@" "$datsim" info \
		> "$work/said" 2>&1
}

answers --lockstep
ok $? "parity over verbs ends well in lockstep"
"$here/lay.sh" fabric "$work/answers" > "$work/laid"
while read -r line; do
	case $line in
	"ok "*) echo "ok $((n += 1)) - ${line#ok }" ;;
	"not ok "*) echo "not ok $((n += 1)) - ${line#not ok }" ;;
	*) echo "$line" ;;
	esac
done < "$work/laid"
# Which of two events the peer hears first is not always the same in real time.
answers && grep '[.]done yes$' "$here/emulator.txt" > "$work/wanted" &&
	grep '[.]done yes$' "$work/answers" | diff "$work/wanted" - >> "$work/said"
ok $? "each scenario ends well in real time"
timeout 60 "$datsim" run --over-verbs --quiet -- "$build/tests/parity/parity" 198.18.0.1 \
	198.18.0.2 private_data > "$work/said" 2>&1 && grep -qx 'private_data.done yes' "$work/said"
ok $? "an adapter has its address as a name"
# A thread that is delayed by the machine is not to be preempted.
DATSIM_LOCKSTEP=600000
export DATSIM_LOCKSTEP
pair "$work/first" && pair "$work/second" && cmp "$work/first" "$work/second" >> "$work/said"
ok $? "two runs of two programs in lockstep leave equal traces"
grep -q 'op=CM_REQ .*private=' "$work/first" && grep -q 'post_rdma_read' "$work/first"
ok $? "they have connections of librdmacm and RDMA Reads"
# While they poll they hold the lock that the thread of the passthrough needs for their connections.
polls '400 calls of 4 clients answered and verified, 1 client refused' \
	"$build/examples/rpc/rpc" both
ok $? "rpc, a server and clients that poll in one thread, twice in lockstep"
polls '400 replies verified' "$build/examples/srq_server"
ok $? "srq_server, twice in lockstep"
polls '20 came back right, 1 connections' "$build/examples/stream/stream" server poll + \
	"$build/examples/stream/stream" client 198.18.0.1 poll 1 20
ok $? "stream, two programs that poll, twice in lockstep"
scripted 'link emu0>emu1 drop opcode=SEND nth=3' '^sends.done yes$'
scripted 'call ibv_post_send nth=3 fail ENOMEM' \
	'^sends.stopped at post_send.*INSUFFICIENT_RESOURCES'
timeout 60 "$datsim" run --over-verbs --quiet -- "$build/tests/parity/parity" emu0 emu0 forked \
	> "$work/said" 2>&1 && grep -qx 'forked.handle 0' "$work/said" &&
	grep -qx 'forked.anew 0' "$work/said" && grep -qx 'forked.message comes' "$work/said"
ok $? "a forked child opens the adapter anew, and its parent has lost nothing"
info DATSIM_VERBS=emu && grep -q 'limits of emu0 (backend hw)' "$work/said"
ok $? "by hand it takes DAT_PROVIDER=hw and DATSIM_VERBS=emu"
info DATSIM_LINK_LAYER=infiniband
grep -q 'DAT_PROVIDER=hw: no ' "$work/said"
ok $? "without DATSIM_VERBS the fabric is no hardware"
info DATSIM_VERBS=rxe
grep -q 'DATSIM_VERBS=rxe: expected emu' "$work/said"
ok $? "another value is refused"
echo "1..$n"
