/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What objects are to each other: an object says what it belongs to and counts who uses it; what is
 * queued for it goes with it, and what is queued for others stays, in order.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

static struct verbs_end a, b;

static void begin(void)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
}

/* ---- fields ---- */

START_TEST(an_object_says_what_it_belongs_to)
{
	struct ibv_srq_init_attr srq_init = { .srq_context = &b,
					      .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr init;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	begin();
	mr = ibv_reg_mr(a.pd, a.buffer + 8, 100, 0);
	ck_assert(mr->context == a.context && mr->pd == a.pd && mr->addr == a.buffer + 8);
	ck_assert_uint_eq(mr->length, 100);
	ck_assert_uint_ne(mr->lkey, a.mr->lkey);
	ck_assert_uint_eq(mr->handle, a.mr->handle + 1);
	mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	ck_assert(mw->context == a.context && mw->pd == a.pd && mw->type == IBV_MW_TYPE_2);
	ck_assert_uint_ne(mw->rkey, 0);
	ck_assert_uint_eq(mw->handle, 1);
	channel = ibv_create_comp_channel(a.context);
	ck_assert(channel->context == a.context && channel->refcnt == 0 && channel->fd > 2);
	cq = ibv_create_cq(a.context, 5, &a, channel, 0);
	ck_assert(cq->context == a.context && cq->channel == channel && cq->cq_context == &a);
	ck_assert_int_eq(cq->cqe, 5);
	ck_assert_int_eq(channel->refcnt, 1);
	ck_assert_uint_eq(cq->handle, a.cq->handle + 1);
	ck_assert(cq->comp_events_completed == 0 && cq->async_events_completed == 0);
	srq = ibv_create_srq(a.pd, &srq_init);
	ck_assert(srq->context == a.context && srq->pd == a.pd && srq->srq_context == &b);
	ck_assert(srq->handle == 1 && srq->events_completed == 0);
	init = (struct ibv_qp_init_attr){ .qp_context = &init,
					  .send_cq = a.cq,
					  .recv_cq = cq,
					  .srq = srq,
					  .cap = { 1, 1, 1, 1, 0 },
					  .qp_type = IBV_QPT_UD };
	qp = ibv_create_qp(a.pd, &init);
	ck_assert(qp->context == a.context && qp->pd == a.pd && qp->qp_context == &init);
	ck_assert(qp->send_cq == a.cq && qp->recv_cq == cq && qp->srq == srq);
	ck_assert(qp->state == IBV_QPS_RESET && qp->qp_type == IBV_QPT_UD);
	ck_assert(qp->handle == 1 && qp->qp_num > 0 && qp->events_completed == 0);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(channel->refcnt, 0);
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- users ---- */

/* Two of each kind that belongs to a domain; it is free when the second has gone. */
START_TEST(a_domain_is_busy_until_the_last_object_is_gone)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_ah_attr to = { .dlid = 1, .port_num = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_srq *srq[2];
	struct ibv_mr *mr[2];
	struct ibv_mw *mw[2];
	struct ibv_ah *ah[2];
	struct ibv_qp *qp[2];
	struct ibv_pd *pd;

	begin();
	init = (struct ibv_qp_init_attr){ .send_cq = a.cq,
					  .recv_cq = a.cq,
					  .cap = { 1, 1, 1, 1, 0 },
					  .qp_type = IBV_QPT_RC };
#define TWO(name, make, end)                                         \
	do {                                                         \
		pd = ibv_alloc_pd(a.context);                        \
		name[0] = make;                                      \
		name[1] = make;                                      \
		ck_assert(name[0] && name[1]);                       \
		for (int i = 0; i < 2; i++) {                        \
			ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY); \
			ck_assert_int_eq(end(name[i]), 0);           \
		}                                                    \
		ck_assert_int_eq(ibv_dealloc_pd(pd), 0);             \
	} while (0)
	TWO(mr, ibv_reg_mr(pd, a.buffer, 64, 0), ibv_dereg_mr);
	TWO(mw, ibv_alloc_mw(pd, IBV_MW_TYPE_1), ibv_dealloc_mw);
	TWO(ah, ibv_create_ah(pd, &to), ibv_destroy_ah);
	TWO(srq, ibv_create_srq(pd, &srq_init), ibv_destroy_srq);
	TWO(qp, ibv_create_qp(pd, &init), ibv_destroy_qp);
#undef TWO
	verbs_end_all(&a, &b);
}
END_TEST

/* A queue pair counts for each queue that it has; one that could not be made, for none. */
START_TEST(a_queue_is_busy_until_its_last_queue_pair_is_gone)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init, bad;
	struct ibv_cq *send, *recv;
	struct ibv_qp *qp[2];
	struct ibv_srq *srq;

	begin();
	send = ibv_create_cq(a.context, 4, NULL, NULL, 0);
	recv = ibv_create_cq(a.context, 4, NULL, NULL, 0);
	srq = ibv_create_srq(a.pd, &srq_init);
	init = (struct ibv_qp_init_attr){ .send_cq = send,
					  .recv_cq = recv,
					  .srq = srq,
					  .cap = { 1, 1, 1, 1, 0 },
					  .qp_type = IBV_QPT_RC };
	bad = init;
	bad.cap.max_send_sge = 100;
	ck_assert_ptr_null(ibv_create_qp(a.pd, &bad));
	for (int i = 0; i < 2; i++)
		qp[i] = ibv_create_qp(a.pd, &init);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_destroy_cq(send), EBUSY);
		ck_assert_int_eq(ibv_destroy_cq(recv), EBUSY);
		ck_assert_int_eq(ibv_destroy_srq(srq), EBUSY);
		ck_assert_int_eq(ibv_destroy_qp(qp[i]), 0);
	}
	ck_assert_int_eq(ibv_destroy_cq(send), 0);
	ck_assert_int_eq(ibv_destroy_cq(recv), 0);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_region_takes_its_new_domain_into_use)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	begin();
	pd = ibv_alloc_pd(a.context);
	mr = ibv_reg_mr(pd, a.buffer, 64, 0);
	ck_assert_int_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, a.pd, NULL, 0, 0), 0);
	ck_assert_ptr_eq(mr->pd, a.pd);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	ck_assert_int_eq(ibv_dealloc_pd(a.pd), EBUSY);
	pd = ibv_alloc_pd(a.context);
	ck_assert_int_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_TRANSLATION,
				      pd, a.buffer + 64, 32, 0),
			 0);
	ck_assert(mr->pd == pd && mr->addr == a.buffer + 64 && mr->length == 32);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- what is queued ---- */

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* An idle send queue has drained at once: one event. */
static struct ibv_qp *make_drained(void)
{
	struct ibv_qp_attr attr;

