#!/bin/sh
# Every atomic access and fence of the sources has its line in tests/litmus/orders.tsv, which names
# the test of its order; and each line there is in the sources, and each test there is one. A rule
# prints what is wrong; it passes if it prints nothing for the tree, and something after a mistake.
. "$(dirname "$0")/begin.sh"
cd "$top_srcdir" || exit 99
table=tests/litmus/orders.tsv
tab=$(printf '\t')
rooms="host lib emu fault passthrough verbs tools"

# Lines of the sources that order something, as the table has them
accesses() {
	# shellcheck disable=SC2086
	grep -rE --include='*.[ch]' -e '__atomic_[a-z]|__sync_|\b_Atomic ' \
		-e '\batomic_(compare|store|load|fetch|exchange|init)[a-z_]*\(' \
		-e '__asm__ volatile\(""' $1 |
		sed "s/^\([^:]*\):[ $tab]*/\1$tab/; s, */\*.*\*/\$,," |
		grep -v "$tab\*\|$tab/\*" | sort -u
}
tabled() { grep -v '^#' "$1" | cut -f1,2 | sort -u; }
differences() {
	tabled "$1" > "$work/tabled"
	accesses "$rooms" | diff - "$work/tabled" |
		sed -n 's/^</not in the table:/p; s/^>/nowhere:/p'
}
no_tests() {
	grep -v '^#' "$1" | cut -f3 | sort -u | while read -r file; do
		[ "$file" = - ] || [ -f "$file" ] || echo "$file"
	done
}

sed '/emu.guard.c.atomic_store/d' "$table" > "$work/mistake"
echo 1..2
found=$(differences "$table")
caught=$(differences "$work/mistake")
verdict "each atomic access has its line in $table"
sed 's/test_bias\.c/test_bais.c/' "$table" > "$work/mistake"
found=$(no_tests "$table")
caught=$(no_tests "$work/mistake")
verdict "each test in $table exists"
