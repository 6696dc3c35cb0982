#!/bin/sh
# datsim explore of several programs in lockstep: it finds planted bugs, by faults, by the order of
# turns alone, and by both together; its replays fail alike, and it reports nothing about the same
# pairs without the bug. RUNS: schedules of each correct pair; AGAIN: replays.
. "$(dirname "$0")/begin.sh"
planted=$top/tests/planted/pairs
where=$planted
src=$here/../..
behaves=$top/tests/datsim/behaves
hostile=$top/tests/planted/hostile
needs "$planted/grants"
needs "$hostile/two"
needs "$behaves"
export behaves
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
# So long a limit that no thread loses its turn because the machine is slow
DATSIM_LOCKSTEP=600000
export DATSIM_LOCKSTEP
# Schedules vary the seed and the latency only, which makes them short.
DATSIM_BANDWIDTH_BPS=100000000000
DATSIM_MTU=4096
DATSIM_RNR_TIMER_NS=655360
DATSIM_POLL_QUANTUM_NS=1000
export DATSIM_BANDWIDTH_BPS DATSIM_MTU DATSIM_RNR_TIMER_NS DATSIM_POLL_QUANTUM_NS
cd "$scratch" || exit 99
ulimit -c 0
unset UBSAN_OPTIONS
runs=${RUNS:-10}
tests=109
# Programs start slowly then, and each of these starts a dozen of them, or more.
if ${NM:-nm} "$datsim" | grep -q __asan_init; then
	runs=${RUNS:-3}
	tests=91
	slow=yes
fi

# replays STATUS: the printed replay command ends so, AGAIN times, and says the same
once() {
	(eval "$command") > whole 2>&1
	[ $? -eq "$1" ] && sed -n '/^datsim: /,$p' whole
}
replays() {
	command=$(sed -n 's/^replay: *//p' out | sed "s|datsim run|'$datsim' run|")
	once "$1" > first && [ -s first ] || return 1
	i=1
	while [ $i -lt "${AGAIN:-2}" ]; do
		i=$((i + 1))
		once "$1" > again && cmp first again || return 1
	done
}
# The printed script, which ends with an empty line, equals the file.
printed() {
	sed -n '/shrunk to/,/^replay:/p' out | sed '1,2d; /^$/,$d; s/^  //' | cmp - "$1"
}
only_line() { [ "$(wc -l < "$1")" -eq 1 ] && grep -qE "$2" "$1"; }

# grants NAME: a server and a client; slots NAME: a server and two clients
grants() { explored "$1" 'server+client' --node client "$planted/$1" 0; }
slots() {
	explored "$1" 'server+client+client2' --node client "$planted/$1" 0 + \
		--node client "$planted/$1" 1
}
# explored NAME FILE CLIENTS: with $options, expected to end so ($code, $says)
explored() {
	name=$1
	found=$2.shrunk.dsim
	shift 2
	# shellcheck disable=SC2086
	expect "$code" "$says" explore --lockstep $options -- --node server "$where/$name" serve \
		+ "$@"
}

echo 1..$tests
options='--runs 60 --seed 3 --faults drop,corrupt,loss'
code=4
says='server \+ client: schedule 2 of seed 3 is stuck \(nothing can wake server, client\)'
grants grants
holds "a lost acknowledgement is all it takes" only_line "$found" \
	'^fault link client>server (drop|corrupt) opcode=ACK nth=1$'
holds "the printed script equals the file" printed "$found"
takes() {
	section 'what it takes, by [1-9][0-9]* more runs' > takes
	grep -qE '^  [1-9][0-9]* other lines of the schedule can be left out$' takes &&
		grep -q '^  line 1: in place of corrupt, drop does it, too; .* not$' takes &&
		grep -q '^  line 1: in place of client>server, server>client does not do it$' takes
}
section() { sed -n "/^$1:\$/,/^\$/p" out; }
holds "what of it matters is printed" takes
waits() {
	section 'where each program is' |
		grep -A 1 "^  $1  dat_evd_wait on $1-emu0.evd2, fed by $1-emu0" |
		grep -qE '^          since [0-9.]+ us: '"$1"'.*: reaps'
}
holds "both say what they wait for, and since when" eval 'waits server && waits client'
rows() { [ "$(section 'the end of the timeline' | sed '1,3d; $d' | wc -l)" -eq 15 ]; }
holds "the end of the timeline has 15 rows, of all programs" eval 'rows &&
	section "the end of the timeline" | grep -q "reaps the RECV of ep1" &&
	section "the end of the timeline" | grep -q "dat_ep_post_send(ep1, 64)"'
