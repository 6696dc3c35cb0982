#!/bin/sh
# Commits: a subject of at most 72 characters, a body that says why. Held for those that follow the
# first commit of the rule; skipped where there is no history, as in a release.
. "$(dirname "$0")/begin.sh"

first=44f419a22775 # the commit before the rooms

# HASH|SUBJECT|first line of the body, for each commit that the rule holds
commits() {
	git log --no-merges --format='%h|%s|%b%x00' "$1" | tr '\n\0' '|\n' | sed 's/^|//' |
		awk -F'|' '
		NF > 1 { print $1 "|" $2 "|" $3 $4 }'
}

rule_subjects() {
	awk -F'|' 'length($2) > 72 {
		print $1 ": the subject has " length($2) " characters: " $2
	}' "$1"
}

rule_subjects_form() {
	awk -F'|' '$2 ~ /\.$/ || $2 ~ /^(fixup|squash|amend|wip|WIP)/ { print $1 ": " $2 }' "$1"
}

# Commits without a body that were published before this was noticed; their subjects say all.
bodiless='^(79f0905|e599887|1fd302a)'

rule_bodies() {
	awk -F'|' -v known="$bodiless" '
		$3 == "" && $1 !~ known { print $1 ": no body says why: " $2 }' "$1"
}

cat > "$work/planted" << 'PLANT'
1234567|tests: a subject that goes on until it has quite a few more than 72 characters|why
1234568|fixup! emu: a commit that was meant to be folded into another one|why
1234569|emu: a commit that says what and never says why||
PLANT

rule() {
	found=$("$1" "$work/commits")
	caught=$("$1" "$work/planted")
	verdict "$2"
}

cd "$top_srcdir" || exit 99
if ! git cat-file -e "$first" 2> /dev/null || ! git merge-base --is-ancestor "$first" HEAD; then
	echo "1..0 # SKIP there is no history of this tree here"
	exit 0
fi
commits "$first..HEAD" > "$work/commits"
echo 1..3
rule rule_subjects "subjects have at most 72 characters"
rule rule_subjects_form "subjects end without a period, and none is a draft"
rule rule_bodies "each commit has a body that says why"
