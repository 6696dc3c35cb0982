# shellcheck shell=bash
# Sourced by ./check and ./demo: the Debian packages they need.
#
# packages_need GROUP...  makes sure that all packages of these groups are installed. If they are,
# it prints nothing and does not call apt. Missing packages are installed if that is possible (root,
# or sudo without a password); otherwise it prints how to install them, and fails.

# GROUP PACKAGE PROBE
# A release of Debian may lack a package of the group "peers" (13 has no DAPL): the tests of that
# package are skipped then. Packages of the other groups must exist.
packages_table='
build       gcc             command gcc
build       libc6-dev       header stdio.h
build       make            command make
build       autoconf        command autoreconf
build       automake        command automake
build       libtool         command libtoolize
build       pkg-config      command pkg-config
build       libedit-dev     module libedit
passthrough libibverbs-dev  module libibverbs
passthrough librdmacm-dev   module librdmacm
passthrough libev-dev       header ev.h
test        check           module check
test        g++             command g++
test        libxml2-utils   command xmllint
peers       ibverbs-utils   command ibv_devices
test        relacy-dev      run test -e /usr/include/relacy/relacy.hpp
peers       perftest        command ib_send_bw
peers       qperf           command qperf
peers       iperf           command iperf
peers       rdmacm-utils    command rping
peers       python3-pyverbs run test -e /usr/lib/python3/dist-packages/pyverbs
peers       python3-pytest  run test -e /usr/lib/python3/dist-packages/pytest
peers       dapl2-utils     command dtest
peers       libfabric-bin   command fi_pingpong
peers       ucx-utils       command ucx_perftest
peers       openmpi-bin     command mpirun
peers       python3-mpi4py  run test -e /usr/lib/python3/dist-packages/mpi4py
valgrind    valgrind        command valgrind
valgrind    libc6-dbg       run valgrind -q true
clang       clang           command clang
asan        clang           command clang
asan        libclang-rt-dev sanitizers clang
fuzz        clang           command clang
fuzz        libclang-rt-dev sanitizers clang
format      clang-format    command clang-format
coverage    clang           command clang
coverage    libclang-rt-dev sanitizers clang
coverage    llvm            command llvm-cov
packages    debhelper       command dh
packages    dpkg-dev        command dpkg-buildpackage
packages    lintian         command lintian
packages    mmdebstrap      command mmdebstrap
packages    mkdocs          command mkdocs
packages    mandoc          command mandoc
packages    linkchecker     command linkchecker
packages    chromium        command chromium
packages    rpm             command rpmbuild
dapl        libdapl2        run test -e /usr/lib/x86_64-linux-gnu/libdaplofa.so.2
dapl        libdapl-dev     header dat2/udat.h
campaign    slurm-wlm       run test -x /usr/sbin/slurmctld
campaign    munge           run test -x /usr/sbin/munged
campaign    parallel        command parallel
campaign    fio             command fio
campaign    libiscsi-bin    command iscsi-perf
campaign    qemu-system-x86 command qemu-system-x86_64
lab         qemu-system-x86 command qemu-system-x86_64
lab         busybox-static  command busybox
lab         dapl2-utils     command dtest
lab         cpio            command cpio
lab         ibverbs-providers run test -e /etc/libibverbs.d/siw.driver
lab         ibverbs-utils   command ibv_devices
lab         iproute2        run test -x /sbin/ip
lab         kmod            run test -x /sbin/modprobe
lab         xz-utils        command xz
'

# packages_links COMPILER OPTION...: can the compiler link a program with the options?
packages_links() {
	local program status
	program=$(mktemp) || return
	echo "int main(void) { return 0; }" | "$@" -x c - -o "$program"
	status=$?
	rm -f "$program"
	return $status
}

packages_have() {
	case $1 in
	command) command -v "$2" ;;
	module) pkg-config --exists "$2" ;;
	header) echo "#include <$2>" | gcc -E - ;;
	sanitizers) packages_links "$2" -fsanitize=address,undefined ;;
	run) shift && "$@" ;;
	esac > /dev/null 2>&1 < /dev/null
}

# packages_missing GROUP...: the packages that are not installed, one a line
packages_missing() {
	echo "$packages_table" | while read -r group package probe; do
		case " $* " in *" $group "*) ;; *) continue ;; esac
		# shellcheck disable=SC2086
		packages_have $probe || echo "$package"
	done
}

# packages_absent PACKAGE...: those of the group "peers" that this release of Debian does not have
packages_absent() {
	local package
	apt-cache show gcc > /dev/null 2>&1 || return 0 # apt has not fetched its lists yet
	for package; do
		case $packages_table in *"
peers       $package "*) ;; *) continue ;; esac
		apt-cache show "$package" > /dev/null 2>&1 || echo "$package"
	done
}

# packages_wanted GROUP...: the packages that are not installed and can be
packages_wanted() {
	local missing absent
	missing=$(packages_missing "$@")
	# shellcheck disable=SC2086
	absent=$(packages_absent $missing)
	echo "$missing" | grep -vxF "$absent" | tr '\n' ' '
}

packages_need() {
	local missing root=
	missing=$(packages_wanted "$@")
	[ -n "$missing" ] || return 0

	if ! command -v apt-get > /dev/null; then
		echo "Missing: $missing" >&2
		echo "These are Debian packages, but there is no apt-get:" \
			"install their contents." >&2
		return 1
	fi
	if [ "$(id -u)" -ne 0 ]; then
		if ! sudo -n true > /dev/null 2>&1; then
			echo "Missing packages: $missing" >&2
			echo "Please install them:" >&2
			echo "sudo apt-get install --no-install-recommends $missing" >&2
			return 1
		fi
		root='sudo -n'
	fi

	echo "Installing packages: $missing"
	mkdir -p build/log
	packages_install "$root" "$@" > build/log/packages.log 2>&1 < /dev/null
	missing=$(packages_wanted "$@")
	[ -n "$missing" ] || return 0
	tail -n 15 build/log/packages.log >&2
	echo "Could not install: $missing" >&2
	echo "Please do:  apt-get update && apt-get install --no-install-recommends $missing" >&2
	return 1
}

# packages_install ROOT GROUP...: installs even if the update failed for one of several sources.
packages_install() {
	local apt="$1 env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=2"
	apt="$apt -o Acquire::http::Timeout=30 -o DPkg::Lock::Timeout=120"
	shift
	$apt update
	# shellcheck disable=SC2046
	$apt install -y --no-install-recommends $(packages_wanted "$@")
}
