/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs that are connected by number: join two whose paths fit, part them when one ends, the
 * settings that each has of its own, and the pauses of its send queue (pause.h).
 */
#include "number.h"

#include <errno.h>

#include "emu/fabric/adapter.h"
#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/sharing.h"
#include "emu/fabric/trace.h"
#include "emu/wire/link.h"
#include "emu/wire/links.h"
#include "emu/wire/profile.h"
#include "emu/wire/retry.h"
#include "emu/wire/wire.h"
#include "emu/cm.h"
#include "emu/qp.h"
#include "emu/tx.h"
#include "emu/upcall.h"
#include "pause.h"
#include "unreliable.h"

static struct emu_path *path_of(struct emu_world *w, const struct emu_qp *qp)
{
	return &EMU_AT(w->fab->path, emu_qp_index(w, qp));
}

/* Does the path of `from` lead to `to`, and will `to` take the packets for those it expects? */
static bool leads_to(struct emu_world *w, const struct emu_qp *from, const struct emu_qp *to)
{
	const struct emu_path *path = path_of(w, from), *other = path_of(w, to);

	return path->to == emu_number_of(w, emu_qp_index(w, to)) && path->adapter == to->adapter &&
	       (!path->sends || path->sq_psn == other->rq_psn) && from->sq.get == to->rx_next;
}

/* The QP to which this one is connected if both agree; NULL: there is none. */
static struct emu_qp *find_partner(struct emu_world *w, const struct emu_qp *qp)
{
	struct emu_qp *to = emu_qp_at(w, emu_number_index(path_of(w, qp)->to));

	if (!to->head.live || !to->numbered || !emu_qp_running(to))
		return NULL;
	return leads_to(w, qp, to) && leads_to(w, to, qp) ? to : NULL;
}

static void point_at(struct emu_world *w, struct emu_qp *qp, const struct emu_qp *peer)
{
	qp->peer = emu_qp_index(w, peer);
	qp->peer_epoch = peer->epoch;
	qp->peer_adapter = peer->adapter;
	qp->link = emu_link_get(w, qp->adapter, peer->adapter);
}

/* Requests in flight were sent to no QP: the retry timer finds that out. */
static void hear_again(struct emu_world *w, struct emu_qp *qp)
{
	if (!qp->half_open)
		return;
	emu_retry_on(w, qp);
	qp->half_open = false;
	emu_observe(w, -1);
}

static void join_pair(struct emu_world *w, struct emu_qp *qp, struct emu_qp *peer)
{
	point_at(w, qp, peer);
	point_at(w, peer, qp);
	qp->odd_mtu = peer->odd_mtu = qp->mtu != peer->mtu;
	emu_qp_assess(qp);
	emu_qp_assess(peer);
	hear_again(w, qp);
	hear_again(w, peer);
}

/* This QP has no peer from now on. One that does not send need not find out. */
static void leave_alone(struct emu_world *w, struct emu_qp *qp)
{
	qp->peer_epoch = EMU_NUMBER_NOBODY | emu_qp_index(w, qp);
	if (path_of(w, qp)->sends)
		emu_retry_half_open(w, qp);
}

static bool is_joined(struct emu_world *w, const struct emu_qp *qp)
{
	const struct emu_qp *peer = emu_qp_at(w, qp->peer);

	return qp->peer && peer->numbered && peer->epoch == qp->peer_epoch;
}

void emu_number_end(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_qp *peer = emu_qp_at(w, qp->peer);

	if (is_joined(w, qp) && peer != qp)
		leave_alone(w, peer);
	qp->peer_epoch = EMU_NUMBER_NOBODY | emu_qp_index(w, qp);
}

/* An adapter that does not exist is this one. */
static uint16_t adapter_at(struct emu_world *w, const struct emu_qp *qp, uint16_t number)
{
	uint16_t adapter = emu_adapter_by_number(w, number);

	return adapter ? adapter : qp->adapter;
}

