#!/bin/sh
# Programs in lockstep that AddressSanitizer watches, of which libdat is the guest; and programs
# that it does not watch, beside libraries that it does.
. "$(dirname "$0")/../../datsim/begin.sh"
if [ ! -e "$top/verbs/.libs/libdat-turns.so" ]; then
	echo "1..0 # SKIP libdat-turns.so is not built"
	exit 0
fi
source=$(cd "$here" && pwd)/stacks.c
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# built NAME COMPILER FLAGS: can it be built, and does it run by itself?
built() {
	name=$1 compiler=$2
	shift 2
	"$compiler" -g -pthread "$@" -o "$name" "$source" > noise 2>&1 && "./$name" > noise 2>&1
}

# run TRACE COMMAND...
run() {
	trace=$1
	shift
	timeout 300 "$datsim" run --lockstep --trace "$trace" --quiet -- "$@" \
		> "$trace.out" 2> words < /dev/null
}

# same TIMES COMMAND...: so many runs leave the same trace and print the same; none is preempted.
same() {
	times=$1 i=0
	shift
	while [ $((i += 1)) -le "$times" ]; do
		run trace.$i "$@" || { cat words; return 1; }
		if grep preempted trace.$i; then return 1; fi
		cmp trace.1 trace.$i && cmp trace.1.out trace.$i.out || return 1
	done
}

# The same twenty times, while other processes want the processors.
same_when_busy() {
	busy=
	for i in 1 2 3 4 5 6; do
		timeout 300 sh -c 'while :; do :; done' &
		busy="$busy $!"
	done
	same 20 "$@"
	status=$?
	# shellcheck disable=SC2086 # several
	kill $busy
	return $status
}

skip() {
	echo "ok $((n += 1)) - $1 # SKIP $2"
}

# reported NAME MS: the thread of the report is one that AddressSanitizer knows. MS: how long a
# thread may keep the turn.
reported() {
	DATSIM_LOCKSTEP=$2 run fault "./$1" fault
	[ $? != 0 ] && grep -q 'ERROR: AddressSanitizer: stack-buffer-overflow' words &&
		grep -q 'READ of size 1 .* thread T[0-9]' words
}

is_clang() {
	"$1" -dM -E - < /dev/null 2> noise | grep -q __clang__
}

# A library that is watched itself cannot run with the runtime of another compiler.
watched=$(${NM:-nm} "$datsim" | grep -c __asan_init)
suits() {
	[ "$watched" = 0 ] && return
	is_clang "$1" && is_clang "${CC:-cc}" && return
	! is_clang "$1" && ! is_clang "${CC:-cc}"
}

# runtime COMPILER: options for a program of clang beside a library that has clang's shared runtime.
runtime() {
	[ "$watched" = 0 ] || ! is_clang "$1" || echo "$ASAN_LDFLAGS"
}

# of_compiler COMPILER MS: a program that AddressSanitizer watches. Some linkers put constants,
# which have red zones, beside the code, where libdat looks for rdtsc.
of_compiler() {
	if ! suits "$1"; then
		skip "a program that AddressSanitizer of $1 watches" "the library has another one"
		skip "the same on a busy machine" "the library has another AddressSanitizer"
		skip "its faults" "the library has another AddressSanitizer"
	elif built "$1" "$1" -fsanitize=address $(runtime "$1") -Wl,-z,noseparate-code; then
		holds "threads and a child of a program that AddressSanitizer of $1 watches" \
			same 3 "./$1" clean
		holds "the same on a busy machine, by $1" same_when_busy "./$1" clean
		holds "a fault of a thread is reported as that thread's, by $1" reported "$1" "$2"
	else
		if [ "$watched" != 0 ]; then
			holds "a program that AddressSanitizer of $1 watches is built" false
		else
			skip "a program that AddressSanitizer of $1 watches" "it cannot be built"
		fi
		skip "the same on a busy machine" "it cannot be built"
		skip "its faults" "it cannot be built"
	fi
}

echo 1..8
DATSIM_LOCKSTEP=600000
export DATSIM_LOCKSTEP
of_compiler gcc 600000
# Unless the library is watched, the runtime of clang is part of the program, and so comes before
# libdat-turns.so. It reads clocks
# with the lock of its allocator, and at a fault it starts a symbolizer and waits for it in system
# calls of its own: the turn has to be taken away from the thread.
of_compiler clang 50
if ! built plain "${CC:-cc}"; then
	skip "a program that is not watched" "it cannot be built"
	skip "its helper" "it cannot be built"
	exit 0
fi
holds "threads and a child of a program that is not watched" same 3 ./plain clean
if [ "$watched" != 0 ]; then
	STACKS_MARKED=1
	export STACKS_MARKED
	holds "a helper takes marks away that are left on its stack" same 3 ./plain clean
else
	skip "a helper takes marks away that are left on its stack" "the library is not watched"
fi
