#!/bin/sh
# datsim run: unmodified programs, their environment, the report about them, and their exit status.
. "$(dirname "$0")/begin.sh"
forgets=$top/tests/datsim/forgets
needs "$forgets"
cd "$scratch" || exit 99
TMPDIR=$scratch/tmp
mkdir tmp
export TMPDIR

cat > faults.dsim << 'END'
fabric latency=3us
fault link emu0>emu1 drop opcode=SEND nth=3
fault qp emu0.ep2 rnr times=2
fault link emu1>emu0 count opcode=ACK
fault link emu1>emu0 drop opcode=WRITE optional
END
cat > calls.dsim << 'END'
fault call dat_ep_post_send ep=emu0.ep1 nth=3 fail DAT_INTERNAL_ERROR
fault completion actor=emu1 op=RECV count
fault adapter emu1 fatal at 1s optional
END
echo 'fault alloc nth=3' > alloc.dsim
echo 'fault link emu1>emu0 drop opcode=WRITE' > never.dsim
echo '1us fault link emu1>emu0 drop' > timed.dsim
echo 'use bare a@emu0' > test.dsim
echo 'fault link emu1>b drop' > actor.dsim
echo 'fault qp emu1.ep rnr' > ep.dsim
echo 'fault link emu1>emu0 dorp' > word.dsim

echo 1..102
expect 0 'left +nothing' run -- "$top/examples/srq_server"
expect 0 '800 RECV, .*12 ASYNC_SRQ_LOW_WATERMARK' run "$top/examples/srq_server"
expect 0 '400 replies verified' run --quiet "$top/examples/srq_server"
holds "quiet says nothing of its own" sh -c '! grep -q simulated out'
expect 0 'trace +one.trace' run --trace one.trace --seed 7 "$top/examples/srq_server"
expect 0 'trace +two.trace' run --trace two.trace --seed 7 "$top/examples/srq_server"
holds "run twice, the traces are the same" cmp one.trace two.trace
holds "the seed is in the trace" grep -q '^# seed=7$' one.trace
expect 0 'left +nothing' run --trace three.trace --profile iwarp "$top/examples/srq_server"
holds "so is the profile" grep -q '^# profile=iwarp$' three.trace
expect 5 'left +nothing' run "$forgets" emu0 close
expect 5 'left +emu0.ia1, emu0.pz1, emu0.evd2' run "$forgets" emu0 forget
expect 137 'was ended by signal 9' run --trace dead.trace "$forgets" emu0 die
holds "one that was killed left its trace" grep -q 'emu0.pz1 create' dead.trace
expect 2 '/dev/full: not a regular file' run --trace /dev/full "$top/examples/srq_server"
expect 0 "trace +a b.trace .datsim show 'a b.trace'.$" run --trace 'a b.trace' \
	"$top/examples/srq_server"
expect 5 'refused +dat_evd_resize' run "$forgets" emu0 close
expect 3 'there is no adapter "ib0"' run "$forgets" ib0 close
expect 5 'left +nothing' run --alias ib0=emu0 "$forgets" ib0 close
expect 2 '--alias wants NAME=ADAPTER, .*, got .ib0.' run --alias ib0 "$forgets" ib0 close
expect 0 'faults.dsim:2: fault link emu0>emu1 drop opcode=SEND nth=3: 1 time$' run \
	--script faults.dsim --trace faults.trace "$top/examples/srq_server"
holds "each fault with how often it happened" grep -q 'ep2 rnr times=2: 2 times$' out
holds "a count too" grep -qE 'opcode=ACK: [1-9][0-9]+ times$' out
holds "one that need not happen" grep -q 'optional: 0 times$' out
holds "the script's fabric settings are in the trace" grep -q '^# latency_ns=3000$' faults.trace
holds "the trace names the script and is replayed" "$datsim" replay faults.trace
expect 0 'verified' run --script faults.dsim --quiet --seed 5 "$top/examples/srq_server"
# Ruling E11: DATSIM_SCRIPT is another way to name it.
DATSIM_SCRIPT=faults.dsim
export DATSIM_SCRIPT
expect 0 'faults.dsim:2: fault link emu0>emu1 drop opcode=SEND nth=3: 1 time$' run \
	--trace named.trace "$top/examples/srq_server"
