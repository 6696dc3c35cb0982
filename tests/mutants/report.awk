# Makes doc/results/mutants.md from results.tsv of run.sh. -v commit=HASH
BEGIN { FS = "\t" }
$6 == "same" || $6 == "unbuilt" { next }
{
	room = $5 == "race" ? "races, all rooms" : $1
	if (!(room in tried))
		rooms[++n] = room
	tried[room]++
	if ($6 == "unreached" || $6 == "survived") {
		left[room]++
		$8 = plain($8)
		$9 = plain($9)
		survivors[++s] = sprintf("| %s:%d | %s | `%s` | `%s` | %s |", $2, $3, $4,
			$8, $9, $6)
	} else {
		noticed[room]++
	}
}
function plain(code) {
	gsub(/\\t/, " ", code)
	gsub(/\|/, "\\|", code)
	sub(/^ +/, "", code)
	return code
}
END {
	print "# Planted changes: does the suite notice?"
	print ""
	print "Made by `tests/mutants/run.sh` on " commit ". Each change was made alone in a copy"
	print "of the tree, and the tests that run its line were run until one failed. Changes that"
	print "do not compile, or compile to the same code, are not counted."
	print "`tests/mutants/README.md` explains."
	print ""
	print "| room | changes | noticed | |"
	print "|---|--:|--:|--:|"
	for (i = 1; i <= n; i++)
		printf "| %s | %d | %d | %.0f %% |\n", rooms[i], tried[rooms[i]],
			noticed[rooms[i]], 100 * noticed[rooms[i]] / tried[rooms[i]]
	if (!s)
		exit
	print ""
	print "## Not noticed"
	print ""
	print "| place | operator | before | after | |"
	print "|---|---|---|---|---|"
	for (i = 1; i <= s; i++)
		print survivors[i]
}
