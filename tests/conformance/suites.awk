# Writes the section of programs that others wrote, from suites.tsv and tests/verbs/pyverbs.tsv.
BEGIN { FS = "\t" }
/^#/ { next }
table == "suites" {
	entry("**" $1 "** passes: " $2 ($3 == "-" ? "" : ". Left out: " $3) ". `" $4 "`")
	next
}
{ tests++; count[$2]++ }
$2 == "skip" {
	gsub(/[0-9]+/, "N", $3)
	gsub(/ *$/, "", $3)
	sub(/^(Link layer of|Must be run by root|To Create RAW).*/, "for Ethernet, or root", $3)
	if (!skipped[$3]++)
		reason[++reasons] = $3
}

function entry(text,    words, n, i, line) {
	n = split("- " text, words, " ")
	line = words[1]
	for (i = 2; i <= n; i++)
		if (length(line) + 1 + length(words[i]) > 100) {
			print line
			line = "  " words[i]
		} else
			line = line " " words[i]
	print line
}

END {
	for (i = 1; i <= reasons; i++)
		why = why (i > 1 ? "; " : "") skipped[reason[i]] " \"" reason[i] "\""
	entry("**pyverbs 44**, " tests " tests: " count["pass"] + 0 " pass, " count["skip"] + 0 \
		" skip (" why "), " count["machine"] + 0 \
		" pass or skip, as the machine has what they need. `tests/verbs/pyverbs.tsv`")
}
