#!/bin/sh
# datsim run with several programs, and datsim fabric.
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
client=$top/examples/pair/client
needs "$server"
needs "$client"
forgets=$top/tests/datsim/forgets
needs "$forgets"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

echo 1..89
expect 0 '^100 answers, 1 clients, 0 more were broken off' \
	run -- "$server" + "$client" localhost 100
holds "the client says the same" grep -qx '100 answers' out
holds "both left nothing" grep -q 'left  *nothing' out
expect 0 '^60 answers, 3 clients' run "$server" 3 + "$client" localhost 20 --and \
	"$client" 127.0.0.1 20 + "$client" localhost 20
holds "programs of one name are told apart by their nodes" grep -q '/client (client2) exits' out
expect 0 'trace  *two.trace' run --trace two.trace -- \
	--node s "$server" + --node c "$client" localhost 5
holds "adapters are named as their nodes" grep -q ' c-emu0.ep1 post_send .* message=5' two.trace
holds "the trace has its end" sh -c 'tail -n 1 two.trace | grep -q "^# end lines="'
expect 0 '  c>s READ #10' show --all two.trace
expect 1 'exits with 1' run -- "$client" nonesuch.invalid + true
# traced ARGS...: it is told to the program
traced() {
	# shellcheck disable=SC2016
	"$datsim" run "$@" -- sh -c 'test -n "$DATSIM_TRACE" && exec "$0"' \
		"$top/examples/srq_server" + "$top/examples/srq_server"
}
"$datsim" run --trace none.trace -- true + true 2> said
holds "what is told of it is traced" traced
holds "and so is what is asked for" traced --quiet --trace asked.trace
holds "but else nothing is" \
	sh -c '! "$1" run --quiet -- sh -c "test -n \"\$DATSIM_TRACE\"" + true' - "$datsim"
expect 1 'opened no simulated adapter: nothing was tested' run -- true + true
expect 1 'opened no simulated adapter: nothing was tested' run --lockstep -- true
expect 1 '^datsim: true opened no simulated adapter, or made no object on it: it' \
	run -- true + "$top/examples/srq_server"
holds "nothing is said of the other one" sh -c '! grep "srq_server opened no" out'
expect 1 '^datsim: true opened no simulated adapter' \
	run --lockstep --quiet --trace one.trace -- "$top/examples/srq_server" + true
expect 1 '^datsim: true opened no' run -- "$top/examples/srq_server" + \
	--node srq_server true
# shellcheck disable=SC2016
expect 0 'left +nothing' run -- --node n "$top/examples/srq_server" + \
	--node n sh -c '"$0" && "$0"' "$top/examples/srq_server"
expect 1 'true [(]n22[)] exits with 0' run --lockstep -- --node n "$top/examples/srq_server" + \
	--node n "$top/examples/srq_server" + --node n2 true
expect 2 'nothing happens in this trace' show none.trace
DATSIM_TRACE_BYTES=65536
export DATSIM_TRACE_BYTES
expect 0 'cut  *the trace is full' run --trace full.trace -- "$server" + "$client" localhost 500
expect 0 'the trace is full' show full.trace
holds "its text is no longer than that" [ "$(wc -c < full.trace)" -le 65536 ]
unset DATSIM_TRACE_BYTES
DATSIM_TRACE_LAST=65536
export DATSIM_TRACE_LAST
expect 0 'cut  *the trace keeps its end: what came before' \
	run --trace last.trace -- "$server" + "$client" localhost 500
