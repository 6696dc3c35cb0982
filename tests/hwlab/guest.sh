#!/bin/bash
# shellcheck disable=SC1091,SC2154 # /lab/settings sets these variables
# Runs as process 1 of the guest on the host's file system: makes the RDMA devices, runs /lab/job,
# leaves its output and status in /lab, and turns the machine off.
#
#   rxe0  RoCE, on veth0   10.0.0.1  fd00:0:0:1::1
#   siw0  iWARP, on dummy0  10.0.1.1  fd00:0:0:2::1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C TERM=dumb
ulimit -l unlimited
ulimit -n 65536
hostname hwlab

ip link set lo up
ip link add veth0 type veth peer name veth1
ip address add 10.0.0.1/24 dev veth0
ip address add 10.0.1.1/24 dev dummy0
ip -6 address add fd00:0:0:1::1/64 dev veth0 nodad
ip -6 address add fd00:0:0:2::1/64 dev dummy0 nodad
ip link set veth0 up
ip link set veth1 up
ip link set dummy0 up
rdma link add rxe0 type rxe netdev veth0
rdma link add siw0 type siw netdev dummy0

. /lab/settings
date -s "$lab_date" > /dev/null # the guest has no clock
read -r up _ < /proc/uptime
echo "hwlab: up after $up s"
echo up > /lab/up
if [ "$lab_shell" = yes ]; then
	echo "Linux $(uname -r); devices rxe0 (10.0.0.1), siw0 (10.0.1.1). The host's files are"
	echo "here; all that you write is lost, except in /lab. End with exit; Ctrl-A x ends the"
	echo "machine."
	setsid -c bash -c 'exec bash -i < /dev/ttyS0 > /dev/ttyS0 2>&1'
	echo 0 > /lab/status
else
	cd "$lab_folder" || exit
	bash /lab/job > /lab/output 2>&1 < /dev/null
	echo $? > /lab/status.new
	mv /lab/status.new /lab/status
fi
dmesg > /lab/dmesg
sync
busybox reboot -f
