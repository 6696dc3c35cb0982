#!/bin/sh
# Fuzz the readers of scripts, of traces, and of dat.conf: run.sh BUILD SECONDS. Prints TAP. What is
# found stays in BUILD/tests/fuzz/found; a fixed one belongs into the corpus beside this script.
here=$(cd "$(dirname "$0")" && pwd)
out=$1/tests/fuzz
seconds=${2:-30}
mute=1 # stdout
n=0

# fuzz WHAT FOLDER...: the same random numbers every time; how far they get depends on the machine. A limit
# of memory in use would take a thread, and then the time of a script would be the clock's, not its own.
fuzz() {
	what=$1
	shift
	mkdir -p "$out/grown-$what"
	"$out/fuzz_$what" -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=0 -malloc_limit_mb=4096 \
		-max_len=4096 -dict="$here/script.dict" -artifact_prefix="$out/found/" \
		-close_fd_mask="$mute" "$out/grown-$what" "$here/corpus/$what" "$@" > "$out/$what.txt" 2>&1
}

# tell WHAT STATUS
tell() {
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $n - $1: $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$out/$1.txt") inputs"
	else
		echo "not ok $n - $1"
		tail -40 "$out/$1.txt" | sed 's/^/#   /'
	fi
}

echo 1..3
mkdir -p "$out/found"
fuzz script "$here/../scripts/srq" "$here/../scripts/connect" "$here/../scripts/rdma" \
	"$here/../scripts/memory" "$here/../scripts/helper" "$here/../scripts/evd" "$here/../datsim/bad" &
script=$!
fuzz trace "$here/../datsim/timeline"
trace=$?
mute=3 # and stderr, where the complaints go
fuzz dat_conf
dat_conf=$?
wait $script
tell script $?
tell trace $trace
tell dat_conf $dat_conf
