#!/bin/sh
# libdat.so exports exactly the names in lib/libdat.map, in their nodes; the map holds exactly what
# the public headers declare.
map=$top_srcdir/lib/libdat.map
headers=$top_srcdir/include/dat
lib=$top_builddir/.libs/libdat.so
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

if [ ! -e "$lib" ]; then
	echo "1..0 # SKIP no shared library in this build"
	exit 0
fi

n=0
# check WHAT FILE: passes if FILE, the list of offenders, is empty
check() {
	n=$((n + 1))
	if [ -s "$2" ]; then
		echo "not ok $n - $1"
		sed 's/^/#   /' "$2"
	else
		echo "ok $n - $1"
	fi
}

# NODE NAME, one a line, of the map
map_names() {
	sed 's,/\*.*\*/,,' "$1" | awk '
		/\/\*/ { comment = 1 }
		comment { if (/\*\//) comment = 0; next }
		/[{]/ { node = $1 }
		/global:/ { global = 1 }
		/local:/ || /[}]/ { global = 0 }
		global && /;/ { sub(/;/, ""); print node, $1 }' | sort
}

# NODE NAME, one a line, of the library; "?" where a name has no node
exported_names() {
	${NM:-nm} -D --defined-only "$1" | awk '
		$2 == "A" { next } # the nodes themselves
		$2 ~ /^[bdrt]$/ { next } # local symbols
		{ parts = split($NF, s, /@+/); print parts == 2 ? s[2] : "?", s[1] }' | sort
}

# functions that headers declare: NAME, one a line (the two that providers define are not ours)
declared_names() {
	cat "$@" | sed -n 's/^[A-Za-z][A-Za-z_ ]*[ *]\(dat_[a-z0-9_]*\)(.*/\1/p' |
		grep -v '^dat_provider_' | sort -u
}

map_names "$map" > "$work/map"
exported_names "$lib" > "$work/lib"

echo 1..7
comm -23 "$work/map" "$work/lib" > "$work/missing"
check "every name in the map is exported, in its node" "$work/missing"

comm -13 "$work/map" "$work/lib" > "$work/extra"
check "nothing else is exported" "$work/extra"

awk '$1 == "DAT_1.2" { print $2 }' "$work/map" | sort > "$work/standard"
declared_names "$headers/dat.h" "$headers/udat.h" "$headers/dat_registry.h" > "$work/declared"
comm -3 "$work/standard" "$work/declared" > "$work/odd"
check "node DAT_1.2 is what <dat/udat.h> and <dat/dat_registry.h> declare" "$work/odd"

: > "$work/count"
count=$(wc -l < "$work/standard")
[ "$count" -eq 72 ] || echo "$count names" > "$work/count"
check "these are the 72 functions of uDAPL 1.2" "$work/count"

awk '$1 ~ /^DATSIM_/ { print $2 }' "$work/map" | sort > "$work/sim"
declared_names "$headers/sim.h" > "$work/declared"
comm -3 "$work/sim" "$work/declared" > "$work/odd"
check "the DATSIM nodes are what <dat/sim.h> declares" "$work/odd"

: > "$work/soname"
soname=$(objdump -p "$lib" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libdat.so.1 ] || echo "SONAME is '$soname'" > "$work/soname"
check "the library is called libdat.so.1" "$work/soname"

# Would it be noticed? A map with one name changed must differ both ways.
sed 's/\<dat_ep_free\>/dat_ep_fred/' "$map" > "$work/bad.map"
map_names "$work/bad.map" > "$work/bad"
: > "$work/blind"
comm -23 "$work/bad" "$work/map" | grep -q '^DAT_1.2 dat_ep_fred$' ||
	echo "an extra name" >> "$work/blind"
comm -13 "$work/bad" "$work/map" | grep -q '^DAT_1.2 dat_ep_free$' ||
	echo "a missing name" >> "$work/blind"
check "a name too many or too few would be noticed" "$work/blind"
