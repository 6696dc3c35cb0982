# What a suite said on a device, judged: awk -f judge.awk -v device=rxe0 -v kind=rxe -v what=scripts -v last=N
# deviations.tsv TAP. Prints TAP, numbered from N + 1, without a plan.
#
# A test that needs the emulator is skipped. One that fails as a row of deviations.tsv says is a pass, with the reason;
# one that fails otherwise is a failure, and so is a row whose test passes: it is out of date.
BEGIN { FS = "\t" }

FILENAME == ARGV[1] {
	if (/^#/ || NF < 4)
		next
	if ($1 == kind || $1 == "all") {
		wanted[$2] = $3
		why[$2] = $4
	}
	next
}

/^(not )?ok / {
	finish()
	good = /^ok /
	line = $0
	said = ""
	next
}
/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; next }
/^# (trace, the last|pending|replay)/ { next }
/^#/ && line { said = said "\n" $0 }
END {
	finish()
	if (plan == "" || plan != seen) {
		print "not ok " ++last " - " device " " what ": ended after " seen + 0 " of " (plan == "" ? "?" : plan) " tests"
	}
}

# "ok 3 - tests/scripts/ep/rights.dsim # SKIP why" or "not ok 3 - ../tests/unit/test_dto.c:case:name: message"
function split_title(title,    part) {
	skip = ""
	if (match(title, / # SKIP /)) {
		skip = substr(title, RSTART + 8)
		title = substr(title, 1, RSTART - 1)
	}
	if (match(title, /tests\/scripts\//)) {
		name = substr(title, RSTART + 14)
		sub(/\.dsim$/, "", name)
		return
	}
	split(title, part, ":")
	name = what " " part[3]
	said = substr(title, length(part[1]) + length(part[2]) + length(part[3]) + 5) said
	if (said ~ /^SKIP /) {
		skip = substr(said, 6)
		sub(/\n.*/, "", skip)
	}
}

function finish(    title) {
	if (!line)
		return
	seen++
	title = line
	sub(/^(not )?ok [0-9]+ - /, "", title)
	split_title(title)
	last++
	line = ""
	if (skip) {
		print "ok " last " - " device " " name " # SKIP " skip
	} else if (good && name in wanted && wanted[name] !~ /^~/) {
		print "not ok " last " - " device " " name ": it passes, though deviations.tsv says: " why[name]
	} else if (good) {
		print "ok " last " - " device " " name
	} else if (name in wanted && said ~ substr(wanted[name], wanted[name] ~ /^~/ ? 2 : 1)) {
		print "ok " last " - " device " " name ": deviates: " why[name]
	} else {
		print "not ok " last " - " device " " name
		gsub(/\n#? ?/, "\n#   ", said)
		print "#   " said
	}
}
