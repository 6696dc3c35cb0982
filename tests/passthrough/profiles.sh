#!/bin/sh
# The tests of the passthrough again on each device that the stub can be
# (tests/stubverbs/profile.c): what a Consumer sees is the same. test_quick is not among them, as it
# only counts paths. On lossy devices test_shortage is left out: without memory for the id that
# would repeat a lost message, it stays lost; nor can it run under ThreadSanitizer. PROFILES
# in the environment: these, or all, as ./check --full has it.
tests=$top_builddir/tests/passthrough
programs="test_cm test_devices test_events test_deferred test_extensions test_guard test_limits
	test_open test_refusals test_srq test_windows"
all="mlx5 mlx5-silent irdma lossy-req lossy-rep lossy-rtu lossy-rej lossy-dreq lossy-drep"
profiles=${PROFILES:-mlx5-silent irdma lossy-rtu}
[ "$profiles" != all ] || profiles=$all
n=0

# runs PROFILE: the programs that it has
runs() {
	echo "$programs"
	case $1 in
	lossy-*) ;;
	*) grep -qa __tsan_init "$top_builddir/.libs/libdat.so" || echo test_shortage ;;
	esac
}

if [ ! -x "$tests/test_devices" ]; then
	echo "1..0 # SKIP built without the passthrough"
	exit 0
fi
work=$(mktemp -d) || exit 99
# bash runs this in a job that a signal ends before its program has begun, too.
# shellcheck disable=SC3028 # dash has no BASHPID, and runs it in this shell only
trap '[ "${BASHPID:-$$}" != $$ ] || rm -rf "$work"' EXIT

# They wait more than they compute: those of one profile run at the same time.
for profile in $profiles; do
	for program in $(runs $profile); do
		(STUB_PROFILE=$profile CK_VERBOSITY=minimal CK_TAP_LOG_FILE_NAME=- \
			"$tests/$program" > "$work/$profile.$program" 2>&1
		echo $? > "$work/$profile.$program.status") &
	done
	wait
done
for profile in $profiles; do
	for program in $(runs $profile); do
		n=$((n + 1))
		if [ "$(cat "$work/$profile.$program.status")" = 0 ]; then
			echo "ok $n - $program on $profile"
		else
			echo "not ok $n - $program on $profile"
			grep -v '^ok' "$work/$profile.$program" | sed 's/^/#   /'
		fi
	done
done
echo "1..$n"
