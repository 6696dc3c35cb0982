#!/bin/sh
# datsim hwcheck on the device of tests/stubverbs: a page and exit status 0 where all works, a FAIL
# line with its reason and exit status 1 where something does not, and what it says without a
# device.
top=$(cd "$top_builddir" && pwd) || exit 99
datsim=$top/tools/datsim/datsim
n=0

if [ ! -e "$top/passthrough/.libs/passthrough.so" ]; then
	echo "1..0 # SKIP built without the passthrough"
	exit 0
fi
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

# As in suites.sh: the runtime of AddressSanitizer has to come first.
runtime=$(LD_LIBRARY_PATH=$top/tests/stubverbs ldd "$top/tests/stubverbs/librdmacm.so.1" |
	awk '$1 ~ /^lib(clang_rt\.)?[at]san[-.]/ { print $3 }')

# run STATUS WHAT VARIABLE=VALUE... -- ARGS...: hwcheck, or another command of the tool, in that
# environment; its page is in $scratch/page
command=hwcheck
run() {
	wanted=$1
	what=$2
	shift 2
	settings=
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	shift
	n=$((n + 1))
	# shellcheck disable=SC2086
	timeout 600 env \
		LD_LIBRARY_PATH="$top/tests/stubverbs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		LD_PRELOAD="$runtime $top/tests/stubverbs/librdmacm.so.1" \
		DAT_HW_MODULE="$top/passthrough/.libs/passthrough.so" $settings \
		"$datsim" "$command" "$@" > "$scratch/page" 2> "$scratch/said" < /dev/null
	got=$?
	if [ $got -eq "$wanted" ]; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		echo "#   exit status $got, expected $wanted"
		sed 's/^/#   /' "$scratch/page" "$scratch/said"
	fi
}

# finds WHAT PATTERN [FILE]
finds() {
	n=$((n + 1))
	if grep -qE -e "$2" "$scratch/${3:-page}"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "#   expected to find: $2"
		sed 's/^/#   /' "$scratch/${3:-page}"
	fi
}

run 0 "a device on which all works" -- --quick stub0
finds "the page names the device and its firmware" '^device +stub0, .* firmware 1[.]2$'
finds "and its limits" '^limits +4095 EPs of 4096 DTOs'
finds "each check has a line, and they are counted" '^15 passed, 0 failed, 1 skipped$'
finds "what was not tried is no pass" '^SKIP  the same message over bare verbs: --verbs'

for profile in mlx5 mlx5-silent lossy-req lossy-rep lossy-rtu lossy-rej lossy-dreq lossy-drep; do
	run 0 "$profile" STUB_PROFILE=$profile -- --quick stub0
	finds "$profile: all checks pass" '^15 passed, 0 failed, 1 skipped$'
done
run 0 irdma STUB_PROFILE=irdma -- --quick stub0
finds "iWARP has no RNR, which is no failure" '^SKIP  a message waits .*: iWARP has no such thing'

run 0 "irdma, a Write in place only when the next message comes" \
	STUB_PROFILE=irdma STUB_PLACES_LATE=1 -- --quick stub0
finds "is no failure" '^PASS  RDMA Writes'
finds "nor is one through a window" '^PASS  memory windows'

if [ -x "$top/bench/bench_verbs" ]; then
	run 0 "a comparison with bare verbs" -- --quick --verbs "$top/bench/bench_verbs" stub0
	finds "its ratio" '^PASS  the same message over bare verbs: .* times that by uDAPL$'
fi
run 1 "a comparison with a program that prints nothing" -- --quick --verbs /bin/true stub0
finds "is said" '^FAIL  the same message over bare verbs: /bin/true printed no time$'

run 1 "windows that cannot be made" STUB_FAIL=ibv_alloc_mw:1 -- --quick stub0
finds "have a line" '^FAIL  memory windows: dat_rmr_create: DAT_'
finds "and no other check fails" '^14 passed, 1 failed, 1 skipped$'
run 1 "payload that arrives damaged" STUB_CORRUPTS=1 -- --quick stub0
finds "is found" '^FAIL  messages arrive whole: the message of 1024 bytes: byte 1023 is another'
run 1 "connections that are never accepted" STUB_FAIL=rdma_accept:1 -- --quick stub0
finds "fail most checks" '^FAIL  RDMA Reads: the connection'

run 2 "a device that does not exist" -- nonesuch
finds "is said, with those that do" 'backend hw has stub0' said
finds "and so is that it cannot be opened" '^datsim hwcheck: nonesuch cannot be opened' said
run 2 "a device without permission" STUB_FAIL=rdma_bind_addr:1 -- stub0
finds "is said" '^datsim hwcheck: stub0 cannot be opened' said
run 2 "no device" --
finds "is said" 'expected one device' said

command=test
# shellcheck disable=SC2154 # set by the Makefile
run 0 "a script with faults of calls" -- --provider hw --device stub0 \
	"$top_srcdir/tests/scripts/fault/refused-post.dsim"
finds "meets them on a device, too" '^ok 1 - .*refused-post[.]dsim$'
echo "1..$n"
