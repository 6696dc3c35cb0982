#!/bin/sh
# The names that our libibverbs exports, with their versions: those of verbs/names.tsv, and those of
# the system's libibverbs of the release that the table is for.
table=$top_srcdir/verbs/names.tsv
ours=$top_builddir/verbs/.libs/libibverbs.so.1

if [ ! -e "$ours" ]; then
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
			if (part[2] ~ /^IBVERBS_/)
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

echo 1..3
grep -v '^#' "$table" | awk -F '\t' '{ print $1, $2, $3 }' | sort > "$work/table"
exported "$ours" > "$work/ours"
same "libibverbs.so.1 exports what names.tsv says" "$work/table" "$work/ours"

${NM:-nm} -D --defined-only "$ours" | awk '{ print $NF }' |
	grep -vE '@@?IBVERBS_|^IBVERBS_' > "$work/others"
: > "$work/none"
same "libibverbs.so.1 exports nothing else" "$work/none" "$work/others"

system=$(ldconfig -p 2> /dev/null | sed -n 's/.*libibverbs\.so\.1 .*=> //p' | head -n 1)
case $(readlink -f "${system:-/none}") in
*.so.1.14.44.*)
	exported "$system" > "$work/system"
	same "so does the system's libibverbs" "$work/table" "$work/system"
	;;
*) echo "ok - so does the system's libibverbs # SKIP it is not of release 44" ;;
esac
