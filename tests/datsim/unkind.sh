#!/bin/sh
# Hostile adapters (DATSIM_HOSTILE): each way shows the mistakes that were planted for it, of
# programs of uDAPL and of verbs, and is silent about the same programs without them, about the
# examples and the conformance scripts. HOSTILE=all, as ./check --full sets it: each example with
# each way, pairs in real time as well, the scripts with several seeds, and more schedules.
. "$(dirname "$0")/begin.sh"
planted=$top/tests/planted/hostile
examples=$top/examples
src=${top_srcdir:-$top}
needs "$planted/udapl"
needs "$examples/srq_server"
XDG_RUNTIME_DIR=$scratch
DATSIM_LOCKSTEP=600000 # no thread loses its turn
export XDG_RUNTIME_DIR DATSIM_LOCKSTEP
unset DATSIM_HOSTILE
cd "$scratch" || exit 99
runs=${RUNS:-30}
all=
if [ "${HOSTILE:-}" = all ]; then
	all=yes
	runs=${RUNS:-300}
fi
verbs=
[ -x "$planted/verbs" ] && verbs=yes

lockstep=
# shellcheck disable=SC2086
quietly() { timeout 300 "$datsim" run --quiet $lockstep "$@"; }
# ends_so STATUS OPTIONS... -- PROGRAM CASE...
ends_so() {
	wanted=$1
	shift
	quietly "$@"
	[ $? -eq "$wanted" ]
}
# Some of a few seeds shows it, and none does in the correct version.
some_seed() {
	for seed in 1 2 3 4 5 6; do
		quietly --seed $seed "$@" || return 0
	done
	return 1
}
no_seed() { ! some_seed "$@"; }

# shows STATUS WAY PROFILE PROGRAM CASE
shows() {
	name="$2: $(basename "$4") $5"
	holds "$name passes without it" ends_so 0 --profile "$3" -- "$4" "$5"
	if [ "$1" = 3 ]; then
		holds "$name fails" ends_so 3 --hostile "$2" --profile "$3" -- "$4" "$5"
	else
		holds "$name fails" some_seed --hostile "$2" --profile "$3" -- "$4" "$5"
	fi
	holds "$name, mended, passes" no_seed --hostile "$2" --profile "$3" -- "$4" "$5" fixed
	holds "$name, mended, passes with all" no_seed --hostile all --profile "$3" -- "$4" "$5" \
		fixed
}
both_show() {
	shows "$1" "$2" "$3" "$planted/udapl" "$4"
	if [ "$verbs" ]; then
		shows "$1" "$2" "$3" "$planted/verbs" "$4"
	else
		for _ in 1 2 3 4; do
			n=$((n + 1))
			echo "ok $n - verbs $4 # SKIP not built"
		done
	fi
}
alone_shows() {
	if [ -x "$4" ]; then
		shows "$@"
		return
	fi
	for _ in 1 2 3 4; do
		n=$((n + 1))
		echo "ok $n - $5 # SKIP not built"
	done
}

# The descriptor of an event channel has a thread that delivers packets in real time; in lockstep
# none arrives sooner or later because the machine is busy.
in_lockstep() {
	lockstep=--lockstep
	"$@"
	lockstep=
}

echo 1..154
both_show 3 watch=posted ib overwrite
both_show 3 watch=posted ib source
both_show 3 watch=posted ib sink
shows 3 watch=posted iwarp "$planted/udapl" clear
shows 3 watch=posted iwarp "$planted/udapl" source
shows 3 watch=posted iwarp "$planted/udapl" sink
alone_shows 3 watch=posted ib "$planted/verbs" shared
both_show 1 poison=on ib peek
shows 1 poison=on ib "$planted/udapl" flushed
both_show 1 placement=tail ib last_byte
both_show 1 placement=random ib last_byte
shows 1 placement=random iwarp "$planted/udapl" last_byte
shows 1 ends=device ib "$planted/udapl" hang_up
in_lockstep alone_shows 1 ends=device ib "$planted/cm" hang_up
both_show 1 retry=spurious ib reply_first
shows 1 complete=sent iwarp "$planted/udapl" delivered
in_lockstep alone_shows 1 complete=sent iwarp "$planted/cm" delivered

