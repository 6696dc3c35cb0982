#!/bin/sh
# Programs that take turns: what they do is the same, byte for byte, until one stays away. RUNS: so
# often it is compared, with each seed.
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
client=$top/examples/pair/client
rpc=$top/examples/rpc/rpc
turns=$top/tests/processes/turns
bench=$top/bench/bench_turns
blocks=$top/tests/verbs/blocks
cluster=$top/examples/cluster/cluster
behaves=$top/tests/datsim/behaves
for program in "$server" "$client" "$rpc" "$turns" "$bench" "$cluster" "$behaves"; do
	needs "$program"
done
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# step TRACE ARGS: datsim run --lockstep ARGS
step() {
	trace=$1
	shift
	timeout 600 "$datsim" run --lockstep --trace "$trace" \
		${set_script:+--script "$set_script"} "$@" < /dev/null
}

# Where programs cannot be had to have their memory at the same addresses each time, those differ
# that they tell each other: under ThreadSanitizer, threads get theirs as they happen to ask.
equal() {
	if setarch -R true 2> noise && ! grep -qa __tsan_init "$top/.libs/libdat.so"; then
		cmp "$1" "$2"
	else
		sed 's/private=.*//' "$1" > a && sed 's/private=.*//' "$2" | cmp a -
	fi
}

# script LINES...: a script of faults for those that follow; all of its faults happen
script() {
	printf '%s\n' "$@" > faults.dsim
	set_script=faults.dsim
}

# same NAME SEED... -- PROGRAMS: RUNS runs with each of the seeds; none was preempted, all of a seed
# are equal
same() {
	name=$1
	seeds=$2
	shift 3
	for seed in $seeds; do
		step "$name.$seed" --seed "$seed" -- "$@" || return 1
		if grep preempted "$name.$seed"; then return 1; fi
		i=1
		while [ $i -lt "${RUNS:-2}" ]; do
			i=$((i + 1))
			step again --seed "$seed" -- "$@" && equal "$name.$seed" again || return 1
		done
	done
}

# stuck NAME PROGRAMS: all wait forever; datsim says so and ends them, the same way in each run
stuck() {
	name=$1
	shift
	for run in 1 2; do
		step "$name.$run" "$@" > words 2>&1
		[ $? = 1 ] && grep -q 'datsim run: deadlock: every thread' words || return 1
	done
	equal "$name.1" "$name.2"
}

# told COUNT PATTERN: COUNT lines of the output match the pattern
told() {
	[ "$(grep -c "$2" words)" = "$1" ]
}

# What a seed does, without its name.
course() {
	grep -v '^#' "$1"
}

differ() {
	[ "$(course "$1" | cksum)" != "$(course "$2" | cksum)" ]
}

# Some machines do not show a process in which call another one is.
sleep 60 &
if cat "/proc/$!/syscall" > called 2>&1; then
	shown=yes
fi
kill $!

# away WHAT WHERE: a client of two stays outside until the other has come to its end. Without the
# library that gives the turn up for it (--no-verbs)
away() {
	rm -rf told
	step "$1" --no-verbs "$server" 2 + "$turns" 198.18.0.1 20 1 "$1" + \
		"$turns" 198.18.0.1 20 1 tell &&
		grep -q "note preempted: thread 1 of turns stays away${shown:+ in $2}\$" "$1" &&
		course "$1" | tail -n 1 | grep free
}

# Where libdat-turns.so gives the turn up for it, no thread is preempted.
sleeper() {
	rm -rf told
	step sleeper "$server" 2 + "$turns" 198.18.0.1 20 1 sleep + \
		"$turns" 198.18.0.1 20 1 tell && ! grep preempted sleeper
}

# gone WHAT: one ends in the middle of its turn; the server and the other come to their ends
gone() {
	step "$1.$2" "$server" 1 + "$turns" 198.18.0.1 20 1 "$1" + "$turns" 198.18.0.1 20 1
	grep -q 'note process turns is gone' "$1.$2" && ! grep preempted "$1.$2" &&
		grep -q 'server-emu0.* number=CONNECTION_BROKEN' "$1.$2"
}

# A bare futex is the least that a switch can be: ours are no more than so many times as dear. Other
# work on the machine slows ours more, which have more instructions: the best of three runs counts.
quick() {
	for _ in 1 2 3; do
		"$bench" "${ROUNDS:-1000}" > speed || return
		cat speed
		awk '$1 == "ratio" { quick = $2 >= 0.03 } END { exit !quick }' speed && return
	done
	return 1
}

