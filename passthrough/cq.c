/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#define BATCH    16
#define HEADROOM 1024u /* for completions that never reach lib, and for what QPs may yet want */

/* ---- the queue before it ---- */

static uint32_t mask_of(uint32_t depth)
{
	uint32_t slots = 1;

	while (slots < depth)
		slots <<= 1;
	return slots - 1;
}

static uint32_t staged(const struct hw_cq *cq)
{
	return cq->put - cq->get;
}

/* No room: the completion is lost, and lib is told. */
static HW_COLD void lost(struct hw_cq *cq, const struct nic_wc *wc)
{
	struct nic *nic = cq->base.nic;

	nic->up->cq_lost(cq->sink ? NULL : cq->base.ctx, wc->qp->ctx, (enum nic_opcode)wc->opcode);
}

/* Not straight from verbs: something is staged, or somebody wants to know of everything that comes. */
static bool indirect(const struct hw_cq *cq)
{
	return cq->put != cq->get || hw_cq_ours(cq) || cq->armed || cq->filling;
}

void hw_cq_choose(struct hw_cq *cq)
{
	cq->quick.verbs = indirect(cq) ? &hw_refusing_cq : cq->verbs;
}

static bool stage(struct hw_cq *cq, const struct nic_wc *wc)
{
	if (HW_UNLIKELY(cq->sink || staged(cq) >= cq->limit)) {
		lost(cq, wc);
		return false;
	}
	cq->staged[cq->put++ & cq->mask] = *wc;
	hw_cq_choose(cq);
	return true;
}

void hw_cq_notify(struct hw_cq *cq)
{
	if (!cq->armed)
		return;
	cq->armed = false;
	cq->told = true;
	cq->base.nic->up->cq_notify(cq->base.ctx);
}

/* Where the device picks, its event says that there is some, and completions do not. */
static bool is_news(const struct hw_cq *cq, const struct nic_wc *wc)
{
	return !cq->base.picks || wc->status != NIC_WC_SUCCESS;
}

void hw_cq_fill(struct hw_cq *cq)
{
	struct ibv_wc verbs[BATCH];
	bool news = false;
	struct nic_wc wc;
	int n;

	/* An upcall from in here looks: what was staged so far is all there is to see. */
	if (cq->filling)
		return;
	cq->filling = true;
	do {
		n = ibv_poll_cq(cq->verbs, BATCH, verbs);
		for (int i = 0; i < n; i++)
			if (hw_complete(cq, &verbs[i], &wc))
				news |= stage(cq, &wc) && is_news(cq, &wc);
	} while (n == BATCH);
	cq->filling = false;
	if (news)
		hw_cq_notify(cq);
}

void hw_cq_add(struct hw_cq *cq, const struct nic_wc *wc)
{
	if (stage(cq, wc) && !cq->filling)
		hw_cq_notify(cq);
}

/* ---- create, resize, destroy ---- */

static void on_channel(struct ev_loop *loop, ev_io *watch, int events)
{
	struct hw_cq *cq = nic_container_of(watch, struct hw_cq, watch);

	(void)loop;
	(void)events;
	/* Who waits sleeps at the channel itself, but may be on its way out. */
	if (cq->base.waited && !hw_cq_ours(cq))
		hw_unwatch(watch);
	else
		hw_cq_channel(cq);
}

static int open_channel(struct hw_cq *cq, struct ibv_context *verbs)
{
	int flags;

	errno = 0;
	cq->channel = ibv_create_comp_channel(verbs);
	if (!cq->channel)
		return -ENOMEM;
	flags = fcntl(cq->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK)) {
		ibv_destroy_comp_channel(cq->channel);
		return -ENOMEM;
	}
	ev_io_init(&cq->watch, on_channel, cq->channel->fd, EV_READ);
	return 0;
}

/* As deep as wanted, and if the device has room for completions that lib never sees. */
static struct ibv_cq *create_verbs(struct hw_nic *n, struct hw_cq *cq, uint32_t depth)
{
	uint32_t most = (uint32_t)n->dev.max_cqe, wanted = depth + HEADROOM;
	struct ibv_cq *verbs;