expect 1 'never.dsim:1: fault' run --quiet --script never.dsim "$top/examples/srq_server"
expect 0 'DATSIM_SCRIPT +set' info
"$top/examples/srq_server" > out 2>&1
status=$?
holds "a program by itself is told that it needs datsim run" [ $status -ne 0 ]
holds "and what for" grep -q 'DATSIM_SCRIPT=faults.dsim: expected the program to be run by' out
expect 2 "--script wants a file, got ''" run --quiet --script '' "$top/examples/srq_server"
DATSIM_SCRIPT=
expect 2 'the name of the script is empty' run --quiet "$top/examples/srq_server"
unset DATSIM_SCRIPT
holds "a trace made with DATSIM_SCRIPT is replayed" "$datsim" replay named.trace
expect 1 'never.dsim:1: fault .*WRITE: 0 times; .*; passed: [0-9]+ packets: .*SEND' run --quiet \
	--script never.dsim "$top/examples/srq_server"
expect 5 'never.dsim:1: .*0 times' run --script never.dsim "$forgets" emu0 close
expect 1 'calls.dsim:1: fault call dat_ep_post_send .*: 1 time$' run --script calls.dsim \
	"$top/examples/srq_server"
holds "the call was refused" grep -q 'refused .*dat_ep_post_send' out
expect 1 'alloc.dsim:1: fault alloc nth=3: 1 time$' run --script alloc.dsim \
	"$top/examples/srq_server"
expect 2 'timed.dsim:1:1: a line of a program.s script takes no time' run --script timed.dsim true
expect 2 'test.dsim:1:1: a script for a program has "fabric", "fault"' run --script test.dsim true
expect 2 'actor.dsim:1:17: expected an adapter, emu0 to emu4095' run --script actor.dsim true
expect 2 'ep.dsim:1:10: expected an EP or QP as the trace names it' run --script ep.dsim true
expect 2 'did you mean "drop"' run --script word.dsim true
# The packet that takes a link or a host down is lost once, in the trace and in the account.
cat > down.dsim << 'END'
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64)
       fault link a>b down nth=1 opcode=SEND
       a: dat_ep_post_send(ep, 64)
       quiet
END
sed 's/ down / dead /' down.dsim > dead.dsim
# once SCRIPT VERB: packets lost at the time of the fault
once() {
	"$datsim" test --trace "$1.trace" "$1"
	time=$(sed -n "s/^\([0-9]*\) [^ ]* $2 rule=1 .*/\1/p" "$1.trace")
	grep "^$time " "$1.trace"
	[ "$(grep "^$time " "$1.trace" | grep -cE " ($2|lost) rule=")" = 1 ]
}
holds "the packet that takes a link down is lost once" once down.dsim link_down
holds "the packet that kills a host is lost once" once dead.dsim host_dead
echo 'fault link emu0>emu1 down opcode=SEND nth=3' > down.dsim
expect 1 'packets +.* [1-9][0-9]* lost' run --script down.dsim --trace down.trace \
	"$top/examples/srq_server"
holds "all of them are in the account" \
	grep -q " $(grep -cE ' (lost|link_down) rule=' down.trace) lost" out

DATSIM_TRACE_BYTES=65536
export DATSIM_TRACE_BYTES
expect 0 'cut +the trace is full: what came later is not counted' run --trace full.trace \
	"$top/examples/srq_server"
