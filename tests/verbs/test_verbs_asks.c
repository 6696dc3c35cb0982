/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that only ask, again and again, let time pass; posts begin the count anew. */
#include <fcntl.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

#define REGION 256u
#define SPINS  100000 /* at most, of a program that looks again and again */

static struct verbs_end a, b;

static uint64_t time_now(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	ck_assert_int_eq(ibv_query_rt_values_ex(a.context, &values), 0);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000u + (uint64_t)values.raw_clock.tv_nsec;
}

/* Nothing but a question; time may pass after a thousand. */
static void ask_for(int what)
{
	struct ibv_async_event event;
	struct ibv_qp_init_attr init;
	struct ibv_srq_attr srq_attr;
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;

	switch (what) {
	case 0:
		ck_assert_int_eq(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
		break;
	case 1:
		ck_assert_int_eq(ibv_query_port(a.context, 1, &port), 0);
		break;
	case 2:
		ck_assert_int_eq(ibv_query_srq(a.srq, &srq_attr), 0);
		break;
	default:
		ck_assert_int_eq(ibv_get_async_event(a.context, &event), -1);
		break;
	}
}

static void ask(int times)
{
	while (times-- > 0)
		ask_for(0);
}

static void send_unsignaled(void)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, a.mr->lkey };
	struct ibv_send_wr wr = verbs_wr(&b, IBV_WR_SEND, &sge), *bad;

	wr.send_flags = 0;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
}

static void post_by_way(int way)
{
	struct ibv_recv_wr second = { .wr_id = 2 }, first = { .wr_id = 1, .next = &second }, *bad;
	const unsigned int flags = way == 5 ? IBV_SEND_INLINE : 0;

	switch (way) {
	case 0: /* in a region that was used before */
	case 1: /* in one that was not */
		ck_assert_int_eq(verbs_recv(&a, 1, 0, REGION), 0);
		break;
	case 2: /* two at once */
		ck_assert_int_eq(ibv_post_recv(a.qp, &first, &bad), 0);
		break;
	case 3:
		send_unsignaled();
		break;
	default:
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, flags), 0);
		break;
	}
}

START_TEST(time_passes_for_a_thousand_questions_without_a_post)
{
	uint64_t began;

	verbs_begin(&a, &b);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(verbs_recv(&b, (uint64_t)i, 0, REGION), 0);
	ck_assert(_i == 1 || verbs_recv(&a, 1, 0, REGION) == 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	ask(1000);
	began = time_now();
	post_by_way(_i);
	ask(1000);
	ck_assert_uint_eq(time_now(), began);
	ask(1);
	ck_assert_uint_gt(time_now(), began);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(time_passes_for_a_thousand_questions_of_each_kind)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	uint64_t began;

	verbs_begin(&a, &b);
	a.srq = ibv_create_srq(a.pd, &init);
	ck_assert_ptr_nonnull(a.srq);
	fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK);
	ck_assert_int_eq(verbs_recv(&a, 1, 0, REGION), 0);
	began = time_now();
	for (int i = 0; i < 1000; i++)
		ask_for(_i);
	ck_assert_uint_eq(time_now(), began);
	ask_for(_i);
	ck_assert_uint_gt(time_now(), began);
	ck_assert_int_eq(ibv_destroy_srq(a.srq), 0);
	a.srq = NULL;
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- what programs wait for in that way ---- */

/* With a Send on the way. */
static void pause_sends(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, REGION), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
}

START_TEST(a_send_queue_drains_for_a_program_that_only_asks)
{
	struct ibv_qp_attr attr = { .sq_draining = 1 };
	struct ibv_qp_init_attr init;

	pause_sends();
	for (int i = 0; i < SPINS && attr.sq_draining; i++)
		ck_assert_int_eq(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	ck_assert(!attr.sq_draining);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_event_comes_for_a_program_that_only_asks)
{
	struct ibv_async_event event;
	int err = -1;

	pause_sends();
	fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < SPINS && err; i++)
		err = ibv_get_async_event(a.context, &event);
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_SQ_DRAINED);
	ibv_ack_async_event(&event);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, time_passes_for_a_thousand_questions_without_a_post, 6, NULL);
	unit_add(suite, time_passes_for_a_thousand_questions_of_each_kind, 4, NULL);
	unit_add(suite, a_send_queue_drains_for_a_program_that_only_asks, 1, NULL);
	unit_add(suite, an_event_comes_for_a_program_that_only_asks, 1, NULL);
}

UNIT_SUITE("verbs_asks")
