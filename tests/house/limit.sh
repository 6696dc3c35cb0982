#!/bin/bash
# tests/check/limit.sh: a command that hangs is ended with all that it has started, and so is one
# whose caller is ended; the caller's process group does not notice. And tests/hwlab/idle.sh, which
# does the same for a machine whose processors are idle.
limit=$top_srcdir/tests/check/limit.sh
work=$(mktemp -d) || exit 99
# bash also runs this in a job that a signal ends before its program has begun.
trap '[ $BASHPID != $$ ] || rm -rf "$work"' EXIT
n=0

# holds TITLE COMMAND...
holds() {
	local title=$1
	shift
	n=$((n + 1))
	"$@" && echo "ok $n - $title" || echo "not ok $n - $title"
}

# all_end: no process has the FIFO, which is standard input, open for writing
all_end() { read -r -t 60 || [ $? -eq 1 ]; }

echo 1..6
bash "$limit" 60 sh -c 'read -r line; echo "$line"; exit 3' <<< told > "$work/said"
holds "the exit status is the command's" [ $? = 3 ]
holds "and so are its streams" [ "$(cat "$work/said")" = told ]

# The command does what Check does on SIGTERM when it runs tests without a fork.
mkfifo "$work/alive"
bash "$limit" 1 bash -c 'trap "trap - TERM; kill 0" TERM; sleep 600 & sleep 600' \
	> "$work/alive" &
holds "what hangs is ended, and its children" all_end < "$work/alive"
wait $!
holds "with a status that says so" [ $? -gt 123 ]

bash "$limit" 600 bash -c 'echo up >&2; sleep 600' > "$work/alive" 2> "$work/up" &
caller=$!
exec 3< "$work/alive"
until [ -s "$work/up" ]; do sleep 0.01; done
kill $caller
# Not /dev/fd/3: to open a FIFO that has no writer any more waits for one.
holds "it ends with its caller" all_end <&3

# A machine that is busy for two looks, and idle from then on.
. "$top_srcdir/tests/hwlab/idle.sh"
idle_machine() (
	idle_most=3 idle_step=1 look=0
	sleep() { look=$((look + 1)) && [ $look -le 7 ]; }
	awk() { echo $((look < 2 ? 1000 : 2000)); }
	idle_report() { echo "look $look"; }
	busybox() { echo "$*"; }
	idle_watch
)
holds "an idle machine's programs are ended after so long a time, once" \
	[ "$(idle_machine)" = "look 5
killall timeout" ]