	verbs_make_qp(&a);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++)
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)i), 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	return a.qp;
}

START_TEST(asynchronous_events_of_others_stay_in_order)
{
	struct ibv_async_event event;
	struct ibv_qp *qp[4];

	begin();
	verbs_make_qp(&b);
	fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 4; i++)
		qp[i] = make_drained();
	a.qp = NULL;
	ck_assert_int_eq(ibv_destroy_qp(qp[1]), 0);
	ck_assert_int_eq(ibv_destroy_qp(qp[3]), 0);
	for (int i = 0; i < 4; i += 2) {
		ck_assert(is_readable(a.context->async_fd));
		ck_assert_int_eq(ibv_get_async_event(a.context, &event), 0);
		ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_SQ_DRAINED);
		ck_assert_ptr_eq(event.element.qp, qp[i]);
		ck_assert_uint_eq(qp[i]->events_completed, 0);
		ibv_ack_async_event(&event);
		ck_assert_uint_eq(qp[i]->events_completed, 1);
		ck_assert_int_eq(ibv_destroy_qp(qp[i]), 0);
	}
	ck_assert(!is_readable(a.context->async_fd));
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), -1);
	ck_assert_int_eq(errno, EAGAIN);
	verbs_end_all(&a, &b);
}
END_TEST

/* A queue pair in the error state, with Receives that are flushed to this CQ. */
static struct ibv_qp *make_failed(struct ibv_cq *cq)
{
	struct ibv_cq *own = a.cq;

	a.cq = cq;
	verbs_make_qp(&a);
	a.cq = own;
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_INIT), 0);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_ERR), 0);
	return a.qp;
}

static void notify(struct ibv_cq *cq, struct ibv_qp *qp)
{
	ck_assert_int_eq(ibv_req_notify_cq(cq, 0), 0);
	a.qp = qp;
	ck_assert_int_eq(verbs_recv(&a, 1, 0, 8), 0);
}

static struct ibv_cq *next_notified(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(channel, &cq, &context)) {
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert(!is_readable(channel->fd));
		return NULL;
	}
	ck_assert_ptr_eq(context, cq->cq_context);
	ibv_ack_cq_events(cq, 1);
	return cq;
}

