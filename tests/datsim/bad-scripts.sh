#!/bin/sh
# The exact diagnostics of bad scripts: compares the output for bad/NAME.script with
# bad/NAME.expected. With --write it writes the .expected files; review the difference before you
# commit it.
here=$(cd "$(dirname "$0")" && pwd)
datsim=${top_builddir:-$here/../..}/tools/datsim/datsim
if [ ! -x "$datsim" ]; then
	echo "Bail out! tools/datsim/datsim is not built"
	exit 1
fi
cd "$here/bad" || exit 99
scratch=$(mktemp) || exit 99
trap 'rm -f "$scratch"' EXIT

set -- "${1:-}" ./*.script
write=$1
shift
echo "1..$#"
n=0
for script; do
	n=$((n + 1))
	name=${script#./}
	name=${name%.script}
	"$datsim" test "$name.script" > "$scratch" 2>&1
	status=$?
	if [ "$write" = --write ]; then
		cp "$scratch" "$name.expected"
	fi
	if [ $status -ne 2 ]; then
		echo "not ok $n - $name: exit status $status, expected 2"
	elif cmp -s "$scratch" "$name.expected"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		diff "$name.expected" "$scratch" | sed 's/^/#   /'
	fi
done
