#!/bin/sh
# The tests of the passthrough again on each device that the stub can be (tests/stubverbs/profile.c):
# what a Consumer sees is the same. test_quick is not among them, as it only counts paths.
tests=$top_builddir/tests/passthrough
programs="test_devices test_events test_deferred test_refusals test_srq test_windows"
n=0

if [ ! -x "$tests/test_devices" ]; then
	echo "1..0 # SKIP built without the passthrough"
	exit 0
fi
for profile in mlx5 mlx5-silent; do
	for program in $programs; do
		n=$((n + 1))
		if text=$(STUB_PROFILE=$profile CK_VERBOSITY=minimal CK_TAP_LOG_FILE_NAME=- \
			"$tests/$program" 2>&1); then
			echo "ok $n - $program on $profile"
		else
			echo "not ok $n - $program on $profile"
			echo "$text" | grep -v '^ok' | sed 's/^/#   /'
		fi
	done
done
echo "1..$n"
