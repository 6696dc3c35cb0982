/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues: a verbs CQ and, before it, a queue of staged completions (hw.h). Depth, room
 * for all QPs that complete there, and polling. notify.c has the completion channel.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "guard.h"
#include "host/nic_process.h"

#define BATCH    16
#define HEADROOM 1024u /* for completions that lib never sees, and for QPs that are yet to come */

/* ---- staged completions ---- */

static uint32_t cq_mask(uint32_t depth)
{
	uint32_t entries = 1;

	while (entries < depth)
		entries <<= 1;
	return entries - 1;
}

static uint32_t cq_staged(const struct hw_cq *cq)
{
	return cq->put - cq->get;
}

/* There is no room: the completion is lost, and lib is told. */
static HW_COLD void cq_lost(struct hw_cq *cq, const struct nic_wc *wc)
{
	struct nic *nic = cq->base.nic;

	nic->up->cq_lost(cq->sink ? NULL : cq->base.ctx, wc->qp->ctx, (enum nic_opcode)wc->opcode);
}

/*
 * True: completions must pass through the queue, because some are staged or each has to be counted.
 */
static bool cq_is_indirect(const struct hw_cq *cq)
{
	return cq_staged(cq) > 0 || hw_cq_watched(cq) || cq->armed || cq->filling;
}

void hw_cq_choose(struct hw_cq *cq)
{
	hw_quick_choose_cq(cq, !cq_is_indirect(cq));
}

