#!/bin/sh
# pair.sh BUILD: measures messages between two processes, over libdat, over the other libraries that
# are installed, and of Debian's perftest over libdat's libibverbs. Each round runs all of them, one
# after the other; medians are printed. ROUNDS: the number of rounds, default 7. RUN: a command
# prefix for each program, such as "chrt -f 5" on a busy machine.
build=${1:?usage: pair.sh BUILD}
src=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd) || exit 1
pair=$build/bench/pair
datsim=$build/tools/datsim/datsim
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

# Each of the following prints the figure of one job, or nothing: it has no such job, or it failed.

libdat() {
	on 0 "$pair" server &
	on 1 "$pair" client localhost "$1"
	wait
}

libdat_bounce() {
	DATSIM_COPY=bounce on 0 "$pair" server &
	DATSIM_COPY=bounce on 1 "$pair" client localhost "$1"
	wait
}

# Both ends under datsim run, which traces them for its account
libdat_traced() {
	core=$([ "$cores" -gt 1 ] && echo taskset -c)
	# shellcheck disable=SC2016,SC2086
	DATSIM_FABRIC='' timeout 60 "$datsim" run -- \
		sh -c 'exec "$@"' end ${core:+$core 0} $RUN "$pair" server + \
		sh -c 'exec "$@" > said' end ${core:+$core 1} $RUN "$pair" client localhost "$1" \
		> said.s 2>&1
	cat said
}

# The same, and the trace keeps its end: its memory is used again and again
libdat_last() {
	DATSIM_TRACE_LAST=1000000 libdat_traced "$1"
}

libfabric() {
	rm -f at.s at.c
	on 0 ./pair_fi server at &
	on 1 ./pair_fi client at "$1"
	wait
}

# fi_pingpong prints microseconds of half a round trip
pingpong() {
	on 0 fi_pingpong -p shm -e rdm -S 64 -I 100000 > said.s 2>&1 &
	sleep 0.3
	on 1 fi_pingpong -p shm -e rdm -S 64 -I 100000 localhost > said 2>&1
	wait
	awk '$1 == "64" { print $(NF - 1) * 1000 }' said
}

# The last line of ucx_perftest: iterations, three times in us, two rates in MB/s, two in
# messages/s.
ucx() {
	case $1 in
	ping) set -- 5 1000 -t tag_lat -s 64 -n 200000 ;;
	rate | sparse) set -- 9 1 -t tag_bw -s 64 -n 1000000 ;;
	bulk) set -- 7 1.048576 -t tag_bw -s 1048576 -n 4000 ;;
	esac
	field=$1 factor=$2
	shift 2
	UCX_TLS=posix,cma,self UCX_LOG_LEVEL=error on 0 ucx_perftest > said.s 2>&1 &
	sleep 0.5
	UCX_TLS=posix,cma,self UCX_LOG_LEVEL=error on 1 ucx_perftest "$@" localhost > said 2>&1
	wait
	awk -v n="$field" -v f="$factor" '$1 == "Final:" { print $n * f }' said
}

# perftest FIELD FACTOR PROGRAM ARGS: one of its programs and itself as the client, over the
# simulated fabric. The client's row begins with bytes and iterations. Of a latency the next fields
# are the least, the most, the typical and the average time in us; of a bandwidth the highest and
# the average one in MiB/s, then millions of messages in a second.
perftest() {
	field=$1 factor=$2
	shift 2
	core=$([ "$cores" -gt 1 ] && echo taskset -c)
	# shellcheck disable=SC2016,SC2086
	DATSIM_FABRIC='' timeout 60 "$datsim" run --quiet -- \
		sh -c 'exec "$@" > said.s 2>&1' end ${core:+$core 0} $RUN "$@" + \
		sh -c 'exec "$@" > said 2>&1' end ${core:+$core 1} $RUN "$@" localhost
	awk -v n="$field" -v f="$factor" \
		'$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF > 4 { print $n * f }' said
}

send_lat() {
	perftest 6 1000 ib_send_lat -F -s 64 -n 100000
}

write_lat() {
	perftest 6 1000 ib_write_lat -F -s 64 -n 100000
}

send_bw() {
	case $1 in
	rate) perftest 5 1000000 ib_send_bw -F -s 64 -n 1000000 -Q 1 ;;
	sparse) perftest 5 1000000 ib_send_bw -F -s 64 -n 1000000 -Q 32 ;;
	bulk) perftest 4 1.048576 ib_send_bw -F -s 1048576 -n 4000 -t 8 -r 16 ;;
	esac
}