# many: as many programs as datsim run starts, each with an adapter, all there before the first goes
# on
many() {
	clients=
	i=0
	while [ $i -lt 31 ]; do
		i=$((i + 1))
		clients="$clients + $client 198.18.0.1 2"
	done
	# shellcheck disable=SC2086
	step many "$server" 31 $clients > words 2>&1 && told 1 '^62 answers, 31 clients, 0 more'
}

# own RUN: one program makes a fabric of its own (dat_sim_create), and computes in it what it
# computes without lockstep, in the virtual time of its events alone; the others are not held up
own() {
	step "own.$1" "$cluster" + "$server" 1 + "$client" 198.18.0.1 5 > words 2>&1
	[ $? = 1 ] && grep -qx '5 answers, 1 clients, 0 more' words &&
		told 1 '^datsim: .*/cluster made a fabric of its own (dat_sim_create): it tested' &&
		grep -q '^0 - note own fabric: cluster makes one, and takes no part in this' \
			"own.$1" && "$cluster" > usual && grep -vxFf words usual > missing
	[ $? = 1 ] && [ ! -s missing ]
}

echo 1..42
# So long a limit that no thread loses its turn because the machine is slow
DATSIM_LOCKSTEP=600000
export DATSIM_LOCKSTEP
holds "a server and a client" same pair 1 -- "$server" + "$client" 198.18.0.1 50
holds "a server and three clients" same rpc "1 2" -- "$rpc" server emu0 3 + \
	"$rpc" client emu0 198.18.0.1 30 + "$rpc" client emu0 198.18.0.1 30 + \
	"$rpc" client emu0 198.18.0.1 30
holds "another seed, another order" differ rpc.1 rpc.2
holds "a trace runs again" "$datsim" replay rpc.2
holds "a server and 31 clients" many
holds "one program alone" same alone 1 -- "$rpc" both 3 20
holds "a server and a client of four threads" same threads 1 -- \
	"$server" 4 + "$turns" 198.18.0.1 10 4
holds "a new thread that sleeps while another new one runs is waited for" same newborn 1 -- \
	"$server" 4 + "$turns" 198.18.0.1 10 4 lock
script 'fabric latency=2us' 'fault link server>client loss 20%' \
	'fault link client>server drop opcode=SEND nth=3' \
	'fault qp server.ep1 rnr times=2' 'fault link client>server count every=5'
holds "packets are lost between a server and a client" same lost "1 2" -- \
	--node server "$rpc" server emu0 1 + \
	--node client "$rpc" client emu0 198.18.0.1 30
script 'fault completion actor=client op=RECV nth=3 delay 20us' \
	'fault completion ep=server.ep1 op=SEND every=5 delay 7us' \
	'fault link server>client drop opcode=SEND nth=2'
holds "completions are late in two processes, and a packet is lost" same late "1 2" -- \
	--node server "$rpc" server emu0 1 + \
	--node client "$rpc" client emu0 198.18.0.1 30
script 'fault call dat_ep_post_send actor=client nth=2 fail DAT_INSUFFICIENT_RESOURCES'
holds "a call fails in one, which ends; the other waits forever" stuck refused -- \
	--node server "$server" 1 + \
	--node client "$client" 198.18.0.1 5
holds "the fault was that one's" \
	told 1 "actor=client nth=2 fail DAT_INSUFFICIENT_RESOURCES: 1 time$"
script 'fault kill client at 8us'
killed() {
	step killed -- --node server "$server" 1 + --node client "$client" 198.18.0.1 5
	grep '^9000 client-emu0 packet to=server-emu0.ep1 op=TERMINATE$' killed
}
holds "one is killed with the lock of the fabric; its peer is told a latency later" killed
script 'fault link emu0>emu1 drop nth=2' 'fault link server>third drop' \
	'fault link client>server count opcode=READ_RESPONSE'
step links -- --node server "$server" 1 + --node client "$client" 198.18.0.1 5 > words 2>&1
holds "a link that is none: those that packets passed are suggested, by node" told 1 \
	'^faults.dsim:1: .* no packet; did you mean client>server (.*), server>client (.*?$'
holds "so they are if one end is right" told 1 \
	'^faults.dsim:2: .*; passed: no packet; did you mean client>server ([0-9]* packets), '