# The words for a change.
said='emu0.ep1: .* SEND, cookie 42, segment 0: byte 255 was 0x00, is 0x01'
expect 3 "$said" \
	run --hostile watch=posted "$planted/udapl" overwrite
expect 3 'emu0.ep1: .* RDMA_WRITE, cookie 43, segment 0: byte 255 was 0x00, is 0x01' \
	run --hostile watch=posted "$planted/udapl" source
expect 3 'emu0.ep1 violation rule=watch work=RDMA_READ cookie=44 .* offset=0 was=1 is=0' \
	run --hostile watch=posted "$planted/udapl" sink
expect 3 'emu1.ep1 violation rule=watch work=RECV cookie=7 segment=0 offset=0 was=' \
	run --hostile watch=posted "$planted/udapl" clear
expect 2 'wants ways' run --hostile watch=never "$planted/udapl" clear
expect 2 'wants ways' run --hostile placement=tail,placement=random "$planted/udapl" clear
holds "the library refuses a way that it does not know" \
	eval '! DATSIM_HOSTILE=watch "$planted/udapl" clear fixed'

# Two processes, of which each watches its own buffers, in lockstep and in real time. A change is
# told with the name of the program whose buffer it is: that of the server.
pair() {
	status=$1
	shift
	program=$planted/$1
	shift
	quietly "$@" -- --node server "$program" serve + --node client "$program" 0 2> told
	[ $? -eq "$status" ] || return 1
	[ "$status" = 0 ] || grep -q "^libdat: server-emu0.ep1: .* RECV, cookie 7, .* byte 0 " told
}
holds "two processes pass without watch=posted" pair 0 two --lockstep
holds "and fail with it" pair 3 two --lockstep --hostile watch=posted
holds "and without lockstep" pair 3 two --hostile watch=posted
holds "mended, they pass" pair 0 two-fixed --lockstep --hostile watch=posted
holds "and with all" pair 0 two-fixed --lockstep --hostile all

# The same seed gives the same trace.
twice() {
	for i in 1 2; do
		quietly --trace $i.trace --seed 5 --hostile all "$@" || return 1
	done
	cmp 1.trace 2.trace
}
for profile in ib iwarp; do
	holds "srq_server, all, $profile: one trace" twice --profile $profile "$examples/srq_server"
	holds "pair, all, $profile: one trace" twice --profile $profile --lockstep -- \
		"$examples/pair/server" 1 + "$examples/pair/client" localhost 20
	holds "stream, all, $profile: one trace" twice --profile $profile --lockstep -- \
		"$examples/stream/stream" server wait 2 + \
		"$examples/stream/stream" client localhost wait 2 20
	holds "rpc, all, $profile: one trace" twice --profile $profile "$examples/rpc/rpc" both
	holds "cluster, all, $profile: one trace" twice --profile $profile \
		"$examples/cluster/cluster" 8
done

# The examples with each way alone. pair and stream take ten times as long as the others.
pair_of() {
	quietly "$@" -- "$examples/pair/server" 1 + "$examples/pair/client" localhost 20
}
stream_of() {
	quietly "$@" -- "$examples/stream/stream" server wait 2 + \
		"$examples/stream/stream" client localhost wait 2 20
}
# silent WAY PROFILE: pair only with ib, stream only with iwarp, unless all are asked for
silent() {
	set -- --hostile "$1" --profile "$2"
	quietly "$@" "$examples/srq_server" && quietly "$@" "$examples/rpc/rpc" both &&
		quietly "$@" "$examples/cluster/cluster" 8 || return 1
	if [ "$all" ]; then
		pair_of "$@" --lockstep && stream_of "$@" --lockstep && pair_of "$@" &&
			stream_of "$@"
	elif [ "$4" = ib ]; then
		pair_of "$@" --lockstep
	else
		stream_of "$@" --lockstep
	fi
}
ways='watch=posted poison=on placement=tail placement=random ends=device retry=spurious
	complete=sent'
