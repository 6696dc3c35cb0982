#!/bin/sh
# The complete report of a failure: the place, two aligned lines, the last lines of the trace,
# pending work, and a command that gives the same report again.
here=$(cd "$(dirname "$0")" && pwd)
datsim=${top_builddir:-$here/../..}/tools/datsim/datsim
if [ ! -x "$datsim" ]; then
	echo "Bail out! tools/datsim/datsim is not built"
	exit 1
fi
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 99
cat > it.dsim << 'END'
# a comment
use    connected a@emu0 b@emu1 srq=S max=20
       b: dat_srq_post_recv(S, 256) x9
       hold a>b after 3 packets
       a: dat_ep_post_send(ep, 64) x5
+5us   b: dat_srq_query(S) -> {available_dto_count=5, outstanding_dto_count=9}  # six are right
END
"$datsim" test it.dsim > tap
status=$?
sed -n 's/^# //p' tap > account
n=0

# check WHAT COMMAND...: passes if the command succeeds
check() {
	n=$((n + 1))
	what=$1
	shift
	if "$@"; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		sed 's/^/#   /' account
	fi
}
line() { sed -n "$1p" account; }
is() { [ "$1" = "$2" ]; }
trace() { sed -n '/^trace/,/^pending/p' account | sed '1d;$d'; }
replayed() {
	sed -n 's/^replay:   datsim //p' account > pasted
	# shellcheck disable=SC2046
	"$datsim" $(cat pasted) | sed -n 's/^# //p' | cmp -s - account
}
few_lines() { [ "$(trace | wc -l)" -ge 10 ] && [ "$(trace | wc -l)" -le 20 ]; }
no_set_up() { ! trace | grep -qE 'set-up|CM_|script begins'; }
numbered() {
	[ "$(trace | awk '{ print $2, $3 }' | uniq -c | awk '{ print $1 $2 $3 }' |
		tr '\n' ' ')" = "$1" ]
}
two_blanks() { ! trace | grep -qv '^  '; }

echo 1..26
check "exit status 1" is $status 1
check "the place and the failure" is "$(line 1)" "it.dsim:6: dat_srq_query gave other values"
check "expected: the line of the script" is "$(line 2)" \
	"expected: +5us   b: dat_srq_query(S) -> {available_dto_count=5, outstanding_dto_count=9}"
check "actual: the values, in the script's syntax" is "$(line 3)" \
	"actual:   b: dat_srq_query(S) -> {available_dto_count=6, outstanding_dto_count=9}"
check "then the trace" is "$(line 4)" "trace, the last lines:"
check "the trace has 10 to 20 lines" few_lines
check "the lines of the trace are indented" two_blanks
check "none of them is from the set-up" no_set_up
check "each has the line of the script that had begun by then" numbered "19line5 1line6 "
check "then the pending work" is "$(sed -n '/^pending/,/^replay/p' account | sed '1d;$d')" \
	"  hold a>b after 3 packets, since line 4
  9 Receives on b.S not reaped
  5 Sends on a.ep not reaped"
check "then the command that replays it" is "$(tail -n 1 account)" "replay:   datsim test it.dsim"
check "the command gives the same report" replayed
check "equal output with a seed, byte for byte" is "$("$datsim" test --seed 3 it.dsim)" \
	"$("$datsim" test --seed 3 it.dsim)"
cat > room.dsim << 'END'
use    connected a@emu0 b@emu1 memory=4096
       b: dat_ep_post_recv(ep, [64, 9000])
