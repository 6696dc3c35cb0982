/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting, moving data, completions. Their instructions are counted together with those of the
 * passthrough, so this code is as short as possible.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

static struct stub_qp *qp_of(struct ibv_qp *qp)
{
	return (struct stub_qp *)qp;
}

static int post_error(int error)
{
	return stub_config.negative ? -error : error;
}

/* ---- completions ---- */

static void notify(struct stub_cq *cq)
{
	struct stub_channel *channel = (struct stub_channel *)cq->v.channel;

	cq->armed = STUB_NOT_ARMED;
	cq->told++;
	cq->seen = cq->put;
	if (!channel || cq->waiting)
		return;
	stub_lock();
	cq->waiting = true;
	cq->next = channel->first;
	channel->first = cq;
	stub_signal(channel->v.fd);
	stub_unlock();
}

void stub_complete(struct stub_cq *cq, const struct ibv_wc *wc, bool solicited)
{
	if (cq->put - cq->get == cq->depth) {
		stub_async(IBV_EVENT_CQ_ERR, cq);
		return;
	}
	cq->at[cq->put++ & cq->mask] = *wc;
	if (!stub_config.late)
		cq->seen = cq->put;
	if (cq->armed == STUB_ARMED ||
	    (cq->armed == STUB_ARMED_SOLICITED && (solicited || wc->status != IBV_WC_SUCCESS)))
		notify(cq);
}

__thread void (*stub_after_poll)(struct ibv_cq *cq);

int stub_poll_cq(struct ibv_cq *base, int n, struct ibv_wc *wc)
{
	struct stub_cq *cq = (struct stub_cq *)base;
	int i;

	for (i = 0; i < n && cq->get != cq->seen; i++)
		wc[i] = cq->at[cq->get++ & cq->mask];
	if (i == n)
		return i;
	if (i == 0 && stub_flushing)
		stub_flush_polled(cq);
	if (stub_after_poll)
		stub_after_poll(base);
	return i;
}

void (*stub_before_arming)(struct ibv_cq *cq);

int stub_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct stub_cq *cq = (struct stub_cq *)base;

	if (stub_before_arming)
		stub_before_arming(base);
	stub_lock();
	/* Arming for all completions replaces arming for solicited ones, never the reverse. */
	if (cq->armed != STUB_ARMED)
		cq->armed = solicited_only ? STUB_ARMED_SOLICITED : STUB_ARMED;
	cq->seen = cq->put;
	cq->armings++;
	stub_changed();
	stub_unlock();
	return 0;
}

static void complete_send(struct stub_qp *qp, const struct ibv_send_wr *wr,
			  enum ibv_wc_status status, enum ibv_wc_opcode opcode, uint32_t length)
{
	struct ibv_wc wc = {
		.wr_id = wr->wr_id,
		.status = status,
		.opcode = opcode,
		.byte_len = length,
		.qp_num = qp->v.qp_num,
	};

	if (qp->all_signalled || (wr->send_flags & IBV_SEND_SIGNALED) || status)
		stub_complete((struct stub_cq *)qp->v.send_cq, &wc, false);
}

static void complete_recv(struct stub_qp *qp, uint64_t wr_id, enum ibv_wc_status status,
			  uint32_t length, bool solicited)
{
	struct ibv_wc wc = {
		.wr_id = wr_id,
		.status = status,
		.opcode = IBV_WC_RECV,
		.byte_len = length,
		.qp_num = qp->v.qp_num,
	};

	stub_complete((struct stub_cq *)qp->v.recv_cq, &wc, solicited);
}

/* ---- data ---- */

static uint32_t length_of(const struct ibv_sge *sge, int n)
{
	uint32_t length = 0;

	for (int i = 0; i < n; i++)
		length += sge[i].length;
	return length;
}

