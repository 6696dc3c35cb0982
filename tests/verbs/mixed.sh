#!/bin/sh
# A uDAPL program and one of librdmacm and verbs connect to each other on one fabric: each end of
# examples/pair with the other end in verbs (mixed.c). Private data, Send, RDMA Write and Read both
# ways, a rejection, a disconnection; in real time, and in lockstep twice with equal traces. Then
# both ends in one process, and a server that disconnects early (tests/both/).
datsim=$top_builddir/tools/datsim/datsim
pair=$top_builddir/examples/pair
mixed=$top_builddir/tests/verbs/mixed
both=$top_builddir/tests/both/both
brief=$top_builddir/tests/both/brief

if [ ! -x "$mixed" ]; then
	echo "1..0 # SKIP librdmacm is not built"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

ok() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$work/out"
	fi
}

# run OPTIONS -- PROGRAM ARGS + PROGRAM ARGS: they succeed, and nothing is left on their fabric
run() {
	"$datsim" run "$@" > "$work/out" 2>&1 && grep -qE '^ *left +nothing$' "$work/out"
}

# has LINE...: each is a line of the output
has() {
	for line; do
		grep -qxF -e "$line" "$work/out" || return 1
	done
}

# twice COMMAND...: equal traces in lockstep. No thread waits for another outside the library, so
# none has to be preempted, however slow the machine is.
twice() {
	DATSIM_LOCKSTEP=600000
	export DATSIM_LOCKSTEP
	for i in 1 2; do
		run --lockstep --trace "$work/trace$i" -- "$@" || return 1
	done
	cmp "$work/trace1" "$work/trace2"
}

# alike: the traces of two runs of `both`, whose second library to join may find that time runs
alike() {
	DATSIM_LOCKSTEP=600000
	export DATSIM_LOCKSTEP
	for i in 1 2; do
		run --lockstep --trace "$work/trace$i" -- "$both" 10 &&
			has "10 verbs answers" "10 answers by uDAPL" || return 1
		grep -v -e 'note preempted: both2 comes late$' -e '^# end' "$work/trace$i" \
			> "$work/alike$i"
	done
	! grep preempted "$work/alike1" && cmp "$work/alike1" "$work/alike2" > "$work/out"
}

echo 1..16
run -- "$pair/server" + "$mixed" client 198.18.0.1 20 &&
	has "20 verbs answers" "20 answers, 1 clients, 0 more were broken off"
ok $? "a client in verbs, a server in uDAPL, in real time"
run -- "$mixed" server + "$pair/client" 198.18.0.1 20 && has "20 answers by verbs" "20 answers"
ok $? "a client in uDAPL, a server in verbs, in real time"
twice "$pair/server" + "$mixed" client 198.18.0.1 10 && has "10 verbs answers"
ok $? "a client in verbs, in lockstep: the traces are equal"
twice "$mixed" server + "$pair/client" 198.18.0.1 10 && has "10 answers by verbs"
ok $? "a server in verbs, in lockstep: the traces are equal"
grep -q 'op=CM_REQ qual=7700 .*private=' "$work/trace1" &&
	grep -q 'op=CM_REP .*private=' "$work/trace1"
ok $? "private data goes both ways"
grep -q 'op=CM_DREQ' "$work/trace1" && [ "$(grep -c 'op=WRITE_ONLY' "$work/trace1")" -eq 10 ] &&
	[ "$(grep -c 'op=READ_REQUEST' "$work/trace1")" -eq 10 ]
ok $? "so do RDMA Writes and Reads, and the end of the connection"
"$datsim" run --lockstep -- "$mixed" reject + "$pair/client" 198.18.0.1 1 > "$work/out" 2>&1
has "rejected" "pair: no connection: is the server running?"
ok $? "a uDAPL client is rejected by librdmacm"
# The server waits for one that it takes.
run --lockstep -- "$pair/server" + "$mixed" client 198.18.0.1 0 \
	+ "$mixed" client 198.18.0.1 1 && has "0 verbs answers" "1 verbs answers"
ok $? "a client of librdmacm is rejected by a uDAPL server"
DATSIM_LATENCY_NS=1000000 run --lockstep -- "$brief" server + "$brief" client &&
	[ "$(grep -A 2 -x RDMA_CM_EVENT_ESTABLISHED "$work/out" | tail -n 2 | tr '\n' ,)" = \
		"Work Request Flushed Error,RDMA_CM_EVENT_DISCONNECTED," ]
ok $? "a uDAPL server disconnects before its client knows that it accepts"
echo 'fault link mixed>server loss 5%' > "$work/loss.dsim"
run --lockstep --script "$work/loss.dsim" -- "$pair/server" + "$mixed" client 198.18.0.1 50 &&
	has "50 verbs answers"
ok $? "with packets lost, the answers are the same"
"$datsim" run -- "$both" 1 > "$work/out" 2>&1
has "RDMA_CM_EVENT_UNREACHABLE, status -113"
ok $? "both in one process, each on a private fabric of its own"
DATSIM_FABRIC=mixed-$$
export DATSIM_FABRIC
run -- "$both" 20 && has "20 verbs answers" "20 answers by uDAPL"
ok $? "both in one process, on a fabric with a name"
unset DATSIM_FABRIC
alike
ok $? "both in one process, in lockstep: the traces are equal"
grep -q 'both-emu0.ep1 packet to=both2-emu0.id1 op=CM_REP' "$work/alike1" &&
	[ "$(grep -c 'both-emu0.ep1 packet to=both2-emu0.qp1 op=WRITE_ONLY' \
		"$work/alike1")" -eq 10 ]
ok $? "each library has a name there"
DATSIM_PROFILE=iwarp
export DATSIM_PROFILE
run -- "$pair/server" + "$mixed" client 198.18.0.1 20 && has "20 verbs answers"
ok $? "between RNICs, a client in verbs"
run -- "$mixed" server + "$pair/client" 198.18.0.1 20 && has "20 answers by verbs" "20 answers"
ok $? "between RNICs, a server in verbs"
