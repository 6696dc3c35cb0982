#!/bin/sh
# Whole programs in lockstep, from before their main to their last breath: pairs that meet by TCP,
# with threads, epoll, shells and children. RUNS runs of each leave the same trace and print the
# same, and no thread is preempted. LOAD: so many busy processes run beside them.
. "$(dirname "$0")/../../datsim/begin.sh"
meet=$top/tests/processes/whole/meet
waits=$top/tests/processes/whole/waits
for program in "$meet" "$waits"; do needs "$program"; done
if [ ! -e "$top/verbs/.libs/libdat-turns.so" ]; then
	echo "1..0 # SKIP libdat-turns.so is not built"
	exit 0
fi
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

busy=
i=0
while [ $i -lt "${LOAD:-0}" ]; do
	i=$((i + 1))
	(while :; do :; done) &
	busy="$busy $!"
done
# shellcheck disable=SC2064 # those that run now
[ -z "$busy" ] || trap "kill $busy; rm -rf '$scratch'" EXIT

# same PROGRAMS: RUNS equal traces, and equal output unless $told is no; none was preempted
told=yes
same() {
	i=0
	while [ $i -lt "${RUNS:-3}" ]; do
		i=$((i + 1))
		rm -f port
		timeout 300 "$datsim" run --lockstep --trace trace.$i --quiet -- "$@" \
			> out.$i 2> words < /dev/null || return 1
		if grep preempted trace.$i; then return 1; fi
		sort out.$i > sorted.$i
		cmp trace.1 trace.$i && { [ "$told" = no ] || cmp sorted.1 sorted.$i; } || return 1
		[ $i = 1 ] || rm trace.$i out.$i sorted.$i
	done
}

# debian TITLE PROGRAM COMMAND...: the command, if the program is there and can load our libraries
debian() {
	title=$1
	program=$2
	shift 2
	if ! command -v "$program" > noise || [ ! -e "$top/verbs/.libs/librdmacm.so.1" ]; then
		echo "ok $((n += 1)) - $title # SKIP $program or librdmacm is missing"
	elif ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
		echo "ok $((n += 1)) - $title # SKIP it cannot load a library with a sanitizer"
	else
		holds "$title" "$@"
	fi
}

echo 1..19
# So long a limit that no thread loses its turn because the machine is slow; BOUND: another one
DATSIM_LOCKSTEP=${BOUND:-600000}
export DATSIM_LOCKSTEP
holds "what was sent can be read when the call has returned" "$meet" loopback 50
holds "a server of 8 threads with epoll and 8 clients that have children" same \
	"$meet" server 8 + "$meet" client 127.0.0.1 20 + "$meet" client 127.0.0.1 20 + \
	"$meet" client 127.0.0.1 20 + "$meet" client 127.0.0.1 20 + \
	"$meet" client 127.0.0.1 20 + "$meet" client 127.0.0.1 20 + \
	"$meet" client 127.0.0.1 20 + "$meet" client 127.0.0.1 20
holds "they see process ids, ports and a date that are not the machine's" grep -qE \
	'^50000[0-9]{2}, child 50000[0-9]{2}, meet-.*, port 61[0-9]{3} to 61000, .* 1767225600,' \
	out.1
holds "and each thread of the server works, with an id that is not the machine's" \
	[ "$(grep -cE '^thread [0-7] woke [0-9]+ times as 500[0-9]{4}$' out.1)" = 8 ]
# shellcheck disable=SC2016 # the shells of the run expand them
holds "shells, their children, pipes and sleeps" same \
	sh -c 'sleep 1; echo $$ | cat; "$0" server 1; date; wait' "$meet" + \
	sh -c 'sleep 2; "$0" client 127.0.0.1 5 & wait $!; echo $? $PPID' "$meet"
holds "and the shells take part themselves" [ "$(grep -cE '^5000000$|^0 4999999$' out.1)" = 2 ]
mkfifo there back
holds "timers, counts of threads, and pipes with names" same "$waits" first + "$waits" second
timed() {
	for one in first second; do
		for way in read poll select epoll_wait; do
			grep -x "$one, $way: 1 after 30 ms, 3 and 1 after 70 ms" out.1 || return 1
		done
		grep -x "$one, none: after 70 ms" out.1 &&
			grep -x "$one, counts: after 30 ms" out.1 || return 1
	done
}
holds "timers and counts end waits in virtual time" timed
opened() {
	for pipe in first,\ back second,\ there; do
		late="$pipe: opened after 20 ms, by the other one after 0 ms, read after 30 ms"
		early="$pipe: opened after 0 ms, by the other one after 20 ms, read after 10 ms"
		grep -x "$late" out.1 && grep -x "$early" out.1 || return 1
	done
}
holds "each end of a pipe is open when both are" opened
sweep=$top/tests/processes/whole/sweep
serve=$top/tests/processes/whole/serve
if [ -x "$sweep" ] && [ -x "$serve" ]; then
	holds "a verbs server of 8 threads with epoll, for channels and TCP, and 8 clients" same \
		"$serve" server 8 + "$serve" client 127.0.0.1 20 + "$serve" client 127.0.0.1 20 + \
		"$serve" client 127.0.0.1 20 + "$serve" client 127.0.0.1 20 + \
		"$serve" client 127.0.0.1 20 + "$serve" client 127.0.0.1 20 + \
		"$serve" client 127.0.0.1 20 + "$serve" client 127.0.0.1 20
	holds "each of its threads answers one" [ 8 = \
		"$(grep -c '^thread [0-7] answered 20, was asked 5 times, woke' out.1)" ]
	holds "messages of 1 byte to 64 KiB over verbs, by programs that meet by TCP" same \
		"$sweep" server + "$sweep" client 127.0.0.1
else
	for what in "a verbs server of 8 threads" "its threads" "messages of 1 byte to 64 KiB"; do
		echo "ok $((n += 1)) - $what # SKIP libibverbs is not built"
	done
fi
debian "ibv_rc_pingpong" ibv_rc_pingpong same \
	ibv_rc_pingpong -g 0 -n 100 + ibv_rc_pingpong -g 0 -n 100 localhost
debian "ibv_rc_pingpong with events" ibv_rc_pingpong same \
	ibv_rc_pingpong -g 0 -n 100 -e + ibv_rc_pingpong -g 0 -n 100 -e localhost
debian "rping" rping same rping -s -C 20 -V + rping -c -a localhost -C 20 -V
told=no
# -F: as in tests/verbs/perftest.sh
for program in "ib_send_lat -C" "ib_atomic_lat -C" ib_send_bw ib_read_bw; do
	# shellcheck disable=SC2086 # words of a command
	debian "${program% -C}, whose results are of the machine's cycles" "${program% -C}" same \
		$program -n 50 -F + $program -n 50 -F localhost
done
