#!/bin/bash
# The hardware lab: boots a Debian kernel with the software RDMA devices (rdma_rxe: RoCE, siw:
# iWARP) in QEMU, and runs a command in it, on the files of the host. See --help and doc/hwlab.md.
here=$(cd "$(dirname "$0")" && pwd)
series=6.12
seconds=300
shell=no
tries=5
boot_seconds=${HWLAB_BOOT_SECONDS:-60}
cache=${HWLAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libdat/hwlab}

usage() {
	cat << END
usage: $0 [OPTION...] COMMAND [ARGUMENT...]
       $0 [OPTION...] --shell

Runs COMMAND in a virtual machine that has the RDMA devices rxe0 (RoCE, 10.0.0.1) and siw0 (iWARP,
10.0.1.1). It runs in the current folder and sees the files of this machine; all that it writes is
lost, except in /lab. Output and exit status are the command's.

  --shell             a shell in the machine, to look around
  --kernel SERIES     Debian's kernel 6.12 (the default) or 6.1
  --seconds N         the processor time that the machine may take (default 300)
  --keep DIR          the folder that is /lab inside, kept afterwards: output, console, dmesg
  --have              says why the lab cannot run here (status 77), or nothing; fetches the kernel

The first run fetches the kernel's packages (by apt, 25 s, no root) and keeps what it needs in
$cache
END
}

# Ends without an error: the lab cannot run here.
skip() {
	echo "hwlab: $*" >&2
	exit 77
}

fail() {
	echo "hwlab: $*" >&2
	exit 99
}

while [ $# -gt 0 ]; do
	case $1 in
	--help | -h)
		usage
		exit 0
		;;
	--shell) shell=yes ;;
	--have) have=yes ;;
	--kernel) series=$2 && shift ;;
	--seconds) seconds=$2 && shift ;;
	--keep) keep=$2 && shift ;;
	--)
		shift
		break
		;;
	-*)
		usage >&2
		exit 2
		;;
	*) break ;;
	esac
	shift
done
case $series in
6.1 | 6.12) ;;
*) usage >&2 && exit 2 ;;
esac
if [ $# -eq 0 ] && [ $shell = no ] && [ -z "${have:-}" ]; then
	usage >&2
	exit 2
fi

# ---- requirements ----

PATH=$PATH:/usr/sbin:/sbin
[ "$(uname -m)" = x86_64 ] || skip "no kernel for $(uname -m)"
for program in qemu-system-x86_64 cpio busybox xz modprobe ip rdma gcc make; do
	command -v $program > /dev/null ||
		skip "there is no $program here (doc/hwlab.md lists the packages)"
done
busybox=$(command -v busybox)
! ldd "$busybox" > /dev/null 2>&1 ||
	skip "busybox here needs shared libraries; the package busybox-static does not"
mkdir -p "$cache" || fail "cannot make the folder $cache"
kernel=$cache/$series
exec 8> "$cache/lock"
flock 8
# An older kernel.sh left out the module of the wire's losses; without a network the kernel does.
if [ ! -e "$kernel/version" ] || [ ! -e "$kernel/modules/sch_netem.ko" ]; then
	[ -t 2 ] && echo "hwlab: fetching kernel $series (once)" >&2
	"$here/kernel.sh" "$series" "$kernel" > "$cache/$series.log" 2>&1
	case $? in
	0) ;;
	75) [ -e "$kernel/version" ] ||
		skip "kernel $series cannot be fetched: no network, or no such package" \
			"(see $cache/$series.log)" ;;
	*) fail "kernel $series cannot be prepared, see $cache/$series.log" ;;
	esac
fi
[ -z "${have:-}" ] || exit 0

# ---- the machine ----

if [ -n "${keep:-}" ]; then
	mkdir -p "$keep" || fail "cannot make the folder $keep"
	lab=$(cd "$keep" && pwd)
else
	lab=$(mktemp -d)
fi
machine=
# shellcheck disable=SC2317 # called by the trap
end() {
	[ -z "$machine" ] || { kill -9 "$machine" && wait "$machine"; } 2> /dev/null
	[ -n "${keep:-}" ] || rm -rf "$lab"
}
trap end EXIT
trap 'exit 130' INT TERM HUP

