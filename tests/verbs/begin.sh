# shellcheck shell=sh
# Sourced by the scripts of this folder that run other people's programs: paths, a scratch folder,
# and functions that run a test.
#
#   $datsim $work     the tool; a folder that is removed at the end
#   skip WHY          ends the script: its tests cannot run here
#   needs LIBRARY PACKAGE PROGRAM...
#                     skips unless the library of the verbs front was built and Debian's package
#                     with these programs is installed
#   prints TITLE TIMES LINE COMMAND...
#                     passes if the command succeeds and so many lines match
#   next_port         sets $port to a TCP port without a listener
#   pair OPTIONS OF DATSIM -- PROGRAM ARGS
#                     runs the program and itself, which meet at a free port by their option -p
#   same_trace COMMAND...
#                     in lockstep, two runs leave the same trace; prints "same"
# shellcheck disable=SC2154 # set by the Makefile
datsim=$top_builddir/tools/datsim/datsim
libs=$top_builddir/verbs/.libs
n=0

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

needs() {
	[ -e "$libs/$1.so.1" ] || skip "$1 is not built"
	package=$2
	shift 2
	for program in "$@"; do
		command -v "$program" > /dev/null ||
			skip "$program is missing: apt-get install $package"
	done
	if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
		skip "a program without a sanitizer cannot load a library with one"
	fi
}

work=$(mktemp -d) || exit 99
# bash runs this in a job that a signal ends before its program has begun, too.
# shellcheck disable=SC3028 # dash has no BASHPID, and runs it in this shell only
trap '[ "${BASHPID:-$$}" != $$ ] || rm -rf "$work"' EXIT

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

# Below those that the kernel gives to clients, where a port that is free now stays so. Scripts that
# run at the same time begin at different ones.
port=$((10000 + $$ % 1000 * 20))
next_port() {
	port=$((port < 32000 ? port + 1 : 10000))
	while grep -qsi ":$(printf '%04x' $port) " /proc/net/tcp /proc/net/tcp6; do
		port=$((port < 32000 ? port + 1 : 10000))
	done
}

pair() {
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	next_port
	# shellcheck disable=SC2086
	"$datsim" run $options -- "$@" -p $port + "$@" -p $port localhost
}

# None of the programs has to be preempted, however slow the machine is.
same_trace() {
	for i in 1 2; do
		DATSIM_LOCKSTEP=600000 "$datsim" run --lockstep --trace "$work/trace$i" --quiet \
			-- "$@" || return 1
	done
	! grep preempted "$work/trace1" && cmp "$work/trace1" "$work/trace2" && echo same
}
