#!/bin/sh
# A program of sockets whose sockets are rsockets: iperf with librspreload.so of librdmacm1. Its
# client connects four times before it sends, so the server has to be connected to while it reads
# from the first connection. Judged by the addresses that both ends print, which are those of
# adapters, or, where the server has no rsocket, of the machine.
. "$(dirname "$0")/../begin.sh"
needs librdmacm iperf iperf
preload=$(find /usr/lib -name librspreload.so.1 -print -quit)
[ -n "$preload" ] || skip "librspreload.so.1 is missing: apt-get install librdmacm1"

# In front of what datsim loads, which stands in for libc; not in the shell itself
cat > "$work/preload" << END
LD_PRELOAD=$preload:\$LD_PRELOAD exec "\$@"
END
# The server may not listen yet.
cat > "$work/client" << 'END'
until "$@" > "$0.out" 2>&1 && grep -q 'Bytes .*bits/sec' "$0.out"; do sleep 0.1; done
cat "$0.out"
END
adapter='^\[ *[0-9]+\] local 198\.18\.0\.[0-9]+ port [0-9]+ connected'
machine='^\[ *[0-9]+\] local 127\.0\.0\.1 port [0-9]+ connected'

streams() {
	next_port
	"$datsim" run "$@" -- sh "$work/preload" iperf -s -P 4 -p $port \
		+ sh "$work/client" sh "$work/preload" iperf -c 127.0.0.1 -p $port -n 256K -P 4
}

same_streams() {
	next_port
	same_trace sh "$work/preload" iperf -s -P 4 -p $port \
		+ sh "$work/preload" iperf -c 127.0.0.1 -p $port -n 256K -P 4
}

# The client's rconnect fails, and librspreload.so goes on with a socket.
other_server() {
	next_port
	"$datsim" run --quiet -- iperf -s -P 1 -p $port \
		+ sh "$work/client" sh "$work/preload" iperf -c 127.0.0.1 -p $port -n 256K
}

echo 1..3
prints "four streams of iperf by rsockets" 8 "$adapter" streams --quiet
prints "the same in lockstep: one trace" 1 '^same$' same_streams
prints "iperf by TCP, because the server has no rsocket" 2 "$machine" other_server
