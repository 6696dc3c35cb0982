#!/bin/sh
# Debian's DAPL, which is DAT 2.0, over its three connection managers: TCP sockets (scm), UD
# messages (ucm), librdmacm (cma).
#
# dtestx runs in lockstep alone. Its server tells the client by TCP to connect, and listens then. In
# real time the client may be too early; over scm a second attempt has a request of an older version
# then, 2 bytes longer, and the server takes the data behind it for the next message ("ACCEPT_RTU:
# rcv ERR, rcnt=4" with DAPL_DBG_TYPE=0xfffff). dapltest is not for ucm: it takes the peer's IP
# address for the LID and the number of a QP that ucm wants, which the last test shows.
. "$(dirname "$0")/begin.sh"
needs librdmacm dapl2-utils dtest dtestx dapltest

cat > "$work/dat.conf" <<'CONF'
scm u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "emu0 1" ""
ucm u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "emu0 1" ""
cma u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "127.0.0.1 0" ""
CONF
export DAT_OVERRIDE="$work/dat.conf"
# Its address is of the first interface that is not lo, if there is one.
export DAPL_SCM_NETDEV=lo

cat > "$work/clients" <<'SH'
dapltest -T T -s localhost -D "$1" -i 20 -t 1 -w 1 client SR 1024 4 server SR 1024 4 \
	client RR 4096 2 server RW 4096 2 client SR 256
dapltest -T P -s localhost -D "$1" -i 200 -m block -p 4 RW 4096 2
dapltest -T Q -s localhost -D "$1"
SH

# The programs have fixed ports, so two of these scripts cannot run at a time.
exec 8> "${TMPDIR:-/tmp}/libdat-dapl.$(id -u)"
flock 8

# The client of dtest asks once for the server's TCP port, 15828.
late_dtest() {
	"$datsim" run -- dtest "$@" + sh -c '
		for i in $(seq 100); do
			grep -qsi ":3dd4 .* 0A " /proc/net/tcp /proc/net/tcp6 && break
			sleep 0.1
		done
		exec dtest "$@" -h localhost' sh "$@"
}

# The server of dapltest is not there: the line is the client's, which tries for minutes.
asks_for() {
	# shellcheck disable=SC2016
	DAPL_DBG_TYPE=0xfffff DAPL_DBG_DEST=1 "$datsim" run --quiet -- sh -c '
		stdbuf -oL dapltest -T Q -s localhost -D "$1" > "$2" &
		client=$!
		for i in $(seq 300); do
			grep -q "connect:.* -> " "$2" && break
			sleep 0.1
		done
		kill $client; wait $client; cat "$2"' sh "$1" "$work/asks"
}

echo 1..14
for cm in scm ucm cma; do
	prints "dtest over $cm, in real time" 2 'DAPL Test Complete. PASSED' \
		late_dtest -P $cm -b 65536 -B 100
	prints "dtestx over $cm: immediate data and atomics" 8 'test - .*PASSED|test PASSED' \
		"$datsim" run --lockstep -- dtestx -P $cm + dtestx -P $cm -h localhost
	prints "two of its traces in lockstep are equal" 1 '^same$' \
		same_trace dtestx -P $cm + dtestx -P $cm -h localhost
done
# One line of the server, and one of each client; a test may be too quick for figures.
ends='Transaction Test Finished|^(Total WQE|-+ Test completed suc)|^raw: RW, 200, 4096'
for cm in scm cma; do
	for mode in '' --lockstep; do
		# shellcheck disable=SC2086
		prints "dapltest over $cm ${mode:-in real time}" 3 "$ends" \
			"$datsim" run $mode -- dapltest -T S -D $cm + sh "$work/clients" $cm
	done
done
prints "dapltest over ucm asks for LID 0 and for 127.0.0.1 as a queue pair" 1 \
	'connect: l_port 1 -> AF 2 LID 0x0 QPN 0x7f000001 ' asks_for ucm
