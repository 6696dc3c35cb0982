#!/bin/sh
# tests/README.md is a map of all folders with tests, and no folder is too large to look through.
# Each rule is a function that prints offenders under the current folder; it passes if it prints
# nothing for the tree, and something for a small tree in which it is broken.
. "$(dirname "$0")/begin.sh"
plant=$work

# Folders of tests/ that hold files, without "tests/". A build in the source tree leaves .deps and
# .libs.
folders() {
	find tests -mindepth 2 -type f ! -path '*/.*/*' ! -path '*/work/*' \
		! -name '*.o' ! -name '*.log' ! -name '*.trs' |
		sed 's,^tests/,,; s,/[^/]*$,,' | sort -u
}

# Folders the map names: words in backquotes that end in a slash; unit/* stands for all below unit/.
named() {
	grep -oE '`[a-z_/]+/[*]?`' tests/README.md 2> /dev/null | tr -d '`' | sort -u
}

rule_map_complete() {
	named > "$work/known"
	folders | sed 's,$,/,' | grep -vxF -f "$work/known" |
		sed 's,\(.*\)/,tests/\1 is not in tests/README.md,'
}

rule_map_true() {
	named | sed 's,/[*]*$,,' | while read -r folder; do
		[ -d "tests/$folder" ] || echo "tests/README.md names $folder/, which is not there"
	done
	grep -oE '`[a-z_/]+/[a-z_.-]+\.(c|h|sh|dsim|tsv)`' tests/README.md 2> /dev/null |
		tr -d '`' | while read -r file; do
			[ -e "tests/${file#tests/}" ] ||
				echo "tests/README.md names $file, which is not there"
		done
}

# What tests/check/subjects.sh adds to a subject is there.
rule_subjects() {
	sed -n '/^declare -A also/,/^)/{s/[[:space:]]*\[[a-z]*\]=//; s/["()]//g; /^declare/d; p}' \
		tests/check/subjects.sh 2> /dev/null | tr -s ' \t' '\n\n' | sort -u |
		while read -r entry; do
			[ -z "$entry" ] || [ -e "tests/$entry" ] || [ -e "tests/$entry.c" ] ||
				echo "tests/check/subjects.sh names $entry, which is not there"
		done
}

# The lab runs a part of the suites of tests/unit with each commit, so that a suite without results
# would be noticed some commits later. Each has results of the device, or is left out as a whole.
rule_lab() {
	{
		sed -n 's/^\(test_[a-z0-9_]*\):.*/\1/p' tests/conformance/rxe.tsv
		sed -n 's/^all	\(test_[a-z0-9_]*\) \*	SKIP	.*/\1/p' tests/hwlab/deviations.tsv
	} 2> /dev/null | sort -u > "$work/known"
	printf '%s\n' tests/unit/*/test_*.c | sed 's,.*/,,; s/[.]c$//' |
		grep -vxF -f "$work/known" |
		sed 's/$/: not in tests\/conformance\/rxe.tsv, nor in deviations.tsv/'
}

# About 35 files are as many as one can look through; a folder may have a few more.
most_files=38
# FOLDER MOST: folders that may have more, and how many
rooms() {
	cat << 'END'
tests/datsim/bad 1000
doc/man 1000
END
}

rule_size() {
	find bench emu examples fault host include lib passthrough verbs tests tools doc -type f \
		! -path '*/.*' ! -path 'tests/*/work/*' 2> /dev/null |
		grep -E '\.([chly]|sh|awk|dsim|tsv|script|expected|md|[1-9])$' | sed 's,/[^/]*$,,' |
		sort | uniq -c | awk -v most_files="$most_files" -v rooms="$(rooms | tr '\n' ' ')" '
			BEGIN {
				n = split(rooms, word, " ")
				for (i = 1; i < n; i += 2) most[word[i]] = word[i + 1]
			}
			{ limit = $2 in most ? most[$2] : most_files }
			$1 > limit { print $2 ": " $1 " files, at most " limit }'
}

# A tree in which each rule is broken once.
mkdir -p "$plant/tests/srq" "$plant/tests/unit/ep" "$plant/tests/check" "$plant/lib"
: > "$plant/tests/srq/test_a.c"
: > "$plant/tests/unit/ep/test_new.c"
echo '`gone/` and `srq/test_b.c`' > "$plant/tests/README.md"
printf 'declare -A also=(\n\t[srq]="walk/test_gone"\n)\n' > "$plant/tests/check/subjects.sh"
for row in 1 2 3 4 5 6 7; do
	for column in a b c d e f; do
		: > "$plant/lib/$row$column.c"
	done
done

rule() {
	found=$(cd "$top_srcdir" && "$1")
	caught=$(cd "$plant" && "$1")
	verdict "$2"
}

echo 1..5
rule rule_map_complete "every folder of tests/ is in tests/README.md"
rule rule_map_true "every folder and file that tests/README.md names is there"
rule rule_subjects "every test that tests/check/subjects.sh names is there"
rule rule_size "no folder has more than about 35 source files"
rule rule_lab "every suite of tests/unit has results of a device, or a reason to have none"
