#!/bin/sh
# Programs of several threads or processes, by what these wait for: in lockstep none is preempted,
# two runs are the same, and they print the lines that they print without it. The order of these is
# compared between the two runs only: without lockstep a busy machine may change it.
. "$(dirname "$0")/../datsim/begin.sh"
kinds=$top/tests/processes/kinds/kinds
needs "$kinds"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# step KIND TRACE OUT: a run in lockstep. None opens an adapter, of which datsim run complains.
step() {
	timeout 60 "$datsim" run --lockstep --seed 3 --trace "$2" -- "$kinds" "$1" \
		< /dev/null > "$3" 2> noise
	[ $? = 1 ] && grep -q 'no simulated adapter' noise
}

same() {
	"$kinds" "$1" > plain < /dev/null && step "$1" one one.out && step "$1" two two.out &&
		sort plain > plain.sorted && sort one.out | diff plain.sorted - &&
		cmp one two && cmp one.out two.out && ! grep preempted one
}

title() {
	case $1 in
	alarm) echo "a signal of alarm and setitimer comes in virtual time, and ends a wait" ;;
	barrier) echo "processes wait for each other at a barrier that they share" ;;
	c11) echo "threads of C11 give their turns up" ;;
	closes) echo "a process that closes all descriptors is not dead for others" ;;
	copies) echo "a timer is known by each of its descriptors" ;;
	exec) echo "a parent hears at once that its child's descriptors were closed by exec" ;;
	greedy) echo "a process that waits only with a shared lock held leaves it to others" ;;
	kept) echo "a timer with a function keeps a process alive, however late it is made" ;;
	killed) echo "a process that is killed has ended before time passes" ;;
	last) echo "a timer does not keep a process alive whose first thread has ended" ;;
	left) echo "a run waits for a process that outlives its parent" ;;
	moves) echo "splice, sendfile and their like give the turn up" ;;
	owners) echo "descriptors and locks are owned by the ids that the program sees" ;;
	popen) echo "the shells of popen take part in time" ;;
	queues) echo "processes wait for messages in queues, and for semaphores of System V" ;;
	records) echo "processes wait for locks of records of a file" ;;
	sender) echo "programs know by its process id who sent a signal" ;;
	timers) echo "timers of timer_create expire in virtual time" ;;
	stays) echo "a thread that runs functions of timers stays when they are deleted" ;;
	shared) echo "processes wait for locks and semaphores that they share" ;;
	esac
}

# AddressSanitizer of clang 14 does not take the locks of its malloc for a fork: the child waits for
# one that the library's helper had.
forks_badly() {
	[ "$1" != c11 ] && [ "$1" != moves ] && ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'
}

kinds_all="alarm barrier c11 closes copies exec greedy kept killed last left
	moves owners popen queues records sender shared stays timers"
for kind in $kinds_all; do
	if has_verbs && forks_badly "$kind"; then
		cannot "a child may hang in the sanitizer's malloc" "$(title "$kind")"
	elif has_verbs; then
		holds "$(title "$kind")" same "$kind"
	else
		cannot "libdat-turns.so is not built" "$(title "$kind")"
	fi
done
echo "1..$n"
