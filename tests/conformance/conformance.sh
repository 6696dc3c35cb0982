#!/bin/sh
# The results of the tests, clause by clause: reads the results of all other tests, and compares
# them with the tables of this folder and with doc/conformance.md. --write writes the page anew.
here=$top_srcdir/tests/conformance
work=$top_builddir/tests/conformance/work
page=$top_srcdir/doc/conformance.md

mkdir -p "$work" && rm -f "$work"/* || exit 99
find "$top_builddir/tests" -name '*.log' ! -name conformance.log ! -name test-suite.log -exec \
	awk -f "$here/results.awk" {} + | LC_ALL=C sort > "$work/emulator.tsv"

if ! grep -q '^dat_' "$work/emulator.tsv"; then
	echo "1..0 # SKIP no results of tests/sweep: built without Check"
	exit 0
fi

: > "$work/problems"
{
	cat "$here/head.md"
	awk -v problems="$work/problems" -f "$here/page.awk" \
		backend=emulator "$work/emulator.tsv" \
		backend=rxe "$here/rxe.tsv" backend=siw "$here/siw.tsv" \
		table=pages "$here/pages.tsv" \
		table=clauses "$here/clauses.tsv" table=codes "$here/codes.tsv"
	printf '\n## Programs and suites that others wrote\n\n'
	printf 'On the verbs front (`doc/verbs.md`), as Debian 12 has them.\n\n'
	awk -f "$here/suites.awk" table=suites "$here/suites.tsv" \
		table=pyverbs "$top_srcdir/tests/verbs/pyverbs.tsv"
} > "$work/conformance.md"

if [ "${1:-}" = --write ]; then
	cp "$work/conformance.md" "$page"
	exit
fi

# missing KIND TABLE: reports words from stdin that are the first word of no row of the table
missing() {
	sort -u | while read -r word; do
		cut -f 1 "$here/$2" | grep -qx "$word" || echo "$1	$word"
	done >> "$work/problems"
}
grep -oE '^- \*\*[A-Z][0-9]+[a-z]?\*\*' "$top_srcdir/doc/rulings.md" |
	tr -d ' *-' | missing ruling clauses.tsv
sed -n '/^DAT_1.2 /,/^}/s/^[[:space:]]*\(dat_[a-z_]*\);.*/\1/p' "$top_srcdir/lib/libdat.map" |
	sed 's/^dat_ia_openv$/dat_ia_open/' | missing call codes.tsv

n=0
# verdict DESCRIPTION KIND...: passes if there are no problems of these kinds
verdict() {
	n=$((n + 1))
	description=$1
	shift
	found=$(for kind; do
		sed -n "s/^$kind	//p" "$work/problems"
	done)
	if [ -z "$found" ]; then
		echo "ok $n - $description"
	else
		echo "not ok $n - $description"
		echo "$found" | sed 's/^/#   /'
	fi
}

echo 1..9
verdict "the tables are well formed" form
verdict "every clause names a test, or the reason why there is none" empty
verdict "every test that a clause names exists" unknown
verdict "every test that a clause or a code rests on passed" failed
verdict "every documented return code is provoked, or a reason stands beside it" silent stale
verdict "every return code that is provoked is documented" undocumented
verdict "every ruling has its row" ruling
verdict "every call has its rows" call
if cmp -s "$work/conformance.md" "$page"; then
	echo "ok 9 - doc/conformance.md is up to date"
else
	echo "not ok 9 - doc/conformance.md is up to date"
	echo "#   make conformance writes it anew; this would change:"
	diff "$page" "$work/conformance.md" | head -n 20 | sed 's/^/#   /'
fi