holds "a trace that is full is counted up to there" grep -qE 'packets +[1-9]' out
holds "it is no longer than asked for" [ "$(wc -c < full.trace)" -le 66560 ]
expect 0 'the trace is full .*: later lines are missing' show full.trace
expect 1 'never.dsim:1: .*: 0 times before the trace was full; "optional" allows' run \
	--script never.dsim "$top/examples/srq_server"
unset DATSIM_TRACE_BYTES
yes 'fault link emu1>emu0 drop opcode=WRITE optional' | head -n 256 > many.dsim
expect 0 '^many.dsim:256: .* 0 times$' run --script many.dsim "$top/examples/srq_server"
tail -n 1 many.dsim >> many.dsim
expect 2 '^many.dsim:257:1: expected at most 256 faults, found one more' run --script many.dsim \
	"$top/examples/srq_server"
# shellcheck disable=SC2016
echo 'for i in 1..257: fault link emu1>emu0 drop nth=$i optional' > many.dsim
expect 2 '^many.dsim:1:18: expected at most 256 faults, found one more' run --script many.dsim \
	"$top/examples/srq_server"
# shellcheck disable=SC2016
limited='ulimit -f 200; exec "$0"'
expect 2 'cut +the trace is full: .* [(]its file cannot grow[)]' run --trace short.trace \
	sh -c "$limited" "$top/examples/srq_server"
expect 0 'the trace is full [(]its file cannot grow[)]' show short.trace
# The same limit for the tool, which writes its command into the trace.
limited() {
	# shellcheck disable=SC2016
	sh -c 'ulimit -f 128; exec "$@"' - "$datsim" run --trace short.trace \
		"$top/tests/datsim/forgets" emu0 forget > out 2>&1
	status=$?
	cat out
	[ $status = 5 ] && grep -q 'cut  *the program ended without closing' out
}
holds "a limit of files does not end the tool" limited
# Room for the trace, and not for the command, which is long.
unnamed() {
	# shellcheck disable=SC2016
	set -- sh -c '"$0" emu0 close || true' "$forgets" "$(printf %066000d 0)"
	"$datsim" run --trace long.trace "$@" > /dev/null 2>&1
	sed -i '/^# command=/d' long.trace
	# shellcheck disable=SC2016
	sh -c 'ulimit -f 128; exec "$@"' - "$datsim" run --trace short.trace "$@" > out 2>&1
	status=$?
	cut -b 1-200 out
	[ $status = 2 ] && grep -q '^datsim: cannot write short.trace: File too large' out &&
		grep -q '^  the trace was kept without the command' out &&
		cmp long.trace short.trace
}
holds "a trace without room for its command stays" unnamed
printf '\357\273\277# of an editor\n' | cat - never.dsim > marked.dsim
expect 1 'marked.dsim:2: ' run --script marked.dsim "$top/examples/srq_server"
expect 1 'opened no simulated adapter: nothing was tested' run true
expect 1 'opened no simulated adapter: nothing was tested' run --trace none.trace true
echo 'fault completion op=RECV nth=2 overflow' > overflow.dsim
expect 1 '^  overflow +emu0.evd2$' run --script overflow.dsim "$top/examples/srq_server"
# Each program has the name of its node, with how it ended and with what it left.
nodes() {
	DATSIM_LATENCY_NS=3000 "$datsim" run --lockstep -- --node srv "$behaves" leave + \
		--node cli "$behaves" "$1" > account 2>&1
	cat account
	grep -q '^datsim: .*behaves (srv) exits with 0$' account &&
		grep -q "^datsim: .*behaves (cli) exits with $2\$" account &&
		[ "$(grep '^  left ' account | tr -s ' \n' ' ')" = "$3" ]
}
behaves=$top/tests/datsim/behaves
holds "the account names programs by node" nodes fail 7 ' left srv-emu0.ia1 '
holds "and has a line for what each of them left" nodes leave 0 \
	' left srv-emu0.ia1 left cli-emu0.ia1 '
