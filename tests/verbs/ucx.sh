#!/bin/sh
# UCX over RC and UD, by the programs of its package. UCX sets up RC connections by messages of an
# auxiliary transport, which UD can be and TCP cannot, on any device: with rc_verbs,tcp,self it
# finds none. With ud_verbs:aux, UD carries these messages alone; rc_v is rc_verbs with the same.
. "$(dirname "$0")/begin.sh"
needs libibverbs ucx-utils ucx_info ucx_perftest

# Debian 13's ucx_perftest asks MPI for its peers, unless its input is a terminal.
run() {
	if ldd "$(command -v ucx_perftest)" | grep -q libmpi; then
		script -qec "$datsim run $*" /dev/null
	else
		"$datsim" run "$@"
	fi
}

# perftest TLS TEST SIZE ITERATIONS: the second line is datsim's; TCP has no packets here
perftest() {
	next_port
	export UCX_TLS="$1"
	prints "$2 of $3 bytes, over $1" 2 "^Final: +$4 |^  packets +[0-9]{2,} arrived" \
		run -- ucx_perftest -t "$2" -s "$3" -n "$4" -w 10 -p $port + \
		ucx_perftest -t "$2" -s "$3" -n "$4" -w 10 -p $port localhost
}

# The same, which fails. UCX 1.18 takes TCP then, without a word.
no_auxiliary() {
	next_port
	export UCX_TLS=rc_verbs,tcp,self
	! run --quiet -- ucx_perftest -t tag_lat -p $port + \
		ucx_perftest -t tag_lat -p $port localhost
}

echo 1..18
prints "ucx_info finds two transports at two devices" 4 'Transport: (rc|ud)_verbs' \
	"$datsim" run --quiet -- ucx_info -d
title="rc_verbs and tcp: UCX finds no auxiliary transport"
case $(ucx_info -v) in
*" 1.13."*)
	prints "$title" 2 'no auxiliary transport' no_auxiliary
	;;
*)
	n=$((n + 1))
	echo "ok $n - $title # SKIP it says so in release 1.13"
	;;
esac
for test in tag_lat ucp_put_lat ucp_get ucp_am_lat; do
	perftest rc_verbs,tcp,ud_verbs:aux,self $test 8 100
done
perftest rc_verbs,tcp,ud_verbs:aux,self tag_bw 1048576 10
perftest rc_verbs,tcp,ud_verbs:aux,self ucp_am_bw 1048576 10
for test in tag_lat ucp_put_lat ucp_get ucp_am_lat; do
	perftest rc_verbs,ud_verbs,self $test 8 100
done
perftest rc_v,tcp,self tag_bw 1048576 10
perftest rc_v,self ucp_put_bw 1048576 10
perftest rc_v,self ucp_get 1048576 10
perftest rc_v,self ucp_am_bw 1048576 10
perftest rc_v,self ucp_fadd 8 100
perftest ud_verbs,self tag_lat 8 100
