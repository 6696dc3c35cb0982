#!/bin/sh
# A process whose first thread calls pthread_exit ends with the last of the program's threads, by
# exit(0): the library's helper thread is none of them. On a fabric of two processes in real time,
# in lockstep, where two runs are the same, and on a private fabric.
. "$(dirname "$0")/../../datsim/begin.sh"
last=$top/tests/processes/last
needs "$last/last_dapl"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# The background thread of ThreadSanitizer looks like one of the program's threads.
if ${NM:-nm} "$datsim" | grep -q '__tsan_init'; then
	echo "1..0 # SKIP ThreadSanitizer has a thread of its own"
	exit 0
fi

# said TIMES FILE: so many processes have ended in this way, and the exit was the last
said() {
	[ "$(grep -cx 'the first thread ends' "$2")" = "$1" ] &&
		[ "$(grep -cx 'the other thread ends' "$2")" = "$1" ] &&
		[ "$(grep -cx atexit "$2")" = "$1" ] && [ "$(tail -n 1 "$2")" = atexit ]
}

# real PROGRAM MODE OPTION...
real() {
	program=$1 mode=$2
	shift 2
	timeout -s KILL 60 "$datsim" run --quiet "$@" -- "$last/$program" "$mode" + \
		"$last/$program" "$mode" > real.out
	status=$?
	cat real.out
	[ $status = 0 ] && said 2 real.out
}

# step PROGRAM MODE TRACE
step() {
	timeout 60 "$datsim" run --quiet --lockstep --trace "$3" -- "$last/$1" "$2" + \
		"$last/$1" "$2" > "$3.out"
	status=$?
	cat "$3.out"
	[ $status = 0 ] && said 2 "$3.out"
}

twice() {
	step "$1" "$2" one && step "$1" "$2" two && cmp one two && cmp one.out two.out &&
		! grep preempted one
}

# Only SIGKILL ends a process that hangs: the helper blocks the other signals.
private() {
	timeout -s KILL 60 "$last/last_verbs" "$1" > private.out && said 1 private.out
}

programs="last_dapl last_verbs"
[ -x "$last/last_verbs" ] || programs=last_dapl
for each in $programs; do
	for mode in open close alone timer; do
		holds "$each $mode: a process ends with its last thread" real $each $mode
		if has_verbs; then
			holds "$each $mode: and in lockstep" twice $each $mode
		else
			cannot "libdat-turns.so is not built" "$each $mode: and in lockstep"
		fi
	done
done

if [ -x "$last/last_both" ]; then
	holds "a process ends whose libraries have a helper each" real last_both open
	holds "and so it does in lockstep" real last_both open --lockstep
	holds "and so does one that has named the helpers itself" real last_both named
else
	cannot "libibverbs is not built" "a process ends whose libraries have a helper each"
	cannot "libibverbs is not built" "and so it does in lockstep"
	cannot "libibverbs is not built" "and so does one that has named the helpers itself"
fi
DAT_HW_MODULE=$top/passthrough/.libs/passthrough.so
export DAT_HW_MODULE
# by_passthrough MODE OPTION...
by_passthrough() {
	what="last_dapl $*: and by the passthrough, which has a thread of its own"
	mode=$1
	shift
	if has_verbs && [ -e "$DAT_HW_MODULE" ]; then
		holds "$what" real last_dapl "$mode" --over-verbs "$@"
	else
		cannot "the passthrough or libibverbs is not built" "$what"
	fi
}
by_passthrough open
by_passthrough close
by_passthrough alone
by_passthrough open --lockstep
by_passthrough close --lockstep
by_passthrough alone --lockstep
if [ -x "$last/last_verbs" ]; then
	holds "a process ends with its last thread on a private fabric" private helped
	# The helper waits for nothing when the first thread ends, and has to be woken.
	holds "and so does one whose first thread is the last" private joined
else
	cannot "libibverbs is not built" "a process ends with its last thread on a private fabric"
	cannot "libibverbs is not built" "and so does one whose first thread is the last"
fi
echo "1..$n"
