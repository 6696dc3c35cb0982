#!/bin/sh
# Programs in processes of their own, on one fabric: each way in which payload can travel.
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
client=$top/examples/pair/client
rpc=$top/examples/rpc/rpc
needs "$server"
needs "$client"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR

# both NAME HOST CLIENTS ROUNDS: a server and its clients, which are there before it
both() {
	DATSIM_FABRIC=$1
	export DATSIM_FABRIC
	clients=
	i=0
	while [ $i -lt "$3" ]; do
		i=$((i + 1))
		DATSIM_NODE=client timeout 600 "$client" "$2" "$4" > "client$i" 2>&1 &
		clients="$clients $!"
	done
	DATSIM_NODE=server timeout 600 "$server" "$3" > server 2>&1 || return 1
	for pid in $clients; do
		wait "$pid" || return 1
	done
	unset DATSIM_FABRIC
}

# answers CLIENTS ROUNDS: what they say of it
answers() {
	cat server client?
	grep -qx "$(($1 * $2)) answers, $1 clients, 0 more were broken off" server &&
		[ "$(cat client? | grep -cx "$2 answers")" = "$1" ]
}

cd "$scratch" || exit 99
echo 1..18
holds "a client and a server that starts later" both later localhost 1 200
holds "all answers are right" answers 1 200
holds "five clients at once" both five 127.0.0.1 5 50
holds "all their answers are right" answers 5 50
title="to the host's name"
# In a bare root file system the machine's name may have no address.
if getent hosts "$(hostname)" > /dev/null; then
	holds "$title" both name "$(hostname)" 1 10
else
	n=$((n + 1))
	echo "ok $n - $title # SKIP $(hostname) has no address"
fi
holds "to this machine by IPv6" both six ::1 1 10
holds "to an IPv4 address, written as IPv6" both mapped ::ffff:127.0.0.1 1 10
DATSIM_COPY=bounce
export DATSIM_COPY
holds "payload through the arena" both through localhost 5 50
holds "all answers are right there" answers 5 50
DATSIM_LATENCY_NS=20000 DATSIM_BANDWIDTH_BPS=1000000000 DATSIM_MTU=256
export DATSIM_LATENCY_NS DATSIM_BANDWIDTH_BPS DATSIM_MTU
holds "through the arena, on a slow wire" both slow localhost 3 20
holds "all answers are right on it" answers 3 20
unset DATSIM_COPY
holds "on a slow wire" both direct localhost 3 20
unset DATSIM_LATENCY_NS DATSIM_BANDWIDTH_BPS DATSIM_MTU

# Calls, through one SRQ.
DATSIM_FABRIC=rpc
export DATSIM_FABRIC
timeout 600 "$rpc" server emu0 1 > server 2>&1 &
pid=$!
until [ -s datsim/rpc ] && timeout 600 "$rpc" client emu0 127.0.0.1 300 > client1 2>&1; do
	kill -0 $pid || break
done
holds "the server of calls ends" wait $pid
holds "all calls are answered" grep -qx '300 calls answered' client1
unset DATSIM_FABRIC

holds "no fabric stays when the last process has left it" [ -z "$(ls -A datsim)" ]
DATSIM_FABRIC=../escape
export DATSIM_FABRIC
holds "a name is no path" \
	sh -c '! "$1" localhost 1 2> said && grep -q "cannot be called" said' - "$client"
DATSIM_FABRIC=mine
mkdir open && chmod 755 open && mkdir open/datsim && chmod 755 open/datsim
holds "a folder that others may enter is refused" \
	sh -c '! XDG_RUNTIME_DIR=$PWD/open "$1" localhost 1 2> said &&
		grep -q "no other may" said' - "$client"
echo nothing > datsim/mine
chmod 600 datsim/mine
holds "a file that is no fabric is refused" \
	sh -c '! "$1" localhost 1 2> said && grep -q "this is none" said' - "$client"
