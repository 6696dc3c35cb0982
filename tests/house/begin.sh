# shellcheck shell=sh
# Sourced by the scripts of this folder: what a rule is, and what the headers say of errors.
#
#   $headers $work   the public headers; a folder that goes away
#   verdict TITLE    one test: a rule printed nothing for the tree ($found), and something for a
#                    copy of it into which a mistake was put ($caught)
headers=$top_srcdir/include/dat
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

verdict() {
	n=$((n + 1))
	if [ -z "$found" ] && [ -n "$caught" ]; then
		echo "ok $n - $1"
		return
	fi
	echo "not ok $n - $1"
	[ -n "$caught" ] || echo "#   this rule notices nothing: a planted mistake went through"
	[ -z "$found" ] || echo "$found" | sed 's/^/#   /'
}

# The types that a DAT_RETURN may have.
return_types() {
	awk '/typedef enum dat_return_type/ { on = 1 } /}/ { on = 0 }
		on && match($0, /DAT_[A-Z_]+/) { print substr($0, RSTART, RLENGTH) }' \
		"$headers/dat_error.h"
}

# NAME TYPE: what the comment in front of a prototype lists behind "Errors:"
header_errors() {
	return_types > "$work/types"
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
		}
		/^$/ { text = "" }' "$headers/dat.h" "$headers/udat.h" "$headers/dat_registry.h" |
		sort -u
}
