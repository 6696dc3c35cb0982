# shellcheck shell=bash disable=SC2154 # $build, $patience and $limit are suite.sh's
# A server and its clients, each a process, on a device: an example program that checks every byte.
# Sourced by suite.sh.

# listens DEVICE: waits until a process listens on the device
listens() {
	local i
	for ((i = 0; i < 10 * patience; i++)); do
		[ -z "$(rdma resource show cm_id link "$1" 2> /dev/null | grep LISTEN)" ] ||
			return 0
		sleep 0.1
	done
	return 1
}

# says FILE TEXT: waits until a program has printed the text
says() {
	local i
	for ((i = 0; i < 10 * patience; i++)); do
		grep -qs "$2" "$1" && return
		sleep 0.1
	done
	return 1
}

on_libdat() {
	env DAT_PROVIDER=hw DAT_OVERRIDE=/dev/null "$@"
}

# together DEVICE CLIENTS SERVER-COMMAND... -- CLIENT-COMMAND...: runs a server and this many
# clients
together() {
	local device=$1 count=$2 server=() i pid pids=() status=0
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	"${server[@]}" > /tmp/server 2>&1 &
	pid=$!
	listens "$device" || status=1
	for ((i = 0; i < count; i++)); do
		"$@" > "/tmp/client$i" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=1
	done
	[ $status -eq 0 ] || kill $pid 2> /dev/null
	wait $pid || status=1
	[ $status -eq 0 ] || sed 's/^/# /' /tmp/server /tmp/client?
	return $status
}

# processes DEVICE ADDRESS
processes() {
	rm -f /tmp/server /tmp/client?
	together "$1" 1 on_libdat timeout $limit "$build/examples/rpc/rpc" server "$1" 1 -- \
		on_libdat timeout $limit "$build/examples/rpc/rpc" client "$1" "$2" 300
	verdict $? "$1: remote calls through an SRQ that its low watermark refills, two processes"
	grep -qx '300 calls answered' /tmp/client0
	verdict $? "$1: all calls are answered"
	together "$1" 3 on_libdat timeout $limit "$build/examples/pair/server" 3 "$1" -- \
		on_libdat timeout $limit "$build/examples/pair/client" "$2" 20 "$1"
	verdict $? "$1: a server and three clients, RDMA both ways, four processes"
	grep -qx '60 answers, 3 clients, 0 more were broken off' /tmp/server
	verdict $? "$1: all questions are answered"
}