/* Until there is a partner, packets go to where the path leads, or nowhere from this adapter. */
static void aim_at_path(struct emu_world *w, struct emu_qp *qp)
{
	const struct emu_path *path = path_of(w, qp);

	qp->peer = emu_number_index(path->to);
	qp->peer_adapter = adapter_at(w, qp, path->adapter);
	qp->link = emu_link_get(w, qp->adapter, qp->peer_adapter);
}

static void look_for_partner(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_qp *partner = find_partner(w, qp);

	if (partner) {
		join_pair(w, qp, partner);
		return;
	}
	emu_number_end(w, qp);
	aim_at_path(w, qp);
	leave_alone(w, qp);
}

static bool path_fits(const struct nic_qp_path *path)
{
	return (!path->mtu || path->mtu >= EMU_MTU_LEAST) && path->rd_in <= EMU_MAX_RD &&
	       path->rd_out <= EMU_MAX_RD && path->retry_timer_ns < NIC_TIME_NEVER / 4 &&
	       path->rnr_timer_ns < NIC_TIME_NEVER / 4;
}

uint32_t emu_number_index(uint32_t number)
{
	uint32_t mask = number & EMU_NUMBER_LARGE ? EMU_NUMBER_MANY : EMU_NUMBER_FEW;
	uint32_t index = (number & mask) - EMU_NUMBER_FIRST;

	return index <= EMU_QPS ? index : 0;
}

uint32_t emu_number_of(struct emu_world *w, uint32_t index)
{
	uint32_t before = EMU_AT(w->fab->qp_lives, index) - 1u, low = index + EMU_NUMBER_FIRST;

	if (low <= EMU_NUMBER_FEW)
		return (before * (EMU_NUMBER_FEW + 1) & (EMU_NUMBER_LARGE - 1)) | low;
	return EMU_NUMBER_LARGE | (before * (EMU_NUMBER_MANY + 1) & (EMU_NUMBER_LARGE - 1)) | low;
}

void emu_number_begin(struct emu_world *w, uint32_t index)
{
	EMU_AT(w->fab->qp_lives, index)++;
}

static bool may_be_connected(const struct emu_qp *qp)
{
	return qp->state == EMU_QP_IDLE || qp->state == EMU_QP_UNANSWERED ||
	       (qp->numbered && emu_qp_running(qp));
}

/* A stream has segments, whose length is no attribute of a QP. */
static void set_mtu(struct emu_world *w, struct emu_qp *qp, uint32_t mtu)
{
	if (!mtu || mtu > w->config.mtu || emu_profile(w)->stream)
		mtu = w->config.mtu;
	if (mtu == qp->mtu)
		return;
	qp->mtu = mtu;
	emu_trace(w, EMU_QP " path mtu=%u", EMU_QP_OF(w, qp), mtu);
}

/*
 * How often a request is retried after an RNR NAK. "Without a limit" is the usual setting, and has
 * a line only if there was a limit before.
 */
static void trace_retries(struct emu_world *w, const struct emu_qp *qp, const struct emu_path *own,
			  const struct emu_path *before)
{
	uint32_t told = before->sends ? before->rnr_retry : EMU_RNR_RETRY_FOREVER;

	if (own->sends && own->rnr_retry != told)
		emu_trace(w, EMU_QP " path rnr_retry=%u", EMU_QP_OF(w, qp), own->rnr_retry);
}

/* Do packets go where they went, with the numbers that they had? Some may be in flight. */
static bool is_same_way(const struct emu_path *a, const struct emu_path *b)
{
	return a->to == b->to && a->adapter == b->adapter && a->sends == b->sends &&
	       a->sq_psn == b->sq_psn && a->rq_psn == b->rq_psn;
}

/*
 * A QP that begins to send to the peer it is joined to goes on receiving as it did: a message of
 * the peer may have arrived whose ACK is in flight, and find_partner would not take the two for
 * partners.
 */
