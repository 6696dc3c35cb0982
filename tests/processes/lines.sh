#!/bin/sh
# The lines of messages between processes that poll, each of which writes its own. None is missing,
# and they are in the order in which things happened.
. "$(dirname "$0")/../datsim/begin.sh"
pair=$top/bench/pair
needs "$pair"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# counts MESSAGES TRACE: so many Sends and Receives at each of two ends, or more. The numbers that a
# line tells are those of the lines before it: what is posted, what was taken, what was reaped.
counts() {
	awk -v least="$1" '
	function wrong(what) { print what ": " $0; bad = 1 }
	function field(name, i) {
		for (i = 4; i <= NF; i++)
			if (index($i, name "=") == 1)
				return substr($i, length(name) + 2)
	}
	$2 !~ /\.(ep|qp|id)[0-9]+$/ { next }
	$1 < now { wrong("an earlier time") }
	{ now = $1; at = $2 }
	$3 == "post_recv" || $3 == "ibv_post_recv" { posted[at]++ }
	$3 == "take" {
		taken[at]++
		if (field("available") != posted[at] - taken[at])
			wrong("Receives posted: " posted[at] - taken[at])
		if (field("taken") != taken[at] - reaped[at])
			wrong("Receives not reaped: " taken[at] - reaped[at])
	}
	$3 == "complete" { done[at, field("op")]++ }
	($3 == "reap" || $3 == "ibv_poll_cq") && field("status") ~ /SUCCESS$/ {
		op = field("op") field("opcode")
		op = op ~ /RECV$/ ? "RECV" : "SEND"
		if (op == "RECV")
			reaped[at]++
		if (++found[at, op] > done[at, op])
			wrong("not complete")
	}
	$3 == "post_send" { sent[at]++ }
	END {
		for (at in sent) {
			ends++
			print at, sent[at], taken[at], reaped[at], found[at, "SEND"]
			all += sent[at] - taken[at]
			if (sent[at] < least || reaped[at] != taken[at] ||
			    found[at, "SEND"] != sent[at] || done[at, "SEND"] != sent[at])
				bad = 1
		}
		exit bad || ends != 2 || all != 0
	}' "$2"
}

echo 1..5
expect 0 'left  *nothing' run --trace ping.trace -- "$pair" server + \
	"$pair" client localhost ping 2000
holds "one message at a time" counts 2000 ping.trace
expect 0 'left  *nothing' run --trace rate.trace -- "$pair" server + \
	"$pair" client localhost rate 10000
holds "64 messages in flight" counts 312 rate.trace
title="by verbs"
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	echo "ok 5 - $title # SKIP perftest cannot load a library with a sanitizer"
elif command -v ib_send_lat > found && [ -e "$top/verbs/.libs/libibverbs.so.1" ]; then
	"$datsim" run --trace verbs.trace -- ib_send_lat -F -n 1000 + \
		ib_send_lat -F -n 1000 localhost > said 2>&1
	holds "$title" counts 1000 verbs.trace
else
	echo "ok 5 - $title # SKIP perftest, or a library of verbs, is not there"
fi
