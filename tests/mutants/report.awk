# Makes doc/results/mutants.md from arguments.tsv and from results.tsv of run.sh. -v commit=HASH
BEGIN { FS = "\t" }
function plain(code) {
	gsub(/\\t/, " ", code)
	gsub(/\t/, " ", code)
	sub(/^ +/, "", code)
	return code
}
FILENAME ~ /arguments\.tsv$/ {
	if ($0 !~ /^#/)
		argued[$1, $2, $3] = $4
	next
}
$6 == "same" || $6 == "unbuilt" { next }
{
	room = $5 == "race" ? "races, all rooms" : $1
	if (!(room in tried))
		rooms[++n] = room
	before = plain($8)
	after = plain($9)
	if (($2, before, after) in argued) {
		silent[room]++
		next
	}
	tried[room]++
	if ($6 == "unreached" || $6 == "survived" || ($6 ~ /^once/ && $5 != "race")) {
		left[room]++
		survivors[++s] = sprintf("- %s:%d, %s: %s\n\n%s\n%s\n", $2, $3, $4, $6,
			substr("      - " before, 1, 96), substr("      + " after, 1, 96))
	} else {
		noticed[room]++
	}
}
END {
	print "# Planted changes: does the suite notice?"
	print ""
	print "Made by `tests/mutants/run.sh` on " commit ". Each change was made alone in a copy"
	print "of the tree, and the tests that run its line were run until one failed. Changes that"
	print "do not compile, or compile to the same code, are not counted. Those without effect,"
	print "each with its reason in `tests/mutants/arguments.tsv`, are counted apart."
	print "`tests/mutants/README.md` explains."
	print ""
	print "| room | changes | noticed | | not noticed | argued |"
	print "|---|--:|--:|--:|--:|--:|"
	for (i = 1; i <= n; i++)
		printf "| %s | %d | %d | %.0f %% | %d | %d |\n", rooms[i], tried[rooms[i]],
			noticed[rooms[i]], 100 * noticed[rooms[i]] / tried[rooms[i]],
			left[rooms[i]], silent[rooms[i]]
	if (!s)
		exit
	print ""
	print "## Not noticed"
	print ""
	for (i = 1; i <= s; i++)
		print survivors[i]
}
