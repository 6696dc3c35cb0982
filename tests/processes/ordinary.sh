# shellcheck shell=sh
# ordinary.sh PART: one part of the work of processes on a fabric, with the rights that container.sh
# gives it. $top_builddir is the build tree; the current folder belongs to the user.
top=$top_builddir
datsim=$top/tools/datsim/datsim
server=$top/examples/pair/server
client=$top/examples/pair/client
rpc=$top/examples/rpc/rpc
stream=$top/examples/stream/stream
set -e

# Waits until a listener is on the fabric.
listens() {
	until "$datsim" fabric show "$1" 2> noise | grep -q '198.18.0.1 .* waiting'; do
		sleep 0.01
	done
}

case $1 in
run)
	"$datsim" run --trace trace -- "$server" 2 + "$client" localhost 20 + \
		"$client" 127.0.0.1 20 > said 2>&1
	grep -q '^40 answers, 2 clients, 0 more' said
	grep -q 'left  *nothing' said
	"$datsim" show trace > shown
	;;
fabric)
	"$datsim" fabric create mine
	"$datsim" fabric list | grep -q '^mine  *0 processes'
	DATSIM_FABRIC=mine "$server" 1 > served &
	listens mine
	name=$(hostname)
	getent hosts "$name" > noise || name=localhost
	DATSIM_FABRIC=mine "$client" "$name" 10 > asked
	wait
	grep -q '^10 answers' served
	"$datsim" fabric destroy mine
	! "$datsim" fabric show mine 2> noise
	;;
pair)
	export DATSIM_FABRIC=pair
	"$client" localhost 50 > asked &
	"$server" 1 > served
	wait
	grep -q '^50 answers, 1 clients, 0 more' served
	;;
rpc)
	"$datsim" run -- "$rpc" server emu0 2 + "$rpc" client emu0 127.0.0.1 50 + \
		"$rpc" client emu0 198.18.0.1 50 > said
	[ "$(grep -c '^50 calls answered' said)" = 2 ]
	;;
stream)
	"$datsim" run -- "$stream" server poll 10 + "$stream" client localhost cno 10 20 > said
	grep -q '^200 came back right' said
	export DATSIM_FABRIC=stream
	"$stream" server wait 10 > served &
	"$stream" client localhost poll 10 20 > asked
	wait
	grep -q '^200 came back right' asked
	;;
kill)
	"$top/tests/processes/die" "$server" random 3
	"$top/tests/processes/die" "$server" stores 3
	;;
borders)
	DATSIM_FABRIC=borders "$top/tests/processes/borders"
	;;
lockstep)
	export DATSIM_LOCKSTEP=600000
	"$datsim" run --lockstep --seed 7 --trace one -- \
		"$server" 1 + "$client" 198.18.0.1 20 > said
	"$datsim" run --lockstep --seed 7 --trace two -- \
		"$server" 1 + "$client" 198.18.0.1 20 > said
	[ "$(grep -c preempted one)" = 0 ]
	# What they tell each other of their memory may differ, for where that is cannot be settled
	# everywhere.
	sed 's/private=.*//' one > a
	sed 's/private=.*//' two | cmp a -
	;;
verbs)
	# Its TCP port: free, and below those that the kernel gives to clients.
	port=$((10000 + $$ % 1000 * 20))
	while grep -qsi ":$(printf '%04x' $port) " /proc/net/tcp /proc/net/tcp6; do
		port=$((port + 1))
	done
	set -- ibv_rc_pingpong -g 0 -n 20 -s 100000 -c -p $port
	"$datsim" run -- "$@" + "$@" localhost > said 2>&1
	[ "$(grep -c '^20 iters in ' said)" = 2 ]
	[ "$(grep -c 'invalid data' said)" = 0 ]
	grep -q 'left  *nothing' said
	"$datsim" run -- rping -s -C 10 -V + rping -c -a localhost -C 10 -V -v > said 2>&1
	[ "$(grep -c '^ping data: rdma-ping-' said)" = 10 ]
	;;
small)
	unset XDG_RUNTIME_DIR
	"$datsim" run -- "$stream" server poll 4 + "$stream" client localhost wait 4 20 > said
	grep -q '^80 came back right' said
	;;
esac
