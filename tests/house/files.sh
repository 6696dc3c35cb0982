#!/bin/sh
# Source files: each says what it is for, fits in the reader's head, and names its functions so that
# a backtrace tells them apart.
. "$(dirname "$0")/begin.sh"

most=500 # lines of a source file

rooms='host lib verbs emu fault passthrough tools bench examples'

# sources SUFFIX...: files of the rooms, below the current folder
sources() {
	for room in $rooms; do
		[ -d "$room" ] || continue
		for suffix; do
			find "$room" -name "*.$suffix"
		done
	done | sort
}

# A comment follows the licence's line, or stands at its place.
rule_opening() {
	sources c h | xargs -r awk '
		FNR == 1 { opens = 0 }
		FNR <= 3 && FNR > 1 && /\/\*/ { opens = 1 }
		FNR == 3 && !opens { print FILENAME }'
}

rule_length() {
	sources c h | xargs -r wc -l |
		awk -v most="$most" '$2 != "total" && $1 > most { print $2 ": " $1 " lines" }'
}

# A definition begins in the first column and its name is all small letters without an underscore.
# The names of the calls of rsockets are given.
rule_names() {
	sources c h | xargs -r awk '
		/^[a-z_A-Z][^;={]*\(/ && !/^(typedef|#|else|return)/ {
			text = $0
			sub(/\(.*/, "", text)
			name = text
			sub(/.*[ \t*]/, "", name)
			if (FILENAME ~ /^verbs\/rsocket\// && name ~ /^r[a-z]+$/)
				next
			if (text ~ /[ \t]/ && name ~ /^[a-z]+$/ && name !~ /^(main|say)$/)
				print FILENAME ":" FNR ": " name
		}'
}

mkdir -p "$work/lib"
{
	echo '/* SPDX-License-Identifier: BSD-3-Clause */'
	echo '#include <stdio.h>'
	echo
	echo 'static int find(int x)'
	awk 'BEGIN { for (i = 0; i < 500; i++) print "/* long */" }'
} > "$work/lib/bad.c"

rule() {
	found=$(cd "$top_srcdir" && "$1")
	caught=$(cd "$work" && "$1")
	verdict "$2"
}

echo 1..3
rule rule_opening "every source file opens with what it is for"
rule rule_length "no source file has more than $most lines"
rule rule_names "no function has a name of one word"
