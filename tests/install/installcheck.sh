#!/bin/sh
# Build and run hello.c against the installed library, shared and static, the way a user would: with
# pkg-config and nothing from this tree. installcheck.sh SRCDIR; the rest comes from the Makefile.
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

if [ -e "$DESTDIR$libdir/libdat.so" ]; then
	try shared "$libs"
fi
if [ -e "$DESTDIR$libdir/libdat.a" ]; then
	try static "$static_libs"
fi
