# Judges the output of a suite on a device:
# awk -f judge.awk -v device=rxe0 -v kind=rxe -v kernel=6.12 -v what=scripts -v rows=0 -v last=N
#     deviations.tsv TAP
# Prints TAP, numbered from N + 1, without a plan. With -v ask=names it prints the names of tests
# that neither passed nor deviated as deviations.tsv says; these may run once more, and then only
# the last run counts.
#
# A test that needs the emulator is skipped. A test that fails as its row of deviations.tsv says
# passes, with the reason; one that fails otherwise is a failure. So is a row whose test passes: the
# row is out of date.
BEGIN { FS = "\t" }

FILENAME == ARGV[1] {
	if (/^#/ || NF < 4)
		next
	at = index($1, "@")
	if (at && substr($1, at + 1) != kernel)
		next
	device_kind = at ? substr($1, 1, at - 1) : $1
	if (device_kind != kind && device_kind != "all")
		next
	if ($3 == "SKIP" || ($3 == "SLOW" && rows)) {
		if (index($2, what " ") == 1)
			skipped[++skips] = $2 "\t" $4
		if ($2 == what " *")
			not_run = 1
		next
	}
	if ($3 == "SLOW")
		next
	mode[$2] = $3 ~ /^[~%]/ ? substr($3, 1, 1) : ""
	wanted[$2] = substr($3, length(mode[$2]) + 1)
	why[$2] = $4
	next
}

/^(not )?ok / {
	finish()
	good = /^ok /
	line = $0
	said = ""
	next
}
# Check prints the plan first, datsim last; a second plan begins the repeated tests.
/^1\.\.[0-9]+$/ {
	finish()
	plan += substr($0, 4)
	run++
	next
}
/^# (trace, the last|pending|replay)/ { next }
/^#/ && line { said = said "\n" $0 }
END {
	finish()
	if (ask)
		names()
	else
		say()
}

# "ok 3 - tests/scripts/ep/rights.dsim # SKIP why" or "not ok 3 -
# ../tests/unit/dto/test_dto.c:case:name: message"
function split_title(title,    part) {
	skip = ""
	if (match(title, / # SKIP /)) {
		skip = substr(title, RSTART + 8)
		title = substr(title, 1, RSTART - 1)
	}
	if (match(title, /tests\/scripts\//)) {
		name = substr(title, RSTART + 14)
		sub(/\.dsim$/, "", name)
		case_of[name] = name
		return
	}
	split(title, part, ":")
	name = what " " part[3]
	case_of[name] = part[2]
	said = substr(title, length(part[1]) + length(part[2]) + length(part[3]) + 5) said
	if (said ~ /^SKIP /) {
		skip = substr(said, 6)
		sub(/\n.*/, "", skip)
	}
}

# Records one result and drops the result of an earlier run of the same test.
function finish(    title) {
	if (!line)
		return
	seen++
	title = line
	sub(/^(not )?ok [0-9]+ - /, "", title)
	split_title(title)
	line = ""
	if (!(name in runs))
		order[++names_seen] = name
	if (runs[name] != run)
		results[name] = failures[name] = 0
	runs[name] = run
	result[name, ++results[name]] = skip ? "skip" : good ? "good" : \
		said ~ wanted_of(name) ? "deviates" : "bad"
	if (!skip && !good)
		failures[name]++
	text[name, results[name]] = skip ? skip : said
}

function wanted_of(name) { return name in wanted ? wanted[name] : "^no such text$" }

# The test is in deviations.tsv, has run, and all of it passes.
function out_of_date(name) {
	return name in wanted && result[name, 1] != "skip" && !failures[name] &&
		mode[name] != "~" && (mode[name] != "%" || !rows)
}

function names(    i, j, bad, done) {
	for (i = 1; i <= names_seen; i++) {
		bad = out_of_date(order[i])
		for (j = 1; j <= results[order[i]]; j++)
			bad += result[order[i], j] == "bad"
		if (bad && !(case_of[order[i]] in done)) {
			done[case_of[order[i]]] = 1
			print case_of[order[i]]
		}
	}
}

function say(    i, j, part) {
	for (i = 1; i <= skips; i++) {
		split(skipped[i], part, "\t")
		sub(/ \*$/, "", part[1])
		print "ok " ++last " - " device " " part[1] " # SKIP " part[2]
	}
	for (i = 1; i <= names_seen; i++)
		for (j = 1; j <= results[order[i]]; j++)
			say_result(order[i], result[order[i], j], text[order[i], j])
	if (!plan && not_run)
		return
	if (plan == "" || plan != seen)
		print "not ok " ++last " - " device " " what ": ended after " seen + 0 " of " \
			(plan == "" ? "?" : plan) " tests"
}

function say_result(name, is, said) {
	last++
	if (is == "skip") {
		print "ok " last " - " device " " name " # SKIP " said
	} else if (is == "good" && out_of_date(name)) {
		print "not ok " last " - " device " " name \
			": it passes, though deviations.tsv says: " why[name]
	} else if (is != "bad" && mode[name]) {
		print "ok " last " - " device " " name ": deviates at times: " why[name]
	} else if (is == "good") {
		print "ok " last " - " device " " name
	} else if (is == "deviates") {
		print "ok " last " - " device " " name ": deviates: " why[name]
	} else {
		print "not ok " last " - " device " " name
		gsub(/\n#? ?/, "\n#   ", said)
		print "#   " said
	}
}
