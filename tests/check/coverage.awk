# Makes doc/results/coverage.md from an .info file of lcov: line coverage by file and by folder.
function percent(hit, lines) { return lines ? sprintf("%.1f %%", 100 * hit / lines) : "-" }
function row(name, hit, lines) {
	printf "| %s | %d | %d | %s |\n", name, lines, lines - hit, percent(hit, lines)
}
/^SF:/ {
	file = substr($0, 4)
	if (index(file, root) == 1)
		file = substr(file, length(root) + 1)
	files[++n] = file
}
/^LF:/ { lines[file] += substr($0, 4) }
/^LH:/ { hit[file] += substr($0, 4) }
END {
	print "# Line coverage: the last run of `./check --coverage`"
	print ""
	print "All tests of `make check`, built with -O0. The end explains what is not reached."
	print ""
	print "| | lines | not reached | |"
	print "|---|--:|--:|--:|"
	for (i = 1; i <= n; i++) {
		folder = files[i]
		sub(/\/.*/, "/", folder)
		folder_lines[folder] += lines[files[i]]
		folder_hit[folder] += hit[files[i]]
		all_lines += lines[files[i]]
		all_hit += hit[files[i]]
	}
	row("**lib/**", folder_hit["lib/"], folder_lines["lib/"])
	row("**emu/**", folder_hit["emu/"], folder_lines["emu/"])
	row("**both**", all_hit, all_lines)
	for (i = 1; i <= n; i++)
		row(files[i], hit[files[i]], lines[files[i]])
}