holds "which packet the fault hit" eval 'section "what the faults hit" |
	grep -qE "^  line 1, at [0-9.]+ us: ACK #1 from client.*.ep1 to server.*.ep1: "'
beside() {
	head -c 40 server+client.shrunk.svg | grep -q '<' && [ -s server+client.shrunk.pcapng ] &&
		grep -q '^diagram:  server+client.shrunk.svg$' out
}
holds "its diagram and its packets are beside the script" beside
holds "it fails again in the same way" replays 1
cp out found
expect 0 '^server[+]client.shrunk.trace: the same again' replay server+client.shrunk.trace
if [ -z "$slow" ]; then
	options="$options -j 2"
	grants grants
	holds "two runners find the same schedule" cmp out found
fi
options="-j 2 --runs $runs"
code=0
says="^server \\+ client: $runs schedules of seed 1 hold"
grants grants-fixed

options='--runs 60 --faults turns'
code=1
says='server \+ client \+ client2: schedule [0-9]+ of seed 1: server exits with 1'
slots slots
a_turn='^(fabric seed=[0-9]+|turn order|turn (server|client2?) call=[0-9]+ (to|for)=[a-z0-9]+)$'
holds "an order of turns is all it takes" only_line "$found" "$a_turn"
holds "it fails again in the same way, without a fault" replays 1
if [ -z "$slow" ]; then
	options='--runs 60 --seed 2'
	says='server \+ client \+ client2: schedule [0-9]+ of seed 2: server exits with 1'
	slots slots
	holds "turns are found among faults, too" only_line "$found" "$a_turn"
fi
code=0
options="-j 2 --faults turns --runs $runs"
says="$runs schedules of seed 1 hold"
slots slots-fixed

# A server that does not notice the death of its client
lodger() { explored "$1" 'server+client' --node client "$planted/$1" 0; }
options='--runs 60 --faults kill'
code=4
says='server \+ client: schedule [0-9]+ of seed 1 is stuck \(nothing can wake server\)'
lodger lodger
holds "a kill is all it takes" only_line "$found" '^fault kill client at [0-9]+ns$'
holds "the kill happens again in the same way" replays 1
killed() {
	grep -q 'lodger (client) was killed by a fault' first && grep -q 'kill.*: 1 time' first
}
holds "the report says which program was killed" killed
code=0
options="-j 2 --faults all,kill --runs $runs"
says="$runs schedules of seed 1 hold"
lodger lodger-fixed

# A client that keeps the key of a server which has started again; answers that are late; and a
# message that comes between a poll and the arming of a channel.
pair() { explored "$1" 'server+client' --node client "$planted/$1" "${2:-0}"; }
options='--runs 60 --faults restart'
code=1
says='server \+ client: schedule [0-9]+ of seed 1: client exits with 1'
pair rkey
holds "one restart is all it takes" only_line "$found" \
	'^fault kill server at [0-9]+ns restart after [0-9]+us$'
holds "the restart happens again in the same way" replays 1
started() { grep -q 'restart after.*: 1 time' first && ! grep -q 'was killed by' first; }
holds "the report is about the program that has started again" started
code=0
options="-j 2 --faults all,restart --runs $runs"
says="$runs schedules of seed 1 hold"
pair rkey-fixed
# The server is the last one there when it is killed.
echo 'fault kill server at 14527ns restart after 1us' > alone.dsim
expect 0 'alone.dsim:1: .*: 1 time' run --lockstep --script alone.dsim -- \
	--node server "$planted/rkey-fixed" serve + --node client "$planted/rkey-fixed" 0
# The client is killed, with the lock of the fabric, while the server polls.
cat > polls.dsim << 'END'
fault kill server at 1266ns restart after 1us
fault kill client at 60500ns
END
expect 0 'polls.dsim:2: .*: 1 time' run --lockstep --trace polls --script polls.dsim -- \
	--node server "$planted/rkey" serve + --node client "$planted/rkey" 0
