#!/bin/bash
# packaging/rpm: rpmbuild makes its packages from the tarball of `make dist`; installed in an empty
# root their tool runs the demo, and removed they leave nothing. rpmbuild on Debian knows no Debian
# packages, so what the spec needs to build is not asked for. A part of the stage ./check packages.
. "$(dirname "$0")/begin.sh"
if ! command -v rpmbuild > /dev/null || ! command -v rpm > /dev/null; then
	echo "1..0 # SKIP expected rpmbuild"
	exit 0
fi
root=$work/root
mkdir -p "$root" "$work/SOURCES" "$work/tree"

tarball() {
	git -C "$here" archive HEAD | tar -x -C "$work/tree" && cd "$work/tree" && autoreconf -i &&
		./configure && make -s dist-gzip && mv libdat-*.tar.gz "$work/SOURCES/"
}
if ! holds "make dist makes a tarball" tarball; then
	echo "Bail out! there is nothing to build"
	exit 1
fi
build() {
	rpmbuild -bb --nodeps --define "_topdir $work" "$here/packaging/rpm/libdat.spec"
}
holds "rpmbuild builds the packages, with %check, and packs each file" build
packages=$(ls "$work"/RPMS/*/*.rpm)

# has PACKAGE FILE: a file of this name is in the package
has() { rpm -qpl "$work"/RPMS/*/"$1"-0.*.rpm | grep -q "$2\$"; }
holds "libdat has the library" has libdat /libdat.so.1
holds "libdat-devel has the header" has libdat-devel /dat/udat.h
holds "datsim has the tool" has datsim /bin/datsim
holds "datsim-verbs has libibverbs" has datsim-verbs /libdat/verbs/libibverbs.so.1

# shellcheck disable=SC2086 # words
holds "they are installed in an empty root" rpm --root "$root" --nodeps -i $packages
story() {
	LD_LIBRARY_PATH=$(dirname "$root"/usr/lib*/libdat.so.1) "$root/usr/bin/datsim" test \
		"$here/doc/demo.dsim"
}
holds "the tool there runs the demo" story
holds "they are removed" rpm --root "$root" -e libdat libdat-devel datsim datsim-verbs
nothing() {
	cd "$root" && ! find . -path '*/.rpmdb' -prune -o -print |
		grep -E 'libdat|datsim|/dat(/|$)'
}
holds "nothing of them is left" nothing
echo "1..$n"
