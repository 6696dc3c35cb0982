#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs written for other DAT 1.2 headers compile unchanged. TAP, a line a file.
#
# LIBDAT_THIRD_PARTY names a folder that holds the folders dtest and dapltest, the test programs of
# DAT 1.2. They are not part of this tree; where the variable is not set, the test is skipped.
headers=${top_srcdir:-$(dirname "$0")/../..}/include
if [ -z "$LIBDAT_THIRD_PARTY" ]; then
	echo "1..0 # SKIP LIBDAT_THIRD_PARTY does not say where dtest and dapltest are"
	exit 0
fi
if [ ! -d "$LIBDAT_THIRD_PARTY/dtest" ] || [ ! -d "$LIBDAT_THIRD_PARTY/dapltest" ]; then
	echo "Bail out! no dtest and dapltest in $LIBDAT_THIRD_PARTY"
	exit 99
fi
cd "$headers" && headers=$PWD && cd "$OLDPWD" && cd "$LIBDAT_THIRD_PARTY" || exit 99
report=$(mktemp) || exit 99
trap 'rm -f "$report"' EXIT

# What their makefiles pass, and what turns a prototype that does not fit into an error. Flags of
# ours (sanitizers, warnings) are no business of theirs.
set -- -D_GNU_SOURCE -Wall -Werror=implicit-function-declaration \
	-Werror=incompatible-pointer-types -Werror=int-conversion \
	-Idapltest/include -Idapltest/mdep/linux -I"$headers"

files=$(find dtest dapltest -name '*.c' | sort)
echo "1..$(echo "$files" | wc -l)"
n=0
failed=0
for file in $files; do
	n=$((n + 1))
	if ${CC:-cc} "$@" -c "$file" -o /dev/null > "$report" 2>&1; then
		echo "ok $n - $file"
	else
		echo "not ok $n - $file"
		grep error "$report" | sed 's/^/#   /'
		failed=$((failed + 1))
	fi
done
[ "$failed" -eq 0 ]
