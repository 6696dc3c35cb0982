#!/bin/sh
# Processes of one fabric in namespaces of their own, without privileges where the kernel permits
# that: equal pids in two pid namespaces, a pid that is used again, clocks that differ by days.
. "$(dirname "$0")/../datsim/begin.sh"
server=$top/examples/pair/server
client=$top/examples/pair/client
needs "$server"
needs "$client"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99
ahead=1000000 # seconds

# skips TITLE WHY
skips() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# part TITLE WHY COMMAND...: if $probe can be run in the namespaces of $in
probe=true
part() {
	title=$1 why=$2
	shift 2
	if $in sh -c "$probe" 2> noise; then
		holds "$title" "$@"
	else
		skips "$title" "$why: $(head -n 1 noise)"
	fi
}

# both FABRIC SERVER-IN CLIENT-IN [FIRST]: a client and a server, each within namespaces; the one
# that is named FIRST makes the fabric.
both() {
	DATSIM_FABRIC=$1
	export DATSIM_FABRIC
	if [ "${4:-server}" = server ]; then
		DATSIM_NODE=server timeout 600 $2 "$server" 1 > server 2>&1 &
		until "$datsim" fabric show "$1" 2> noise | grep -q waiting; do
			kill -0 $! || return
			sleep 0.01
		done
		DATSIM_NODE=client timeout 600 $3 "$client" localhost 50 > client 2>&1
		first=$?
	else
		DATSIM_NODE=client timeout 600 $3 "$client" localhost 50 > client 2>&1 &
		until "$datsim" fabric show "$1" 2> noise | grep -q client; do
			kill -0 $! || return
			sleep 0.01
		done
		DATSIM_NODE=server timeout 600 $2 "$server" 1 > server 2>&1
		first=$?
	fi
	wait $!
	second=$?
	unset DATSIM_FABRIC
	cat server client
	[ $first = 0 ] && [ $second = 0 ] && grep -qx '50 answers' client
}

# as_first FABRIC: both are pid 1
as_first() {
	# shellcheck disable=SC2086
	both "$1" "$in" "$in"
}

# reused: each client is killed while it is connected, and the next one gets its pid
cat > reused << 'END'
DATSIM_FABRIC=reused
export DATSIM_FABRIC
DATSIM_NODE=server "$1" 2000000000 > server 2>&1 &
serves=$!
for round in 1 2 3 4 5; do
	DATSIM_NODE=dies "$2" localhost 100000000 > dies 2>&1 &
	dies=$!
	until "$3" fabric show reused 2> noise | grep -q "dies.* 1 "; do
		kill -0 $dies || exit 1
		sleep 0.01
	done
	kill -9 $dies
	wait $dies 2> noise
	echo $((dies - 1)) > /proc/sys/kernel/ns_last_pid || exit 1
	DATSIM_NODE=next "$2" localhost 50 > next 2>&1 &
	next=$!
	[ $next = $dies ] || { echo "pid $next, wanted $dies"; exit 1; }
	wait $next || exit 1
	grep -qx '50 answers' next || exit 1
done
kill -9 $serves
END
reused() {
	timeout 600 $in sh reused "$server" "$client" "$datsim"
	status=$?
	cat server dies next
	[ $status = 0 ]
}

# again: a run of programs is killed, and the next one gets the id of its process
cat > again << 'END'
"$3" run -- "$1" 2000000000 + "$2" localhost 100000000 > killed 2>&1 &
run=$!
until "$3" fabric list 2> noise | grep -q "^run-$run-"; do
	kill -0 $run || exit 1
	sleep 0.01
done
kill -9 $run
wait $run 2> noise
echo $((run - 1)) > /proc/sys/kernel/ns_last_pid || exit 1
"$3" run -- "$1" 1 + "$2" localhost 50 > next 2>&1 &
next=$!
[ $next = $run ] || { echo "pid $next, wanted $run"; exit 1; }
wait $next
END
again() {
	timeout 600 $in sh again "$server" "$client" "$datsim" > run 2>&1
	status=$?
	cat run killed next
	[ $status = 0 ] && grep -qx '50 answers' next
}

# in_time FABRIC FIRST: the server's clock is ahead; all events are at times of minutes
in_time() {
	DATSIM_TRACE=$scratch/$1.trace
	export DATSIM_TRACE
	# shellcheck disable=SC2086
	both "$1" "$in" "" "$2"
	status=$?
	unset DATSIM_TRACE
	[ $status = 0 ] && awk -v most=$((ahead / 10))000000000 '
		/^#/ { next }
		$1 + 0 > most + 0 { print "at", $1; late = 1 }
		END { exit late || NR < 100 }' "$scratch/$1.trace"
}

echo 1..7
in="unshare -Urpf"
part "processes with equal pids answer each other" "no pid namespace" as_first equal
DATSIM_COPY=bounce
export DATSIM_COPY
part "also where payload goes through the arena" "no pid namespace" as_first bounced
unset DATSIM_COPY
DATSIM_LOCKSTEP=10000
export DATSIM_LOCKSTEP
part "also where they take turns" "no pid namespace" as_first turns
unset DATSIM_LOCKSTEP
in="unshare -Urpf --mount-proc"
probe="echo 100 > /proc/sys/kernel/ns_last_pid"
part "a client with the pid of one that was killed is another one" "no pid of one's choice" reused
part "so is a run of programs whose process has the pid of one that was killed" \
	"no pid of one's choice" again
probe=true
in="unshare -UrTf --monotonic $ahead --boottime $ahead"
part "a time namespace that joins a fabric does not move its time" "no time namespace" \
	in_time joined client
part "nor one that makes it" "no time namespace" in_time made server
