#!/bin/sh
# Storage over RDMA: tgtd serves a disk by iSER, and the programs of libiscsi read its capacity and
# its blocks. Not in lockstep, for tgtd waits by epoll and timers of its own.
#
# Release 1.0.85 of tgt wants an initiator's address and its name (its later commit b73c64d mends
# that); it crashes if a target is removed with a session.
. "$(dirname "$0")/../begin.sh"
PATH=$PATH:/usr/sbin
needs librdmacm "tgt libiscsi-bin" tgtd tgtadm iscsi-readcapacity16 iscsi-perf

truncate -s 16M "$work/disk" || exit 99
TGT_IPC_SOCKET=$work/tgtd
export TGT_IPC_SOCKET
next_port # for TCP, which no initiator uses; the port of iSER is one of the fabric
disk=iser://127.0.0.1:3260/iqn.2026-11.libdat:disk/1
cat > "$work/initiator.sh" <<EOF
admin() { tgtadm --lld iser --mode "\$@"; }
soon() { for i in \$(seq 100); do "\$@" > /dev/null 2>&1 && break; sleep 0.1; done; }
soon tgtadm --op show --mode sys
admin target --op new --tid 1 --targetname iqn.2026-11.libdat:disk
admin logicalunit --op new --tid 1 --lun 1 --backing-store $work/disk
admin target --op bind --tid 1 --initiator-address ALL
admin target --op bind --tid 1 --initiator-name iqn.libdat:test
iscsi-readcapacity16 -i iqn.libdat:test $disk
iscsi-perf -i iqn.libdat:test -t 1 -m 8 -b 8 $disk | tr '\\r' '\\n'
soon admin target --op delete --tid 1
tgtadm --op delete --mode system
EOF

serve() {
	"$datsim" run --quiet -- tgtd -f --iscsi portal=0.0.0.0:$port \
		--iser pool_sz_mb=32 + sh "$work/initiator.sh"
}

echo 1..1
prints "a disk by iSER" 2 'Total size:16777216|capacity is 32768 blocks' serve
