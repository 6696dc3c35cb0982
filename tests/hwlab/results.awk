# Converts the TAP of the lab for the conformance page: awk -v device=rxe0 -f results.awk TAP.
# Prints a line per test: name, ok or deviates. A test that did not run has no line.
{
	start = "^ok [0-9]+ - " device " "
	if ($0 !~ start || / # SKIP /)
		next
	name = $0
	sub(start, "", name)
	state = sub(/: deviates( at times)?: .*/, "", name) ? "deviates" : "ok"
	if (name ~ /^test_[a-z_]+ [^ ]+$/)
		sub(/ /, ":", name)
	else if (name ~ /^[a-z]+\/[a-z0-9-]+$/)
		name = name ".dsim"
	else
		next
	if (result[name] != "deviates")
		result[name] = state
}
END {
	for (name in result)
		print name "\t" result[name] | "LC_ALL=C sort"
}
