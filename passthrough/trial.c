/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of a queue that a device can make. Some devices count a send queue in blocks of
 * memory, and each request takes as many blocks as its segments need: mlx5 reports 32768 requests,
 * and makes 2978 of 30 segments. No attribute says so, so QPs are created to find out.
 */
#include "cm.h"

/* These count requests, and each trial makes them clear megabytes. */
#define VENDOR_RXE 0xffffffu
#define VENDOR_SIW 0x626d74u

static bool trial_fits(const struct hw_nic *n, struct ibv_pd *pd, struct ibv_cq *cq, int requests)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = (uint32_t)requests,
			.max_recv_wr = 1,
			.max_send_sge = (uint32_t)n->attr.max_sge,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	if (qp)
		ibv_destroy_qp(qp);
	return qp != NULL;
}

/* If none fits, the cause is another one, and the creation of an Endpoint reports it. */
static int trial_search(const struct hw_nic *n, struct ibv_pd *pd, struct ibv_cq *cq)
{
	int fits = 0, too_many = n->attr.max_qp_wr;

	if (trial_fits(n, pd, cq, too_many))
		return too_many;
	while (too_many - fits > 1) {
		int middle = fits + (too_many - fits) / 2;

		if (trial_fits(n, pd, cq, middle))
			fits = middle;
		else
			too_many = middle;
	}
	return fits ? fits : n->attr.max_qp_wr;
}

int hw_trial_qp_wr(const struct hw_nic *n)
{
	int found = n->attr.max_qp_wr;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	if (n->dev.vendor_id == VENDOR_RXE || n->dev.vendor_id == VENDOR_SIW)
		return found;
	pd = ibv_alloc_pd(n->verbs);
	cq = pd ? ibv_create_cq(n->verbs, 1, NULL, NULL, 0) : NULL;
	if (cq) {
		found = trial_search(n, pd, cq);
		ibv_destroy_cq(cq);
	}
	if (pd)
		ibv_dealloc_pd(pd);
	return found;
}