	verbs = ibv_create_cq(n->verbs, (int)(wanted < most ? wanted : most), cq, cq->channel, 0);
	if (!verbs && wanted > depth)
		verbs = ibv_create_cq(n->verbs, (int)depth, cq, cq->channel, 0);
	return verbs;
}

static int create(struct hw_nic *n, uint32_t depth, struct hw_cq **out)
{
	struct hw_cq *cq = calloc(1, sizeof(*cq));
	int err = -ENOMEM;

	if (!cq)
		return err;
	cq->base.nic = &n->base;
	cq->depth = cq->limit = depth;
	cq->quick.other = hw_cq_other;
	cq->mask = mask_of(depth);
	cq->staged = malloc(((size_t)cq->mask + 1) * sizeof(*cq->staged));
	if (!cq->staged)
		goto free_cq;
	err = open_channel(cq, n->verbs);
	if (err)
		goto free_staged;
	errno = 0;
	cq->verbs = create_verbs(n, cq, depth);
	if (!cq->verbs) {
		err = hw_no_memory(hw_errno());
		goto close_channel;
	}
	hw_cq_choose(cq);
	*out = cq;
	return 0;

close_channel:
	ibv_destroy_comp_channel(cq->channel);
free_staged:
	free(cq->staged);
free_cq:
	free(cq);
	return err;
}

int hw_cq_create(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **out)
{
	struct hw_nic *n = hw_nic(nic);
	struct hw_cq *cq;
	int err;

	if (depth == 0 || depth > (uint32_t)n->attr.max_cqe)
		return -EINVAL;
	if (n->cqs >= n->attr.max_cq)
		return -ENOMEM;
	err = create(n, depth, &cq);
	if (err)
		return err;
	cq->base.ctx = ctx;
	n->cqs++;
	*out = &cq->base;
	return 0;
}

static void destroy_verbs(struct hw_grave *grave)
{
	struct hw_cq *cq = nic_container_of(grave, struct hw_cq, grave);

	ibv_destroy_cq(cq->verbs);
	ibv_destroy_comp_channel(cq->channel);
}

static void release(struct hw_grave *grave)
{
	struct hw_cq *cq = nic_container_of(grave, struct hw_cq, grave);

	free(cq->staged);
	free(cq);
}

void hw_cq_destroy(struct nic_cq *base)
{
	struct hw_cq *cq = hw_cq(base);

	hw_unwatch(&cq->watch);
	if (!cq->sink)
		hw_nic(base->nic)->cqs--;
	cq->grave = (struct hw_grave){ .destroy = destroy_verbs, .release = release };
	cq->buried = true;
	hw_bury_after(&cq->grave);
}

/* At least so deep; where a device cannot grow it, what it was made with has to do. */
static bool deepen(struct hw_cq *cq, uint32_t depth)
{
	uint32_t most = (uint32_t)hw_nic(cq->base.nic)->dev.max_cqe;

	if ((uint32_t)cq->verbs->cqe >= depth)
		return true;
	return ibv_resize_cq(cq->verbs, (int)(depth < most ? depth : most)) == 0 &&
	       (uint32_t)cq->verbs->cqe >= depth;
}

/* May there be one completion too many? Then none is left in verbs, so that it is seen when it comes. */
static void look_for_room(struct hw_cq *cq)
{
	cq->crowded = cq->room > cq->depth;
	hw_cq_choose(cq);
	if (cq->crowded && !cq->sink)
		hw_cq_keep(cq);
}