static bool cq_stage(struct hw_cq *cq, const struct nic_wc *wc)
{
	if (HW_UNLIKELY(cq->sink || cq_staged(cq) >= cq->limit)) {
		cq_lost(cq, wc);
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

/*
 * Where the device selects solicited completions, its event reports them, and not the completion.
 */
static bool is_news(const struct hw_cq *cq, const struct nic_wc *wc)
{
	return !cq->base.picks || wc->status != NIC_WC_SUCCESS;
}

/* True: lib may be waiting for one of them. */
static bool cq_stage_all(struct hw_cq *cq, const struct ibv_wc *verbs, int n)
{
	bool news = false;
	struct nic_wc wc;

	for (int i = 0; i < n; i++)
		if (hw_complete(cq, &verbs[i], &wc))
			news |= cq_stage(cq, &wc) && is_news(cq, &wc);
	return news;
}

void hw_cq_fill(struct hw_cq *cq)
{
	struct ibv_wc verbs[BATCH];
	bool news = false;
	int n;

	/* An upcall made below polls this CQ: it gets what is staged so far. */
	if (cq->filling)
		return;
	cq->filling = true;
	do {
		n = ibv_poll_cq(cq->verbs, BATCH, verbs);
		news |= cq_stage_all(cq, verbs, n);
	} while (n == BATCH);
	cq->filling = false;
	if (news)
		hw_cq_notify(cq);
}

void hw_cq_add(struct hw_cq *cq, const struct nic_wc *wc)
{
	if (cq_stage(cq, wc) && !cq->filling)
		hw_cq_notify(cq);
}

/* ---- create, resize, destroy ---- */

static void cq_on_channel(struct ev_loop *loop, ev_io *watch, int events)
{
	struct hw_cq *cq = nic_container_of(watch, struct hw_cq, watch);

	(void)loop;
	(void)events;
	if (cq->overcommitted)
		hw_guard_busy(cq);
	/* The waiter polls the channel itself. */
	if (cq->base.waited && !hw_cq_watched(cq))
		hw_unwatch(watch);
	else
		hw_cq_channel(cq);
}

static int open_channel(struct hw_cq *cq, struct ibv_context *verbs)
{
	unsigned int held = process_fds_hold();
	int flags;

	errno = 0;
	cq->channel = ibv_create_comp_channel(verbs);
	process_fds_release(held);
	if (!cq->channel)
		return -ENOMEM;
	flags = fcntl(cq->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK)) {
		ibv_destroy_comp_channel(cq->channel);
		return -ENOMEM;
	}
	ev_io_init(&cq->watch, cq_on_channel, cq->channel->fd, EV_READ);
	return 0;
}

/* Each vector is an interrupt of its own, which the kernel may send to a processor of its own. */
static int cq_vector(struct hw_nic *n)
{
	int wanted = n->world->knobs.comp_vector;

	return wanted >= 0 ? wanted
			   : (int)(n->next_vector++ % (unsigned int)n->verbs->num_comp_vectors);
}

/* As deep as wanted, plus headroom if the device allows that. */
static struct ibv_cq *cq_create_verbs(struct hw_nic *n, struct hw_cq *cq, uint32_t depth)
{
	uint32_t most = (uint32_t)n->dev.max_cqe, wanted = depth + HEADROOM;
	int vector = cq_vector(n);
	struct ibv_cq *verbs;

	if (wanted > most)
		wanted = most;
	verbs = ibv_create_cq(n->verbs, (int)wanted, cq, cq->channel, vector);
	if (!verbs && wanted > depth)
		verbs = ibv_create_cq(n->verbs, (int)depth, cq, cq->channel, vector);
	return verbs;
}

static int cq_create(struct hw_nic *n, uint32_t depth, struct hw_cq **out)
{
	struct hw_cq *cq = calloc(1, sizeof(*cq));
	int err = -ENOMEM;

	if (!cq)
		return err;
	cq->base.nic = &n->base;
	cq->depth = cq->limit = depth;
	cq->mask = cq_mask(depth);
	cq->staged = malloc(((size_t)cq->mask + 1) * sizeof(*cq->staged));
	if (!cq->staged)
		goto free_cq;
	err = open_channel(cq, n->verbs);
	if (err)
		goto free_staged;
	errno = 0;
	cq->verbs = cq_create_verbs(n, cq, depth);
	if (!cq->verbs) {
		err = hw_explain_no_memory(hw_errno());
		goto close_channel;
	}
	LIST_INSERT_HEAD(&n->all_cqs, cq, in_nic);
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
	err = cq_create(n, depth, &cq);
	if (err)
		return err;
	cq->base.ctx = ctx;
	n->cqs++;
	*out = &cq->base;
	return 0;
}

static void destroy_cq(struct hw_deferred *deferred)
{
	struct hw_cq *cq = nic_container_of(deferred, struct hw_cq, deferred);

	ibv_destroy_cq(cq->verbs);
	ibv_destroy_comp_channel(cq->channel);
}

static void release_cq(struct hw_deferred *deferred)
{
	struct hw_cq *cq = nic_container_of(deferred, struct hw_cq, deferred);

	free(cq->staged);
	free(cq);
}

void hw_cq_destroy(struct nic_cq *base)
{
	struct hw_cq *cq = hw_cq(base);

	hw_guard_stop(cq);
	hw_unwatch(&cq->watch);
	LIST_REMOVE(cq, in_nic);
	if (!cq->sink)
		hw_nic(base->nic)->cqs--;
	cq->deferred = (struct hw_deferred){ .destroy = destroy_cq, .release = release_cq };
	cq->destroyed = true;
	hw_destroy_after(&cq->deferred);
}

/* Make the verbs CQ at least so deep. False: the device cannot, and it stays as it is. */
static bool cq_deepen(struct hw_cq *cq, uint32_t depth)
{
	uint32_t most = (uint32_t)hw_nic(cq->base.nic)->dev.max_cqe;

	if ((uint32_t)cq->verbs->cqe >= depth)
		return true;
	return ibv_resize_cq(cq->verbs, (int)(depth < most ? depth : most)) == 0 &&
	       (uint32_t)cq->verbs->cqe >= depth;
}

static void cq_check_room(struct hw_cq *cq)
{
	bool over = cq->room > cq->depth && !cq->sink;

	if (over && !cq->overcommitted)
		hw_guard_start(cq);
	else if (!over)
		hw_guard_stop(cq);
	hw_cq_choose(cq);
}

int hw_cq_resize(struct nic_cq *base, uint32_t depth)
{
	struct hw_cq *cq = hw_cq(base);
	uint32_t mask = cq_mask(depth), n;
	struct nic_wc *ring;

	/* lib has counted, and what comes now waits in the device. */
	n = cq_staged(cq);
	if (depth == 0 || n > depth)
		return -EINVAL;
	ring = malloc(((size_t)mask + 1) * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	if (!cq_deepen(cq, depth)) {
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
	cq_check_room(cq);
	return 0;
}

void hw_cq_attach(struct hw_cq *cq, int requests)
{
	cq->room += (uint32_t)requests;
	/*
	 * If that fails, the program may overrun the verbs CQ, which an asynchronous event reports.
	 */
	if (requests > 0)
		cq_deepen(cq, cq->room);
	cq_check_room(cq);
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

static void cq_take(struct hw_cq *cq, struct nic_wc *wc)
{
	*wc = cq->staged[cq->get++ & cq->mask];
}

static HW_COLD bool cq_take_staged(struct hw_cq *cq, struct nic_wc *wc)
{
	if (cq->put == cq->get || hw_cq_watched(cq) || cq->overcommitted)
		hw_cq_fill(cq);
	if (cq->put == cq->get)
		return false;
	cq_take(cq, wc);
	return true;
}

static bool cq_complete(struct hw_cq *cq, const struct ibv_wc *verbs, struct nic_wc *wc)
{
	bool seen;

	cq->filling = true;
	seen = hw_complete(cq, verbs, wc);
	cq->filling = false;
	return seen;
}

static bool cq_poll_one(struct hw_cq *cq, struct nic_wc *wc)
{
	struct ibv_wc verbs;

	if (HW_UNLIKELY(cq_is_indirect(cq) || cq->overcommitted))
		return cq_take_staged(cq, wc);
	do {
		if (ibv_poll_cq(cq->verbs, 1, &verbs) != 1)
			return false;
	} while (!cq_complete(cq, &verbs, wc));
	return true;
}

HW_COLD const struct nic_wc *hw_cq_any(struct hw_cq *cq)
{
	bool there = cq_poll_one(cq, &cq->unusual);

	hw_cq_choose(cq);
	return there ? &cq->unusual : NULL;
}

HW_COLD const struct nic_wc *hw_cq_unusual(struct hw_cq *cq, const struct ibv_wc *polled)
{
	return cq_complete(cq, polled, &cq->unusual) ? &cq->unusual : hw_cq_any(cq);
}

const struct nic_wc *hw_cq_several(struct hw_cq *cq, const struct ibv_wc *polled, int n)
{
	cq->filling = true;
	cq_stage_all(cq, polled, n);
	cq->filling = false;
	return hw_cq_any(cq);
}

int hw_cq_poll(struct nic_cq *base, struct nic_wc *wc, int n)
{
	struct hw_cq *cq = hw_cq(base);
	int i;

	for (i = 0; i < n && cq_poll_one(cq, &wc[i]); i++)
		;
	return i;
}

bool hw_cq_spin(struct nic_cq *cq, struct nic_wc *wc)
{
	return cq_poll_one(hw_cq(cq), wc);
}

uint32_t hw_cq_count(struct nic_cq *base)
{
	struct hw_cq *cq = hw_cq(base);

	hw_cq_fill(cq);
	return cq_staged(cq);
}

void hw_cq_limit(struct nic_cq *base, uint32_t n)
{
	struct hw_cq *cq = hw_cq(base);

	assert(n <= cq->depth);
	cq->limit = n;
}

/* ---- the CQ of QPs that name none ---- */

int hw_sink_get(struct hw_nic *n, struct hw_cq **out)
{
	int err;

	if (!n->sink) {
		err = cq_create(n, 1, &n->sink);
		if (err)
			return err;
		n->sink->sink = true;
		hw_cq_keep_armed(n->sink);
	}
	*out = n->sink;
	return 0;
}
