"""
Two RC queue pairs of pyverbs, one of emu0 and one of emu1, and four Sends from the first one to the
other. Ends with the status of the first Send that fails.
"""
import sys
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_MTU_1024, IBV_QPT_RC, IBV_WR_SEND
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR


class End:
    def __init__(self, name):
        self.device = Context(name=name)
        self.pd = PD(self.device)
        self.cq = CQ(self.device, 16)
        self.mr = MR(self.pd, 64, IBV_ACCESS_LOCAL_WRITE)
        self.sg = [SGE(self.mr.buf, 8, self.mr.lkey)]
        self.qp = QP(self.pd, QPInitAttr(qp_type=IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                         sq_sig_all=1, cap=QPCap(8, 8)), QPAttr())

    def connect(self, peer):
        attr = QPAttr()
        attr.dest_qp_num, attr.path_mtu = peer.qp.qp_num, IBV_MTU_1024
        attr.timeout, attr.retry_cnt = 10, 7
        attr.ah_attr = AHAttr(port_num=1, dlid=peer.device.query_port(1).lid)
        self.qp.to_rts(attr)

    def wait(self):
        while True:
            done = self.cq.poll(1)[1]
            if done:
                return done[0].status


a, b = End("emu0"), End("emu1")
a.connect(b)
b.connect(a)
a.mr.write("question", 8)
for i in range(4):
    b.qp.post_recv(RecvWR(num_sge=1, sg=b.sg))
    a.qp.post_send(SendWR(opcode=IBV_WR_SEND, num_sge=1, sg=a.sg))
    status = a.wait()
    if status:
        sys.exit(f"a Send ends with status {status}")
    b.wait()
assert b.mr.read(8, 0) == b"question"
