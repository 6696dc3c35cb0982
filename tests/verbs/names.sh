#!/bin/sh
# The names that our libibverbs and librdmacm export, with their versions: those of the tables, and
# those of the system's libraries of release 44 (Debian 12) and of release 56 (Debian 13). Our
# libraries of drivers have at least the names of both.
libs=$top_builddir/verbs/.libs

if [ ! -e "$libs/libibverbs.so.1" ]; then
	echo "1..0 # SKIP the verbs front is not built"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# exported LIBRARY: NAME VERSION default|old
exported() {
	${NM:-nm} -D --with-symbol-versions "$1" | awk '
		$2 ~ /^[TDBRVW]$/ && $3 ~ /@/ {
			kind = $3 ~ /@@/ ? "default" : "old"
			split($3, part, /@+/)
			if (part[2] ~ /^(IBVERBS|RDMACM|MLX[45]|EFA|MANA|HNS)_/)
				print part[1], part[2], kind
		}' | sort
}

# same TITLE FILE FILE
same() {
	if diff "$2" "$3" > "$work/diff"; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		sed 's/^/# /' "$work/diff"
	fi
}

# of_system LIBRARY: its names, if the system has release 44
of_system() {
	system=$(ldconfig -p 2> /dev/null | sed -n "s/.*$1 .*=> //p" | head -n 1)
	case $(readlink -f "${system:-/none}") in
	*.44.*) exported "$system" > "$work/system" ;;
	*) return 1 ;;
	esac
}

# compare LIBRARY TABLE VERSIONS: the table's fourth column, if any, is a release after 44
compare() {
	exported "$libs/$1" > "$work/ours"
	awk '{ print $1, $2, $3 }' "$2" > "$work/all"
	awk 'NF == 3' "$2" > "$work/44"
	same "$1 exports what its table says" "$work/all" "$work/ours"
	${NM:-nm} -D --defined-only "$libs/$1" | awk '$2 !~ /^[bdrt]$/ { print $NF }' |
		grep -vE "@@?($3)_|^($3)_" > "$work/others"
	same "$1 exports nothing else" "$work/none" "$work/others"
	if of_system "$1"; then
		same "so does the system's $1" "$work/44" "$work/system"
	else
		echo "ok - so does the system's $1 # SKIP it is not of release 44"
	fi
}

# has LIBRARY: what the system's library, and that of release 56, export
has() {
	exported "$libs/$1" > "$work/ours"
	if of_system "$1"; then
		comm -23 "$work/system" "$work/ours" > "$work/missing"
		same "$1 has the names of the system's" "$work/none" "$work/missing"
	else
		echo "ok - $1 has the names of the system's # SKIP it is not of release 44"
	fi
	awk -F '\t' -v lib="$1" '$1 == lib { print $2, $3 }' \
		"$top_srcdir/tests/verbs/names-56.tsv" | sort > "$work/56"
	awk '{ print $1, $2 }' "$work/ours" | sort > "$work/ours2"
	comm -23 "$work/56" "$work/ours2" > "$work/missing"
	[ -s "$work/56" ] || echo "the table has none of $1" > "$work/missing"
	same "$1 has the names of release 56" "$work/none" "$work/missing"
}

# private LIBRARY FLAG: the names of the version that the two libraries share
private() {
	${NM:-nm} -D "--$2" --with-symbol-versions "$libs/$1" | awk '{ print $NF }' |
		sed -n 's/@@*LIBDAT_PRIVATE_.*//p' | sort
}

[ -e "$libs/librdmacm.so.1" ] && plan=21 || plan=15
echo 1..$plan
: > "$work/none"
grep -v '^#' "$top_srcdir/verbs/names.tsv" | awk -F '\t' '{ print $1, $2, $3, $5 }' |
	sed 's/ *$//' | sort > "$work/ibverbs"
compare libibverbs.so.1 "$work/ibverbs" 'IBVERBS|LIBDAT_PRIVATE'
for lib in libibverbs libmlx4 libmlx5 libefa libmana libhns; do
	has $lib.so.1
done
[ $plan -eq 15 ] && exit
has librdmacm.so.1
grep -v '^#' "$top_srcdir/verbs/cm/names.tsv" | awk -F '\t' '{ print $1, $2, "default" }' |
	sort > "$work/rdmacm"
compare librdmacm.so.1 "$work/rdmacm" RDMACM
private libibverbs.so.1 defined-only > "$work/given"
private librdmacm.so.1 undefined-only > "$work/taken"
same "librdmacm.so.1 takes all that libibverbs.so.1 has for it" "$work/given" "$work/taken"
