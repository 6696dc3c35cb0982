#!/bin/sh
# The trace, the timeline and the account of a program with one request of each kind: compared with
# the files beside this one. With --write it writes them; review the difference before you commit.
. "$(dirname "$0")/../../verbs/begin.sh"
here=$(cd "$(dirname "$0")" && pwd)
kinds=$top_builddir/tests/datsim/kinds/kinds
[ -x "$kinds" ] || skip "tests/datsim/kinds/kinds is not built"
write=${1:-}

# equals TITLE FILE GOLDEN
equals() {
	n=$((n + 1))
	[ "$write" != --write ] || cp "$2" "$here/$3"
	if cmp -s "$2" "$here/$3"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		diff "$here/$3" "$2" | sed 's/^/# /'
	fi
}

echo 1..4
cd "$work" || exit 99
"$datsim" run --trace kinds.trace -- "$kinds" > out 2>&1
sed -i '/^# command=/d' kinds.trace
equals "each call and packet is in the trace" kinds.trace kinds.trace
LC_ALL=C "$datsim" show kinds.trace > shown
equals "the timeline names calls, objects and statuses as verbs does" shown kinds.ascii
LC_ALL=C "$datsim" show --all kinds.trace > shown
equals "so does the one with all lines" shown kinds-all.ascii
sed -i -e '1,/exits with/s|^datsim: .*/kinds|datsim: kinds|' -e '/^  trace /d' out
equals "the report counts them by these names" out kinds.report