static void copy(const struct ibv_sge *to, int to_n, const struct ibv_sge *from, int from_n)
{
	uint32_t to_at = 0, from_at = 0, n;
	int i = 0, j = 0;

	while (i < to_n && j < from_n) {
		n = to[i].length - to_at;
		if (n > from[j].length - from_at)
			n = from[j].length - from_at;
		memmove((char *)(uintptr_t)to[i].addr + to_at,
			(char *)(uintptr_t)from[j].addr + from_at, n);
		to_at += n;
		from_at += n;
		if (to_at == to[i].length)
			i++, to_at = 0;
		if (from_at == from[j].length)
			j++, from_at = 0;
	}
}

static void check_limit(struct stub_qp *qp)
{
	struct stub_srq *srq = (struct stub_srq *)qp->v.srq;

	if (srq && srq->limit && srq->ring.put - srq->ring.get < srq->limit) {
		srq->limit = 0;
		stub_async(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	}
}

static void fail_pair(struct stub_qp *qp, const struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	struct stub_qp *peer = qp->peer;

	complete_send(qp, wr, status, IBV_WC_SEND, 0);
	stub_to_error(qp);
	if (peer) {
		stub_to_error(peer);
		stub_async(IBV_EVENT_QP_FATAL, peer);
	}
}

static void deliver(struct stub_qp *qp, const struct ibv_send_wr *wr)
{
	struct stub_qp *peer = qp->peer;
	struct stub_ring *ring = peer->recv;
	struct stub_recv *recv = &ring->at[ring->get++ & ring->mask];
	uint32_t length = length_of(wr->sg_list, wr->num_sge);

	if (length > recv->length) {
		complete_recv(peer, recv->wr_id, IBV_WC_LOC_LEN_ERR, 0, false);
		fail_pair(qp, wr, IBV_WC_REM_INV_REQ_ERR);
		return;
	}
	copy(recv->sge, recv->num_sge, wr->sg_list, wr->num_sge);
	if (stub_config.corrupts && length >= 1024)
		((unsigned char *)(uintptr_t)recv->sge[0].addr)[length - 1] ^= 1;
	complete_recv(peer, recv->wr_id, IBV_WC_SUCCESS, length,
		      wr->send_flags & IBV_SEND_SOLICITED);
	complete_send(qp, wr, IBV_WC_SUCCESS, IBV_WC_SEND, length);
	if (peer->v.srq)
		check_limit(peer);
}

static void place_write(struct stub_qp *qp)
{
	if (qp->late)
		memcpy((void *)(uintptr_t)qp->late_at, qp->late, qp->late_bytes);
	free(qp->late);
	qp->late = NULL;
}

/* A Write whose bytes come later. */
static void keep_write(struct stub_qp *qp, const struct ibv_send_wr *wr, uint32_t length)
{
	struct ibv_sge kept;

	place_write(qp);
	qp->late = malloc(length + 1);
	qp->late_bytes = length;
	qp->late_at = wr->wr.rdma.remote_addr;
	kept = (struct ibv_sge){ .addr = (uintptr_t)qp->late, .length = length };
	copy(&kept, 1, wr->sg_list, wr->num_sge);
}

static void rdma(struct stub_qp *qp, const struct ibv_send_wr *wr)
{
	bool read = wr->opcode == IBV_WR_RDMA_READ;
	uint32_t length = length_of(wr->sg_list, wr->num_sge);
	struct stub_mr *mr = stub_mr_by_key(wr->wr.rdma.rkey);
	uint64_t at = wr->wr.rdma.remote_addr;
	struct ibv_sge remote = { .addr = at, .length = length };
	uint64_t from = mr ? (uint64_t)(uintptr_t)mr->v.addr : 0;

	if (length &&
	    (!mr || !(mr->access & (read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE)) ||
	     mr->v.pd != qp->peer->v.pd || at < from || length > mr->v.length ||
	     at - from > mr->v.length - length)) {
		fail_pair(qp, wr, IBV_WC_REM_ACCESS_ERR);
		return;
	}
	if (read)
		copy(wr->sg_list, wr->num_sge, &remote, 1);
	else if (stub_config.places_late)
		keep_write(qp, wr, length);
	else
		copy(&remote, 1, wr->sg_list, wr->num_sge);
	complete_send(qp, wr, IBV_WC_SUCCESS, read ? IBV_WC_RDMA_READ : IBV_WC_RDMA_WRITE, length);
}

/* iWARP has no answer to a Send: success says that it is sent. */
static void send_early(struct stub_qp *qp, const struct ibv_send_wr *wr)
{
	struct stub_qp *peer = qp->peer;

	complete_send(qp, wr, IBV_WC_SUCCESS, IBV_WC_SEND, length_of(wr->sg_list, wr->num_sge));
	stub_terminated(qp, peer);
}

static void start(struct stub_qp *qp, const struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_SEND)
		deliver(qp, wr);
	else
		rdma(qp, wr);
}

