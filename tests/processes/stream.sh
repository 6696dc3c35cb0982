#!/bin/sh
# Messages of every size between processes, over one connection and over many, through an SRQ: each
# way to learn of them, each way in which payload can travel. MESSAGES: so many on each connection.
. "$(dirname "$0")/../datsim/begin.sh"
stream=$top/examples/stream/stream
needs "$stream"
bulk=$top/tests/processes/stream/bulk
needs "$bulk"
storm=$top/tests/processes/stream/storm
needs "$storm"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# both SERVER CLIENT CONNECTIONS: how each learns of what happens; all messages come back right
both() {
	DATSIM_FABRIC=stream
	export DATSIM_FABRIC
	timeout 600 "$stream" server "$1" "$3" > server 2>&1 &
	serves=$! ended=0
	timeout 600 "$stream" client localhost "$2" "$3" "${MESSAGES:-40}" > client 2>&1 || {
		ended=1
		kill $serves # it would wait for a client
	}
	wait $serves || ended=1
	unset DATSIM_FABRIC
	all=$((${MESSAGES:-40} * $3))
	cat client server
	[ $ended = 0 ] && grep -qx "$all came back right, $3 connections" client &&
		grep -qx "$all sent back, $3 connections" server
}

# The same, traced: each call writes a line.
traced() {
	timeout 600 "$datsim" run -- "$stream" server "$1" "$3" + \
		"$stream" client localhost "$2" "$3" "${MESSAGES:-40}" > sums 2>&1
	ended=$?
	cat sums
	all=$((${MESSAGES:-40} * $3))
	[ $ended = 0 ] && grep -q "$all came back right, $3 connections" sums &&
		grep -q 'left  *nothing' sums
}

# One that does not look: it compares megabytes that the library fills meanwhile, by design.
unseen() {
	title="$copy: to one who does not look"
	if grep -qa __tsan_init "$top/.libs/libdat.so"; then
		n=$((n + 1))
		echo "ok $n - $title # SKIP ThreadSanitizer takes every byte for a race"
	else
		holds "$title" env DATSIM_FABRIC=bulk "$bulk"
	fi
}

echo 1..17
for copy in direct bounce; do
	DATSIM_COPY=$copy
	export DATSIM_COPY
	holds "$copy: both poll" both poll poll 1
	holds "$copy: both wait" both wait wait 1
	holds "$copy: both have a CNO" both cno cno 1
	holds "$copy: one polls, one has a CNO, 16 connections" both poll cno 16
	holds "$copy: one has a CNO, one polls, 100 connections" both cno poll 100
	holds "$copy: the same, traced" traced cno poll 10
	DATSIM_LATENCY_NS=10000 DATSIM_BANDWIDTH_BPS=10000000000
	export DATSIM_LATENCY_NS DATSIM_BANDWIDTH_BPS
	holds "$copy: both poll, on a slow wire" both poll poll 4
	unset DATSIM_LATENCY_NS DATSIM_BANDWIDTH_BPS
	unseen
done
unset DATSIM_COPY
holds "retries without end stop no other process" \
	env DATSIM_FABRIC=storm DATSIM_RNR_RETRY=7 DATSIM_RNR_TIMER_NS=1 "$storm"