/* CQs with several events take turns; those of a CQ that is destroyed go with it. */
START_TEST(notifications_of_others_stay_and_take_turns)
{
	static const int order[2][6] = { { 0, 1, 2, 0, 2, -1 }, { 0, 2, 0, 2, -1, -1 } };
	struct ibv_comp_channel *channel;
	struct ibv_qp *qp[3];
	struct ibv_cq *cq[3];

	begin();
	verbs_make_qp(&b);
	channel = ibv_create_comp_channel(a.context);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 3; i++) {
		cq[i] = ibv_create_cq(a.context, 8, &cq[i], channel, 0);
		qp[i] = make_failed(cq[i]);
	}
	ck_assert_int_eq(channel->refcnt, 3);
	ck_assert_ptr_null(next_notified(channel));
	for (int i = 0; i < 3; i++)
		notify(cq[i], qp[i]);
	notify(cq[0], qp[0]);
	notify(cq[2], qp[2]);
	if (_i == 1) {
		ck_assert_int_eq(ibv_destroy_qp(qp[1]), 0);
		ck_assert_int_eq(ibv_destroy_cq(cq[1]), 0);
		ck_assert_int_eq(channel->refcnt, 2);
	}
	for (int i = 0; i < 6; i++)
		ck_assert_ptr_eq(next_notified(channel),
				 order[_i][i] < 0 ? NULL : cq[order[_i][i]]);
	ck_assert_uint_eq(cq[0]->comp_events_completed, 2);
	for (int i = 0; i < 3; i++) {
		if (_i == 1 && i == 1)
			continue;
		ck_assert_int_eq(ibv_destroy_comp_channel(channel), EBUSY);
		ck_assert_int_eq(ibv_destroy_qp(qp[i]), 0);
		ck_assert_int_eq(ibv_destroy_cq(cq[i]), 0);
	}
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
	a.qp = NULL;
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- completions ---- */

static void expect_ids(struct ibv_cq *cq, uint64_t first, uint64_t last)
{
	struct ibv_wc wc;

	for (uint64_t id = first; id <= last; id++) {
		ck_assert_int_eq(ibv_poll_cq(cq, 1, &wc), 1);
		ck_assert_uint_eq(wc.wr_id, id);
		ck_assert_int_eq((int)wc.status, (int)IBV_WC_WR_FLUSH_ERR);
		ck_assert_int_eq((int)wc.opcode, (int)IBV_WC_RECV);
	}
	ck_assert_int_eq(ibv_poll_cq(cq, 1, &wc), 0);
}

/* Of either queue, whether the queue pair is destroyed or only reset. */
START_TEST(completions_go_with_their_queue_pair_from_both_queues)
{
	struct ibv_qp *gone, *stays;
	struct ibv_qp_init_attr init;
	struct ibv_cq *other;

	begin();
	verbs_make_qp(&b);
	other = ibv_create_cq(a.context, 8, NULL, NULL, 0);
	init = (struct ibv_qp_init_attr){ .send_cq = a.cq,
					  .recv_cq = other,
					  .cap = { 4, 4, 2, 2, 0 },
					  .qp_type = IBV_QPT_RC };
	stays = make_failed(other);
	a.qp = gone = ibv_create_qp(a.pd, &init);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_INIT), 0);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_ERR), 0);
	for (uint64_t id = 1; id <= 3; id++) {
		a.qp = gone;
		ck_assert_int_eq(verbs_recv(&a, 100, 0, 8), 0);
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
		a.qp = stays;
		ck_assert_int_eq(verbs_recv(&a, id, 0, 8), 0);
	}
	a.qp = gone;
	if (_i == 0)
		ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_RESET), 0);
	else
		ck_assert_int_eq(ibv_destroy_qp(gone), 0);
	expect_ids(other, 1, 3);
	expect_ids(a.cq, 1, 0);
	if (_i == 0)
		ck_assert_int_eq(ibv_destroy_qp(gone), 0);
	ck_assert_int_eq(ibv_destroy_qp(stays), 0);
	ck_assert_int_eq(ibv_destroy_cq(other), 0);
	a.qp = NULL;
	verbs_end_all(&a, &b);
}
END_TEST