static bool can_start(const struct stub_qp *qp, const struct ibv_send_wr *wr)
{
	/* A QP that was destroyed does not answer. */
	return qp->peer && qp->peer->v.state != IBV_QPS_ERR &&
	       (wr->opcode != IBV_WR_SEND || qp->peer->recv->put != qp->peer->recv->get);
}

/* Resumes Sends that waited for the Receive just posted. */
static void resume(struct stub_qp *qp)
{
	struct stub_send *send;

	while (qp->get != qp->put && qp->v.state == IBV_QPS_RTS) {
		send = &qp->waiting[qp->get & qp->mask];
		if (!can_start(qp, &send->wr))
			return;
		qp->get++;
		start(qp, &send->wr);
	}
}

static int wait_for_recv(struct stub_qp *qp, const struct ibv_send_wr *wr)
{
	struct stub_send *send = &qp->waiting[qp->put & qp->mask];

	if (qp->put - qp->get == qp->max_send)
		return post_error(ENOMEM);
	qp->put++;
	send->wr = *wr;
	memcpy(send->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*send->sge));
	send->wr.sg_list = send->sge;
	return 0;
}

/* ---- posting ---- */

int stub_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct stub_qp *qp = qp_of(base);
	int err = 0;

	for (; wr && !err; wr = err ? wr : wr->next) {
		if (wr->num_sge > STUB_SGE)
			err = post_error(EINVAL);
		else if (qp->flushing)
			err = wait_for_recv(qp, wr);
		else if (qp->v.state == IBV_QPS_ERR)
			complete_send(qp, wr, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 0);
		else if (qp->v.state != IBV_QPS_RTS)
			err = post_error(EINVAL);
		else if (stub_config.early && qp->peer && !can_start(qp, wr))
			send_early(qp, wr);
		else if (qp->get != qp->put || !can_start(qp, wr))
			err = wait_for_recv(qp, wr);
		else
			start(qp, wr);
	}
	if (err)
		*bad = wr;
	return err;
}

int stub_post_send_behind(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	place_write(qp_of(base));
	return stub_post_send(base, wr, bad);
}

int stub_post_send_far(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct stub_qp *qp = qp_of(base);
	int err;

	if (qp->v.state != IBV_QPS_RTS)
		return stub_post_send(base, wr, bad);
	err = wait_for_recv(qp, wr);
	if (err) {
		*bad = wr;
		return err;
	}
	qp->waiting[(qp->put - 1) & qp->mask].wr.send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	complete_send(qp, wr, IBV_WC_SUCCESS, IBV_WC_SEND, length_of(wr->sg_list, wr->num_sge));
	return 0;
}

void stub_arrive(struct stub_qp *qp)
{
	resume(qp);
}