polls_on() {
	grep '^60271 server-emu0.ep1 free$' polls &&
		grep '^61271 server-emu0.evd4 dequeue number=CONNECTION_BROKEN$' polls
}
holds "a poll takes its time while another program dies" polls_on
options='--runs 60'
code=1
says='server \+ client: schedule [0-9]+ of seed 1: server exits with 1'
pair retry
holds "one late message is all it takes" only_line "$found" '^(fault link|fabric|turn) .*$'
holds "it is late again in the same way" replays 1
code=0
options="-j 2 --runs $runs"
says="$runs schedules of seed 1 hold"
pair retry-fixed

# It takes a packet that is sent again and a pause at a call, together.
together() {
	[ "$(wc -l < "$found")" -eq 2 ] && grep -qE '^fault link [^ ]+ (drop|corrupt) ' "$found" &&
		grep -qE '^turn client call=[0-9]+ for=[0-9]+ns$' "$found"
}
without() {
	grep -v "^$1 " "$found" > one.dsim
	"$datsim" run --quiet --lockstep --script one.dsim -- --node server "$planted/deadline" \
		serve + --node client "$planted/deadline" 0
}
# Few schedules find it. Which do depends on the program's calls, also those of a profile's runtime.
seed=${DEADLINE_SEED:-32}
options="--runs ${DEADLINE_RUNS:-60} --seed $seed --faults drop,corrupt"
code=1
says="server \\+ client: schedule [0-9]+ of seed $seed: client exits with 1"
if has_verbs; then
	pair deadline
	holds "a lost packet and a pause at a call are all it takes" together
	holds "neither is enough alone" eval 'without fault && without turn'
	holds "it fails again in the same way" replays 1
else
	cannot "libdat-turns is not built" "explore finds deadline" \
		"a lost packet and a pause at a call are all it takes" "neither is enough alone" \
		"it fails again in the same way"
fi
code=0
options="-j 2 --runs $runs"
says="$runs schedules of seed 1 hold"
pair deadline-fixed
options="$options --faults turns"
pair deadline
DATSIM_SEED=1 # then no schedule has turns
export DATSIM_SEED
options="-j 2 --runs $runs"
pair deadline
unset DATSIM_SEED

# A record that is used after it was freed: AddressSanitizer sees it, nothing else does.
watched_program() {
	# shellcheck disable=SC2086 # several options
	"${CC:-cc}" -fsanitize=address ${ASAN_LDFLAGS:-} -I"$src" -I"$src/include" \
		"$src/tests/planted/pair.c" \
		"$src/tests/planted/pairs/meet.c" "$src/tests/planted/pairs/freed.c" \
		-L"$top/.libs" -Wl,-rpath,"$top/.libs" -ldat -o freed > noise 2>&1 &&
		./freed 2>&1 | grep -q 'expected serve'
}
freed() {
	where=.
	explored freed 'server+client' --node client ./freed "$1"
	where=$planted
}
quoted() {
	section 'it said' | sed -n 2p |
		grep -q '^  ==[0-9]*==ERROR: AddressSanitizer: heap-use-after-free ' &&
		section 'it said' | grep -q '^  freed by thread' &&
		! section 'it said' | grep -q 'Shadow bytes'
}
if watched_program; then
	asan_options=$ASAN_OPTIONS
	# What make check demands of the sanitizer is not for this program; without names it starts
	# sooner.
	ASAN_OPTIONS=exitcode=1:symbolize=0
	export ASAN_OPTIONS
	options='--runs 60 --seed 18 --faults drop'
	code=1
	says='server \+ client: schedule [0-9]+ of seed 18: client exits with 1'
	freed 0
	holds "the report has that of AddressSanitizer, from its first line on" quoted
	holds "one lost packet is all it takes" only_line "$found" '^fault link .* drop .*$'
	holds "it is used again in the same way" replays 1
	code=0
	options="-j 2 --runs $runs"
	says="$runs schedules of seed 1 hold"
	freed 1
	ASAN_OPTIONS=$asan_options
	[ "$asan_options" ] || unset ASAN_OPTIONS
else
	watched="a pair that AddressSanitizer watches"
	cannot "it cannot be built" "$watched" "$watched" "$watched" "$watched" "$watched"
fi