static bool stays_joined(struct emu_world *w, const struct emu_qp *qp,
			 const struct emu_path *before, const struct emu_path *own)
{
	return !before->sends && own->sends && before->to == own->to &&
	       before->adapter == own->adapter && before->rq_psn == own->rq_psn &&
	       leads_to(w, qp, emu_qp_at(w, qp->peer));
}

int emu_number_connect(struct nic_qp *base, const struct nic_qp_path *path)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_path *own = path_of(w, qp), before;

	if (!may_be_connected(qp) || !path_fits(path))
		return -EINVAL;
	if (!emu_clock_has_room(w) || !emu_back(w, own, sizeof(*own)) ||
	    !emu_link_get(w, qp->adapter, adapter_at(w, qp, path->adapter)))
		return -ENOMEM;
	before = *own;
	*own = (struct emu_path){ .to = path->qp,
				  .sq_psn = path->sq_psn,
				  .rq_psn = path->rq_psn,
				  .access = path->access,
				  .retry_timer_ns = path->retry_timer_ns,
				  .rnr_timer_ns = path->rnr_timer_ns,
				  .adapter = path->adapter,
				  .retry = path->retry,
				  .rnr_retry = path->rnr_retry,
				  .sends = path->sends,
				  .waits = path->waits,
				  .stopped = before.stopped && !path->restarts &&
					     qp->state == EMU_QP_UNANSWERED,
				  .pause_at = before.pause_at,
				  .qkey = path->qkey };
	set_mtu(w, qp, path->mtu);
	if (qp->kind != NIC_QP_RELIABLE) {
		emu_unreliable_begin(qp);
		emu_pause_expect(qp, path->sends);
		emu_qp_assess(qp);
		emu_pause_set(w, qp, path->waits);
		return 0;
	}
	qp->max_rd_in = path->rd_in;
	qp->max_rd_out = path->rd_out;
	trace_retries(w, qp, own, &before);
	if (!qp->numbered) {
		qp->numbered = true;
		qp->state = EMU_QP_CONNECTED;
		qp->epoch++;
	}
	emu_pause_expect(qp, path->sends);
	emu_qp_assess(qp);
	if (!is_joined(w, qp) || !(is_same_way(&before, own) || stays_joined(w, qp, &before, own)))
		look_for_partner(w, qp);
	emu_pause_set(w, qp, path->waits);
	emu_sent(w, base->nic);
	return 0;
}

/* ---- settings ---- */

uint32_t emu_number_retry(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->numbered ? path_of(w, qp)->retry : w->config.retry;
}

uint64_t emu_number_retry_timer(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->numbered ? path_of(w, qp)->retry_timer_ns : w->config.retry_timer_ns;
}

uint32_t emu_number_rnr_retry(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->numbered ? path_of(w, qp)->rnr_retry : w->config.rnr_retry;
}

uint64_t emu_number_rnr_pause(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->numbered ? path_of(w, emu_qp_at(w, qp->peer))->rnr_timer_ns
			    : w->config.rnr_timer_ns;
}

/* ---- by the connection manager ---- */

void emu_cm_fit_reads(struct emu_qp *qp, uint8_t peer_in, uint8_t peer_out)
{
	if (qp->max_rd_out > peer_in)
		qp->max_rd_out = peer_in;
	if (qp->max_rd_in < peer_out)
		qp->max_rd_in = peer_out;
}

/* The passive side does not know of the connection yet, so it has sent nothing. */
static void move_connection(struct emu_world *w, struct emu_qp *from, struct emu_qp *to)
{
	struct emu_qp *peer = emu_qp_at(w, from->peer);

	to->state = EMU_QP_CONNECTED;
	to->epoch++;
	to->peer = from->peer;
	to->peer_epoch = from->peer_epoch;
	to->peer_adapter = from->peer_adapter;
	to->link = from->link;
	emu_cm_fit_reads(to, peer->max_rd_in, peer->max_rd_out);
	emu_qp_assess(to);
	if (peer->epoch == to->peer_epoch) {
		peer->peer = emu_qp_index(w, to);
		peer->peer_epoch = to->epoch;
	}
	from->state = EMU_QP_IDLE;
	from->epoch++;
	from->peer = 0;
	emu_qp_assess(from);
}