# never SAYS LINE: what is said of a line that never acts, of a script for the nodes srv, cli, idle
never() {
	echo "$2" > never-node.dsim
	"$datsim" run --lockstep --script never-node.dsim -- --node srv "$behaves" leave + \
		--node cli "$behaves" leave + --node idle true > out 2>&1
	cat out
	grep -q "^never-node.dsim:1: .*: 0 times$1\$" out
}
# passed SAYS LINE: the same for the one program of the script
passed() {
	echo "$2" > passed.dsim
	"$datsim" run --script passed.dsim "$forgets" emu0 close > out 2>&1
	cat out
	grep -q "^passed.dsim:1: .*; passed: $1\$" out
}
allows='; "optional" allows that'
holds "a node that is nearly one" never "$allows; did you mean srv?" 'fault kill svr at 1us'
holds "a node that is none" never "$allows; no node other used an adapter, only srv, cli" \
	'fault kill other at 1us'
holds "a node without an adapter" never "$allows; no node idle used an adapter, only srv, cli" \
	'fault kill idle at 1us'
holds "a node of a turn" never '; did you mean cli?' 'turn srv call=99 to=cly'
holds "an adapter of a node" never "$allows; did you mean cli?" 'fault adapter clj fatal at 1us'
holds "a node that takes part" never "$allows" 'fault kill srv at 1s'
never_fails='fail DAT_INTERNAL_ERROR'
holds "no calls of another node" never "$allows; passed: no call; did you mean cli?" \
	"fault call dat_ep_post_send actor=clu $never_fails"
holds "calls of the program" passed '[0-9]* calls: .*' \
	"fault call dat_ep_post_send actor=emu0 $never_fails"
holds "no calls of another adapter" passed 'no call' \
	"fault call dat_ep_post_send actor=emu1 $never_fails"
by_number() {
	echo 'fault completion ep=emu1.qp1 op=SEND status DAT_DTO_ERR_TRANSPORT nth=999' \
		> number.dsim
	"$datsim" run --script number.dsim "$top/examples/srq_server" > out 2>&1
	cat out
	grep -q '^number.dsim:1: .*; passed: 200 completions: .* SEND' out
}
holds "completions of one Endpoint, though the script calls it a QP" by_number
only_a_device() {
	"$datsim" run -- ibv_devinfo > out 2>&1
	grep -q '^  it opened a simulated device, but made no object on it: nothing was' out &&
		! grep -q 'linked with' out
}
if has_verbs && command -v ibv_devinfo > /dev/null; then
	holds "a program that only opens a device is told apart" only_a_device
else
	cannot "it takes ibv_devinfo, and libibverbs built" \
		"a program that only opens a device is told apart"
fi
expect 3 'opened no simulated adapter' run sh -c 'exit 3'
expect 127 'nonesuch: No such file' run nonesuch
expect 126 'Permission denied' run "$scratch/one.trace"
expect 2 'expected a program' run --
# Each process of an MPI job would be on a fabric of its own.
printf '#!/bin/sh\n[ -z "$1" ] || exec "$@"\n' > mpirun
chmod +x mpirun
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
expect 5 'mpirun starts is on a private fabric .* DATSIM_FABRIC=mpirun datsim run' run \
	./mpirun "$forgets" emu0 close
DATSIM_FABRIC=job
export DATSIM_FABRIC
expect 5 'left +nothing' run ./mpirun "$forgets" emu0 close
holds "with a fabric for all nothing is said of it" sh -c '! grep -q private out'
unset DATSIM_FABRIC

# Programs that meet by TCP: the second one starts when the first one listens, however busy that is.
# In a shell, too.
port=$((12000 + $$ % 8000))
meets=$top/tests/datsim/meets
reached=$("$meets" client $port 2>&1)
case $reached in
*refused*)
	expect 0 'left +nothing' run "$meets" server $port + "$meets" client $port
	# shellcheck disable=SC2016
	expect 0 'left +nothing' run sh -c '"$0" server "$1"; exit $?' "$meets" $port + \
		"$meets" client $port
	;;
