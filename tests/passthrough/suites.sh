#!/bin/bash
# The Check suites of threads on the device of tests/stubverbs, without a kernel and in real time,
# and the scripts on two of the devices that the stub can be (tests/stubverbs/profile.c). fabric.sh
# runs the scripts and the other suites on the fabric. deviations.tsv in this folder names each test
# that needs the simulation, and what this device does otherwise, and why. TAP.
# shellcheck disable=SC2034 # run.sh uses it
kind=stub like=rxe device=stub0
. "$top_srcdir/tests/passthrough/run.sh"

# The runtime of AddressSanitizer insists on being the first library of the process. If it is linked
# into programs, as by clang without -shared-libasan, there is none to preload.
runtime=$(LD_LIBRARY_PATH=$build/tests/stubverbs ldd "$build/tests/stubverbs/librdmacm.so.1" |
	awk '$1 ~ /^lib(clang_rt\.)?[at]san[-.]/ { print $3 }')

# on_device COMMAND...: the stub in place of libibverbs, librdmacm and getifaddrs
on_device() {
	timeout 300 env LD_LIBRARY_PATH="$build/tests/stubverbs" \
		LD_PRELOAD="$runtime $build/tests/stubverbs/librdmacm.so.1" \
		DAT_HW_MODULE="$build/passthrough/.libs/passthrough.so" "$@"
}

# A script waits ten seconds for what this device does otherwise. They run in so many processes.
parts=6
mapfile -t all < <(cd "$source" && find tests/scripts -name '*.dsim' | LC_ALL=C sort)
run_part() {
	local i some=()
	for ((i = $2; i < ${#all[@]}; i += parts)); do
		some+=("${all[i]}")
	done
	STUB_PROFILE=$1 run_scripts "scripts-$1.$2" "${some[@]}"
}

for profile in mlx5 irdma; do
	for ((part = 0; part < parts; part++)); do
		run_part "$profile" "$part" &
	done
done
unset profile
run_all 'test_threads*'
for profile in mlx5 irdma; do
	# One plan, of all scripts: a process that printed nothing is noticed.
	{ echo "1..${#all[@]}"; grep -hv '^1\.\.' "$work/scripts-$profile".*; } \
		> "$work/scripts-$profile"
	judge "scripts-$profile"
done
echo "1..$n"
