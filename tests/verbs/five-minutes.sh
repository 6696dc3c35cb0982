#!/bin/sh
# The section of doc/verbs.md that leads from nothing to a captured failure: its commands run, and
# print what it shows. A line "..." stands for any lines.
. "$(dirname "$0")/begin.sh"
needs libibverbs perftest ib_write_bw
PATH=$(cd "$(dirname "$datsim")" && pwd):$PATH
page=$(cd "$top_srcdir" && pwd)/doc/verbs.md
cd "$work" || exit 99

# The indented lines of the section.
awk '/^## / { on = /five minutes/ } on && sub(/^\t/, "")' "$page" > shown
# One shell runs them all, and repeats each one before its output.
{
	echo 'exec 2>&1'
	sed -n 's/^\$ //p' shown | while IFS= read -r line; do
		printf "cat <<'LINE'\n$ %s\nLINE\n%s\n" "$line" "$line"
	done
} > commands.sh
sh commands.sh < /dev/null | sed 's/ *$//' > printed

# The same comparison as of the tutorial's pages.
same() {
	awk -v wanted="$1" '
		BEGIN { while ((getline line < wanted) > 0) want[++n] = line; i = 1 }
		want[i] == "..." { any = 1; i++ }
		any && $0 != want[i] { next }
		$0 != want[i] { bad = 1; exit }
		{ any = 0; i++ }
		END { if (want[i] == "...") i++; exit bad || i != n + 1 }' "$2"
}

verdict() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' printed
	fi
}

echo 1..4
[ "$(grep -c '^\$ ' shown)" -ge 7 ]
verdict $? "the section has its commands"
same shown printed
verdict $? "they print what the section shows"
grep -q ' op=RDMA_WRITE' dead.trace && [ -s dead.txt ] && [ -s dead.svg ]
verdict $? "the trace has the Writes, and becomes a timeline and a picture"
od -An -tx1 -N4 dead.pcapng | grep -q '0a 0d 0d 0a'
verdict $? "the capture is a pcapng file"
