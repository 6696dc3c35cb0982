#!/bin/sh
# The engine "rdma" of fio between two processes: RDMA Writes and Reads of 4 MiB, in real time and
# in lockstep. With Sends fio asks for no RNR retries, and fails if the receiver is late, on any
# device.
. "$(dirname "$0")/../begin.sh"
needs librdmacm fio fio

# moves VERB OPTION: the sender says that it is done, without an error
moves() {
	next_port
	verb=$1
	way=$2
	set -- --ioengine=rdma --port=$port --bs=64k --size=4m --iodepth=8
	set -- "$@" --thread
	prints "RDMA $verb${way:+, in lockstep}" 1 '^ +WRITE: .*io=4096KiB' \
		"$datsim" run --quiet $way -- fio --name=in "$@" --rw=read --output=/dev/null + \
		fio --name=out "$@" --rw=write --hostname=127.0.0.1 --verb="$verb"
}

echo 1..4
for verb in write read; do
	moves $verb ''
	moves $verb --lockstep
done
