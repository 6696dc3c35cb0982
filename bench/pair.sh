#!/bin/sh
# pair.sh BUILD: measures messages between two processes, over libdat and over the other libraries
# that are installed. Each round runs all of them, one after the other; medians are printed. ROUNDS:
# the number of rounds, default 7. RUN: a command prefix for each program, such as "chrt -f 5" on a
# busy machine.
build=${1:?usage: pair.sh BUILD}
src=$(cd "$(dirname "$0")" && pwd)
pair=$(cd "$build" && pwd)/bench/pair
[ -x "$pair" ] || {
	echo "pair.sh: $pair is not built" >&2
	exit 1
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
XDG_RUNTIME_DIR=$dir
DATSIM_FABRIC=bench
export XDG_RUNTIME_DIR DATSIM_FABRIC
cores=$(nproc)

# on CORE PROGRAM...: runs an end on its own core
on() {
	core=$1
	shift
	[ "$cores" -gt 1 ] && set -- taskset -c "$core" "$@"
	# shellcheck disable=SC2086
	timeout 60 $RUN "$@"
}

# libdat JOB
libdat() {
	on 0 "$pair" server &
	on 1 "$pair" client localhost "$1" >> "libdat.$1"
	wait
}

libdat_bounce() {
	DATSIM_COPY=bounce on 0 "$pair" server &
	DATSIM_COPY=bounce on 1 "$pair" client localhost "$1" >> "libdat_bounce.$1"
	wait
}

libfabric() {
	rm -f at.s at.c
	on 0 ./pair_fi server at &
	on 1 ./pair_fi client at "$1" >> "libfabric.$1"
	wait
}

# fi_pingpong prints microseconds of half a round trip
pingpong() {
	[ "$1" = ping ] || return 0
	on 0 fi_pingpong -p shm -e rdm -S 64 -I 100000 > said.s 2>&1 &
	sleep 0.3
	on 1 fi_pingpong -p shm -e rdm -S 64 -I 100000 localhost > said 2>&1
	wait
	awk '$1 == "64" { print $(NF - 1) * 1000 }' said >> "pingpong.$1"
}

# The last line of ucx_perftest: iterations, three times in us, two rates in MB/s, two in
# messages/s.
ucx() {
	case $1 in
	ping) set -- ping 5 1000 -t tag_lat -s 64 -n 200000 ;;
	rate) set -- rate 9 1 -t tag_bw -s 64 -n 1000000 ;;
	bulk) set -- bulk 7 1.048576 -t tag_bw -s 1048576 -n 4000 ;;
	esac
	job=$1 field=$2 factor=$3
	shift 3
	UCX_TLS=posix,cma,self UCX_LOG_LEVEL=error on 0 ucx_perftest > said.s 2>&1 &
	sleep 0.5
	UCX_TLS=posix,cma,self UCX_LOG_LEVEL=error on 1 ucx_perftest "$@" localhost > said 2>&1
	wait
	awk -v n="$field" -v f="$factor" '$1 == "Final:" { print $n * f }' said >> "ucx.$job"
}

# median FILE
median() {
	sort -n "$1" 2> "$dir/noise" |
		awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

with="libdat"
absent=
if cc -O2 -o pair_fi "$src/pair_fi.c" -lfabric 2> noise && command -v fi_pingpong > found; then
	with="$with libfabric pingpong"
else
	absent="$absent libfabric (libfabric-dev, libfabric-bin)"
fi
if command -v ucx_perftest > found; then
	with="$with ucx"
else
	absent="$absent UCX (ucx-utils)"
fi
with="$with libdat_bounce"

status=0
round=0
while [ $round -lt "${ROUNDS:-7}" ]; do
	round=$((round + 1))
	for job in ping rate bulk; do
		for library in $with; do
			$library $job
		done
	done
done

# row TITLE FILE LIBDAT WANTED: the ratio is libdat's figure to that library's
row() {
	[ -e "$2" ] || return 0
	value=$(median "$2")
	if [ -z "$value" ] || [ -z "$3" ]; then
		printf '%-36s no figure: its programs failed\n' "$1"
		status=1
		return
	fi
	awk -v t="$1" -v v="$value" -v ours="$3" -v w="$4" \
		'BEGIN { printf "%-36s %12.0f %9.2f  %s\n", t, v, ours / v, w }'
}

# rows JOB WANTED_LIBFABRIC WANTED_UCX
rows() {
	ours=$(median "libdat.$1")
	row "libdat" "libdat.$1" "$ours" ""
	row "libdat, DATSIM_COPY=bounce" "libdat_bounce.$1" "$ours" ""
	row "libfabric shm" "libfabric.$1" "$ours" "$2"
	row "libfabric shm, fi_pingpong" "pingpong.$1" "$ours" "$2"
	row "UCX posix, ucx_perftest" "ucx.$1" "$ours" "$3"
}

echo "Two processes that poll, medians of ${ROUNDS:-7} rounds."
echo "The ratio is libdat's figure to that library's."
printf '\n%-36s %12s %9s  %s\n' "64 bytes, half a round trip" ns ratio wanted
rows ping "below 1" "at most 2"
printf '\n%-36s %12s %9s  %s\n' "64 bytes, 64 in flight" messages/s ratio wanted
rows rate "at least 1" ""
printf '\n%-36s %12s %9s  %s\n' "1 MiB, 8 in flight" MB/s ratio wanted
rows bulk "at least 1" ""
[ -z "$absent" ] || printf '\nNot installed, so libdat was not compared with:%s\n' "$absent"
exit $status
