# Makes doc/results/mutants.md from present.tsv, arguments.tsv and results/ROOM.tsv, in this order.
# -v commit=HASH
#
# present.tsv has what `mutants.pl list` prints of all sources; rows about lines that they have no
# longer are not counted.
# A row: FILE LINE FUNCTION OPERATOR CLASS OUTCOME BEFORE AFTER COMMIT. The last row of a change
# counts.
BEGIN { FS = "\t" }
function plain(code) {
	gsub(/\\t/, " ", code)
	gsub(/\t/, " ", code)
	sub(/^ +/, "", code)
	return code
}
function room_of(file) {
	sub(/.*\//, "", file)
	sub(/\.tsv$/, "", file)
	return file
}
FILENAME ~ /present\.tsv$/ {
	present[$1, $3, $6, $7]
	next
}
FILENAME ~ /arguments\.tsv$/ {
	if ($0 !~ /^#/)
		argued[$1, $2, $3, $5]
	next
}
!(($1, $3, $7, $8) in present) {
	gone[$1, $3, $7, $8]
	next
}
!(($1, $3, $7, $8) in row_of) { row_of[$1, $3, $7, $8] = ++changes }
{
	i = row_of[$1, $3, $7, $8]
	row[i] = $0
	home[i] = room_of(FILENAME)
}
function count(i, f, room, before, after) {
	split(row[i], f, "\t")
	if (f[6] == "same" || f[6] == "unbuilt")
		return
	room = f[5] == "race" ? "races, all rooms" : home[i]
	if (home[i] == "whole")
		room = "whole sources"
	if (!(room in seen)) {
		seen[room] = 1
		if (room !~ / /)
			rooms[++n] = room
	}
	before = plain(f[7])
	after = plain(f[8])
	if ((f[1], before, after, "") in argued || (f[1], before, after, f[3]) in argued) {
		silent[room]++
		return
	}
	tried[room]++
	if (f[6] == "unreached" || f[6] ~ /^survived/ || (f[6] ~ /^once/ && f[5] != "race")) {
		left[room]++
		survivors[++s] = sprintf("- %s:%d of %s, %s,\n  %s: %s\n\n%s\n%s\n", f[1],
			f[2], f[9], f[3], f[4], f[6], substr("      - " before, 1, 96),
			substr("      + " after, 1, 96))
		if (f[6] ~ /^survived .*tests of up to [0-9.]+ s/)
			hasty++
	} else {
		noticed[room]++
	}
}
function print_room(room, percent) {
	percent = tried[room] ? 100 * noticed[room] / tried[room] : 0
	printf "| %s | %d | %d | %.0f %% | %d | %d |\n", room, tried[room], noticed[room],
		percent, left[room], silent[room]
}
END {
	for (i = 1; i <= changes; i++)
		count(i)
	if ("races, all rooms" in seen)
		rooms[++n] = "races, all rooms"
	if ("whole sources" in seen)
		rooms[++n] = "whole sources"
	print "# Planted changes: does the suite notice?"
	print ""
	print "Made by `tests/mutants/run.sh`; the copy that it used last is of " commit "."
	print "Each was made alone in a copy of the tree, and the tests that run its line were run"
	print "until one failed. Changes that do not compile, or compile to the same code, are not"
	print "counted. Those without effect, each with its reason in"
	print "`tests/mutants/arguments.tsv`, are counted apart. The file"
	print "`tests/mutants/README.md` explains."
	print ""
	print "| room | changes | noticed | | not noticed | argued |"
	print "|---|--:|--:|--:|--:|--:|"
	for (i = 1; i <= n; i++)
		print_room(rooms[i])
	if (length(gone)) {
		print ""
		print length(gone) " changes that were tried before are not counted: their lines"
		print "are gone."
	}
	if (hasty) {
		print ""
		print hasty " of those not noticed have met quick tests only, or the"
		print "likeliest, as they say below: other tests may notice them."
		print "The figures are lower bounds."
	}
	if (!s)
		exit
	print ""
	print "## Not noticed"
	print ""
	for (i = 1; i <= s; i++)
		print survivors[i]
}
