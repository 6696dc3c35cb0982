# Makes doc/results/coverage.md from an .info file of llvm-cov: lines and branches by room and file.
# -v rooms="host lib ..." -v commit=HASH
function percent(hit, all) { return all ? sprintf("%.1f %%", 100 * hit / all) : "-" }
function row(name, key) {
	printf "| %s | %d | %d | %s | %d | %d | %s |\n", name, lines[key], lines[key] - hit[key],
		percent(hit[key], lines[key]), branches[key], branches[key] - taken[key],
		percent(taken[key], branches[key])
}
function add(into) {
	split($0, part, ":")
	into[file] += part[2]
	into[room] += part[2]
	into["all"] += part[2]
}
BEGIN {
	count = split(rooms, room_names, " ")
	for (i = 1; i <= count; i++)
		wanted[room_names[i]]
}
/^SF:/ {
	file = substr($0, 4)
	room = match(file, /^(tools\/)?[^\/]*/) ? substr(file, 1, RLENGTH) : file
	if (room in wanted)
		files[++n] = file
}
!(room in wanted) { next }
/^LF:/ { add(lines) }
/^LH:/ { add(hit) }
/^BRF:/ { add(branches) }
/^BRH:/ { add(taken) }
END {
	print "# Coverage of lines and branches: the last run of `./check --coverage`"
	print ""
	if (commit)
		print "Commit " commit "."
	print "All tests of `make check`, built by clang with -O0; processes that are killed count."
	print "The end explains what is not reached."
	print ""
	print "| | lines | not reached | | branches | not taken | |"
	print "|---|--:|--:|--:|--:|--:|--:|"
	for (i = 1; i <= count; i++)
		row("**" room_names[i] "/**", room_names[i])
	row("**all**", "all")
	for (i = 1; i <= n; i++)
		row(files[i], files[i])
}
