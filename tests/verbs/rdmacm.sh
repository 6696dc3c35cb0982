#!/bin/sh
# The programs of the package rdmacm-utils, as they come, on the simulated fabric: between two
# processes, in real time and in lockstep. Judged by what they print.
datsim=$top_builddir/tools/datsim/datsim

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ -e "$top_builddir/verbs/.libs/librdmacm.so.1" ] || skip "librdmacm is not built"
for program in rping rdma_server rdma_client rdma_xserver rdma_xclient ucmatose; do
	command -v $program > /dev/null || skip "$program is missing: apt-get install rdmacm-utils"
done
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	skip "a program without a sanitizer cannot load a library with one"
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

# prints TITLE TIMES LINE COMMAND...: the command succeeds, and so many lines match
prints() {
	n=$((n + 1))
	title=$1
	times=$2
	line=$3
	shift 3
	if "$@" > "$work/out" 2>&1 < /dev/null &&
		[ "$(grep -cE "$line" "$work/out")" -eq "$times" ]; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		sed 's/^/# /' "$work/out"
	fi
}

# run OPTIONS -- PROGRAM ARGS + PROGRAM ARGS
run() {
	"$datsim" run "$@"
}

# same_trace COMMAND...: in lockstep, two runs leave the same trace. No thread of these programs
# waits for another, so none has to be preempted, however slow the machine is.
same_trace() {
	DATSIM_LOCKSTEP=600000
	export DATSIM_LOCKSTEP
	for i in 1 2; do
		"$datsim" run --lockstep --trace "$work/trace$i" --quiet -- "$@" || return 1
	done
	cmp "$work/trace1" "$work/trace2" && echo same
}

echo 1..9
prints "rping, in real time, with data verified" 20 'ping data: rdma-ping-[0-9]+: ' \
	run -- rping -s -C 20 -V + rping -c -a localhost -C 20 -V -v
cp "$work/out" "$work/rping"
prints "its connection ends, and nothing is left" 1 "^  left +nothing$" cat "$work/rping"
prints "rping at the address of an adapter" 5 'ping data: rdma-ping-[0-9]+: ' \
	run -- rping -s -C 5 -V + rping -c -a 198.18.0.1 -C 5 -V -v
prints "rdma_client and rdma_server" 2 '^rdma_(client|server): end 0$' \
	run -- rdma_server + rdma_client
prints "their traces in lockstep are equal" 1 '^same$' same_trace rdma_server + rdma_client
prints "rdma_xclient and rdma_xserver, RC" 2 '^rdma_x(client|server): end 0$' \
	run -- rdma_xserver -c r + rdma_xclient -c r -s localhost
prints "ucmatose" 2 '^return status 0$' run -- ucmatose + ucmatose -s localhost
prints "ucmatose with 20 connections, in lockstep" 2 '^return status 0$' \
	run --lockstep -- ucmatose -c 20 -C 10 -S 4096 + ucmatose -c 20 -C 10 -S 4096 -s localhost
prints "their traces are equal" 1 '^same$' \
	same_trace ucmatose -c 5 + ucmatose -c 5 -s localhost
