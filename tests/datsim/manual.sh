#!/bin/sh
# The EXAMPLES of the manual: thirty pages and more have one, each compiles without a warning, and
# manual.c calls every function that they define, with the result that their text promises.
. "${top_srcdir:?}/tests/datsim/user.sh"
mkdir "$work/c"
# One C file a page; the prototypes of all that they define go to manual.h.
for page in "$src"/doc/man/dat_*.3; do
	case $page in */dat_sim*) continue ;; esac # they control the whole simulation
	awk -v to="$work/c/$(basename "$page" .3).c" '
		/^\.SH/ { in_examples = /EXAMPLES/ }
		/^\.EX/ { on = in_examples; next }
		/^\.EE/ { on = 0 }
		on {
			gsub(/\\&/, ""); gsub(/\\-/, "-"); gsub(/\\\(aq/, "\047")
			gsub(/\\\(ga/, "`"); gsub(/\\e/, "\\")
			print > to
		}' "$page"
done
for file in "$work"/c/*.c; do
	grep -q '^int main' "$file" && rm "$file"
	[ ! -e "$file" ] || grep -q '^DAT_\|^void\|^const' "$file" || rm "$file"
done
{
	echo '#include <dat/udat.h>'
	cat "$work"/c/*.c | awk '
		/^(DAT_[A-Z_]+|void|const char) \**[a-z_]+\(/ { on = 1 }
		on && /^{/ { print text ";"; text = ""; on = 0 }
		on { text = text " " $0 }'
} > "$work/c/manual.h"

echo 1..3
pages=$(ls "$work"/c/*.c | wc -l)
if [ "$pages" -ge 30 ]; then
	echo "ok 1 - $pages pages have an example to run"
else
	echo "not ok 1 - $pages pages have an example to run, expected 30"
fi
if [ -z "$library" ]; then
	echo "ok 2 - they run # SKIP no plain shared library in this build"
	echo "ok 3 - each is called # SKIP no plain shared library in this build"
	exit
fi
cp "$src/tests/datsim/manual.c" "$work/c"
(
	cd "$work/c" || exit
	# shellcheck disable=SC2046
	${CC:-cc} -std=gnu11 -O1 -Wall -Wextra -Werror *.c $(pkg-config --cflags --libs libdat) \
		-pthread -o manual && ./manual
) > "$work/said" 2>&1
if [ $? -eq 0 ] && grep -qx 'every example ran' "$work/said"; then
	echo "ok 2 - they run"
else
	echo "not ok 2 - they run"
	sed 's/^/#   /' "$work/said"
fi
missing=$(sed -n 's/.*[ *]\([a-z_]*\)(.*;$/\1/p' "$work/c/manual.h" | while read -r name; do
	grep -q "\<$name(\|\<$name)\|, $name\>" "$work/c/manual.c" || echo "$name"
done)
if [ -z "$missing" ]; then
	echo "ok 3 - each is called"
else
	echo "not ok 3 - each is called, but not:" $missing
fi
