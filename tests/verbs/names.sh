#!/bin/sh
# The names that our libibverbs and librdmacm export, with their versions: those of the tables, and
# those of the system's libraries of the release that the tables are for.
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
			if (part[2] ~ /^(IBVERBS|RDMACM)_/)
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

# compare LIBRARY TABLE VERSIONS
compare() {
	exported "$libs/$1" > "$work/ours"
	same "$1 exports what its table says" "$2" "$work/ours"
	${NM:-nm} -D --defined-only "$libs/$1" | awk '{ print $NF }' |
		grep -vE "@@?($3)_|^($3)_" > "$work/others"
	: > "$work/none"
	same "$1 exports nothing else" "$work/none" "$work/others"
	system=$(ldconfig -p 2> /dev/null | sed -n "s/.*$1 .*=> //p" | head -n 1)
	case $(readlink -f "${system:-/none}") in
	*.44.*)
		exported "$system" > "$work/system"
		same "so does the system's $1" "$2" "$work/system"
		;;
	*) echo "ok - so does the system's $1 # SKIP it is not of release 44" ;;
	esac
}

# private LIBRARY FLAG: the names of the version that the two libraries share
private() {
	${NM:-nm} -D "--$2" --with-symbol-versions "$libs/$1" | awk '{ print $NF }' |
		sed -n 's/@@*LIBDAT_PRIVATE_.*//p' | sort
}

[ -e "$libs/librdmacm.so.1" ] && plan=7 || plan=3
echo 1..$plan
grep -v '^#' "$top_srcdir/verbs/names.tsv" | awk -F '\t' '{ print $1, $2, $3 }' |
	sort > "$work/ibverbs"
compare libibverbs.so.1 "$work/ibverbs" 'IBVERBS|LIBDAT_PRIVATE'
[ $plan -eq 3 ] && exit
grep -v '^#' "$top_srcdir/verbs/cm/names.tsv" | awk -F '\t' '{ print $1, $2, "default" }' |
	sort > "$work/rdmacm"
compare librdmacm.so.1 "$work/rdmacm" RDMACM
private libibverbs.so.1 defined-only > "$work/given"
private librdmacm.so.1 undefined-only > "$work/taken"
same "librdmacm.so.1 takes all that libibverbs.so.1 has for it" "$work/given" "$work/taken"
