#!/bin/sh
# A program that has more rights than its caller believes no variable of the environment, nor the
# name that it was called by. The same program without such rights obeys each of them here.
. "$(dirname "$0")/../datsim/begin.sh"
program=$top/tests/kernel/privileged
needs "$program"
if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP only root can make a program that has more rights than its caller"
	exit 0
fi

# AddressSanitizer looks for leaks by tracing its own process, which such a program forbids.
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
export ASAN_OPTIONS
unset DAT_OVERRIDE

# other PROGRAM ARGS...: runs it as an ordinary user
other() {
	"$program" ordinary "$1" "$@"
}
if ! public_scratch other; then
	echo "1..0 # SKIP no folder here holds programs that every user can run"
	exit 0
fi
cd "$scratch" || exit 99
mkdir -m 755 programs programs/libdat && mkdir -m 777 open || exit 99
cp "$program" programs/plain && cp "$program" programs/setgid || exit 99
chmod 755 programs/plain
chgrp 0 programs/setgid && chmod 2755 programs/setgid || exit 99
: > programs/libdat/passthrough.so

if ! "$program" ordinary programs/setgid setgid secure; then
	echo "1..0 # SKIP programs of $scratch get no rights by setgid"
	exit 0
fi

# runs HOW PROGRAM VARIABLE=VALUE ARGS...: as an ordinary user; leaves what is said in $scratch/out
runs() {
	how=$1 which=$2 setting=$3
	shift 3
	env "$setting" "$program" "$how" "programs/$which" "$scratch/programs/$which" "$@" \
		> out 2>&1
}

# ignored PATTERN VARIABLE=VALUE ARGS...: only the ordinary program says PATTERN
ignored() {
	n=$((n + 1))
	pattern=$1
	shift
	what="${1%%=*} is ignored by a program with more rights than its caller"
	runs "${how_run:-ordinary}" plain "$@"
	if ! grep -qE -e "$pattern" out; then
		echo "not ok $n - $what"
		echo "#   the ordinary program does not obey it; expected to find: $pattern"
		sed 's/^/#   /' out
		return
	fi
	runs "${how_run:-ordinary}" setgid "$@"
	if grep -qE -e "$pattern" out; then
		echo "not ok $n - $what"
		sed 's/^/#   /' out
		return
	fi
	echo "ok $n - $what"
}

# moved: in a private folder the scripts of this tree find one that others can reach
moved() {
	mkdir -m 700 private &&
		(TMPDIR=$PWD/private scratch=$PWD/private/none && public_scratch other &&
			rm -r "$scratch" && [ "${scratch#"$TMPDIR"}" = "$scratch" ])
}

echo 1..16
holds "a private TMPDIR is not used for what other users run" moved
ignored 'DAT_PROVIDER=other: expected' DAT_PROVIDER=other open emu0
ignored 'loaded: /evil.so: ' DAT_HW_MODULE=/evil.so module
ignored 'programs/libdat/passthrough.so' its_name=plain module
ignored 'DAT_OVERRIDE=/nonesuch: ' DAT_OVERRIDE=/nonesuch open other0
ignored 'DATSIM_SEED=x: expected' DATSIM_SEED=x open emu0
ignored 'DATSIM_PROFILE=x: expected' DATSIM_PROFILE=x open emu0
ignored 'DATSIM_STUCK=x: expected' DATSIM_STUCK=x open emu0
ignored 'DATSIM_ADDRESSES=x: expected' DATSIM_ADDRESSES=x open emu0
ignored 'DATSIM_FAULTS' DATSIM_FAULTS=x open emu0
ignored 'cannot be called "../x"' DATSIM_FABRIC=../x open emu0
ignored "^$scratch/open/" "XDG_RUNTIME_DIR=$scratch/open" folder
how_run=forks
ignored 'sent: ready' its_name=DATSIM_FORKS open emu0
how_run=
holds "DATSIM_TRACE is obeyed by an ordinary program" sh -c "
	DATSIM_TRACE=$scratch/open/plain $program ordinary programs/plain plain open emu0 &&
		[ -s open/plain ]"
holds "DATSIM_TRACE does not open a program with more rights" sh -c "
	DATSIM_TRACE=$scratch/open/setgid $program ordinary programs/setgid setgid open emu0 &&
		[ ! -e open/setgid ]"
holds "a program with more rights opens an adapter" \
	"$program" ordinary programs/setgid setgid open emu0
