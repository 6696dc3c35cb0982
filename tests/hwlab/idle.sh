# shellcheck shell=bash
# Ends what hangs. A program that waits for something that never comes leaves both processors idle;
# its own limit, $limit seconds, is for a machine that is busy. Sourced by suite.sh.

idle_most=60   # seconds
idle_step=5    # seconds between two looks
idle_ticks=20  # of both processors together in a step: what looking takes, and a little more

# What each program waits for, as comments of TAP.
idle_report() {
	local folder program
	echo "# both processors were idle for $idle_most s; these programs wait:"
	for folder in /proc/[1-9]*; do
		program=$(tr '\0' ' ' < "$folder/cmdline")
		[ -n "$program" ] || continue # a thread of the kernel
		echo "# ${folder#/proc/}: $program"
		sed 's/^/#     /' "$folder"/task/*/stack
	done 2> /dev/null
}

idle_watch() {
	local busy last=0 idle=0
	while sleep $idle_step; do
		busy=$(awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat)
		idle=$((busy - last > idle_ticks ? 0 : idle + idle_step))
		last=$busy
		[ $idle -lt $idle_most ] && continue
		idle_report
		busybox killall timeout # each ends its program
		idle=0
	done
}
