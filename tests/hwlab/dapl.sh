# shellcheck shell=bash disable=SC2154 # $build is suite.sh's
# Debian's DAPL as the peer: its dtest at one end, peer.c over libdat at the other. Sourced by
# suite.sh.
#
# dtest's exit status is always 0; its output is reliable.

# These two replace the process that calls them.
dtest() {
	exec env DAT_OVERRIDE=/tmp/dapl.conf stdbuf -oL timeout $limit \
		dtest -v -b 5000 -B 10 "$@" > /tmp/dtest 2>&1
}

peer() {
	exec env DAT_PROVIDER=hw DAT_OVERRIDE=/dev/null timeout $limit \
		"$build/tests/hwlab/peer" "$@" > /tmp/peer 2>&1
}

# dapl_verdict STATUS DEVICE WHO: STATUS is the exit status of the program over libdat
dapl_verdict() {
	local dtest seen
	grep -q 'DAPL Test Complete. PASSED' /tmp/dtest && ! grep -qE 'rror|ERR' /tmp/dtest
	dtest=$?
	grep -q 'RDMA write buffer contains: libdat has written this' /tmp/dtest &&
		grep -q 'RDMA read buffer contains: libdat offers this' /tmp/dtest
	seen=$?
	verdict "$1" "$2: $3: all is right for the program over libdat"
	verdict $dtest "$2: $3: all is right for DAPL's dtest"
	verdict $seen "$2: $3: dtest has what libdat wrote, and has read what it offered"
	[ "$1$dtest$seen" = 000 ] || { cat /tmp/peer && tail -n 30 /tmp/dtest; } | sed 's/^/# /'
}

# with_dapl DEVICE ADDRESS NETDEV
with_dapl() {
	local pid status
	if [ -z "$(type -P dtest)" ]; then
		n=$((n + 1))
		echo "ok $n - $1: beside DAPL # SKIP dapl2-utils is not installed"
		return
	fi
	echo "$1 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"$3 0\" \"\"" > /tmp/dapl.conf
	: > /tmp/dtest
	dtest -P "$1" &
	pid=$!
	(peer client "$1" "$2" /tmp/dtest)
	status=$?
	[ $status -eq 0 ] || kill $pid
	wait $pid
	dapl_verdict $status "$1" "libdat asks dtest"

	: > /tmp/dtest
	: > /tmp/peer
	peer server "$1" "$2" "$1" &
	pid=$!
	{ says /tmp/peer listening && (dtest -h "$2"); } || kill $pid
	wait $pid
	dapl_verdict $? "$1" "dtest asks libdat"
}
