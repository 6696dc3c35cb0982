"""
A ring, an all-to-all and a long message among the ranks of an MPI job. The first rank prints what
each says, for lines of several would mix.
"""
from mpi4py import MPI

LONG = 1 << 22
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
said = []

token = rank
for _ in range(100):
    token = comm.sendrecv(token, dest=(rank + 1) % size, source=(rank - 1) % size)
assert token == (rank - 100) % size, token
said.append(f'rank {rank}: the ring is right')

assert comm.alltoall([rank * 100 + to for to in range(size)]) == \
    [source * 100 + rank for source in range(size)]
said.append(f'rank {rank}: the all-to-all is right')

mine, peers = bytearray([rank + 1]) * LONG, bytearray(LONG)
comm.Sendrecv(mine, dest=(rank + 1) % size, recvbuf=peers, source=(rank - 1) % size)
assert peers == bytearray([(rank - 1) % size + 1]) * LONG
said.append(f'rank {rank}: the long message is right')

for lines in comm.gather(said) or []:
    print('\n'.join(lines), flush=True)
