# The results of `make check`, from the logs of its tests: NAME <tab> ok | not ok | skipped.
#
# NAME is PROGRAM:TEST for a test of a Check program, the name of the case if it has slashes (the
# tables of tests/sweep: CALL/CODE/HOW), and AREA/FILE for a script. A test that ran several times
# (traced and untraced, in loops) is ok if all its runs were.
FNR == 1 {
	file = FILENAME
	sub(/^.*\/tests\//, "", file)
	sub(/\.log$/, "", file)
	script = file
	sub(/^scripts\//, "", script)
	program = file
	sub(/^.*\//, "", program)
}
/^(not )?ok [0-9]+/ {
	verdict = /^not/ ? "not ok" : / # SKIP/ ? "skipped" : "ok"
	name = script (/\.dsim$/ ? ".dsim" : ".sh")
	if (split($0, part, ":") >= 4 && part[1] ~ /\.[ch]$/)
		name = part[2] ~ /\// ? part[2] : program ":" part[3]
	if (!(name in result) || verdict == "not ok" ||
	    (verdict == "skipped" && result[name] == "ok"))
		result[name] = verdict
}
/^ERROR: / { broken[script ".sh"] = broken[script ".dsim"] = broken[program] = 1 }
END {
	for (name in result) {
		base = name
		sub(/:.*/, "", base)
		print name "\t" (base in broken ? "not ok" : result[name])
	}
}