if has_verbs; then
	options='--runs 400 --faults turns'
	code=1
	says='server \+ client: schedule [0-9]+ of seed 1: server exits with 1'
	pair wakeup ask
	holds "one pause at a call is all it takes" only_line "$found" \
		'^turn server call=[0-9]+ for=[0-9]+ns$'
	holds "the report says who slept, and when" eval "section 'what the faults hit' |
		grep -qE '^  line 1, at [0-9.]+ us: thread [0-9]+ of server sleeps for [0-9]+ ns\$'"
	holds "the pause happens again in the same way" replays 1
	acted() { grep -q 'turn server call=.*: 1 time' first; }
	holds "the report says that it acted" acted
	code=0
	options="-j 2 --runs $runs"
	says="$runs schedules of seed 1 hold"
	pair wakeup-fixed ask
else
	cannot "librdmacm is not built" "explore finds wakeup" \
		"one pause at a call is all it takes" "the report says who slept, and when" \
		"the pause happens again in the same way" \
		"the report says that it acted" "explore finds nothing in wakeup-fixed"
fi

# What a pair reaches, the transitions of its queue pairs too, and which calls failed.
covers() {
	"$datsim" explore --lockstep --runs "$1" --coverage --faults "$2" -- --node a "$3" "$4" + \
		--node b "$5" "$6" > out && cat out && grep -qE "$7" out
}
holds "coverage: a call that failed in some schedules" covers 10 rnr "$behaves" refuse \
	"$behaves" well '^    dat_evd_resize [A-Z_]+ +[1-9] +[1-9]$'
if has_verbs; then
	holds "coverage: the transitions of two queue pairs" eval 'covers 3 drop \
		"$planted/wakeup-fixed" serve "$planted/wakeup-fixed" ask \
		"^    qp RESET > INIT +3 +6\$" && grep -qE "^    qp RTS > ERR +3 +[3-6]\$" out'
else
	cannot "librdmacm is not built" "coverage: the transitions of two queue pairs"
fi

# A pair that only the watch over its posted buffers finds
watched() {
	expect "$1" "$2" explore --lockstep --runs 5 -- --node server "$3" serve + \
		--node client "$3" 0
}
watched 3 'server \+ client: schedule 0 of seed 1 breaks a rule of the checkers .*RECV' \
	"$hostile/two"
holds "the watch is all it takes" only_line server+client.shrunk.dsim '^fabric watch=posted$'
holds "the checker finds it again" replays 3
watched 0 '5 schedules of seed 1 hold' "$hostile/two-fixed"

# On a terminal, also while a run hangs
hanging() {
	script -qec "exec '$datsim' explore --lockstep --runs 9 --faults rnr --hang 0.2 \
		--failures 1 --no-shrink --store waits -- \
		--node a '$behaves' sleep + --node b '$behaves' well" /dev/null < /dev/null |
		tr '\r' '\n' > seen
	cat -v seen
	grep -qE '^[1-9] of 9 schedules, [0-9]+ a second, 0 failed, .*, a run takes [0-9]+ s' seen
}
holds "progress: how many of how many, and how long a run has taken" hanging

# Words and lines about turns
DATSIM_TURNS='order server/1@x'
export DATSIM_TURNS
expect 2 'DATSIM_TURNS: "server/1@x": expected order or seed, and switches' run --lockstep -- \
	"$planted/slots" serve + "$planted/slots" 0
unset DATSIM_TURNS
order() {
	echo "$1" > order.dsim
	expect "$2" "$3" run --lockstep --script order.dsim -- \
		--node server "$planted/slots" serve + --node client "$planted/slots" 0 + \
		--node client "$planted/slots" 1
}
order 'turn order' 1 'slots .server. exits with 1'
order 'turn server call=1' 2 'expected a call and what happens at it'
order 'turn server call=1 for=5us to=client' 2 'expected a call and what happens at it'
order 'turn server call=1 call=2 for=5us' 2 'call. is there twice: expected it once in a line'
order 'turn server at=1' 2 'expected one of call, to, for, thread, to_thread, found .at.'
echo 'turn order' > order.dsim
expect 2 'only a script for programs in lockstep can order their turns' run --script order.dsim -- \
	"$behaves" well