holds "what was made before is not missed" sh -c '! grep checker: out'
holds "nor said not to be left" grep -q 'left  *nothing that was made since then' out
expect 0 'the trace keeps its end' show last.trace
holds "its packets can be captured" "$datsim" show --pcapng last.pcapng last.trace
# A block of type 6 is a packet; its second word is its length.
packets=$(od -An -v -tu4 -w4 last.pcapng |
	awk -v at=1 'NR == at { type = $1 }
		NR == at + 1 { n += type == 6; at += $1 / 4 }
		END { print n }')
holds "all of them" [ "$packets" -eq "$(grep -c ' packet to=.* op=[A-Z]' last.trace)" ]
expect 0 'trace  *step.trace' \
	run --lockstep --trace step.trace -- "$server" + "$client" localhost 500
holds "in lockstep it keeps its end, too" grep -q 'note the trace keeps its end' step.trace
expect 0 'step.trace: the same again' replay step.trace
echo 'fault link any>any drop opcode=SEND nth=2' > early.dsim
expect 0 'early.dsim:1: .*: not known, the trace keeps its end' run --lockstep \
	--script early.dsim -- "$server" + "$client" localhost 500
expect 0 'test: note: it needs the whole trace; DATSIM_TRACE_LAST is ignored' \
	test "$here/../../doc/demo.dsim"
expect 0 'run: note: --capture needs the whole trace' run --capture last.pcapng -- \
	"$top/examples/srq_server"
expect 0 'run: note: --hang needs the whole trace' run --hang 60 -- "$top/examples/srq_server"
unset DATSIM_TRACE_LAST
expect 127 'nonesuch: No such file' run -- true + nonesuch
expect 2 'before and after each' run -- true +
expect 2 'script is for one program, or for several with --lockstep' \
	run --script two.trace -- true + true
holds "no fabric stays" [ -z "$(ls datsim)" ]
# refused STATUS VARIABLE=VALUE: says that there is no fabric, and starts no program
refused() {
	# shellcheck disable=SC2016
	env "$2" "$datsim" run -- sh -c 'echo "started" >&2' + true 2> said
	[ $? -eq "$1" ] && ! grep started said &&
		grep -qx 'datsim run: cannot make a fabric for several programs' said
}
holds "a fabric that cannot be made is told" refused 99 XDG_RUNTIME_DIR=/proc
holds "so is one whose settings are wrong" refused 2 DATSIM_MTU=1

expect 0 '^DATSIM_FABRIC=lab$' fabric create lab
expect 1 'lab is there already' fabric create lab
expect 0 '^lab  *0 processes' fabric list
DATSIM_FABRIC=lab "$server" 1 > served &
until "$datsim" fabric show lab | grep -q '198.18.0.1 .* waiting'; do sleep 0.01; done
expect 1 'lab is in use' fabric destroy lab
DATSIM_FABRIC=lab "$client" 198.18.0.1 5 > asked
wait
holds "the server answered" grep -q '^5 answers' served
expect 0 'no process takes part in lab' fabric show lab
holds "it can be ended now" "$datsim" fabric destroy lab
expect 1 'there is no fabric lab' fabric show lab
expect 2 'cannot be called' fabric create ../lab
holds "no fabric stays" [ -z "$(ls datsim)" ]

# What asks datsim to end asks all programs, and the fabric goes with them.
# shellcheck disable=SC2016
expect 143 'server was ended by signal 15' run -- "$server" + \
	sh -c 'kill -TERM $PPID; exec sleep 30'
holds "no fabric stays" [ -z "$(ls datsim)" ]
# shellcheck disable=SC2016
expect 143 'server was ended by signal 15' run --lockstep -- "$server" + \
	sh -c 'kill -TERM $PPID; exec sleep 30'
holds "no fabric stays" [ -z "$(ls datsim)" ]

# Each signal that asks datsim to end does that.
# shellcheck disable=SC2016
expect 130 'server was ended by signal 2' run -- "$server" + sh -c 'kill -INT $PPID; exec sleep 30'
# shellcheck disable=SC2016
expect 129 'server was ended by signal 1' run -- "$server" + sh -c 'kill -HUP $PPID; exec sleep 30'
# One that has not begun by then is not begun.
# shellcheck disable=SC2016
expect 143 'server was ended by signal 15' run -- \
	sh -c 'kill -TERM $PPID; exec sleep 30' + "$server"
holds "no fabric stays" [ -z "$(ls datsim)" ]

# leaves NAME TRACE: a program that is killed leaves its fabric
leaves() {
	DATSIM_FABRIC=$1 DATSIM_TRACE=$2 "$forgets" emu0 die
	[ $? -eq 137 ] && [ -e "datsim/$1" ]
}
# joins NAME TRACE: another job of that name, with other settings
joins() {
	DATSIM_FABRIC=$1 DATSIM_TRACE=$2 DATSIM_PROFILE=iwarp "$forgets" emu0 close
	[ $? -eq 5 ]
}
holds "a program may leave a fabric behind" leaves left before.trace
holds "the next job of that name makes it anew" joins left after.trace
holds "with its own settings" grep -qx '# profile=iwarp' after.trace
holds "the trace of the first job is whole" \
	sh -c 'grep -qx "# profile=ib" before.trace && tail -n 1 before.trace | grep -q "^# end"'
holds "no fabric stays" [ -z "$(ls datsim)" ]

# A program that exits without dat_ia_close ends its fabric, if it is the last one there.
ends() {
	DATSIM_FABRIC=$1 DATSIM_TRACE=$1.trace "$forgets" emu0 forget
	[ $? -eq 5 ] && [ ! -e "datsim/$1" ] && tail -n 1 "$1.trace" | grep -q '^# end'
}
together() {
	mkfifo input
	DATSIM_FABRIC=both "$forgets" emu0 linger < input &
	one=$!
	DATSIM_FABRIC=both "$forgets" emu0 linger < input &
	other=$!
	exec 9> input
	until "$datsim" fabric list | grep -q '^both  *2 processes'; do sleep 0.01; done
	exec 9>&-
	wait "$one" "$other"
	[ ! -e datsim/both ]
}
holds "an exit without a close ends the fabric" ends quit
holds "two that exit at the same time do, too" together

# A fabric that was created stays, with its settings: who asks for others is told.
expect 0 '^DATSIM_FABRIC=kept$' fabric create kept
# asks SETTING...: a job on it, with these settings
asks() {
	env DATSIM_FABRIC=kept "$@" "$forgets" emu0 forget 2> notes
	[ $? -eq 5 ] && [ -e datsim/kept ]
}
# told NAME=VALUE HAS
told() {
	grep -q "kept: $1 has no effect: it was made with $2\$" notes
}
holds "it stays when its last process exits" asks DATSIM_SEED=1
holds "nothing is said of settings that it has" [ ! -s notes ]
asks DATSIM_PROFILE=iwarp DATSIM_SEED=5 DATSIM_TRACE=asked.trace DATSIM_LOCKSTEP=50
holds "another profile is told" told DATSIM_PROFILE=iwarp ib
holds "another seed is told" told DATSIM_SEED=5 1
holds "another trace is told" told DATSIM_TRACE=asked.trace 'no trace'
holds "another kind of time is told" grep -q 'DATSIM_LOCKSTEP has no effect' notes
holds "it can be ended, still" "$datsim" fabric destroy kept

# Addresses out of another network.
expect 0 '^20 answers' run --addresses 10.9.0.0/16 -- "$server" + "$client" 10.9.0.1 20
expect 0 '^5 answers' run --addresses 10.0.0.0/8 -- "$server" + "$client" 10.0.0.1 5
expect 0 '^5 answers' run --addresses 223.255.255.240/28 -- "$server" + \
	"$client" 223.255.255.241 5
# network VALUE PATTERN: the option and the variable are refused, and the latter says why
network() {
	"$datsim" run --addresses "$1" -- true > said 2>&1
	[ $? = 2 ] && grep -q "addresses wants a network .*, got '$1'" said &&
		! DATSIM_ADDRESSES=$1 "$datsim" run -- true + true > said 2>&1 &&
		grep -q "DATSIM_ADDRESSES=$1: .*$2" said
}
holds "a network is no address" network 10.9.0.1/16 'expected a network such as'
holds "it has room for adapters" network 10.9.0.0/29 'expected a network such as'
holds "it is not that of this machine" network 127.0.0.0/24 \
	'this machine stand for its own adapters: expected another network'
holds "it is one of hosts" network 224.0.0.0/24 'addresses hosts may have'
holds "nor is 0 one of them" network 0.0.0.0/8 'addresses hosts may have'
holds "it is not half of all addresses" network 64.0.0.0/7 'expected a network such as'
DATSIM_ADDRESSES=192.168.77.16/28 "$datsim" fabric create near > said
DATSIM_FABRIC=near "$server" 1 > served &
until "$datsim" fabric show near | grep -q waiting; do sleep 0.01; done
expect 0 ' 192.168.77.17 ' fabric show near
holds "a program that joins need not know the network" \
	sh -c 'DATSIM_FABRIC=near "$1" 192.168.77.17 5' - "$client"
wait
holds "it can be ended" "$datsim" fabric destroy near