int hw_cq_resize(struct nic_cq *base, uint32_t depth)
{
	struct hw_cq *cq = hw_cq(base);
	uint32_t mask = mask_of(depth), n;
	struct nic_wc *ring;

	hw_cq_fill(cq);
	n = staged(cq);
	if (depth == 0 || n > depth)
		return -EINVAL;
	ring = malloc(((size_t)mask + 1) * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	if (!deepen(cq, depth)) {
		free(ring);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		ring[i] = cq->staged[(cq->get + i) & cq->mask];
	free(cq->staged);
	cq->staged = ring;
	cq->mask = mask;
	cq->get = 0;
	cq->put = n;
	cq->depth = cq->limit = depth;
	look_for_room(cq);
	return 0;
}

void hw_cq_attach(struct hw_cq *cq, int requests)
{
	cq->room += (uint32_t)requests;
	/* If it cannot be as deep as that, it overruns if the program lets it: an event says so. */
	if (requests > 0)
		deepen(cq, cq->room);
	look_for_room(cq);
}

void hw_cq_attach_srq(struct hw_qp *qp)
{
	struct hw_srq *srq = hw_srq(qp->init.srq);
	struct hw_qp *other;

	LIST_FOREACH(other, &srq->qps, in_srq)
	if (other->srq_room && other->init.recv_cq == qp->init.recv_cq)
		return;
	qp->srq_room = srq->max_wr;
	hw_cq_attach(hw_cq_of(qp, qp->init.recv_cq), (int)qp->srq_room);
}

void hw_cq_detach_srq(struct hw_qp *qp)
{
	struct hw_cq *cq = hw_cq_of(qp, qp->init.recv_cq);
	struct hw_qp *other;
	uint32_t room = qp->srq_room;

	if (!room)
		return;
	qp->srq_room = 0;
	LIST_FOREACH(other, &hw_srq(qp->init.srq)->qps, in_srq)
	if (other != qp && other->verbs && other->init.recv_cq == qp->init.recv_cq) {
		other->srq_room = room;
		return;
	}
	hw_cq_attach(cq, -(int)room);
}

/* ---- polling ---- */

static void take(struct hw_cq *cq, struct nic_wc *wc)
{
	*wc = cq->staged[cq->get++ & cq->mask];
}

static HW_COLD bool take_staged(struct hw_cq *cq, struct nic_wc *wc)
{
	if (cq->put == cq->get || hw_cq_ours(cq))
		hw_cq_fill(cq);
	if (cq->put == cq->get)
		return false;
	take(cq, wc);
	return true;
}

static bool complete(struct hw_cq *cq, const struct ibv_wc *verbs, struct nic_wc *wc)
{
	bool seen;

	cq->filling = true;
	seen = hw_complete(cq, verbs, wc);
	cq->filling = false;
	return seen;
}

static bool poll_one(struct hw_cq *cq, struct nic_wc *wc)
{
	struct ibv_wc verbs;

	if (HW_UNLIKELY(indirect(cq)))
		return take_staged(cq, wc);
	do {
		if (ibv_poll_cq(cq->verbs, 1, &verbs) != 1)
			return false;
	} while (!complete(cq, &verbs, wc));
	return true;
}

HW_COLD const struct nic_wc *hw_cq_any(struct hw_cq *cq)
{
	bool there = poll_one(cq, &cq->unusual);

	hw_cq_choose(cq);
	return there ? &cq->unusual : NULL;
}

HW_COLD const struct nic_wc *hw_cq_unusual(struct hw_cq *cq, const struct ibv_wc *polled)
{
	return complete(cq, polled, &cq->unusual) ? &cq->unusual : hw_cq_any(cq);
}

int hw_cq_poll(struct nic_cq *base, struct nic_wc *wc, int n)
{
	struct hw_cq *cq = hw_cq(base);
	int i;

	for (i = 0; i < n && poll_one(cq, &wc[i]); i++)
		;
	return i;
}

bool hw_cq_spin(struct nic_cq *cq, struct nic_wc *wc)
{
	return poll_one(hw_cq(cq), wc);
}

uint32_t hw_cq_count(struct nic_cq *base)
{
	struct hw_cq *cq = hw_cq(base);

	hw_cq_fill(cq);
	return staged(cq);
}

void hw_cq_limit(struct nic_cq *base, uint32_t n)
{
	struct hw_cq *cq = hw_cq(base);

	assert(n <= cq->depth);
	cq->limit = n;
}

/* ---- completions of QPs that name no CQ ---- */

int hw_sink(struct hw_nic *n, struct hw_cq **out)
{
	int err;

	if (!n->sink) {
		err = create(n, 1, &n->sink);
		if (err)
			return err;
		n->sink->sink = true;
		hw_cq_keep(n->sink);
	}
	*out = n->sink;
	return 0;
}