for profile in ib iwarp; do
	for way in $ways; do
		holds "examples with $way, $profile" silent $way $profile
	done
done
holds "pair, all, in real time" pair_of --hostile all

# Scripts.
find "$src/tests/scripts" -name '*.dsim' | sort > scripts
# held WAY PROFILE SEED LISTS: those on none of these lists of exceptions
held() {
	awk -F '\t' -v lists=" $4 " '!/^#/ && index(lists, " " $1 " ") { print "/" $2 }' \
		"$here/unkind/exceptions.tsv" > excepted
	if [ -s excepted ]; then
		grep -vF -f excepted scripts > chosen
	else
		cp scripts chosen
	fi
	DATSIM_PROFILE=$2 DATSIM_HOSTILE=$1 xargs "$datsim" test --seed "$3" < chosen > report 2>&1
	status=$?
	grep -A 8 '^not ok' report
	return $status
}
# scripts_hold WAY LISTS: with both profiles
scripts_hold() {
	held "$1" ib 1 "$2" && held "$1" iwarp 1 "$2 iwarp" || return 1
	[ "$all" ] || return 0
	for seed in 2 3 4 5 6 7 8; do
		held "$1" ib $seed "$2 seeds" && held "$1" iwarp $seed "$2 seeds iwarp" || return 1
	done
}
for way in $ways all; do
	lists=${way%=*}
	[ $way != all ] || lists='placement ends retry complete'
	holds "scripts with $way" scripts_hold $way "$lists"
done

# The end that refuses a message may hear that its peer has disconnected; the end whose request
# failed hears of that, and so of a break.
for end in BROKEN DISCONNECTED; do
	cat > $end.dsim << END
use connected a@emu0 b@emu1
       b: dat_lmr_create(ia, 4096, pz, LOCAL_READ|LOCAL_WRITE|REMOTE_READ) -> reads
       a: dat_ep_post_rdma_write(ep, 64, b.reads)
*      a: event request DTO_COMPLETION status=REMOTE_ACCESS
*      a: event connect BROKEN ep
*      b: event connect $end ep
end    quiet
END
done
# heard END: the number of those of eight seeds with which b hears it
heard() {
	count=0
	for seed in 1 2 3 4 5 6 7 8; do
		DATSIM_HOSTILE=ends=device "$datsim" test --seed $seed "$1.dsim" > report &&
			count=$((count + 1))
	done
	echo $count
}
both_are_heard() {
	broken=$(heard BROKEN)
	ended=$(heard DISCONNECTED)
	echo "BROKEN $broken times, DISCONNECTED $ended times"
	[ "$broken" -gt 0 ] && [ "$ended" -gt 0 ] && [ $((broken + ended)) = 8 ]
}
holds "ends=device: the end that refuses a message hears one or the other" both_are_heard

# In scripts, and in schedules that are explored.
cat > posted.dsim << 'END'
fabric watch=posted poison=on placement=tail ends=device retry=spurious complete=sent
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64)
       a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION length=64
end
END
expect 0 '^ok 1' test posted.dsim
expect 3 'shrunk to 1 line' explore --runs 9 --out out.dsim -- "$planted/udapl" overwrite
holds "explore shrinks it to the way" grep -qx 'fabric watch=posted' out.dsim
expect 0 'schedules of seed 1 hold' explore --runs "$runs" -- "$planted/udapl" overwrite fixed
for case in peek last_byte hang_up reply_first; do
	expect 1 "exits with 1" explore --faults hostile --runs 200 --out out.dsim -- \
		"$planted/udapl" $case
	expect 0 'schedules of seed 1 hold' explore --faults all,hostile --runs "$runs" -- \
		"$planted/udapl" $case fixed
done