int emu_refuse(struct nic_conn *base, const void *data, uint32_t size)
{
	struct emu_world *w = emu_world_of(base->nic);
	uint32_t index = EMU_INDEX(w, conn, base);

	if (size > EMU_PRIVATE_DATA)
		return -EINVAL;
	emu_cm_set_data(&EMU_AT(w->fab->conn, index), data, size);
	emu_cm_reply(w, index, NIC_END_REJECTED + 1u);
	emu_sent(w, base->nic);
	return 0;
}

/* The peer ended meanwhile, and told the QP that the connection was moved from. */
static void hear_of_end(struct emu_world *w, const struct emu_qp *qp)
{
	const struct emu_link *forth = &EMU_AT(w->fab->link, qp->link);

	emu_schedule(w, w->fab->now + EMU_AT(w->fab->link, forth->back).latency_ns,
		     EMU_EV_DISCONNECT, emu_qp_index(w, qp), qp->epoch, 0, 0);
}

int emu_confirm(struct nic_qp *base, struct nic_qp *messages)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_qp *to = messages ? emu_local_qp(messages)->entry : NULL;

	if (qp->state != EMU_QP_CONNECTED)
		return -ENOTCONN;
	if (to && to->state != EMU_QP_IDLE)
		return -EINVAL;
	if (!emu_clock_has_room(w))
		return -ENOMEM;
	if (to) {
		move_connection(w, qp, to);
		qp = to;
	}
	if (to && emu_qp_at(w, to->peer)->epoch != to->peer_epoch)
		hear_of_end(w, to);
	else
		emu_qp_tell_peer(w, qp, EMU_EV_CM_READY, 0, 0);
	emu_sent(w, base->nic);
	return 0;
}

/* ---- pauses: pause.h ---- */

void emu_pause_heard(struct emu_world *w, struct emu_qp *qp)
{
	qp->unheard = false;
	emu_qp_assess(qp);
	emu_trace(w, EMU_QP " heard", EMU_QP_OF(w, qp));
	emu_up_qp_event(w, qp, NIC_QP_HEARD);
}

void emu_pause_drained(struct emu_world *w, struct emu_qp *qp)
{
	qp->undrained = false;
	emu_trace(w, EMU_QP " drained", EMU_QP_OF(w, qp));
	emu_up_qp_event(w, qp, NIC_QP_DRAINED);
}

/* The request that waits for the RNR timer has begun. */
static uint32_t first_not_begun(const struct emu_qp *qp)
{
	if (qp->kind != NIC_QP_RELIABLE)
		return qp->sq.put;
	return qp->sq_next + (qp->rnr_wait && qp->sq_next != qp->sq.put);
}

static void pause_now(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_path *path = path_of(w, qp);

	path->pause_at = first_not_begun(qp);
	qp->undrained = true;
	qp->paused = !path->stopped; /* a request that is flushed does not wait */
	if (qp->kind == NIC_QP_RELIABLE)
		qp->state = EMU_QP_PAUSED;
	emu_qp_assess(qp);
	emu_pause_retired(w, qp);
}

static void resume_now(struct emu_world *w, struct emu_qp *qp)
{
	qp->paused = qp->undrained = false;
	if (qp->kind != NIC_QP_RELIABLE) {
		emu_unreliable.resume(w, qp);
		return;
	}
	qp->state = EMU_QP_CONNECTED;
	emu_qp_assess(qp);
	emu_tx_kick(w, qp);
}

void emu_pause_set(struct emu_world *w, struct emu_qp *qp, bool waits)
{
	if (waits && !qp->paused)
		pause_now(w, qp);
	else if (!waits && qp->paused)
		resume_now(w, qp);
}
