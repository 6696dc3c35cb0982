#!/bin/sh
# files.sh FOLDER: make the device files of the emulated devices, for verbs/files.c, below FOLDER.
# The LID and the addresses are those of an adapter in a fabric, which no file can tell.
set -e
rm -rf "$1"
put() {
	mkdir -p "$root/${1%/*}"
	printf '%s\n' "$2" > "$root/$1"
}

# tree FOLDER LINK_LAYER NODE_TYPE
tree() {
	root=$1
	layer=$2
	type=$3
	put dev/infiniband/rdma_cm ''
	put sys/class/infiniband_verbs/abi_version 6
	put sys/class/infiniband_cm/abi_version 5
	for n in 0 1; do
		put dev/infiniband/uverbs$n ''
		put sys/class/infiniband_verbs/uverbs$n/ibdev emu$n
		put sys/class/infiniband_verbs/uverbs$n/abi_version 1
		put sys/class/infiniband_verbs/uverbs$n/dev 231:$((192 + n))
		device=sys/class/infiniband/emu$n
		put $device/board_id libdat
		put $device/hca_type emulated
		put $device/node_desc emu$n
		put $device/node_type "$type"
		put $device/device/numa_node -1
		put $device/ports/1/link_layer $layer
		put $device/ports/1/phys_state '5: LinkUp'
		put $device/ports/1/pkeys/0 0xffff
		put $device/ports/1/rate '100 Gb/sec (4X EDR)'
		put $device/ports/1/state '4: ACTIVE'
	done
}

tree "$1/infiniband" InfiniBand '1: CA'
tree "$1/ethernet" Ethernet '1: CA'
tree "$1/iwarp" Ethernet '4: RNIC'
