#!/bin/sh
# The manual pages are in place, and links of the documents lead to installed files. Build and run
# hello.c against the installed library, shared and static, the way a user would: with pkg-config
# and nothing from this tree. The libraries of the verbs front are in their folder, and the
# installed tool gives it to programs. installcheck.sh SRCDIR; the rest comes from the Makefile.
set -e
source=$1/tests/install/hello.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export PKG_CONFIG_PATH="$DESTDIR$pkgconfigdir"
export PKG_CONFIG_SYSROOT_DIR="$DESTDIR"
flags=$($PKG_CONFIG --cflags libdat)
libs=$($PKG_CONFIG --libs libdat)
static_libs=$($PKG_CONFIG --static --libs libdat | sed 's/-ldat\>/-l:libdat.a/')

# try NAME LIBS
try() {
	# shellcheck disable=SC2086
	$CC $CFLAGS -Wall -Werror $flags "$source" -o "$work/$1" $2
	said=$(LD_LIBRARY_PATH="$DESTDIR$libdir" "$work/$1")
	[ -n "$said" ]
	echo "installcheck: $1: ok ($said)"
}

# Sections 1, 3, 5 and 7, and one that only leads to another.
for page in man1/datsim.1 man3/libdat.3 man3/dat_srq_set_lw.3 man3/dat_ep_modify.3 \
	man3/dat_evd_disable.3 man5/dat.conf.5 man5/datsim-script.5 \
	man7/libdat-verbs.7; do
	file=$DESTDIR$mandir/$page
	to=$(sed -n 's/^\.so //p' "$file")
	[ -s "$DESTDIR$mandir/${to:-$page}" ]
done
if command -v man > /dev/null; then
	man -M "$DESTDIR$mandir" 3 dat_evd_disable | grep -q DAT_INVALID_HANDLE
fi
echo "installcheck: manual pages: ok"

sh "$1/tests/install/links.sh" "$DESTDIR$docdir" > "$work/dead" || {
	echo "installcheck: expected each link of a document to lead to an installed file, found" \
		"$(cat "$work/dead"): add the file to nobase_dist_doc_DATA" >&2
	exit 1
}
echo "installcheck: links of the documents: ok"

# The suite, where the installed tool looks for it; under DESTDIR it has to be told.
suite=
if [ -n "$DESTDIR" ]; then
	suite=$DESTDIR$conformancedir
fi
"$DESTDIR$bindir/datsim" conformance ${suite:+"$suite"} > "$work/suite"
echo "installcheck: conformance: ok ($(tail -n 1 "$work/suite"))"

if [ -e "$DESTDIR$libdir/libdat.so" ]; then
	try shared "$libs"
fi
if [ -e "$DESTDIR$libdir/libdat.a" ]; then
	try static "$static_libs"
fi

# The folder of the verbs front, if that was built. Under DESTDIR the tool would look in the folder
# where it will be.
verbs=$($PKG_CONFIG --variable=verbsdir libdat)
[ -z "$DESTDIR" ] || verbs=$DESTDIR${verbs#"$DESTDIR"}
if [ -e "$verbs/libibverbs.so.1" ]; then
	for file in librdmacm.so.1 libmlx4.so.1 libmlx5.so.1 libefa.so.1 libmana.so.1 libhns.so.1 \
		libdat-files.so libdat-turns.so files; do
		[ -e "$verbs/$file" ]
	done
	if [ -z "$DESTDIR" ]; then
		"$bindir/datsim" env | grep -qF "LD_LIBRARY_PATH='$verbs'"
	fi
	if [ -z "$DESTDIR" ] && command -v ibv_devices > /dev/null; then
		"$bindir/datsim" run --quiet -- ibv_devices | grep -q '^ *emu1 '
	fi
	echo "installcheck: verbs: ok ($verbs)"
fi