holds "and none if packets passed it" told 1 '^faults.dsim:3: .*; passed: [0-9]* packets: [^>]*$'
script 'fault kill sleeps at 4ms'
sleeps() {
	rm -rf told
	step sleeps --hang 20 -- --node server "$server" 2 + \
		--node sleeps "$turns" 198.18.0.1 20 1 sleep + \
		--node tell "$turns" 198.18.0.1 1 1 die > words 2>&1
	grep -q '^4000000 sleeps-emu0 fault rule=1001 does=kill at=process$' sleeps
}
[ ! -x "$blocks" ] || holds "one that sleeps outside the library is killed at its time" sleeps
[ -x "$blocks" ] || echo "ok $((n += 1)) - # SKIP the verbs front is not built"
script 'fault link client>server drop opcode=DISCONNECT' 'fault kill third at 20ms'
holds "the end of a connection is lost, then another program dies; it stays lost" stuck lost -- \
	--node server "$server" 3 + --node client "$client" 198.18.0.1 5 + \
	--node third "$server" 1
holds "its other end is connected as before" told 1 'fed by server-emu0.ep1 (CONNECTED)'
script 'fault event ESTABLISHED actor=client lose'
holds "an event is lost in one; both wait forever" stuck silent -- \
	--node server "$rpc" server emu0 1 + \
	--node client "$rpc" client emu0 198.18.0.1 5
holds "both say for what" told 2 'waits forever: .* fed by [a-z]*-emu0.ep1'
set_script=
holds "one is killed in its turn" gone die 1
holds "one ends in its turn, without a word" gone exit 1
gone die 2 > noise 2>&1
holds "what that leads to is the same" equal die.1 die.2
holds "a server waits for one client more" stuck alone "$server" 2 + "$client" 198.18.0.1 5
holds "and says for what" \
	told 1 'dat_cno_wait on server-emu0.cno1 waits forever.*; its EVDs: server-emu0.evd2'
holds "two wait for each other" stuck both "$server" 1 + "$rpc" server emu0 1
holds "both say so" \
	told 2 "waits forever: nothing is in flight on the simulated fabric and every other thread"
holds "what a thread outside may end is no deadlock" step outside "$turns" 198.18.0.1 1 1 outsider
if [ -x "$blocks" ]; then
	holds "threads that block in libc give their turns up" same blocks 1 -- "$blocks"
	holds "one that sleeps lets others go on" sleeper
	holds "a program makes a fabric of its own, beside others" own 1
	own 2
	holds "which have the same trace again" equal own.1 own.2
	holds "a program makes the fabric that it is in" same make 1 -- "$behaves" sim
	holds "no wait of uDAPL is too short by the clock that its program has read" \
		step timeout "$turns" 198.18.0.1 1 1 timeout
else
	for i in 1 2 3 4 5 6; do echo "ok $((n += 1)) - # SKIP the verbs front is not built"; done
fi
DATSIM_LOCKSTEP=soon
expect 2 'DATSIM_LOCKSTEP=soon: expected a number of milliseconds' run --lockstep -- true
unset DATSIM_LOCKSTEP
DATSIM_FAULTS='verdict=drop;' DATSIM_FABRIC=real
export DATSIM_FAULTS DATSIM_FABRIC
holds "in real time there are no faults, which is said" \
	sh -c '! "$1" localhost 1 2> said &&
		grep -q "DATSIM_FAULTS: this fabric is shared" said' - "$client"
unset DATSIM_FAULTS DATSIM_FABRIC
holds "one sleeps" away sleep clock_nanosleep
holds "one computes" away compute "its own code"

# A static program cannot join: the next one is started after five seconds, and lets it end.
cat > static.c << 'end'
#include <unistd.h>
int main(void)
{
	char byte;

	return read(0, &byte, 1) != 1;
}
end
outsider() {
	mkfifo until && exec 9<> until || return 1
	timeout 60 "$datsim" run --lockstep --trace outsider -- ./static + \
		sh -c '"$1" both 1 1; echo > until' - "$rpc" <&9 > out 2>&1
	exec 9>&-
	grep -q '^datsim run: static has not joined the fabric in 5 s: it takes no part' out &&
		grep -A 1 '^datsim: ./static exits with 0$' out |
		grep -q '^  it takes no part in lockstep' &&
		[ "$(grep -c 'takes no part' out)" -eq 2 ] &&
		grep -q '^[0-9]* - note preempted: static does not join$' outsider
}
if ${CC:-cc} -static -o static static.c > noise 2>&1; then
	holds "a program that cannot take part is named" outsider
else
	echo "ok $((n += 1)) - a program that cannot take part is named # SKIP cannot build it"
fi
if grep -qa __tsan_init "$top/.libs/libdat.so"; then
	echo "ok $((n += 1)) - switches are quick # SKIP ThreadSanitizer makes ours slower"
else
	holds "switches are quick" quick
fi
holds "no fabric stays" [ -z "$(ls datsim)" ]
