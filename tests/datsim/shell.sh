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

echo 1..35
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
	if [ "$(cat out)" = "$3" ]; then
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
offers "kinds of use" 'use' 'adapter bare connected'
offers "nothing for an actor that is none" 'z: dat_pz_query(' ''
offers "nothing where no call is" 'a: ((((({{{{]]]]' ''
echo calls | "$datsim" shell 2> /dev/null | sed -n 's/^\(dat_[a-z_]*\)(.*/help \1/p' > script
holds "help says of every call what its manual page says" pages_agree
echo undo | "$datsim" shell > out 2>&1
shows "nothing to undo" 'nothing to forget'