END
"$datsim" test room.dsim > account
only_no_room() { grep -q 'no room for 9000 bytes' account && ! grep -q reaped account; }
check "a call that is not made is no pending work" only_no_room
cat > early.dsim << 'END'
use    connected a@emu0 b@emu1 srq=S
*      b: event recv DTO_COMPLETION
END
"$datsim" test early.dsim > tap
sed -n 's/^# //p' tap > account
check "a first line that fails has no trace" is "$(line 4)" \
	"trace, the last lines: none since the script began"
{
	sed -n '2p' it.dsim
	echo '       b: dat_srq_post_recv(S, 64) x18'
	echo '       a: dat_ep_post_send(ep, 64) x3'
	echo '       b: dat_srq_query(S) -> {available_dto_count=3}'
} > cut.dsim
"$datsim" test cut.dsim > tap
sed -n 's/^# //p' tap > account
check "twenty lines, and the first has its line" numbered "16line2 3line3 1line4 "
passes() { grep '^passed:' account; }
{
	echo 'use    connected a@emu0 b@emu1'
	echo '       b: dat_ep_post_recv(ep, 64)'
	echo '       a: dat_ep_post_send(ep, 64)'
	echo '*      b: event recv DTO_COMPLETION'
	echo '       fault link a>b drop opcode=WRITE'
	echo '       b: dat_ep_post_recv(ep, 64) x2'
	echo '       a: dat_ep_post_send(ep, 64) x2'
	echo '*      b: event recv DTO_COMPLETION x2'
} > never.dsim
"$datsim" test never.dsim > tap
sed -n 's/^# //p' tap > account
check "a fault that never fired says what passed it, since it was there" is "$(passes)" \
	"passed:   a>b 2 packets: 2 SEND_ONLY"
sed -i 's/fault link a>b drop opcode=WRITE/fault link b>a drop opcode=WRITE/; /x2$/d' never.dsim
"$datsim" test never.dsim > tap
sed -n 's/^# //p' tap > account
check "and if nothing passed it" is "$(passes)" "passed:   b>a no packet"

# never LINE: what is said of a fault of calls, completions or events that never acted
never() {
	{
		echo 'use    connected a@emu0 b@emu1'
		echo "       $1"
		echo '       b: dat_ep_post_recv(ep, 64) x2'
		echo '       a: dat_ep_post_send(ep, 64)'
		echo '*      b: event recv DTO_COMPLETION'
	} > never.dsim
	"$datsim" test never.dsim > tap
	sed -n 's/^# //p' tap > account
	passes
}
check "likewise one of a call" is \
	"$(never 'fault call dat_ep_post_recv actor=b nth=5 fail INSUFFICIENT_RESOURCES')" \
	"passed:   2 calls: 2 post_recv"
check "of a completion" is "$(never 'fault completion ep=b.ep op=SEND status TRANSPORT')" \
	"passed:   1 completion: 1 RECV"
check "of an event" is "$(never 'fault event DISCONNECTED actor=b lose')" "passed:   no event"

# flushed LINE: the same, of a Send that was flushed and one of another EP that was not
flushed() {
	{
		echo 'use    connected a@emu0 b@emu1 eps=2'
		echo "       $1"
		echo '       b: dat_ep_post_recv(ep2, 64)'
		echo '       a: dat_ep_post_send(ep2, 64)'
		echo '*      b: event recv DTO_COMPLETION'
		echo '*      a: event request DTO_COMPLETION'
		echo '       a: dat_ep_disconnect(ep)'
		echo '*      b: event connect DISCONNECTED'
		echo '*      a: event connect DISCONNECTED'
		echo '       a: dat_ep_post_send(ep, 64)'
		echo '*      a: event request DTO_COMPLETION status=FLUSHED'
	} > flushed.dsim
	"$datsim" test flushed.dsim > tap
	sed -n 's/^# //p' tap > account
	passes
}
check "a completion that failed is told from one that a rule can take" is \
	"$(flushed 'fault completion ep=a.ep op=SEND count')" \
	"passed:   1 completion: 1 SEND FLUSHED (only those that succeed can fit)"
check "of an actor both are counted" is \
	"$(flushed 'fault completion actor=a op=SEND nth=2 count')" \
	"passed:   2 completions: 1 SEND, 1 SEND FLUSHED (only those that succeed can fit)"
check "an EP's rule counts the calls of that EP" is \
	"$(flushed 'fault call dat_ep_post_send ep=a.ep2 nth=2 count')" \
	"passed:   1 call: 1 post_send"
check "and its events" is "$(flushed 'fault event DISCONNECTED ep=a.ep2 lose')" "passed:   no event"
printf 'fault call dat_ep_post_send nth=4000 fail DAT_INSUFFICIENT_RESOURCES\n' > faults
"$datsim" run --script faults -- "${datsim%/tools/*}/examples/srq_server" > /dev/null 2> told
check "and of a program's call" grep -q \
	'passed: [0-9]* calls: .*800 post_send' told
