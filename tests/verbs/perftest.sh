#!/bin/sh
# The programs of the package perftest, as they come, between two processes in lockstep. Judged by
# the table that both ends print.
. "$(dirname "$0")/begin.sh"
needs libibverbs perftest ib_send_bw

# both ROWS PROGRAM ARGS: both ends together print so many rows of the results' table, which begin
# with the bytes and the iterations.
both() {
	rows=$1
	shift
	prints "$*" "$rows" '^ *[0-9]+ +[0-9]+ +[0-9.]+ ' pair --quiet --lockstep -- "$@"
}

echo 1..13
both 2 ib_send_bw -n 50 -q 8
both 2 ib_send_bw -n 50 -b -e
both 2 ib_send_bw -n 50 --use_old_post_send
both 2 ib_write_bw -n 50 -s 100000 -q 8 -b
both 2 ib_read_bw -n 50 -s 100000 -e
both 2 ib_send_lat -n 50 -s 64 -I 64
both 1 ib_read_lat -n 50
both 2 ib_atomic_bw -n 50
both 1 ib_atomic_lat -n 50 -A CMP_AND_SWAP
both 2 ib_send_bw -c UD -n 50 -s 2048
both 2 ib_send_lat -c UD -n 50
both 2 ib_send_bw -c UC -n 50 -b
both 2 ib_write_bw -c UC -n 50 -q 2