make_initrd() {
	local root=$lab/initrd
	mkdir -p "$root"/{bin,dev,proc,sys,host,lab,memory} &&
		cp "$busybox" "$root/bin/busybox" && cp -r "$kernel/modules" "$root/" &&
		cp "$here/init.sh" "$root/init" && chmod +x "$root/init" || return
	for name in sh mount insmod mkdir switch_root echo; do
		ln -s busybox "$root/bin/$name"
	done
	(cd "$root" && find . | cpio -o -H newc --quiet) > "$lab/initrd.cpio" || return
	rm -rf "$root"
}

# q35: other machine types sometimes hang while the kernel calibrates its timers. Two processors,
# because with one a polling program would keep the device from working for longer. One thread runs
# both by turns: with a thread for each, half of the time goes into interrupts between them.
machine_command() {
	local serial=(-serial "file:$lab/console")
	local clock="random.trust_cpu=on clocksource=hpet no_timer_check nowatchdog"
	local quick="mitigations=off nokaslr cryptomgr.notests"
	[ $shell = no ] || serial=(-serial mon:stdio)
	# shellcheck disable=SC2054
	command=(qemu-system-x86_64 -M q35 -nodefaults -vga none
		-accel tcg,thread=single -cpu max -smp 2 -m 1024
		-display none -no-reboot "${serial[@]}"
		-fsdev "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"
		-device virtio-9p-pci,fsdev=host,mount_tag=host
		-fsdev "local,id=lab,path=$lab,security_model=none"
		-device virtio-9p-pci,fsdev=lab,mount_tag=lab
		-kernel "$kernel/vmlinuz" -initrd "$lab/initrd.cpio"
		-append "console=ttyS0 quiet panic=-1 reboot=t $quick $clock")
}

start_machine() {
	rm -f "$lab"/{up,status,output,dmesg,console}
	: > "$lab/output"
	"${command[@]}" < /dev/null 2> "$lab/qemu" 8>&- &
	machine=$!
}

# Limits are in processor time of the machine, not of the clock: beside other work it may be slow,
# and that is no error. A machine that waits for something that never comes takes no time; it is
# given this many times as long by the clock.
idle_factor=10
ticks=$(getconf CLK_TCK)

# beyond SECONDS SINCE: the machine has taken so much time, or idle_factor as much has gone by since
beyond() {
	local stat
	read -ra stat 2> /dev/null < "/proc/$machine/stat" || return
	[ $(((stat[13] + stat[14]) / ticks)) -ge "$1" ] ||
		[ $((SECONDS - $2)) -ge $(($1 * idle_factor)) ]
}

# A machine that hangs during boot has run nothing yet: end it and start another one.
boot() {
	local try began
	for ((try = 1; try <= tries; try++)); do
		start_machine
		began=$SECONDS
		while kill -0 $machine 2> /dev/null && ! beyond "$boot_seconds" "$began"; do
			[ ! -e "$lab/up" ] || return 0
			sleep 0.1
		done
		[ ! -e "$lab/up" ] || return 0
		echo "hwlab: the machine did not come up (try $try of $tries)" >&2
		kill -9 $machine 2> /dev/null
		wait $machine 2> /dev/null
		machine=
		sleep $try # a machine that is too busy for timers may be less busy later
	done
	tail -n 20 "$lab/qemu" "$lab/console" >&2
	return 1
}

machine_command
make_initrd || fail "cannot make the initrd"
cp "$here/guest.sh" "$lab/"
{
	echo "lab_shell=$shell"
	printf 'lab_folder=%q\n' "$PWD"
	echo "lab_date=@$(date +%s)"
} > "$lab/settings"
[ $# -eq 0 ] || printf '%q ' "$@" > "$lab/job"

if [ $shell = yes ]; then
	"${command[@]}" 8>&-
	exit
fi

boot || fail "the machine does not boot"
tail -q -n +1 -f -s 0.2 --pid=$machine "$lab/output" 8>&- &
began=$SECONDS
over=
while kill -0 $machine 2> /dev/null; do
	! beyond "$seconds" "$began" || { over=yes && kill -9 $machine; }
	sleep 0.2
done
wait 2> /dev/null
machine=
if [ -n "$over" ]; then
	echo "hwlab: the machine took $seconds s of processor time, or $idle_factor times as long" \
		"by the clock, and was ended" >&2
	exit 124
fi
if [ ! -s "$lab/status" ]; then
	echo "hwlab: the machine ended before the command did" >&2
	tail -n 30 "$lab/console" >&2
	exit 99
fi
exit "$(cat "$lab/status")"
