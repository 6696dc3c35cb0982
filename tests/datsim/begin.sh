# shellcheck shell=sh
# Sourced by the scripts of this folder: paths, a scratch folder, and functions that run a test.
#
#   $here $top     this folder; the build tree
#   $datsim        the tool
#   $scratch       a folder that is removed at the end; public_scratch makes it one that other users
#                  can reach
#   needs PROGRAM  ends the script if the program was not built
#   holds WHAT COMMAND...         passes if the command succeeds; shows its output if it fails
#   expect STATUS PATTERN ARGS... passes if `datsim ARGS` has this exit status and prints the
#                                 pattern on either stream; both streams are in $scratch/out
here=$(cd "$(dirname "$0")" && pwd)
top=${top_builddir:-$here/../..}
datsim=$top/tools/datsim/datsim
n=0

needs() {
	if [ ! -x "$1" ]; then
		echo "Bail out! $1 is not built"
		exit 1
	fi
}
needs "$datsim"

unset COLUMNS # the width of timelines
scratch=$(mktemp -d) || exit 99
# bash runs this in a job that a signal ends before its program has begun, too.
# shellcheck disable=SC3028 # dash has no BASHPID, and runs it in this shell only
trap '[ "${BASHPID:-$$}" != $$ ] || rm -rf "$scratch"' EXIT

# public_scratch COMMAND...: COMMAND runs its arguments as another user. $scratch becomes a folder
# whose programs that user can run, wherever TMPDIR is: it may be private.
public_scratch() {
	for folder in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm; do
		rm -rf "$scratch"
		scratch=$(mktemp -d "$folder/libdat.XXXXXX") || continue
		if cp /bin/true "$scratch" && chmod -R 755 "$scratch" &&
			"$@" "$scratch/true" 2> "$scratch/noise"; then
			return 0
		fi
	done
	return 1
}

holds() {
	n=$((n + 1))
	what=$1
	shift
	if "$@" > "$scratch/said" 2>&1; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		sed 's/^/#   /' "$scratch/said"
	fi
}

# Are libibverbs, librdmacm and the libraries that are loaded before a program built?
has_verbs() {
	[ -x "$top/tests/planted/pairs/wakeup" ]
}

# cannot WHY TITLE...: these tests are skipped
cannot() {
	why=$1
	shift
	for what; do
		echo "ok $((n += 1)) - $what # SKIP $why"
	done
}

# holds_or_skips TITLE COMMAND...: as holds; a command that ends with 77 says "skipped: WHY"
holds_or_skips() {
	n=$((n + 1))
	what=$1
	shift
	"$@" > "$scratch/said" 2>&1
	case $? in
	0) echo "ok $n - $what" ;;
	77) echo "ok $n - $what # SKIP $(sed -n 's/^skipped: //p' "$scratch/said")" ;;
	*)
		echo "not ok $n - $what"
		sed 's/^/#   /' "$scratch/said"
		;;
	esac
}

expect() {
	n=$((n + 1))
	wanted=$1
	pattern=$2
	shift 2
	what="datsim $(echo "$*" | sed "s|$top/||g")"
	# A caller that ignores SIGHUP (nohup) or SIGINT (a background job) hands that on, and a
	# shell cannot undo it.
	env --default-signal=HUP,INT "$datsim" "$@" > "$scratch/out" 2>&1 < /dev/null
	status=$?
	if [ $status -eq "$wanted" ] && grep -qE -e "$pattern" "$scratch/out"; then
		echo "ok $n - $what"
		return
	fi
	echo "not ok $n - $what"
	echo "#   exit status $status, expected $wanted; expected to find: $pattern"
	sed 's/^/#   /' "$scratch/out"
}
