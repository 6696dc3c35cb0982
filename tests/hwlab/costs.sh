# shellcheck shell=bash disable=SC2154 # $build is suite.sh's
# The time that a 64-byte message takes in the lab by bare verbs, by libdat and by Debian's DAPL;
# the job is in bench/. The processor is emulated and the device is a kernel thread, so the times
# are printed but not judged. Sourced by suite.sh.

# conf DEVICE VERSION WHAT: writes a dat.conf with the names that the job opens
conf() {
	printf "%s $2 nonthreadsafe default $3 \"\"\n" emu0 emu1 > "/tmp/$1.conf"
}

# took WHO: prints the job's result in microseconds
took() {
	awk -v who="$1" '
		/^[0-9]+$/ { us = $1 / 1000 }
		END {
			printf "#   %-14s %s\n", who, us ? sprintf("%8.1f us", us) : "?"
			exit !us
		}' /tmp/took
	local status=$?
	[ $status -eq 0 ] || sed 's/^/# /' /tmp/took
	return $status
}

# costs DEVICE ADDRESS NETDEV
costs() {
	local status=0 no_dapl
	echo "# one 64-byte message on $1, in this guest: post_recv, post_send, both dequeues"
	timeout $limit "$build/bench/bench_verbs" 50 "$2" > /tmp/took 2>&1
	took "bare verbs" || status=1
	conf libdat u1.2 "libdat.so.1 dapl.1.2 \"$1\""
	DAT_PROVIDER=hw DAT_OVERRIDE=/tmp/libdat.conf timeout $limit \
		"$build/bench/bench_message" time 50 > /tmp/took 2>&1
	took "libdat" || status=1
	verdict $status "$1: a message takes as long as printed by bare verbs and by libdat"
	if [ ! -x "$build/hwlab/bench_dat2" ]; then
		n=$((n + 1))
		read -r no_dapl < "$build/hwlab/no_dapl"
		echo "ok $n - $1: a message by DAPL # SKIP $no_dapl"
		return
	fi
	conf dapl2 u2.0 "libdaplofa.so.2 dapl.2.0 \"$3 0\""
	DAT_OVERRIDE=/tmp/dapl2.conf timeout $limit "$build/hwlab/bench_dat2" time 50 \
		> /tmp/took 2>&1
	took "DAPL 2.1.10"
	verdict $? "$1: a message takes as long as printed by DAPL"
}
