#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Memory orders that no processor of this kind shows: the models of orders.cc hold in each execution
# that C11 permits, and do not if one of their orders is left out. TAP.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
source=${top_srcdir:-$(dirname "$0")/../..}/tests/litmus/orders.cc
: "${CXX:=g++}"

if ! command -v "${CXX%% *}" > /dev/null; then
	echo "1..0 # SKIP there is no C++ compiler ($CXX)"
	exit 0
fi
if ! echo '#include <relacy/relacy.hpp>' | $CXX -x c++ -E - > "$dir/said" 2>&1; then
	echo "1..0 # SKIP relacy is not installed (Debian: relacy-dev)"
	exit 0
fi
if ! $CXX -O1 -w -o "$dir/orders" "$source" > "$dir/said" 2>&1; then
	echo "Bail out! orders.cc does not compile"
	sed 's/^/# /' "$dir/said"
	exit 1
fi

n=0
# model NAME ORDERS: so many may be left out
model() {
	for left_out in '' $(seq "$2"); do
		n=$((n + 1))
		title="$1${left_out:+: without order $left_out an execution is wrong}"
		if "$dir/orders" "$1" $left_out > "$dir/said" 2>&1; then
			echo "ok $n - $title"
		else
			echo "not ok $n - $title"
			sed 's/^/#   /' "$dir/said"
		fi
	done
}
echo 1..25
model bias 6
model exit 1
model rollback 4
model reach 1
model split 8
