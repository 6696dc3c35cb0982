#!/bin/sh
# lay.sh KIND ANSWERS: compares the answers of a device with the emulator's; KIND is a column of
# differences.tsv. Prints a line per scenario, "ok TITLE" or "not ok TITLE", and its differences
# below. A difference passes if differences.tsv has it; an entry there without a difference fails.
here=$(cd "$(dirname "$0")" && pwd)
awk -v kind="$1" -F '\t' '
function scenario(fact) { sub(/\..*/, "", fact); return fact }
function note(fact, text) { notes[scenario(fact)] = notes[scenario(fact)] "#   " text "\n" }
function wrong(fact, text) { bad[scenario(fact)] = 1; note(fact, text) }
FILENAME ~ /differences/ {
	if ($0 !~ /^#/ && $1 == kind) { expected[$2] = $3; why[$2] = $4 }
	next
}
{
	fact = $0; sub(/ .*/, "", fact)
	answer = $0; sub(/^[^ ]* /, "", answer)
	if (!(scenario(fact) in seen)) { seen[scenario(fact)] = 1; order[++n] = scenario(fact) }
}
FILENAME ~ /emulator/ { emulator[fact] = answer; next }
{ device[fact] = answer }
END {
	for (fact in emulator) {
		shown = fact in device ? device[fact] : "(no answer)"
		if (fact in expected && shown == expected[fact])
			note(fact, fact ": emulator " emulator[fact] ", " kind " " shown \
				" (" why[fact] ")")
		else if (fact in expected)
			wrong(fact, fact ": expected of " kind " " expected[fact] ", found " shown)
		else if (shown != emulator[fact] && !gone(fact))
			wrong(fact, fact ": emulator " emulator[fact] ", " kind " " shown)
	}
	for (fact in device)
		if (!(fact in emulator))
			wrong(fact, fact ": of " kind " only: " device[fact])
	for (i = 1; i <= n; i++)
		printf "%sok %s: %s%s\n%s", order[i] in bad ? "not " : "", kind, order[i],
			notes[order[i]] && !(order[i] in bad) ? ", with differences" : "",
			notes[order[i]]
}
# A missing call makes the rest of its scenario meaningless.
function gone(fact) {
	if (fact in device || !((scenario(fact) ".create") in expected)) return 0
	return expected[scenario(fact) ".create"] ~ /NOT_SUPPORTED/
}
' "$here/differences.tsv" "$here/emulator.txt" "$2"
