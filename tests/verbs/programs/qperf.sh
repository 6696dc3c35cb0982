#!/bin/sh
# qperf between two processes: its tests take a second each, so two of them, or with PERFTEST=all,
# as ./check --full sets it, all but those of XRC. Judged by the figure that each prints.
. "$(dirname "$0")/../begin.sh"
needs librdmacm qperf qperf

# measures COUNT OPTIONS TEST...: each of so many tests has a figure; quit ends the server
measures() {
	count=$1
	shift
	next_port
	prints "$*" "$count" '^    (latency|bw|msg_rate|send_bw) +=' \
		"$datsim" run --quiet -- qperf -lp $port + qperf -lp $port -t 1 localhost "$@" quit
}

if [ "$PERFTEST" = all ]; then
	echo 1..4
	rc="rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw rc_rdma_write_lat"
	rc="$rc rc_rdma_write_bw rc_rdma_write_poll_lat rc_compare_swap_mr rc_fetch_add_mr"
	rc="$rc ver_rc_compare_swap ver_rc_fetch_add"
	# shellcheck disable=SC2086
	measures 12 $rc
	# shellcheck disable=SC2086
	measures 12 -cm 1 $rc
	measures 6 uc_lat uc_bw uc_bi_bw uc_rdma_write_lat uc_rdma_write_bw uc_rdma_write_poll_lat
	measures 3 ud_lat ud_bw ud_bi_bw
else
	echo 1..1
	measures 2 -cm 1 rc_rdma_read_lat ud_lat
fi
