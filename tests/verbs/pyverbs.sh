#!/bin/sh
# The tests that come with Debian's python3-pyverbs, as they come: what each says is compared with
# pyverbs.tsv. Those for devices of one vendor (mlx5, efa) are left out.
datsim=$top_builddir/tools/datsim/datsim
here=$top_srcdir/tests/verbs

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ -e "$top_builddir/verbs/.libs/librdmacm.so.1" ] || skip "librdmacm is not built"
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	skip "a program without a sanitizer cannot load a library with one"
fi
# The system's, for which the package is, may not be the first one.
python=/usr/bin/python3
$python -c 'import pyverbs.device' 2> /dev/null ||
	skip "pyverbs is missing: apt-get install python3-pyverbs"
tests=/usr/share/doc/rdma-core/tests
[ -e $tests/run_tests.py ] || skip "python3-pyverbs was installed without its documentation"
case $(dpkg-query -W -f '${Version}' python3-pyverbs) in
44.*) ;;
*) skip "pyverbs.tsv is for release 44" ;;
esac
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

mkdir "$work/tests" && cp $tests/*.py* "$work/tests" && gunzip "$work"/tests/*.gz &&
	rm "$work"/tests/test_mlx5_* "$work"/tests/test_efa* || exit 99
# The tests of librdmacm fork two processes, which meet on a shared fabric.
DATSIM_FABRIC=pyverbs.$$ "$datsim" run --quiet -- $python "$here/pyverbs_run.py" "$work" \
	--dev emu0 > "$work/said" 2> "$work/errors" < /dev/null

# Rows "machine" need what few machines have: huge pages, a GPU. One of the two processes of a test
# that fails says why in a line "Player ..." before the line of the test.
: > "$work/why"
awk -F '\t' -v why="$work/why" '
	FILENAME ~ /tsv$/ { if (!/^#/) { row[$1] = $0; result[$1] = $2 } next }
	/^Player / { players[++n] = substr($0, 1, 300); next }
	!/^test_/ { print; next }
	{ for (i = 1; i <= n; i++) print $1 ": " players[i] > why; n = 0 }
	result[$1] == "machine" && $2 != "FAIL" { $0 = row[$1] }
	{ print }
' "$here/pyverbs.tsv" "$work/said" > "$work/answers"

modules=$(grep -v '^#' "$here/pyverbs.tsv" | sed 's/\..*//' | uniq)
# shellcheck disable=SC2086
echo 1..$(($(echo $modules | wc -w) + 2))
for module in $modules; do
	n=$((n + 1))
	grep "^$module\." "$here/pyverbs.tsv" > "$work/expected"
	grep "^$module\." "$work/answers" > "$work/came"
	if diff "$work/expected" "$work/came" > "$work/diff"; then
		echo "ok $n - $module: $(cut -f 2 "$work/expected" | sort | uniq -c | xargs)"
	else
		echo "not ok $n - $module"
		grep "^$module\." "$work/why" | sed 's/^/# /'
		sed 's/^/# /' "$work/diff" "$work/errors"
	fi
done
# A line more, if a process of a test died or was left alone; or a test that the table lacks.
cut -f 1 "$work/answers" | sort > "$work/came"
grep -v '^#' "$here/pyverbs.tsv" | cut -f 1 | sort > "$work/expected"
if diff "$work/expected" "$work/came" > "$work/diff"; then
	echo "ok $((n + 1)) - the table has each test, and nothing else was said"
else
	echo "not ok $((n + 1)) - the table has each test, and nothing else was said"
	sed 's/^/# /' "$work/diff" "$work/errors"
fi

# The fixture of the manual.
mkdir "$work/manual"
awk -v to="$work/manual" '
	/^```python / { file = to "/" $2; next }
	/^```/ { file = "" }
	file { print > file }' "$top_srcdir/doc/verbs.md"
title="$((n + 2)) - the fixture of doc/verbs.md"
if ! $python -c 'import pytest' 2> /dev/null; then
	echo "ok $title # SKIP pytest is missing: apt-get install python3-pytest"
elif "$datsim" run -- $python -m pytest -q -p no:cacheprovider "$work/manual" \
	> "$work/out" 2>&1 < /dev/null && grep -q '^1 passed' "$work/out"; then
	echo "ok $title"
else
	echo "not ok $title"
	sed 's/^/# /' "$work/out"
fi
