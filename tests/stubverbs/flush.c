/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flush of a QP in the error state. A device may take its time: what was posted completes
 * later, and LAST_WQE_REACHED later still. Here the polls that find nothing are the clock.
 */
#include <string.h>

#include "stub.h"

struct stub_qp *stub_flushing;
static int unflushed;

void stub_flush_forget(struct stub_qp *qp)
{
	struct stub_qp **at = &stub_flushing;

	stub_lock();
	while (*at && *at != qp)
		at = &(*at)->next_flushing;
	if (*at)
		*at = qp->next_flushing;
	qp->flushing = false;
	stub_unlock();
}

/* Raises the events that this many polls allow. The QP leaves the list with its last event. */
static void advance(struct stub_qp *qp)
{
	int last = stub_config.flush_polls + stub_config.last_wqe_polls;

	if (qp->polls >= stub_config.flush_polls)
		stub_flush(qp);
	if (qp->polls < stub_config.flush_polls || qp->polls < last)
		return;
	if (qp->v.srq && stub_config.last_wqe_polls >= 0)
		stub_async(IBV_EVENT_QP_LAST_WQE_REACHED, qp);
	stub_flush_forget(qp);
}

void stub_to_error(struct stub_qp *qp)
{
	stub_lock();
	if (qp->v.state != IBV_QPS_ERR) {
		qp->v.state = IBV_QPS_ERR;
		qp->flushing = true;
		qp->polls = 0;
		qp->next_flushing = stub_flushing;
		stub_flushing = qp;
		advance(qp);
	}
	stub_unlock();
}

void stub_flush_polled(struct stub_cq *cq)
{
	struct stub_qp *qp, *next;

	stub_lock();
	for (qp = stub_flushing; qp; qp = next) {
		next = qp->next_flushing;
		if (qp->v.recv_cq != &cq->v)
			continue;
		qp->polls++;
		advance(qp);
	}
	stub_unlock();
}

/* Keep the completions of all other QPs. */
static void clean(struct stub_cq *cq, uint32_t qp_num)
{
	uint32_t put = cq->get;

	for (uint32_t i = cq->get; i != cq->put; i++)
		if (cq->at[i & cq->mask].qp_num != qp_num)
			cq->at[put++ & cq->mask] = cq->at[i & cq->mask];
	if (cq->put != put)
		cq->put = cq->seen = put;
}

void stub_flush_destroyed(struct stub_qp *qp)
{
	if (qp->flushing && qp->own.put != qp->own.get)
		unflushed++;
	if (stub_config.cleans) {
		clean((struct stub_cq *)qp->v.send_cq, qp->v.qp_num);
		clean((struct stub_cq *)qp->v.recv_cq, qp->v.qp_num);
	} else if (qp->flushing) {
		stub_flush(qp);
	}
	stub_flush_forget(qp);
}

int stub_unflushed(void)
{
	int n;

	stub_lock();
	n = unflushed;
	stub_unlock();
	return n;
}
