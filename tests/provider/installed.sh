#!/bin/sh
# A program and a provider library as users build them, each linked with libdat.so: the program
# opens the provider's adapter by the name in a dat.conf, and one of ours by another. TAP.
source=$top_srcdir/tests/provider
lib=$top_builddir/.libs
if [ ! -e "$lib/libdat.so" ]; then
	echo "1..0 # SKIP no shared library in this build"
	exit 0
fi
if ${NM:-nm} -D "$lib/libdat.so" | grep -qE '__(asan|tsan|ubsan|gcov)_'; then
	echo "1..0 # SKIP a sanitizer's library wants programs built like it"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

build() {
	# shellcheck disable=SC2086
	${CC:-cc} -D_GNU_SOURCE= -I"$top_srcdir/include" -iquote "$top_srcdir" "$@" -L"$lib" -ldat
}

echo 1..3
if build -shared -fPIC "$source/sample.c" -o "$work/sample.so" &&
	build "$source/opens.c" -o "$work/opens"; then
	echo "ok 1 - both build with the public headers"
else
	echo "not ok 1 - both build with the public headers"
	exit 1
fi
cat > "$work/dat.conf" << END
rnic0 u1.2 nonthreadsafe default $work/sample.so rnic.1.2 "" ""
OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 emu0
END
LD_LIBRARY_PATH=$lib DAT_OVERRIDE=$work/dat.conf \
	"$work/opens" rnic0 OpenIB-cma rnic0 > "$work/out" 2>&1
status=$?
if [ $status -eq 0 ]; then
	echo "ok 2 - adapters of both open beside each other"
else
	echo "not ok 2 - adapters of both open beside each other"
	sed 's/^/#   /' "$work/out"
fi
if LD_LIBRARY_PATH=$lib DAT_OVERRIDE=$work/dat.conf "$work/opens" rnic1 > "$work/out" 2>&1 ||
	! grep -q 'there is no adapter "rnic1"' "$work/out"; then
	echo "not ok 3 - a name that is nowhere is told"
	sed 's/^/#   /' "$work/out"
else
	echo "ok 3 - a name that is nowhere is told"
fi
