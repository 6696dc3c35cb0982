# Compares the results of a lab with the ones kept in tests/conformance:
# awk -v kind=rxe -v chosen="test_a test_b" -f columns.awk deviations.tsv SHOWN KEPT
# Prints one line per difference. SLOW suites may be missing from either side, and suites of
# tests/unit that were not chosen from SHOWN.
BEGIN {
	count = split(chosen, names, " ")
	for (i = 1; i <= count; i++)
		was_chosen[names[i]] = 1
}
FNR == 1 { file++ }
file == 1 {
	if ($3 == "SLOW" && ($1 == kind || $1 == "all") && sub(/ \*$/, "", $2))
		slow[$2] = 1
	next
}
file == 2 { shown[$1] = $2; next }
{
	kept[$1] = 1
	suite = $1
	sub(/:.*/, "", suite)
	if ($1 in shown && shown[$1] != $2)
		print $1 ": " shown[$1] ", kept as " $2
	else if (!($1 in shown) && !(suite in slow) && (suite !~ /^test_/ || suite in was_chosen))
		print $1 ": not run, kept as " $2
}
END {
	for (name in shown) {
		suite = name
		sub(/:.*/, "", suite)
		if (!(name in kept) && !(suite in slow))
			print name ": " shown[name] ", not kept"
	}
}
