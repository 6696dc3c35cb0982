#!/bin/sh
# The example programs run on both profiles and print their results; their scripts pass. NODES: that
# many adapters of a cluster, too, with and without loss; ./check --full has 1,024.
top=${top_builddir:-$(cd "$(dirname "$0")/../.." && pwd)}
src=${top_srcdir:-$top}
n=0
# says LAST-LINE PROFILE PROGRAM ARGS...
says() {
	n=$((n + 1))
	wanted=$1
	profile=$2
	shift 2
	out=$(DATSIM_PROFILE=$profile "$top/examples/$@" 2>&1)
	status=$?
	if [ $status -eq 0 ] && [ "${out##*
}" = "$wanted" ]; then
		echo "ok $n - $*, profile $profile"
	else
		echo "not ok $n - $*, profile $profile: exit status $status"
		echo "$out" | sed 's/^/#   /'
	fi
}
for program in srq_server rpc/rpc cluster/cluster; do
	if [ ! -x "$top/examples/$program" ]; then
		echo "Bail out! examples/$program is not built"
		exit 1
	fi
done
echo 1..14
for profile in ib iwarp; do
	says "400 replies verified" $profile srq_server
	says "the server refilled its queue when told to" $profile rpc/rpc both
done
says "the server refilled its queue when told to" iwarp rpc/rpc both 16 50
says "the server refilled its queue never" ib rpc/rpc both 1 1
says "all to all         992 messages       0.186 ms of virtual time" ib cluster/cluster 32
says "all to all         992 messages       0.186 ms of virtual time" iwarp cluster/cluster 32
says "all to all         992 messages      11.203 ms of virtual time" ib cluster/cluster 32 10
says "all to all        1056 messages       0.198 ms of virtual time" ib cluster/cluster 33
# The messages of the last pattern, whatever the time.
all_to_all() {
	"$top/examples/cluster/cluster" "$NODES" "$1" |
		grep -q "^all to all *$((NODES * (NODES - 1))) "
}
n=$((n + 1))
if [ -z "${NODES:-}" ]; then
	echo "ok $n - a large cluster # SKIP NODES is not set"
elif all_to_all 0 && all_to_all 10; then
	echo "ok $n - a cluster of $NODES nodes"
else
	echo "not ok $n - a cluster of $NODES nodes"
fi
for script in client-gone refill refused; do
	n=$((n + 1))
	if "$top/tools/datsim/datsim" test "$src/examples/rpc/$script.dsim" > /dev/null; then
		echo "ok $n - $script.dsim"
	else
		echo "not ok $n - $script.dsim"
	fi
done
