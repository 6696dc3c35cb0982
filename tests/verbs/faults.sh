#!/bin/sh
# Faults by the names of libibverbs and librdmacm: each call that can fail, each status of a
# completion, each event; in a program of one process, and of one of several in lockstep. The names
# are those of datsim's own table, and faulty.c says what it got by the names of the headers.
here=$(cd "$(dirname "$0")" && pwd)
datsim=$top_builddir/tools/datsim/datsim
faulty=$top_builddir/tests/verbs/faulty
names=$top_srcdir/tools/datsim/script/names_verbs.c

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ -x "$faulty" ] || skip "librdmacm is not built"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
n=0

ok() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' out
	fi
}

# table NAME: the strings of an array of names_verbs.c
table() {
	sed -n "/^static .*$1\[\] = {/,/^};/p" "$names" | grep -o '"[A-Za-z_]*"' | tr -d '"'
}

# run LINE OPTIONS...: the program meets this fault; LINE is in script.dsim, the output in out
run() {
	echo "$1" > script.dsim
	shift
	"$datsim" run --script script.dsim "$@" -- "$faulty" > out 2>&1
}

# prints LINE...: each is a whole line of the output
prints() {
	for line; do
		grep -qxF -e "$line" out || return 1
	done
}

# each TABLE HOLDS: HOLDS ROW is true of every row of the table; else `out` has what the others said
each() {
	rm -f bad*
	bad=0
	for row in $(table "$1"); do
		"$2" "$row" && continue
		bad=$((bad + 1))
		echo "$row" >> out
		cp out "bad$bad"
	done
	[ $bad -eq 0 ] && return
	cat bad* > out
	return 1
}

# The call fails once, with the error asked for, and then succeeds.
call_fails() {
	run "fault call $1 nth=1 fail EPERM" --quiet && prints "$1: EPERM" "done" &&
		[ "$(wc -l < out)" -eq 2 ]
}

# The status comes to the program as it is named.
status_comes() {
	run "fault completion op=READ nth=1 status $1" --quiet && prints "$1" "done"
}

# The event happens to the program, so a rule counts it. cm/cm_events.sh has those of a time.
event_happens() {
	case $1 in
	*_ADDR_ERROR | *_ROUTE_ERROR | *_TIMEWAIT_EXIT) return 0 ;;
	esac
	run "fault event $1 count" --quiet && prints "done"
}

# The error is what the program finds in errno.
error_is_found() {
	run "fault call ibv_reg_mr nth=1 fail $1" --quiet && prints "ibv_reg_mr: $1"
}

# refused MESSAGE LINE: the line is refused before the program runs, or by its fabric
refused() {
	! run "$2" --quiet && grep -qF -e "$1" out
}

echo 1..24
"$datsim" run --quiet -- "$faulty" > out 2>&1 && [ "$(cat out)" = "done" ]
ok $? "without faults nothing fails"
[ "$(table calls | wc -l)" -eq 27 ] && [ "$(table statuses | wc -l)" -eq 23 ] &&
	[ "$(table events | wc -l)" -eq 10 ] && [ "$(table errors | wc -l)" -eq 22 ]
ok $? "the tables are read"
each calls call_fails
ok $? "each call fails with the error asked for, once, and has no effect then"
each errors error_is_found
ok $? "each error is the errno of that name"
each statuses status_comes
ok $? "each status is the ibv_wc_status of that name"
each events event_happens
ok $? "each event is one that happens"

run "fault call ibv_post_send nth=3 fail ENOMEM" && prints "ibv_post_send: ENOMEM" &&
	prints "script.dsim:1: fault call ibv_post_send nth=3 fail ENOMEM: 1 time"
