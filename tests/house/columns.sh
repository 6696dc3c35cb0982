#!/bin/sh
# Lines have at most 100 columns; a tab counts 8. Three kinds of lines may be longer, because they
# cannot be folded: the output of commands in Markdown, the tables of doc/results, and the
# statements of a datsim script.
. "$(dirname "$0")/begin.sh"

# What autoreconf puts here.
foreign='^aclocal\.m4|^m4/l(ib)?t'

# FILE:LINE: COLUMNS of each long line in the files that stdin names
long_lines() {
	xargs -r env LC_ALL=C awk '
		FNR == 1 { output = fence = 0 }
		/^```/ && FILENAME ~ /\.md$/ { fence = !fence; output = fence && /console/ }
		output && !/^\$ / { next }
		FILENAME ~ /^doc\/results\// && /^[|\t]/ { next }
		FILENAME ~ /\.dsim$/ && !/^[[:blank:]]*#/ { next }
		length($0) < 51 && !/\t/ { next }
		{
			gsub(/[\200-\277]/, "") # bytes of a character after its first
			columns = 0
			n = split($0, part, "\t")
			for (i = 1; i < n; i++)
				columns = int((columns + length(part[i])) / 8) * 8 + 8
			columns += length(part[n])
			if (columns > 100)
				print FILENAME ":" FNR ": " columns " columns"
		}'
}

files() {
	find . \( -name build -o -name build-aux -o -name autom4te.cache -o -name '.?*' \) \
		-prune -o \
		\( -name '*.[chlym]' -o -name '*.sh' -o -name '*.awk' -o -name '*.am' \
		-o -name '*.ac' -o -name '*.m4' -o -name '*.md' -o -name '*.dsim' \
		-o -name '*.map' -o -name '*.pc.in' \
		-o -name check -o -name demo -o -name bootstrap \) -type f -print |
		sed 's|^\./||' | grep -vE "$foreign" | sort
}

rule_columns() {
	files | long_lines
}

rule() {
	found=$(cd "$top_srcdir" && "$1")
	caught=$(cd "$work/planted" && "$1")
	verdict "$2"
}

mkdir -p "$work/planted/doc/results"
long=$(printf '%0101d' 0)
printf '%s\n' "${long%0}" "$long" > "$work/planted/doc/results/page.md"
echo 1..1
rule rule_columns "no line is longer than 100 columns"