# median: of the numbers that it reads
median() {
	sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

ping=libdat rate=libdat sparse=libdat bulk=libdat wide=libdat absent=
# has LIBRARY:JOBS...: these run in the rounds, each in its jobs
has() {
	for library in "$@"; do
		name=${library%:*}
		case ${library#*:} in *ping*) ping="$ping $name" ;; esac
		case ${library#*:} in *rate*) rate="$rate $name" ;; esac
		case ${library#*:} in *sparse*) sparse="$sparse $name" ;; esac
		case ${library#*:} in *bulk*) bulk="$bulk $name" ;; esac
		case ${library#*:} in *wide*) wide="$wide $name" ;; esac
	done
}
# with JOB: those that run in it
with() {
	case $1 in
	ping) echo "$ping" ;;
	rate) echo "$rate" ;;
	sparse) echo "$sparse" ;;
	bulk) echo "$bulk" ;;
	wide) echo "$wide" ;;
	esac
}
if cc -O2 -o pair_fi "$src/pair_fi.c" -lfabric 2> noise && command -v fi_pingpong > found; then
	has libfabric:ping,rate,bulk,wide pingpong:ping
else
	absent="$absent libfabric (libfabric-dev, libfabric-bin)"
fi
if command -v ucx_perftest > found; then
	has ucx:ping,rate,sparse,bulk
else
	absent="$absent UCX (ucx-utils)"
fi
if ! [ -e "$build/verbs/.libs/libibverbs.so.1" ]; then
	absent="$absent perftest (this build has no libibverbs)"
elif command -v ib_send_lat > found; then
	has send_lat:ping write_lat:ping send_bw:rate,sparse,bulk
else
	absent="$absent perftest (perftest)"
fi
# The trace of the other jobs becomes full.
has libdat_bounce:ping,rate,bulk,wide libdat_traced:ping libdat_last:ping

# A line of a file is a round and its figure.
status=0
round=0
while [ $round -lt "${ROUNDS:-7}" ]; do
	round=$((round + 1))
	for job in ping rate sparse bulk wide; do
		for library in $(with $job); do
			echo "$round $($library $job)" >> "$library.$job"
		done
	done
done

# row TITLE LIBRARY JOB TO WANTED: a row of the table. The ratio is that of two libraries in one
# round, the median of all rounds: libdat to this one, or, if TO is "libdat", this one to libdat.
row() {
	[ -e "$2.$3" ] || return 0
	value=$(awk 'NF > 1 { print $2 }' "$2.$3" | median)
	ratio=$(join "libdat.$3" "$2.$3" |
		awk -v to="$4" 'NF > 2 { print to == "libdat" ? $3 / $2 : $2 / $3 }' | median)
	if [ -z "$value" ] || [ -z "$ratio" ]; then
		printf '%-36s no figure: its programs failed\n' "$1"
		status=1
		return
	fi
	printf '%-36s %12.0f %9.2f  %s\n' "$1" "$value" "$ratio" "$5"
}

# rows JOB WANTED_LIBFABRIC WANTED_UCX
rows() {
	row "libdat" libdat "$1" this ""
	row "libdat, DATSIM_COPY=bounce" libdat_bounce "$1" this ""
	row "traced, its end kept, to libdat" libdat_last "$1" libdat "at most 2"
	row "traced, all of it kept, to libdat" libdat_traced "$1" libdat "at most 2"
	row "libfabric shm" libfabric "$1" this "$2"
	row "libfabric shm, fi_pingpong" pingpong "$1" this "$2"
	row "UCX posix, ucx_perftest" ucx "$1" this "$3"
	row "ib_send_lat over libdat, to libdat" send_lat "$1" libdat "at most 1.5"
	row "ib_write_lat over libdat, to libdat" write_lat "$1" libdat ""
	row "ib_send_bw over libdat, to libdat" send_bw "$1" libdat ""
}

echo "Two processes that poll, medians of ${ROUNDS:-7} rounds. The ratio is a median, too: of"
echo "libdat's figure to that library's in a round; of perftest's programs, theirs to libdat's."
printf '\n%-36s %12s %9s  %s\n' "64 bytes, half a round trip" ns ratio wanted
rows ping "below 1" "at most 1.3"
printf '\n%-36s %12s %9s  %s\n' "64 bytes, 64 in flight" messages/s ratio wanted
rows rate "at least 3" "at least 0.75"
printf '\n%-36s %12s %9s  %s\n' "the same, 1 completion for 32 Sends" messages/s ratio wanted
rows sparse "" "at least 0.75"
printf '\n%-36s %12s %9s  %s\n' "1 MiB, 8 in flight" MB/s ratio wanted
rows bulk "at least 1" "at least 1"
printf '\n%-36s %12s %9s  %s\n' "the same, 8 buffers at each end" MB/s ratio wanted
rows wide "at least 1" ""
[ -z "$absent" ] || printf '\nNot installed, so libdat was not compared with:%s\n' "$absent"
exit $status
