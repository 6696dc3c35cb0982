/* SPDX-License-Identifier: BSD-3-Clause */
/* qp_events.c - two queue pairs, and what has come of each: see qp_events.h. */
#include "qp_events.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/asleep.h"

struct verbs_end a, b;

int next_event(const struct verbs_end *end, const struct ibv_qp *qp)
{
	struct ibv_async_event event;

	fcntl(end->context->async_fd, F_SETFL, O_NONBLOCK);
	if (ibv_get_async_event(end->context, &event))
		return -1;
	if (qp)
		ck_assert_ptr_eq(event.element.qp, qp);
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

void expect_done(struct verbs_end *end, uint64_t id)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.wr_id, id);
}

void expect_quiet(const struct verbs_end *end)
{
	struct ibv_wc wc;

	for (int i = 0; i < 500; i++)
		ck_assert_int_eq(ibv_poll_cq(end->cq, 1, &wc), 0);
}

void send_one(struct verbs_end *end, uint64_t id, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)end->buffer, 8, end->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = b.qp->qp_num;
		wr.wr.ud.remote_qkey = VERBS_QKEY;
	}
	ck_assert_int_eq(ibv_post_send(end->qp, &wr, &bad), 0);
}

int set_state(struct verbs_end *end, enum ibv_qp_state state, bool notify)
{
	struct ibv_qp_attr attr = { .qp_state = state, .en_sqd_async_notify = notify };

	return ibv_modify_qp(end->qp, &attr,
			     IBV_QP_STATE | (notify ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0));
}

static void *destroy_object(void *arg)
{
	struct destroyer *destroyer = arg;

	__atomic_store_n(&destroyer->tid, gettid(), __ATOMIC_RELEASE);
	destroyer->err = destroyer->qp ? ibv_destroy_qp(destroyer->qp)
				       : ibv_destroy_cq(destroyer->cq);
	destroyer->waited = __atomic_load_n(&destroyer->acknowledged, __ATOMIC_ACQUIRE);
	return NULL;
}

void begin_destroy(struct destroyer *destroyer)
{
	ck_assert_int_eq(pthread_create(&destroyer->thread, NULL, destroy_object, destroyer), 0);
	until_thread_asleep(&destroyer->tid);
}

void allow_destroy(struct destroyer *destroyer)
{
	until_thread_asleep(&destroyer->tid);
	__atomic_store_n(&destroyer->acknowledged, true, __ATOMIC_RELEASE);
}

void await_destroy(struct destroyer *destroyer)
{
	ck_assert_int_eq(pthread_join(destroyer->thread, NULL), 0);
	ck_assert_int_eq(destroyer->err, 0);
	ck_assert(destroyer->waited);
}