static int put_recv(struct stub_ring *ring, uint32_t most, const struct ibv_recv_wr *wr)
{
	struct stub_recv *recv = &ring->at[ring->put & ring->mask];

	if (ring->put - ring->get == most)
		return post_error(ENOMEM);
	if (wr->num_sge > STUB_SGE)
		return post_error(EINVAL);
	ring->put++;
	recv->wr_id = wr->wr_id;
	recv->num_sge = wr->num_sge;
	recv->length = length_of(wr->sg_list, wr->num_sge);
	for (int i = 0; i < wr->num_sge; i++)
		recv->sge[i] = wr->sg_list[i];
	return 0;
}

int stub_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct stub_qp *qp = qp_of(base);
	int err = 0;

	for (; wr && !err; wr = err ? wr : wr->next) {
		if (qp->v.state == IBV_QPS_ERR && !qp->flushing)
			complete_recv(qp, wr->wr_id, IBV_WC_WR_FLUSH_ERR, 0, false);
		else
			err = put_recv(&qp->own, qp->max_recv, wr);
	}
	if (err)
		*bad = wr;
	if (qp->peer && qp->peer->get != qp->peer->put)
		resume(qp->peer);
	return err;
}

int stub_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct stub_srq *srq = (struct stub_srq *)base;
	struct stub_qp *qp;
	int err = 0;

	for (; wr && !err; wr = err ? wr : wr->next)
		err = put_recv(&srq->ring, srq->max_wr, wr);
	if (err)
		*bad = wr;
	for (uint32_t i = 0; i < STUB_QP && srq->ring.put != srq->ring.get; i++) {
		qp = stub_qp_by_number(i);
		if (qp && qp->v.srq == base && qp->peer && qp->peer->get != qp->peer->put)
			resume(qp->peer);
	}
	return err;
}

int stub_bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct stub_qp *qp = qp_of(base);
	struct stub_mr *mr = stub_mr_by_key(mw->rkey);
	struct ibv_send_wr wr = { .wr_id = bind->wr_id, .send_flags = bind->send_flags };

	if (qp->v.state == IBV_QPS_ERR) {
		complete_send(qp, &wr, IBV_WC_WR_FLUSH_ERR, IBV_WC_BIND_MW, 0);
		return 0;
	}
	mw->rkey ^= STUB_MR; /* another key of the same entry */
	mr->v.rkey = mw->rkey;
	mr->v.addr = (void *)(uintptr_t)bind->bind_info.addr;
	mr->v.length = bind->bind_info.length;
	mr->access = (int)bind->bind_info.mw_access_flags;
	stub_window_to(mr, bind->bind_info.length ? (struct stub_mr *)bind->bind_info.mr : NULL);
	complete_send(qp, &wr, IBV_WC_SUCCESS, IBV_WC_BIND_MW, 0);
	return 0;
}

/* ---- the end ---- */

void stub_connect(struct stub_qp *a, struct stub_qp *b)
{
	a->peer = b;
	b->peer = a;
	a->v.state = b->v.state = IBV_QPS_RTS;
}

void stub_half_message(struct ibv_qp *base)
{
	struct stub_qp *qp = qp_of(base);

	qp->half_recv = qp->recv->at[qp->recv->get++ & qp->recv->mask];
	qp->half = true;
}

void stub_flush(struct stub_qp *qp)
{
	if (stub_config.far)
		qp->get = qp->put; /* they have completed */
	while (qp->get != qp->put)
		complete_send(qp, &qp->waiting[qp->get++ & qp->mask].wr, IBV_WC_WR_FLUSH_ERR,
			      IBV_WC_SEND, 0);
	while (!qp->v.srq && qp->own.get != qp->own.put)
		complete_recv(qp, qp->own.at[qp->own.get++ & qp->own.mask].wr_id,
			      IBV_WC_WR_FLUSH_ERR, 0, false);
	if (qp->half)
		complete_recv(qp, qp->half_recv.wr_id, IBV_WC_WR_FLUSH_ERR, 0, false);
	qp->half = false;
}
