#!/bin/sh
# Each kind of output with a value that differs: the script fails, and the report says what came.
datsim=$top_builddir/tools/datsim/datsim
table=$top_srcdir/tests/objects/mismatches.tsv
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tab=$(printf '\t')
n=0

# verdict ACTUAL: of the script in `work`
verdict() {
	"$datsim" test "$work/script.dsim" > "$work/out" 2>&1
	if [ -z "$1" ]; then
		grep -q '^ok 1 ' "$work/out"
	else
		grep -q '^not ok 1 ' "$work/out" && grep -qxF "# actual:   $1" "$work/out"
	fi
}

echo "1..$(grep -c '^[ab]: ' "$table")"
while IFS=$tab read -r line actual; do
	case $line in '#'*) continue ;; esac
	n=$((n + 1))
	printf 'use    connected a@emu0 b@emu1\n       %s\n' "$line" > "$work/script.dsim"
	if verdict "$actual"; then
		echo "ok $n - $line"
	else
		echo "not ok $n - $line"
		sed 's/^/#   /' "$work/out"
	fi
done < "$table"
