#!/bin/sh
# The exact output of datsim show: compares the timelines of recorded traces with files, with and
# without UTF-8. With --write it writes the files; review the difference before you commit it.
here=$(cd "$(dirname "$0")" && pwd)
datsim=${top_builddir:-$here/../..}/tools/datsim/datsim
if [ ! -x "$datsim" ]; then
	echo "Bail out! tools/datsim/datsim is not built"
	exit 1
fi
cd "$here/timeline" || exit 99
scratch=$(mktemp) || exit 99
trap 'rm -f "$scratch"' EXIT
write=${1:-}
n=0

# shows LOCALE EXPECTED ARGS...
shows() {
	n=$((n + 1))
	locale=$1
	expected=$2
	shift 2
	LC_ALL=$locale "$datsim" show "$@" > "$scratch" 2>&1
	if [ "$write" = --write ]; then
		cp "$scratch" "$expected"
	fi
	if cmp -s "$scratch" "$expected"; then
		echo "ok $n - datsim show $* ($locale)"
	else
		echo "not ok $n - datsim show $* ($locale)"
		diff "$expected" "$scratch" | sed 's/^/#   /'
	fi
}

echo 1..6
shows C pieces.ascii pieces.trace
shows C.UTF-8 pieces.utf8 pieces.trace
shows C pieces-all.ascii --all pieces.trace
shows C.UTF-8 wire.utf8 wire.trace
shows C wire-all.ascii --all wire.trace
n=$((n + 1))
if LC_ALL=C awk 'length > 100 { exit 1 }' pieces.ascii pieces-all.ascii wire-all.ascii; then
	echo "ok $n - no line is wider than 100"
else
	echo "not ok $n - no line is wider than 100"
fi
