#!/bin/bash
# The Debian packages: they build from what git has, lintian finds no error, and in a fresh Debian
# of their own they are installed, used by an ordinary user, and removed without a trace. Takes
# minutes and the network of the package mirror: a stage of ./check --full (./check packages).
. "$(dirname "$0")/begin.sh"
root=$work/root
give_up() {
	echo "Bail out! $1"
	exit 1
}

missing=
for tool in dpkg-buildpackage dh lintian mmdebstrap; do
	command -v $tool > /dev/null || missing="$missing $tool"
done
if [ -n "$missing" ] || [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP expected root and$missing"
	exit 0
fi

build() {
	mkdir -p "$work/src/libdat" && git -C "$here" archive HEAD | tar -x -C "$work/src/libdat" &&
		cd "$work/src/libdat" && DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -us -uc -b
}
holds "dpkg-buildpackage builds the packages" build || give_up "there are no packages"
for package in libdat1 libdat-dev datsim datsim-verbs libdat-doc; do
	holds "$package is one of them" test -n "$(echo "$work/src/$package"_*.deb)"
done
holds "lintian finds no error" lintian --fail-on error "$work"/src/*.changes

# The mirror, the release and apt's settings of this machine.
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
fresh() {
	mmdebstrap --variant=minbase --include=ibverbs-utils,gcc,libc6-dev,pkg-config,zsh \
		--customize-hook='chroot "$1" useradd --create-home user' --skip=cleanup/apt \
		"$release" "$root" && mkdir -p "$root/packages" &&
		cp -r /etc/apt/apt.conf.d /etc/apt/auth.conf.d "$root/etc/apt/" &&
		cp /etc/resolv.conf "$root/etc/"
}
holds "a fresh Debian" fresh || give_up "there is no Debian to install on"
cp "$work"/src/*.deb "$root/packages/"
inside() { unshare --mount --pid --fork chroot "$root" sh -c "
	mkdir -p /dev/shm && mount -t proc proc /proc &&
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm && $1"; }
as_user() { inside "su - user -c '$1'"; }
find "$root/usr" "$root/etc" | sort > "$work/before"
holds "they are installed" inside "DEBIAN_FRONTEND=noninteractive apt-get install -y \
	--no-install-recommends /packages/*.deb"
doc=/usr/share/doc/libdat-dev/examples
holds "an ordinary user sees the demo" as_user "datsim test --show $doc/demo.dsim"
holds "the suite passes" as_user "datsim conformance"
holds "a verbs pair runs" as_user \
	"datsim run -- ibv_rc_pingpong -g 0 -n 100 + ibv_rc_pingpong -g 0 -n 100 127.0.0.1"
program() {
	cp "$here/tests/install/hello.c" "$root/home/user/"
	as_user "cc hello.c \$(pkg-config --cflags --libs libdat) -o hello && ./hello"
}
holds "a program is built and runs" program
page() { dpkg-deb -c "$work"/src/libdat-dev_*.deb | grep -q 'man3/dat_event.3.gz$'; }
holds "pages of the manual are there" page
documents() { sh "$here/tests/install/links.sh" "$root/usr/share/doc/libdat-doc"; }
holds "each link of a document leads to an installed file" documents
completes() { as_user "zsh -fc \"autoload +X -U _datsim && whence -v _datsim\""; }
holds "zsh finds its completion" completes
holds "they are removed" inside "apt-get purge -y --auto-remove libdat1 libdat-dev datsim \
	datsim-verbs libdat-doc"
leftovers() {
	find "$root/usr" "$root/etc" | sort | comm -13 "$work/before" - |
		grep -E 'libdat|datsim|/dat/' && return 1
	return 0
}
holds "nothing of them is left" leftovers

# The pages of make site: mkdocs finds no dead link among documents, linkchecker none in the pages.
holds "the documents become a site" sh "$here/tools/site.sh" "$here" "$work/site"
# Two ways in which a block of a document can be missed: its fence is text, its code is a heading.
blocks() {
	! grep -rE --include='*.html' '<p>```|^```|<h[1-6][^>]*>include' "$work/site" &&
		grep -q '<p class="file">first.c</p>' "$work/site/index.html" &&
		grep -q '<pre><code class="language-c">#include' "$work/site/index.html" &&
		grep -q '^        DAT_SRQ_ATTR attr' "$work/site/index.html" &&
		grep -q '<code>./demo ' "$work/site/index.html"
}
holds "the blocks of code in it are blocks" blocks
sections() {
	! grep -L 'data-level="2"' "$work"/site/man/*/index.html | grep . &&
		! grep -rlE '(<p>|^)##+ ' "$work/site/man" --include='*.html'
}
holds "beside each page of the manual are its sections" sections
holds "no link in it is dead" linkchecker --no-warnings "$work/site/index.html"
echo "1..$n"