*) # Without a client the server would wait without end.
	for who in server "server in a shell"; do
		n=$((n + 1))
		echo "not ok $n - a client meets its $who"
		echo "#   expected that port $port of 127.0.0.1 refuses a connection; it says:" \
			"$reached. Is the loopback interface up (ip link set lo up)?"
	done
	;;
esac

# What asks datsim to end asks its programs; one that does not end is killed.
# shellcheck disable=SC2016
{
	expect 143 '^datsim: sh was ended by signal 15' run sh -c 'kill -TERM $PPID; exec sleep 30'
	expect 137 '^datsim: sh was ended by signal 9' run \
		sh -c 'trap "" TERM; kill -TERM $PPID; exec sleep 30'
	expect 143 '^datsim: sh exits with 0' run \
		sh -c 'trap "exit 0" TERM; kill -TERM $PPID; while :; do sleep 0.01; done'
	expect 129 '^datsim: sh was ended by signal 1 ' run sh -c 'kill -HUP $PPID; exec sleep 30'
	expect 130 '^datsim: sh was ended by signal 2 ' run sh -c 'kill -INT $PPID; exec sleep 30'
	expect 130 '^datsim: sh exits with 0' run \
		sh -c 'trap "exit 0" INT; kill -INT $PPID; while :; do sleep 0.01; done'
	cat > ends.sh << 'END'
#!/bin/sh
read -r _ _ _ replay _ < /proc/$PPID/stat
kill -TERM "$replay"
exec sleep 30
END
}
chmod +x ends.sh
printf 'libdat trace 1\n# command=datsim run ./ends.sh\n' > ends.trace
expect 143 'replay: it was asked to end' replay ends.trace
# So it does what programs leave behind, and the account has what that has done. Every process has
# the pipe `up` open: its reader is at the end once none is left.
mkfifo up never
termed() {
	"$datsim" run "$@" > account 2>&1 3> up &
	tool=$!
	exec 4< up
	read -r _ <&4 && kill -TERM $tool
	wait $tool
	status=$?
	cat account
	dd iflag=nonblock status=none <&4 > rest
	left=$?
	exec 4<&-
	[ $status = 143 ] && [ $left = 0 ]
}
server=$top/examples/pair/server
client=$top/examples/pair/client
export server client behaves
# shellcheck disable=SC2016
served() {
	termed "$@" -- --node server sh -c '"$server" 5 & wait' + --node client \
		sh -c '"$client" localhost 20; echo >&3; read -r _ < never' || return 1
	grep -qE '^  events .* 20 RECV|^  events .* 21 RECV' account &&
		grep -q '^  left  *server-emu0.ia1, ' account &&
		"$datsim" fabric list 2>&1 | grep 'there is no shared fabric'
}
holds "a server in the background ends with the programs" served
holds "in lockstep, too" served --lockstep
echo 'trap "echo > asked; exit" TERM; sleep 1000 & echo >&3; wait' > asked.sh
echo 'trap "" TERM; echo >&3; exec sleep 1000' > deaf.sh
# shellcheck disable=SC2016
{
	holds "it is asked to end" eval 'termed sh -c "\"\$behaves\" well; sh asked.sh & wait" &&
		[ -e asked ] && grep "^  left  *nothing" account'
	holds "and killed if it does not" termed sh -c '"$behaves" well; sh deaf.sh & wait'
	expect 0 'left +nothing' run \
		sh -c '"$behaves" well; sleep 1000 > /dev/null 2>&1 & echo $! > pid'
}
holds "what a program leaves goes on unless datsim is asked to end" eval 'kill "$(cat pid)"'
holds "nothing stays in TMPDIR" [ -z "$(ls tmp)" ]
TMPDIR=/nowhere
expect 99 'cannot make a folder' run ls
