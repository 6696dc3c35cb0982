#!/bin/sh
# Open MPI over UCX and over libfabric, as an ordinary user: four ranks, which join a fabric by its
# name.
. "$(dirname "$0")/begin.sh"
needs libibverbs openmpi-bin mpirun
python=/usr/bin/python3
$python -c 'import mpi4py.MPI' > /dev/null 2>&1 ||
	skip "mpi4py is missing: apt-get install python3-mpi4py"

export DATSIM_FABRIC=mpi.$$ UCX_TLS=rc_v,self
# mpirun refuses to be root without these two.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Short names: its sockets are below it.
export TMPDIR=/tmp

# ranks OVER OPTIONS OF MPIRUN
ranks() {
	over=$1
	shift
	prints "a ring, an all-to-all and a long message, of four ranks over $over" 12 \
		'^rank [0-3]: the (ring|all-to-all|long message) is right$' \
		"$datsim" run -- mpirun --oversubscribe -np 4 "$@" --mca btl self \
		$python "$top_srcdir/tests/verbs/mpi_ring.py"
}

echo 1..2
ranks UCX --mca pml ucx --mca osc ucx
# Not ofi_rxd: while other processes want the processors, half of these runs end wrong over its own
# udp provider, too. A message comes twice, or never.
ranks 'verbs;ofi_rxm' --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm'
