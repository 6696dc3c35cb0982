#!/bin/sh
# run.sh BUILD SECONDS: fuzzes the readers of scripts, of traces, and of dat.conf. Prints TAP.
# Inputs that crash stay in BUILD/tests/fuzz/found; once fixed, they belong in the corpus.
here=$(cd "$(dirname "$0")" && pwd)
out=$1/tests/fuzz
seconds=${2:-30}
mute=1 # stdout
n=0

# fuzz WHAT FOLDER...: uses the same random numbers each time; the machine decides how many inputs
# it reaches. There is no limit of resident memory: the check of it needs a second thread, and with
# two threads virtual time would follow the machine's clock.
fuzz() {
	what=$1
	shift
	mkdir -p "$out/grown-$what"
	"$out/fuzz_$what" -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=0 \
		-malloc_limit_mb=4096 -max_len=4096 -dict="$here/script.dict" \
		-artifact_prefix="$out/found/" -close_fd_mask="$mute" \
		"$out/grown-$what" "$here/corpus/$what" "$@" > "$out/$what.txt" 2>&1
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
	"$here/../scripts/memory" "$here/../scripts/helper" "$here/../scripts/evd" \
	"$here/../datsim/bad" &
script=$!
fuzz trace "$here/../datsim/timeline"
trace=$?
mute=3 # and stderr, which has the error messages
fuzz dat_conf
dat_conf=$?
wait $script
tell script $?
tell trace $trace
tell dat_conf $dat_conf
