#!/bin/sh
# datsim shell with input from a pipe: the output for each line, and the saved session, which is a
# script that passes.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99

"$datsim" shell > out 2>&1 << 'END'
help
help dat_evd_create
help dat_evd_crate
use connected a@emu0 b@emu1 srq=S max=10
  b: dat_srq_post_recv(S, 64) x4
b: dat_srq_set_lw(S, 4)
a: dat_ep_post_send(ep, 64)
quiet
b: dat_srq_query(S)
b: dat_srq_resize(S, 1)
b: dat_evd_dequeue(async)
b: dat_no_such_call(S)
b: event recv CONNECTION_REQUEST
b: dat_evd_dequeue(recv)
b: dat_evd_dequeue(recv)
undo
script
save typed.dsim
save /nowhere/typed.dsim
save
calls
quit
b: dat_srq_free(S)
END
status=$?

# shows WHAT PATTERN
shows() {
	n=$((n + 1))
	if grep -qE -e "$2" out; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "#   expected to find: $2"
		sed 's/^/#   /' out
	fi
}

# Compares what `help` says of each call with the first line of its manual page.
pages_agree() {
	sed -n '/^.SH NAME/{n;p;}' "$here"/../../doc/man/dat_*.3 | sed 's/ \\-/, -/; s/$/|/' > names
	"$datsim" shell < script 2> /dev/null | sed -n 's/^\(dat_[a-z_]*\): /\1 /p' > said
	while read -r call line; do
		grep -F -e "$call," names | grep -qF -e ", - $line|" || return 1
	done < said
	[ "$(wc -l < said)" -eq "$(grep -c '^help dat_' script)" ]
}

