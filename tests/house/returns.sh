#!/bin/sh
# What `datsim sweep` takes for a documented error is what the headers list behind "Errors:". A rule prints the
# calls where the two differ; it passes if it prints nothing for the tree, and something after a mistake.
headers=$top_srcdir/include/dat
table=$top_srcdir/tools/datsim/run/returns.c
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

awk '/typedef enum dat_return_type/ { on = 1 } /}/ { on = 0 }
	on && match($0, /DAT_[A-Z_]+/) { print substr($0, RSTART, RLENGTH) }' "$headers/dat_error.h" > "$work/types"

# CALL TYPE, as the comments in front of the prototypes have it
documented() {
	awk -v types="$work/types" '
		BEGIN { while ((getline type < types) > 0) known[type] = 1 }
		/^\/\*/ { text = "" }
		/^ \*|^\/\*/ { text = text $0; next }
		/^DAT_RETURN dat_/ {
			name = $2; sub(/\(.*/, "", name)
			sub(/.*Errors:/, "", text)
			while (match(text, /DAT_[A-Z0-9_]+/)) {
				word = substr(text, RSTART, RLENGTH)
				text = substr(text, RSTART + RLENGTH)
				if (word in known) print name, word
			}
		}' "$headers/dat.h" "$headers/udat.h" "$headers/dat_registry.h" | sort -u
}

# The same of the tool's table, where a row may take several lines.
tabled() {
	tr '\n\t' '  ' < "$1" | sed 's/{ "/\n&/g' | sed -n 's/^{ "\(dat_[a-z_]*\)", *{\([^}]*\)}.*/\1 \2/p' |
		awk '{ for (i = 2; i <= NF; i++) { sub(/,$/, "", $i); if ($i != "0") print $1, $i } }' | sort -u
}

documented > "$work/documented"
tabled "$table" > "$work/tabled"
sed 's/DAT_QUEUE_FULL/DAT_ABORT/' "$table" > "$work/mistake.c"
tabled "$work/mistake.c" > "$work/mistaken"
echo 1..2
if cmp -s "$work/documented" "$work/mistaken"; then
	echo "not ok 1 - a mistake is noticed"
else
	echo "ok 1 - a mistake is noticed"
fi
if [ -s "$work/tabled" ] && diff "$work/documented" "$work/tabled" > "$work/diff"; then
	echo "ok 2 - errors of calls are those of the headers"
else
	echo "not ok 2 - errors of calls are those of the headers"
	sed 's/^/#   /' "$work/diff"
fi