ok $? "the report has the line and how often it acted"
run "fault call ibv_post_send actor=emu1 nth=1 fail ENOMEM" --quiet
[ $? -eq 1 ] && grep -q '0 times' out && ! grep -q 'ENOMEM$' out
ok $? "a rule of an adapter that posts no Send does not act"
run "fault completion op=ATOMIC status IBV_WC_REM_ACCESS_ERR" --quiet &&
	prints "IBV_WC_REM_ACCESS_ERR" "IBV_WC_WR_FLUSH_ERR"
ok $? "op=ATOMIC: the request after it is flushed"
run "fault completion op=SEND nth=1 overflow" --quiet --trace trace
grep -qxF 'CQ error' out && grep -qxF 'a completion is missing' out
ok $? "an overflow is an asynchronous event, and the completion is missing"
run "fault adapter emu0 fatal at 1us" --quiet --trace trace
grep -q 'fault rule=1001 does=fatal at=adapter' trace && grep -q ': EIO$' out
ok $? "a failed device answers EIO"
run "fault alloc nth=5" --quiet
grep -q ': ENOMEM$' out
ok $? "an allocation fails with ENOMEM"
run "fault event RDMA_CM_EVENT_CONNECT_REQUEST delay 10ms" --trace trace &&
	grep -qE 'simulated +[0-9]{5,}\.[0-9]+ us' out
ok $? "an event comes later"
refused 'did you mean "rdma_connect"?' "fault call rdma_conect fail ENOMEM"
ok $? "a call is misspelt"
refused 'did you mean "IBV_WC_RETRY_EXC_ERR"?' "fault completion status IBV_WC_RETRY_ECX_ERR"
ok $? "a status is misspelt"
refused 'expected an errno, such as ENOMEM' "fault call ibv_reg_mr fail DAT_INSUFFICIENT_RESOURCES"
ok $? "an error of DAT for a call of verbs"
refused 'this program uses libibverbs, not uDAPL' "fault call dat_ep_create fail"
ok $? "a call of DAT in a program of verbs"
refused 'this program uses libibverbs, not uDAPL' "fault completion status DAT_DTO_ERR_TRANSPORT"
ok $? "a status of DAT in a program of verbs"
refused 'DAT has no atomics' "fault completion op=ATOMIC status DAT_DTO_ERR_TRANSPORT"
ok $? "a status of DAT for an atomic"
echo "fault call ibv_post_send fail ENOMEM" > script.dsim
"$datsim" run --quiet --script script.dsim -- "$top_builddir/examples/srq_server" > out 2>&1
grep -qF 'this program uses uDAPL, not libibverbs' out
ok $? "a call of verbs in a program of DAT"
printf 'use bare a@emu0\nfault call ibv_post_send fail ENOMEM\n' > script.dsim
"$datsim" test script.dsim > out 2>&1
grep -qF 'names of verbs are for `datsim run --script`' out
ok $? "a call of verbs in a script of DAT's calls"
printf '%s\n' 'fault call ibv_reg_mr actor=one nth=1 fail EPERM' \
	'fault call dat_pz_create optional fail' \
	'fault call ibv_modify_qp actor=two nth=2 fail EINVAL' > script.dsim
"$datsim" run --lockstep --script script.dsim -- --node one "$faulty" verbs \
	+ --node two "$faulty" verbs > out 2>&1
grep -qxF 'ibv_reg_mr: EPERM' out && grep -qxF 'ibv_modify_qp: EINVAL' out &&
	[ "$(grep -c ': E[A-Z]*$' out)" -eq 2 ]
ok $? "of several programs, each meets its own faults, and passes over those of uDAPL"
"$datsim" run -- "$faulty" leave > out 2>&1
grep -qE '^ +unfinished +emu0.qp1 \(number [0-9]+\), 2 requests: .* wr_id [0-9]+, ' out
ok $? "the report names a QP that was destroyed with requests in flight"
grep -qE '^ +left +emu0.pd1, emu0.mr1, emu0.cq1, emu1.pd1, emu1.mr1, emu1.cq1, emu1.qp1$' out
ok $? "and the objects that were left"