echo 1..62
holds "it ends well" [ $status -eq 0 ]
shows "help lists the commands" 'forget the last line'
shows "set-up is one word" '^ready$'
shows "a call's result" '^= DAT_SUCCESS$'
shows "packets on the wire" '1\.005 .*a>b SEND #1 .*LOW_WATERMARK b.S'
shows "a query's outputs without asking for them" '^  available_dto_count=3$'
shows "a field a line, if they are long" '^  outstanding_dto_count=4$'
shows "help for a call: what it does" '^dat_evd_create: make an Event Dispatcher'
shows "help for a call: usual values" '^  cno_handle +the name of: CNO; usually NULL$'
shows "help for no call suggests one" 'did you mean "dat_evd_create"'
shows "a call that fails says how" '^= DAT_INVALID_STATE/'
shows "all fields of an event" '^= DAT_SUCCESS -> \{SRQ_LOW_WATERMARK object=S reason=2\}'
shows "a bad line is explained" 'expected a DAT call, found "dat_no_such_call"'
shows "a failed expectation is explained" '^expected: b: event recv CONNECTION_REQUEST'
shows "undo shows the line that it removed" '^forgot: b: dat_evd_dequeue\(recv\) = DAT_QUEUE_EMPTY'
shows "where it was saved" 'datsim test typed.dsim'
shows "where it cannot be saved" 'cannot write /nowhere/typed.dsim'
shows "calls with their parameters" '^dat_srq_set_lw\(srq_handle, low_watermark\)'
holds "lines after quit are not executed" sh -c '! grep -q dat_srq_free typed.dsim'
holds "bad lines were not kept" sh -c '! grep -qE "no_such|CONNECTION_REQUEST" typed.dsim'
holds "results that are no success were" grep -q 'resize(S, 1) = DAT_INVALID_STATE' typed.dsim
holds "the saved session is a script that passes" "$datsim" test typed.dsim
# offers WHAT LINE WORDS: all that can follow on the line
offers() {
	printf '%s\n' 'use connected a@emu0 b@emu1 srq=S' 'b: dat_pz_create(ia) -> zone' \
		"complete $2" | "$datsim" shell 2>&1 | sed '1,/^= DAT_SUCCESS/d' | xargs > out
	n=$((n + 1))
	# shellcheck disable=SC2086
	if [ "$(cat out)" = "$(echo $3)" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/#   /' out
	fi
}
offers "objects of the actor that have the type" 'b: dat_pz_query(' 'pz zone'
offers "not those of another actor" 'a: dat_srq_query(' ''
offers "constants of a named parameter" 'a: dat_ep_disconnect(ep, flags=' \
	'ABRUPT GRACEFUL'
offers "fields of a structure that a call takes" 'b: dat_srq_create(ia, pz, {' \
	'max_recv_dtos max_recv_iov low_watermark'
offers "outputs" 'a: dat_ep_get_status(ep) -> {' 'ep_state recv_idle request_idle'
offers "the memory of peers" 'a: dat_ep_post_rdma_write(ep, 64, remote_buffer=' 'b.mem'
offers "EVDs of an event line, behind a time" '+5us~+6us b: event' 'async recv request connect cr'
offers "fields of that event" 'b: event async SRQ_LOW_WATERMARK S' 'object reason'
offers "kinds of use" 'use' 'connected adapter bare'
offers "statements, loops, commands and actors at the beginning" '' 'end fabric fault heal hold
link no note quiet release turn use calls for help quit save script show undo a b'
offers "statements behind a loop, and no second one" 'for i in 1..3:' \
	'end fabric fault heal hold link no note quiet release turn use a b'
offers "nothing for the name of a loop's variable" 'for' ''
offers "the word behind it" 'for i' 'in'
offers "what happens to packets of a link" 'fault link a>b' 'drop loss corrupt delay reorder
duplicate rnr nak down up dead count jitter optional opcode part nth every after times probability
from until'
offers "events of a fault that an adapter sends" 'fault event' 'CONNECTION_REQUEST ESTABLISHED
PEER_REJECTED NON_PEER_REJECTED ACCEPT_COMPLETION_ERROR DISCONNECTED BROKEN TIMED_OUT UNREACHABLE
EP_BROKEN PROVIDER_INTERNAL_ERROR SRQ_LOW_WATERMARK EP_SOFT_HIGH_WATERMARK'
offers "calls that an adapter can make fail" 'fault call' 'post dat_pz_create dat_lmr_create
dat_rmr_create dat_rmr_bind dat_evd_create dat_evd_resize dat_srq_create dat_srq_resize
dat_srq_set_lw dat_srq_post_recv dat_ep_create dat_ep_create_with_srq dat_ep_modify dat_ep_connect
dat_ep_dup_connect dat_ep_post_send dat_ep_post_recv dat_ep_post_rdma_read dat_ep_post_rdma_write
dat_psp_create dat_psp_create_any dat_rsp_create dat_cr_accept dat_cr_handoff'
offers "what happens to an event" 'fault event BROKEN' 'lose delay count optional ep actor nth
every after times probability from until'
offers "what happens to a completion" 'fault completion' 'status overflow delay count optional op
ep actor nth every after times probability from until'
offers "operations of a fault" 'fault completion op=' 'SEND WRITE READ BIND RECV'
offers "EPs of a fault" 'fault completion ep=' 'a.ep b.ep'
offers "kinds of packets behind a link" 'a>b' 'any SEND SEND_ONLY SEND_FIRST SEND_MIDDLE
SEND_LAST WRITE WRITE_ONLY WRITE_FIRST WRITE_MIDDLE WRITE_LAST READ_REQUEST READ_RESPONSE
READ_RESPONSE_ONLY READ_RESPONSE_FIRST READ_RESPONSE_MIDDLE READ_RESPONSE_LAST ACK NAK
NAK_SEQUENCE RNR_NAK CM CM_REQ CM_REP CM_RTU CM_REJ DISCONNECT'
offers "fields of a packet" 'a>b SEND' 'psn message packet bytes ep'
offers "actors of a link" 'a>' 'a b'
offers "values of a setting" 'fabric placement=' 'tail random off'
offers "nothing behind a whole statement" 'heal' ''
offers "nothing for an actor that is none" 'z: dat_pz_query(' ''
offers "nothing where no call is" 'a: ((((({{{{]]]]' ''
echo calls | "$datsim" shell 2> /dev/null | sed -n 's/^\(dat_[a-z_]*\)(.*/help \1/p' > script
holds "help says of every call what its manual page says" pages_agree
echo undo | "$datsim" shell > out 2>&1
shows "nothing to undo" 'nothing to forget'

# ran STATUS LINE...: the exit status of a session of these lines
ran() {
	wanted=$1
	shift
	printf '%s\n' "$@" | "$datsim" shell > out 2>&1
	[ $? -eq "$wanted" ]
}
holds "a session in which no line is one of a script" ran 2 foo 'b: dat_pz_query(pz)'
shows "says that nothing ran" '^datsim shell: no line came that runs'
unread() {
	"$datsim" shell < . > out 2>&1
	[ $? = 2 ]
}
holds "input that cannot be read" unread
shows "says why" '^datsim shell: cannot read standard input: Is a directory'
holds "a line that fails has run" ran 0 'use connected a@emu0 b@emu1 srq=S lw=20 max=10'
shows "and says why" '^expected: use connected'
cp typed.dsim kept.dsim
echo 'save kept.dsim' | "$datsim" shell > out 2>&1
shows "nothing to save" '^there is nothing to save: kept.dsim stays as it is$'
holds "so it destroys no file" cmp typed.dsim kept.dsim
# What a call returned is kept in front of a comment, which may hold a mark of the beginning of one.
holds "a failing call with a comment" ran 0 'use connected a@emu0 b@emu1 srq=S max=10' \
	'b: dat_srq_resize(S, 0)   # shrink # it' 'b: dat_srq_query(S) # what is left' \
	'save kept.dsim'
shows "the line after it runs" '^  max_recv_dtos=10$'
holds "the session is a script that passes" "$datsim" test kept.dsim
