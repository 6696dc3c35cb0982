#!/bin/bash
# kernel.sh SERIES DIR: gets a Debian kernel with the software RDMA devices for the lab:
# DIR/vmlinuz, DIR/version, and DIR/modules with the modules of the guest and the file `order`, the
# order in which they are loaded.
#
# The packages are downloaded and unpacked, not installed, so any user may run this. Debian's
# kernels do not have siw; it is built here from Debian's source of the same kernel. DIR is created
# complete or not at all. Exit status 75: the packages were not available (no network, or no apt).
set -e
series=$1
dir=$2
wanted='virtio_pci 9pnet_virtio 9p overlay veth dummy sch_netem crc32_generic
	ib_uverbs rdma_ucm rdma_rxe siw'

mkdir -p "${dir%/*}"
work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/debs" "$work/root" "$work/build" "$work/source" "$work/apt"
apt_own=()

# The machine's package lists may be old or empty; use our own.
own_lists() {
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	apt_own=(-o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
		-o Debug::NoLocking=1 -o APT::Sandbox::User=)
	apt-get "${apt_own[@]}" -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -q update
}

depends() {
	apt-cache "${apt_own[@]}" depends "$1" 2> /dev/null |
		sed -n "s/.*Depends: \($2.*\)/\1/p" | head -n 1
}

# Finds the names of all packages: the kernel, its headers and build tools, its source.
name_packages() {
	case $series in
	6.1) image=$(depends linux-image-amd64 "linux-image-$series") ;;
	*) image=$(depends "linux-image-$series-amd64" "linux-image-$series") ;;
	esac
	version=${image#linux-image-}
	headers=linux-headers-$version
	common=linux-headers-${version%-amd64}-common
	kbuild=$(depends "$headers" linux-kbuild)
	[ -n "$image" ] && [ -n "$kbuild" ]
}

download() {
	name_packages || return
	(cd "$work/debs" && apt-get "${apt_own[@]}" \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 \
		-q download "$image" "$headers" "$common" "$kbuild" "linux-source-$series")
}

command -v apt-get > /dev/null || exit 75
download || { own_lists && download; } || exit 75

dpkg -x "$work"/debs/"$image"_*.deb "$work/root"
for package in "$headers" "$common" "$kbuild"; do
	dpkg -x "$work"/debs/"$package"_*.deb "$work/build"
done
dpkg-deb --fsys-tarfile "$work/debs/linux-source-$series"_*.deb |
	tar -xO "./usr/src/linux-source-$series.tar.xz" | xz -T0 -dc |
	tar -x -C "$work/source" --strip-components=1 \
		--wildcards 'linux-source-*/drivers/infiniband/sw/siw'

# The headers expect to be installed; and if they find vmlinux beside them kbuild needs pahole.
tree=$work/build/usr/src/$headers
sed -i "s,/usr/src,$work/build/usr/src,g" "$tree/Makefile"
rm -f "$tree/vmlinux"
siw=$work/source/drivers/infiniband/sw/siw
make -s -C "$tree" M="$siw" CONFIG_RDMA_SIW=m modules
mkdir "$work/root/lib/modules/$version/extra"
cp "$siw/siw.ko" "$work/root/lib/modules/$version/extra/"
/sbin/depmod -b "$work/root" "$version"

mkdir -p "$work/done/modules"
for module in $wanted; do
	/sbin/modprobe -C /dev/null -d "$work/root" -S "$version" --show-depends "$module"
done | while read -r what path _; do
	[ "$what" = insmod ] || continue
	name=${path##*/}
	name=${name%.xz}
	[ ! -e "$work/done/modules/$name" ] || continue
	case $path in
	*.xz) xz -dc "$path" > "$work/done/modules/$name" ;;
	*) cp "$path" "$work/done/modules/$name" ;;
	esac
	echo "$name" >> "$work/done/modules/order"
done
for name in 9p.ko sch_netem.ko rdma_rxe.ko siw.ko rdma_ucm.ko; do
	[ -e "$work/done/modules/$name" ] || {
		echo "kernel.sh: no $name in kernel $version" >&2
		exit 1
	}
done
cp "$work/root/boot/vmlinuz-$version" "$work/done/vmlinuz"
echo "$version" > "$work/done/version"
rm -rf "$dir"
mv "$work/done" "$dir"
