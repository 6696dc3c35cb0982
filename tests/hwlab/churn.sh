# shellcheck shell=bash disable=SC2154 # $build, $patience and $limit are suite.sh's
# Thousands of connections on one SRQ, in one process: at the end the kernel has as many objects as
# after the first. Sourced by suite.sh.

# kernel_has DEVICE PROCESS: the number of objects of each kind
kernel_has() {
	local what
	for what in 'qp link' 'cm_id link' 'cq dev' 'mr dev' 'pd dev' 'srq dev'; do
		# shellcheck disable=SC2086 # a kind, and what its filter is called
		echo "${what% *} $(rdma resource show $what "$1" | wc -l)"
	done
	echo "descriptor $(ls "/proc/$2/fd" | wc -l)"
}

# churn DEVICE
churn() {
	local said=/tmp/$1.churn i pid job
	on_libdat timeout $limit "$build/tests/parity/parity" "$1" "$1" churn > "$said" 2>&1 &
	job=$!
	says "$said" 'churn.ready yes'
	pid=$(sed -n 's/^churn.pid //p' "$said")
	kernel_has "$1" "$pid" > "/tmp/$1.before"
	kill -USR1 "$pid"
	while kill -0 "$pid" 2> /dev/null && ! grep -qs 'churn.over yes' "$said"; do
		sleep 1
	done
	grep -qx 'churn.received 8 of 8 are in the SRQ' "$said"
	verdict $? "$1: 10,000 connections on one SRQ, one after the other"
	for ((i = 0; i < 10 * patience; i++)); do
		kernel_has "$1" "$pid" > "/tmp/$1.after"
		! cmp -s "/tmp/$1.before" "/tmp/$1.after" || break
		sleep 0.1
	done
	cmp -s "/tmp/$1.before" "/tmp/$1.after"
	verdict $? "$1: after these the kernel has no more objects than after the first"
	paste "/tmp/$1.before" "/tmp/$1.after" | sed 's/^/#   /'
	kill -USR1 "$pid" 2> /dev/null
	wait $job
	sed 's/^/#   /' "$said"
}
