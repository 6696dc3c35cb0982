/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP and a CQ that stand where quick calls look for verbs', while they must not be quick: a call finds out as it finds
 * any other refusal, and need not ask before. They are in no device's hands.
 */
#include <errno.h>

#include "hw.h"

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	return EOPNOTSUPP;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	return EOPNOTSUPP;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	return -1;
}

static struct ibv_context refusing = {
	.ops = { .post_send = post_send, .post_recv = post_recv, .poll_cq = poll_cq }
};

struct ibv_qp hw_refusing_qp = { .context = &refusing };
struct ibv_cq hw_refusing_cq = { .context = &refusing };
