#!/bin/sh
# The example programs run, on both profiles, and say what they did.
top=${top_builddir:-$(cd "$(dirname "$0")/../.." && pwd)}
if [ ! -x "$top/examples/srq_server" ]; then
	echo "Bail out! examples/srq_server is not built"
	exit 1
fi
echo 1..2
n=0
for profile in ib iwarp; do
	n=$((n + 1))
	out=$(DATSIM_PROFILE=$profile "$top/examples/srq_server" 2>&1)
	status=$?
	if [ $status -eq 0 ] && [ "${out##*
}" = "400 replies verified" ]; then
		echo "ok $n - srq_server, profile $profile"
	else
		echo "not ok $n - srq_server, profile $profile: exit status $status"
		echo "$out" | sed 's/^/#   /'
	fi
done
