# Makes doc/results/mutants.md from present.tsv, arguments.tsv, fresh.tsv and results/ROOM.tsv, in
# this order.
# -v commit=HASH
#
# present.tsv has what `mutants.pl list` prints of all sources; rows about lines that they have no
# longer are not counted.
# A row: FILE LINE FUNCTION OPERATOR CLASS OUTCOME BEFORE AFTER COMMIT. The last row of a change
# counts. Of fresh.tsv, whose rows also have seed and room, lines that are gone count too.
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
FILENAME ~ /fresh\.tsv$/ {
	if ($0 ~ /^#/)
		next
	if (!(($10, $11, $1, $3, $7, $8) in fresh_of))
		fresh_of[$10, $11, $1, $3, $7, $8] = ++looks
	fresh[fresh_of[$10, $11, $1, $3, $7, $8]] = $0
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
function is_argued(f, before, after) {
	before = plain(f[7])
	after = plain(f[8])
	return (f[1], before, after, "") in argued || (f[1], before, after, f[3]) in argued
}
function is_left(f) {
	return f[6] == "unreached" || f[6] ~ /^survived/ || (f[6] ~ /^once/ && f[5] != "race")
}
# A row of the second table for each room, seed and commit
function look(i, f, room) {
	split(fresh[i], f, "\t")
	if (f[6] == "same" || f[6] == "unbuilt")
		return
	room = sprintf("%s | %d | %s", f[11], f[10], f[9])
	if (!(room in tried))
		first[++m] = room
	tried[room] += !is_argued(f)
	silent[room] += is_argued(f)
	noticed[room] += !is_argued(f) && !is_left(f)
	left[room] += !is_argued(f) && is_left(f)
}
function print_fresh(i, all) {
	all = "all | |"
	print ""
	print "## A fresh sample, before anything was mended"
	print ""
	print "Changes of a seed that was not used before, all outside races, against the tests"
	print "as they were at that commit. This figure is what the suite notices of changes that"
	print "have not been looked at; the table above rises with each test written for one."
	print "It is a lower bound: `tests/mutants/fresh.tsv` says which tests a change has met."
	print ""
	print "| room | seed | commit | changes | noticed | | not noticed | argued |"
	print "|---|--:|---|--:|--:|--:|--:|--:|"
	for (i = 1; i <= m; i++) {
		print_room(first[i])
		tried[all] += tried[first[i]]
		noticed[all] += noticed[first[i]]
		left[all] += left[first[i]]
		silent[all] += silent[first[i]]
	}
	print_room(all)
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
	if (is_argued(f)) {
		silent[room]++
		return
	}
	tried[room]++
	if (is_left(f)) {
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
	for (i = 1; i <= looks; i++)
		look(i)
	if (m)
		print_fresh()
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
