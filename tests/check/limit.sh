#!/bin/bash
# limit.sh SECONDS COMMAND...: runs a command, and ends it and all that it has started after so
# many seconds.
#
# The command gets a process group of its own, because Check, when it is asked to end while it runs
# tests without a fork, passes the signal on to its whole process group: without this, a test that
# hangs would end the `make` that runs it. If this script is asked to end, so is that group.
#
# $TIMES, if set, is a file to which "CPU-SECONDS COMMAND" is added.
seconds=$1
shift
group= ended=
end() {
	ended=yes
	[ -z "$group" ] || kill -- -$group 2> /dev/null
}
trap end INT TERM HUP
set -m
timeout --kill-after=10 "$seconds" "$@" <&0 &
group=$!
set +m
[ -z "$ended" ] || end # asked before the group was known
wait $group
status=$?
if [ -n "${TIMES:-}" ]; then
	read -ra stat < /proc/$$/stat # cutime, cstime: hundredths of a second
	ticks=$((stat[15] + stat[16]))
	printf '%d.%02d %s\n' $((ticks / 100)) $((ticks % 100)) "${*: -1}" >> "$TIMES"
fi
exit $status
