/* SPDX-License-Identifier: BSD-3-Clause */
/* Notification of completions, solicited and not; descriptors that are readable. */
#include "qp_events.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct ibv_comp_channel *channel;
static struct ibv_cq *unnotified;

/* The second end's completions are notified on a channel. */
static void begin_notified(void)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	channel = ibv_create_comp_channel(b.context);
	ck_assert_ptr_nonnull(channel);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	unnotified = b.cq;
	b.cq = ibv_create_cq(b.context, 32, &b, channel, 0);
	ck_assert_ptr_nonnull(b.cq);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
}

/* The queue is destroyed. */
static void end_channel(void)
{
	ck_assert_int_eq(ibv_destroy_cq(unnotified), 0);
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
	b.cq = ibv_create_cq(b.context, 1, NULL, NULL, 0); /* verbs_close destroys one */
	verbs_end_all(&a, &b);
}

static void end_notified(void)
{
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(ibv_destroy_cq(b.cq), 0);
	end_channel();
}

/* Take and acknowledge a pending event; false: there is none. */
static bool notified(void)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(channel, &cq, &context))
		return false;
	ck_assert_ptr_eq(cq, b.cq);
	ck_assert_ptr_eq(context, &b);
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* Send a message; it has arrived and is acknowledged when this returns. */
static void carry(enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_wc wc;

	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_send(&a, &b, opcode, 8, flags), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
}

START_TEST(a_solicited_arming_is_for_solicited_messages_and_once)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
						      IBV_WR_RDMA_WRITE_WITH_IMM };
	enum ibv_wr_opcode opcode = opcodes[_i];

	begin_notified();
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 1), 0);
	carry(opcode, 0);
	ck_assert(!notified());
	carry(opcode, IBV_SEND_SOLICITED);
	ck_assert(notified());
	carry(opcode, IBV_SEND_SOLICITED);
	ck_assert(!notified());
	end_notified();
}
END_TEST

START_TEST(an_arming_for_any_completion_is_not_narrowed)
{
	begin_notified();
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, _i), 0);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, !_i), 0);
	carry(IBV_WR_SEND, 0);
	ck_assert(notified());
	end_notified();
}
END_TEST

START_TEST(an_arming_is_for_completions_that_come_later)
{
	begin_notified();
	carry(IBV_WR_SEND, IBV_SEND_SOLICITED);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, _i), 0);
	ck_assert(!notified());
	carry(IBV_WR_SEND, IBV_SEND_SOLICITED);
	ck_assert(notified());
	end_notified();
}
END_TEST

START_TEST(an_error_is_notified_to_a_solicited_arming)
{
	begin_notified();
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 1), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
	ck_assert(notified());
	end_notified();
}
END_TEST

/* The descriptor that epoll finds readable; -1: none. */
static int readable(int epoll)
{
	struct epoll_event found[2];
	int n = epoll_wait(epoll, found, 2, 0);

	ck_assert_int_le(n, 1);
	return n == 1 ? found[0].data.fd : -1;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

/* As long as there are notifications of completions, and asynchronous events. */
START_TEST(epoll_finds_the_descriptors_readable)
{
	int epoll = epoll_create1(0);
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;

	begin_notified();
	watch(epoll, channel->fd);
	watch(epoll, b.context->async_fd);
	ck_assert_int_eq(readable(epoll), -1);
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
	carry(IBV_WR_SEND, 0);
	ck_assert_int_eq(readable(epoll), channel->fd);
	ck_assert(notified());
	ck_assert_int_eq(readable(epoll), -1);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey++;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq(readable(epoll), b.context->async_fd);
	EXPECT_EVENT(&b, IBV_EVENT_QP_ACCESS_ERR);
	ck_assert_int_eq(readable(epoll), -1);
	close(epoll);
	end_notified();
}
END_TEST

START_TEST(notifications_may_be_acknowledged_together)
{
	struct ibv_cq *cq;
	void *context;

	begin_notified();
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		carry(IBV_WR_SEND, 0);
		ck_assert_int_eq(ibv_get_cq_event(channel, &cq, &context), 0);
	}
	ibv_ack_cq_events(cq, 2);
	end_notified(); /* it would wait for one that is not acknowledged */
}
END_TEST

/* As a read from it says. */
START_TEST(a_wait_for_a_descriptor_that_was_closed_fails_with_EBADF)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;
	int spare;

	begin_notified();
	spare = dup(channel->fd);
	close(channel->fd);
	EXPECT_MINUS(EBADF, ibv_get_cq_event(channel, &cq, &context));
	ck_assert_int_eq(dup2(spare, channel->fd), channel->fd);
	dup2(b.context->async_fd, spare);
	close(b.context->async_fd);
	EXPECT_MINUS(EBADF, ibv_get_async_event(b.context, &event));
	ck_assert_int_eq(dup2(spare, b.context->async_fd), b.context->async_fd);
	close(spare);
	end_notified();
}
END_TEST

START_TEST(a_notification_that_is_taken_while_the_destroy_waits_is_waited_for)
{
	struct destroyer destroyer = { .err = -1 };
	struct ibv_cq *cq;
	void *context;

	begin_notified();
	destroyer.cq = b.cq;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
		carry(IBV_WR_SEND, 0);
	}
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(ibv_get_cq_event(channel, &cq, &context), 0);
	begin_destroy(&destroyer);
	ck_assert(notified());
	allow_destroy(&destroyer);
	ibv_ack_cq_events(cq, 1);
	await_destroy(&destroyer);
	end_channel();
}
END_TEST

/* It waits for the acknowledgement of the asynchronous event, then for that of the other one. */
START_TEST(a_destroy_waits_for_the_events_of_either_kind)
{
	struct destroyer destroyer = { .err = -1 };
	struct ibv_async_event events[2];
	struct ibv_cq *cq;
	void *context;

	begin_notified();
	destroyer.cq = b.cq;
	ck_assert_int_eq(ibv_req_notify_cq(b.cq, 0), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
	for (int i = 0; i <= b.cq->cqe; i++) /* and one is lost */
		ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(ibv_get_async_event(b.context, &events[i]), 0);
	ck_assert_int_eq((int)events[0].event_type, (int)IBV_EVENT_CQ_ERR);
	ibv_ack_async_event(&events[1]);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	begin_destroy(&destroyer);
	ck_assert_int_eq(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_async_event(&events[0]);
	allow_destroy(&destroyer);
	ibv_ack_cq_events(cq, 1);
	await_destroy(&destroyer);
	end_channel();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_solicited_arming_is_for_solicited_messages_and_once, 3, NULL);
	unit_add(suite, an_arming_for_any_completion_is_not_narrowed, 2, NULL);
	unit_add(suite, an_arming_is_for_completions_that_come_later, 2, NULL);
	unit_add(suite, an_error_is_notified_to_a_solicited_arming, 1, NULL);
	unit_add(suite, epoll_finds_the_descriptors_readable, 1, NULL);
	unit_add(suite, notifications_may_be_acknowledged_together, 1, NULL);
	unit_add(suite, a_wait_for_a_descriptor_that_was_closed_fails_with_EBADF, 1, NULL);
	/* It has threads: from then on time is real, where all tests run in one process. */
	unit_add(suite, a_notification_that_is_taken_while_the_destroy_waits_is_waited_for, 1,
		 NULL);
	unit_add(suite, a_destroy_waits_for_the_events_of_either_kind, 1, NULL);
}

UNIT_SUITE("verbs_notify")
