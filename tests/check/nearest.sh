# shellcheck shell=bash
# Sourced by ./check and ./demo: what a word that they do not know may be a typing error of.

# did_you_mean WORD NAME...: prints "; did you mean NAME?" for the nearest name, or nothing if none
# is near. The rule is datsim's (tools/datsim/script/diag.c): a third of the letters may differ,
# where neighbours that are swapped count once, and three letters may be the beginning of a name.
# Dashes in front do not count.
did_you_mean() {
	printf '%s\n' "$@" | awk '
		function least(a, b) { return a < b ? a : b }
		function distance(a, b,    i, j, d) {
			for (i = 0; i <= length(a); i++) {
				for (j = 0; j <= length(b); j++) {
					d[i, j] = i + j
					if (!i || !j)
						continue
					d[i, j] = least(d[i - 1, j], d[i, j - 1]) + 1
					d[i, j] = least(d[i, j], d[i - 1, j - 1] + \
						(substr(a, i, 1) != substr(b, j, 1)))
					swapped = substr(b, j, 1) substr(b, j - 1, 1)
					if (i > 1 && j > 1 && substr(a, i - 1, 2) == swapped)
						d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
				}
			}
			return length(a) > 2 && index(b, a) == 1 ? 1 : d[length(a), length(b)]
		}
		{ bare = tolower($0); sub(/^-+/, "", bare) }
		NR == 1 { word = bare; best = length(bare) + 2; next }
		(far = 3 * distance(word, bare)) < best { best = far; name = $0 }
		END { if (name != "") print "; did you mean " name "?" }'
}