mistake() {
	echo "$1" > bad.dsim
	expect 2 "$2" run --lockstep --script bad.dsim -- "$behaves" well + "$behaves" well
}
mistake 'fault kill client' 'expected what happens: at 5us'
mistake 'fault kill client at 5us after 1ms' '.after. belongs to .restart.'
mistake 'fault kill client at 5us drop' 'expected at 5us, restart or after 1ms, found .drop.'
mistake 'fault kill client at 5us nth=2' 'in place of settings: a process ends only once'
mistake 'fault kill a.b at 5us' 'expected a node'

# The ways in which one of several can end; each needs a schedule that changes the latency.
ends() {
	code=$1
	says=$2
	how=$3
	shift 3
	expect "$code" "$says" explore --lockstep --runs 10 --faults rnr "$@" -- \
		--node a "$behaves" "$how" + --node b "$behaves" well
}
if [ -z "$slow" ]; then
	ends 0 'a \+ b: 10 schedules of seed 1 hold' well
	ends 7 'schedule [0-9]+ of seed 1: a exits with 7' fail --out found.dsim
	holds "the script has only the latency" only_line found.dsim '^fabric latency=[0-9]+ns$'
	replay_says() { grep -qE -e "^replay: +$1" out; }
	holds "the replay names nodes and programs" replay_says ".*datsim run --lockstep --script \
found.dsim -- --node a [^ ]*behaves fail \+ --node b [^ ]*behaves well\$"
	ends 134 'schedule [0-9]+ of seed 1: a is ended by signal 6' crash
	ends 134 'schedule [0-9]+ of seed 1: a is ended by signal 6' assert
	holds "what its assertion says is quoted" eval "section 'it said' |
		grep -q 'misbehave.*: Assertion .*the latency is that of a schedule.* failed'"
	ends 3 'leaves 1 object \(a-emu0.ia1\)' leave
	ends 4 'is stuck \(nothing can wake a\)' wait
	ends 4 'hangs' sleep --hang 0.1
	holds "a replay of programs that hang ends" replay_says \
		'.*datsim run --lockstep --hang 0.1 '
	# The one that failed is what there is to repair, not the one that waits for it.
	expect 4 'hangs \(it was ended after a while\), and before that a ended with 7' \
		explore --lockstep --runs 10 --faults rnr --hang 0.1 --store both --no-shrink -- \
		--node a "$behaves" fail + --node b "$behaves" sleep
	holds "nor is it kept with those in which none failed" \
		grep -q '^# ending: hangs; a ended with 7' both/hang-*.dsim
fi
expect 0 '^behaves: 3 schedules of seed 1 hold' explore --lockstep --runs 3 --faults turns -- \
	"$behaves" well

# Programs are forked for each schedule, or it says why not.
cat > runs.c << 'end'
#include <stdlib.h>
#include <unistd.h>
static __attribute__((constructor)) void begin(void)
{
	int fds[2];

	if (getenv("WITH_PIPE") && pipe(fds))
		abort();
}
int main(int argc, char **argv)
{
	return argc != 2 || system(argv[1]);
}
end
# rate WHY WITH_PIPE CFLAGS: the program a runs another, by a shell
rate() {
	# shellcheck disable=SC2086 # no option, or one
	if ! ${CC:-cc} $3 -o runs runs.c > noise 2>&1; then
		cannot "cannot build it" "$1"
		return
	fi
	[ "$2" = none ] || export WITH_PIPE=1
	expect 0 "$1 it opens its fabric: each program is started anew" explore --runs 3 \
		--faults turns -- --node a ./runs "$behaves well" + --node b "$behaves" well
	unset WITH_PIPE
}
if has_verbs; then
	rate 'a has pipe:.* when' pipe ''
else
	cannot "libdat-turns is not built" "a program that has a pipe is started anew"
fi
rate 'a does not come to where' none -static
# ThreadSanitizer begins a thread with the program.
forked() { ! grep -q anew out || ${NM:-nm} "$datsim" | grep -q __tsan_init; }
expect 0 '3 schedules of seed 1 hold' explore --runs 3 -- "$behaves" well + "$behaves" well
holds "programs that open their fabric first are forked" forked

# What explores nothing says so.
expect 0 '^behaves \+ behaves2: 3 schedules of seed 1 hold' explore --runs 3 -- \
	"$behaves" well + "$behaves" well
expect 0 '^a_b \+ a_b2: 3 schedules of seed 1 hold' explore --runs 3 -- \
	--node a-b "$behaves" well + --node a.b "$behaves" well
