#!/bin/sh
# By an ordinary user without any capability, as in a container: processes run on one fabric, are
# killed and kept apart, take turns, whether they may reach into each other's memory or not.
# CONTAINER_SUITES: scripts of this folder that run whole so, too (campaign.sh).
. "$(dirname "$0")/../datsim/begin.sh"
container=$top/tests/processes/container
needs "$container"
built="tools/datsim/datsim examples/pair/server examples/pair/client examples/rpc/rpc
	examples/stream/stream bench/bench_turns tests/processes/borders tests/processes/crowd
	tests/processes/die tests/processes/hostile tests/processes/overtake
	tests/processes/stream/bulk tests/processes/stream/split tests/processes/stream/storm
	tests/processes/turns tests/processes/undo"

# Copies the programs to a folder that every user can read: the build tree may be root's alone.
copy() {
	mkdir -p "$scratch/top/lib" "$scratch/tests/datsim" "$scratch/tests/processes"
	cp "$here"/*.sh "$scratch/tests/processes" || return
	cp "$here/../datsim/begin.sh" "$scratch/tests/datsim" || return
	for program in $built; do
		needs "$top/$program"
		mkdir -p "$scratch/top/${program%/*}"
		real=$top/${program%/*}/.libs/${program##*/}
		[ -x "$real" ] || real=$top/$program
		cp "$real" "$scratch/top/$program" || return
	done
	for library in "$top"/.libs/libdat.so.*; do
		[ ! -e "$library" ] || cp "$library" "$scratch/top/lib/${library##*/}" || return
	done
	copy_verbs || return
	chmod -R a+rX "$scratch"
}

# What programs of other people need. A program without a sanitizer cannot load a library with one.
verbs=
copy_verbs() {
	command -v ibv_rc_pingpong > "$scratch/noise" && command -v rping > "$scratch/noise" &&
		[ -e "$top/verbs/.libs/librdmacm.so.1" ] &&
		! ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init' || return 0
	mkdir -p "$scratch/top/verbs/.libs" &&
		cp "$top"/verbs/.libs/*.so "$top"/verbs/.libs/*.so.1 "$scratch/top/verbs/.libs" &&
		verbs=yes
}

# within HOW COMMAND...: in a folder of its own
within() {
	how=$1
	shift
	home=$(mktemp -d "$scratch/home.XXXXXX") && chmod 777 "$home" && cd "$home" &&
		PATH=/usr/bin:/bin HOME=$home TMPDIR=$home XDG_RUNTIME_DIR=$home \
			LD_LIBRARY_PATH=$scratch/top/lib top_builddir=$scratch/top \
			timeout 600 $before "$container" "$how" "$@"
}
before=

# part HOW PART: one of ordinary.sh
part() {
	within "$1" sh "$scratch/tests/processes/ordinary.sh" "$2"
}

# verbs WHAT HOW: the part of programs of verbs
verbs() {
	if [ "$verbs" ]; then
		holds "verbs, $1" part "$2" verbs
	else
		n=$((n + 1))
		echo "ok $n - verbs, $1 # SKIP no libibverbs here, or no programs that use it"
	fi
}

# shm OPTIONS: what fabrics are in usually is a file system made so
shm() {
	# shellcheck disable=SC2016
	echo 'mount -t tmpfs -o "$1" tmpfs /dev/shm && shift && exec "$@"' > "$scratch/shm"
	before="unshare -m sh $scratch/shm $1"
	part EPERM small
	status=$?
	before=
	rmdir "/tmp/datsim-$nobody_uid" 2> "$scratch/noise"
	return $status
}
nobody_uid=65534

# script NAME: every test of it passes, or is skipped
script() {
	within EPERM sh "$scratch/tests/processes/$1" > "$scratch/tap" 2>&1
	status=$?
	cat "$scratch/tap"
	[ $status = 0 ] && ! grep -q '^not ok' "$scratch/tap" &&
		[ "$(grep -c '^ok' "$scratch/tap")" = "$(sed -n 's/^1\.\.//p' "$scratch/tap")" ]
}

within permitted true 2> "$scratch/said"
if [ $? = 77 ]; then
	echo "1..0 # SKIP $(cat "$scratch/said")"
	exit
fi
if ! public_scratch "$container" permitted; then
	echo "1..0 # SKIP no folder here holds programs that every user can run"
	exit
fi
copy || exit 99
all="run fabric pair rpc stream kill borders lockstep"
echo "1..$((22 + $(echo "${CONTAINER_SUITES:-}" | wc -w)))"
for one in $all; do
	holds "$one, where other processes' memory is within reach" part permitted "$one"
done
for one in $all; do
	holds "$one, where it is not" part EPERM "$one"
done
for one in stream borders; do
	holds "$one, where the kernel knows no such call" part ENOSYS "$one"
done
verbs "where other processes' memory is within reach" permitted
verbs "where it is not" EPERM
for options in size=16m mode=755; do
	what="with a /dev/shm of $options"
	if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs tmpfs /dev/shm 2> "$scratch/noise"; then
		holds "$what" shm $options
	else
		n=$((n + 1))
		echo "ok $n - $what # SKIP no file system of one's own"
	fi
done
for suite in ${CONTAINER_SUITES:-}; do
	holds "all of $suite" script "$suite"
done