/* Two were kept when the other queue pair went: they count for the length of the queue. */
START_TEST(kept_completions_take_room)
{
	struct ibv_async_event event;
	struct ibv_qp *gone, *stays;
	struct ibv_wc wc[4];
	struct ibv_cq *cq;

	begin();
	verbs_make_qp(&b);
	fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK);
	cq = ibv_create_cq(a.context, 4, NULL, NULL, 0);
	gone = make_failed(cq);
	stays = make_failed(cq);
	for (uint64_t id = 1; id <= 2; id++)
		ck_assert_int_eq(verbs_recv(&a, id, 0, 8), 0);
	ck_assert_int_eq(ibv_destroy_qp(gone), 0);
	ck_assert_int_eq(ibv_resize_cq(cq, 1), EINVAL);
	ck_assert_int_eq(ibv_resize_cq(cq, 2), 0);
	ck_assert_int_eq(ibv_resize_cq(cq, 4), 0);
	for (uint64_t id = 3; id <= 4; id++)
		ck_assert_int_eq(verbs_recv(&a, id, 0, 8), 0);
	ck_assert_int_eq(ibv_resize_cq(cq, 3), EINVAL);
	ck_assert_int_eq(ibv_get_async_event(a.context, &event), -1);
	if (_i == 0) {
		/* A poll takes the kept ones first, and no other with them. */
		ck_assert_int_eq(ibv_poll_cq(cq, 1, wc), 1);
		ck_assert_uint_eq(wc[0].wr_id, 1);
		ck_assert_int_eq(ibv_poll_cq(cq, 4, wc), 1);
		ck_assert_uint_eq(wc[0].wr_id, 2);
		/* Now there is room for two more. */
		for (uint64_t id = 5; id <= 6; id++)
			ck_assert_int_eq(verbs_recv(&a, id, 0, 8), 0);
		ck_assert_int_eq(ibv_get_async_event(a.context, &event), -1);
		ck_assert_int_eq(ibv_poll_cq(cq, 4, wc), 4);
		for (uint64_t i = 0; i < 4; i++)
			ck_assert_uint_eq(wc[i].wr_id, 3 + i);
	} else {
		ck_assert_int_eq(verbs_recv(&a, 5, 0, 8), 0);
		ck_assert_int_eq(ibv_get_async_event(a.context, &event), 0);
		ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_CQ_ERR);
		ck_assert_ptr_eq(event.element.cq, cq);
		ibv_ack_async_event(&event);
		ck_assert_uint_eq(cq->async_events_completed, 1);
		ck_assert_int_eq(ibv_get_async_event(a.context, &event), 0);
		ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_QP_FATAL);
		ibv_ack_async_event(&event);
	}
	ck_assert_int_eq(ibv_destroy_qp(stays), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	a.qp = NULL;
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_queue_that_grows_by_one_keeps_one_completion_more)
{
	struct ibv_qp *gone, *stays;
	struct ibv_wc wc[3];
	struct ibv_cq *cq;

	begin();
	verbs_make_qp(&b);
	cq = ibv_create_cq(a.context, 1, NULL, NULL, 0);
	gone = make_failed(cq);
	stays = make_failed(cq);
	ck_assert_int_eq(ibv_resize_cq(cq, 2), 0);
	for (uint64_t id = 1; id <= 2; id++)
		ck_assert_int_eq(verbs_recv(&a, id, 0, 8), 0);
	ck_assert_int_eq(ibv_destroy_qp(gone), 0);
	ck_assert_int_eq(ibv_poll_cq(cq, 3, wc), 2);
	ck_assert_uint_eq(wc[0].wr_id, 1);
	ck_assert_uint_eq(wc[1].wr_id, 2);
	ck_assert_int_eq(ibv_destroy_qp(stays), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	a.qp = NULL;
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- the device ---- */

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* One of each kind, with an event of each kind that is not fetched. */
static void leave_all(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_ah_attr to = { .dlid = 1, .port_num = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;

	begin();
	verbs_make_qp(&b);
	make_drained();
	channel = ibv_create_comp_channel(a.context);
	cq = ibv_create_cq(a.context, 4, NULL, channel, 0);
	notify(cq, make_failed(cq));
	ck_assert_ptr_nonnull(ibv_create_srq(a.pd, &srq_init));
	ck_assert_ptr_nonnull(ibv_create_ah(a.pd, &to));
	ck_assert_ptr_nonnull(ibv_alloc_mw(a.pd, IBV_MW_TYPE_1));
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	ck_assert_int_eq(ibv_close_device(b.context), 0);
}

START_TEST(a_closed_device_leaves_no_descriptor)
{
	int before;

	leave_all();
	before = descriptors();
	for (int i = 0; i < 3; i++)
		leave_all();
	ck_assert_int_eq(descriptors(), before);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_object_says_what_it_belongs_to, 1, NULL);
	unit_add(suite, a_domain_is_busy_until_the_last_object_is_gone, 1, NULL);
	unit_add(suite, a_queue_is_busy_until_its_last_queue_pair_is_gone, 1, NULL);
	unit_add(suite, a_region_takes_its_new_domain_into_use, 1, NULL);
	unit_add(suite, asynchronous_events_of_others_stay_in_order, 1, NULL);
	unit_add(suite, notifications_of_others_stay_and_take_turns, 2, NULL);
	unit_add(suite, completions_go_with_their_queue_pair_from_both_queues, 2, NULL);
	unit_add(suite, kept_completions_take_room, 2, NULL);
	unit_add(suite, a_queue_that_grows_by_one_keeps_one_completion_more, 1, NULL);
	unit_add(suite, a_closed_device_leaves_no_descriptor, 1, NULL);
}

UNIT_SUITE("verbs_leftovers")
