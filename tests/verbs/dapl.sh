#!/bin/sh
# Debian's DAPL, which is DAT 2.0, over its three connection managers: TCP sockets (scm), UD
# messages (ucm), librdmacm (cma). dapltest takes the name of a host, which ucm has no use for.
# dtestx over scm is left out: it takes private data for the message behind it if they arrive apart.
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

# dtestx's client may connect before its server listens, on a busy machine.
attempts() {
	"$@" || "$@" || "$@" || "$@"
}

echo 1..7
for cm in scm ucm cma; do
	set -- dtest -P $cm -b 65536 -B 100
	prints "dtest over $cm" 2 'DAPL Test Complete. PASSED' \
		"$datsim" run -- "$@" + "$@" -h localhost
done
for cm in ucm cma; do
	prints "dtestx over $cm: immediate data and atomics" 8 'test - .*PASSED|test PASSED' \
		attempts "$datsim" run -- dtestx -P $cm + dtestx -P $cm -h localhost
done
for cm in scm cma; do
	# One line of the server, and one of each client; a test may be too quick for figures.
	prints "dapltest over $cm" 3 \
		'Transaction Test Finished|^(Total WQE|-+ Test completed suc)|^raw: RW, 200, 4096' \
		"$datsim" run -- dapltest -T S -D $cm + sh "$work/clients" $cm
done