expect 2 'datsim explore: expected a program before and after each \+' explore --lockstep -- \
	"$behaves" well +
expect 2 '--faults turns and kill want several programs, or --lockstep' explore --faults turns -- \
	"$behaves" well
expect 2 '--lockstep, turns and kill are for programs' explore --lockstep "$top/nonesuch.dsim"
expect 2 'true opened no simulated adapter, or made no object on it: it' explore --lockstep -- \
	"$behaves" well + true
expect 3 'sh: sh exits with 3 without any fault: nothing was explored' explore --lockstep -- \
	sh -c 'exit 3'
expect 255 'sh: sh exits with 255 without any fault: nothing was explored' explore --lockstep -- \
	sh -c 'exit 255'

# What asks explore to end ends the programs, too, and leaves no fabric.
cat > ends.sh << 'END'
#!/bin/sh
"$behaves" well
[ "${DATSIM_LATENCY_NS:-0}" -ge 20000 ] || exit 0
echo $$ > pid
kill -TERM "$1"
exec sleep 60
END
asks() {
	sh -c "exec '$datsim' explore --lockstep --runs 50 -- --node a sh ends.sh \$\$" > out 2>&1
	[ $? = 143 ] && grep -q 'it was asked to end' out
}
holds "a signal ends explore" asks
gone() { ! kill -0 "$(cat pid)"; }
holds "the program has ended, too" gone
expect 0 'there is no shared fabric' fabric list

# Nor do programs whose children outlive them, or an explore that is killed.
cat > wraps.sh << 'END'
#!/bin/sh
"$behaves" "$1"
exit $?
END
expect 4 'hangs' explore --lockstep --runs 3 --faults rnr --hang 0.02 --store hung --no-shrink -- \
	--node a sh wraps.sh sleep + --node b "$behaves" well
expect 0 'there is no shared fabric' fabric list

# Nor does a schedule whose process is killed, and cannot remove its fabric.
expect 137 'is ended by signal 9' explore --lockstep --runs 2 -- \
	"$behaves" well + sh -c "kill -9 \$PPID"
expect 0 'there is no shared fabric' fabric list
cat > kills.sh << 'END'
#!/bin/sh
"$behaves" well
[ "${DATSIM_LATENCY_NS:-0}" -ge 20000 ] || exit 0
kill -KILL "$1"
exec sleep 60
END
is_killed() {
	sh -c "exec '$datsim' explore --lockstep --runs 50 -- --node a sh kills.sh \$\$ + \
		--node b '$behaves' well" > out 2>&1
	[ $? = 137 ] || return 1
	for _ in $(seq 1000); do
		"$datsim" fabric list 2>&1 | grep -q 'there is no shared fabric' && return 0
	done
	return 1
}
holds "explore is killed: its programs end, and their fabric goes" is_killed
only_a_device() {
	"$datsim" explore -- ibv_devinfo > out 2>&1
	grep -q 'ibv_devinfo opened a simulated device, but made no object on it: nothing was' out
}
if has_verbs && command -v ibv_devinfo > /dev/null; then
	holds "a program that only opens a device is told apart" only_a_device
else
	cannot "it takes ibv_devinfo, and libibverbs built" \
		"a program that only opens a device is told apart"
fi
# ./demo pair, without its build; the replay line is as one would paste it
story() {
	unset DATSIM_BANDWIDTH_BPS DATSIM_MTU DATSIM_RNR_TIMER_NS DATSIM_POLL_QUANTUM_NS
	LC_ALL=C sh "$here/../../tools/demo-pair.sh" "$top" "$scratch/story" > told &&
		grep -q 'shrunk to 1 line' told && grep -q '200 schedules of seed 1 hold' told &&
		[ -s story/found.svg ] && ! grep -E '.{81}' told || return 1
	sed -n '/^replay:/,/^$/p' told | sed "s|^replay: *datsim|'$datsim'|
		s|wakeup|'$planted/wakeup'|g" > again
	(cd story && . ../again > out 2>&1)
	[ $? = 1 ] && grep -q 'server) exits with 1' story/out
}
if [ -z "$slow" ] && has_verbs; then
	holds "the demo of a pair finds its bug and draws it, at 80 columns" story
elif [ -z "$slow" ]; then
	cannot "librdmacm is not built" \
		"the demo of a pair finds its bug and draws it, at 80 columns"
fi
