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

/* Tries a length of the send queue, or of both queues. */
struct trial {
	const struct hw_nic *nic;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	bool receives;
};

static bool trial_fits(const struct trial *trial, int requests)
{
	const struct nic_attr *most = &trial->nic->attr;
	struct ibv_qp_init_attr attr = {
		.send_cq = trial->cq,
		.recv_cq = trial->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = (uint32_t)requests,
			.max_recv_wr = trial->receives ? (uint32_t)requests : 1,
			.max_send_sge = (uint32_t)most->max_sge,
			.max_recv_sge = trial->receives ? (uint32_t)most->max_sge : 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(trial->pd, &attr);

	if (qp)
		ibv_destroy_qp(qp);
	return qp != NULL;
}

/* If none fits, the cause is another one, and the creation of an Endpoint reports it. */
static int trial_search(const struct trial *trial, int most)
{
	int fits = 0, too_many = most;

	if (trial_fits(trial, too_many))
		return too_many;
	while (too_many - fits > 1) {
		int middle = fits + (too_many - fits) / 2;

		if (trial_fits(trial, middle))
			fits = middle;
		else
			too_many = middle;
	}
	return fits ? fits : most;
}

int hw_trial_qp_wr(const struct hw_nic *n)
{
	struct trial trial = { .nic = n };
	int found = n->attr.max_qp_wr;

	if (n->dev.vendor_id == VENDOR_RXE || n->dev.vendor_id == VENDOR_SIW)
		return found;
	trial.pd = ibv_alloc_pd(n->verbs);
	trial.cq = trial.pd ? ibv_create_cq(n->verbs, 1, NULL, NULL, 0) : NULL;
	if (trial.cq) {
		/* Receives last, for they may take as much memory as the requests. */
		found = trial_search(&trial, found);
		trial.receives = true;
		found = trial_search(&trial, found);
		ibv_destroy_cq(trial.cq);
	}
	if (trial.pd)
		ibv_dealloc_pd(trial.pd);
	return found;
}
