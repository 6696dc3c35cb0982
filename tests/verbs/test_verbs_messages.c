/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between two queue pairs of type RC: what each operation moves, what its completions say,
 * and every status that this library can report, with how to bring it about.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/asleep.h"
#include "tests/support/support.h"
#include "verbs_pair.h"

static struct verbs_end a, b;

static void expect_wc(struct verbs_end *end, enum ibv_wc_opcode opcode, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_msg(wc.status == status, "%s", ibv_wc_status_str(wc.status));
	if (status == IBV_WC_SUCCESS)
		ck_assert_int_eq((int)wc.opcode, (int)opcode);
	ck_assert_uint_eq(wc.qp_num, end->qp->qp_num);
}

/* ---- operations ---- */

START_TEST(a_send_fills_a_receive)
{
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	strcpy(a.buffer, "hello");
	ck_assert_int_eq(verbs_recv(&b, 7, 100, 50), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 6, 0), 0);
	ck_assert(verbs_poll(&b, &wc));
	ck_assert_uint_eq(wc.wr_id, 7);
	ck_assert_int_eq((int)wc.opcode, (int)IBV_WC_RECV);
	ck_assert_uint_eq(wc.byte_len, 6);
	ck_assert_uint_eq(wc.src_qp, a.qp->qp_num);
	ck_assert_str_eq(b.buffer + 100, "hello");
	expect_wc(&a, IBV_WC_SEND, IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(immediate_data_comes_with_a_send_and_with_a_write)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND_WITH_IMM,
						      IBV_WR_RDMA_WRITE_WITH_IMM };
	static const enum ibv_wc_opcode comes[] = { IBV_WC_RECV, IBV_WC_RECV_RDMA_WITH_IMM };
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	/* One packet, and several. */
	for (uint32_t length = 8; length <= 20000; length += 19992)
		for (int i = 0; i < 2; i++) {
			memset(b.buffer, 0, BUFFER);
			memset(a.buffer, 'x', length);
			ck_assert_int_eq(verbs_recv(&b, 3, 30000, 30000), 0);
			ck_assert_int_eq(verbs_send(&a, &b, opcodes[i], length, 0), 0);
			ck_assert(verbs_poll(&b, &wc));
			ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
			ck_assert_int_eq((int)wc.opcode, (int)comes[i]);
			ck_assert_uint_eq(wc.wc_flags, IBV_WC_WITH_IMM);
			ck_assert_uint_eq(wc.imm_data, 0x12345678);
			ck_assert_uint_eq(wc.byte_len, length);
			ck_assert_int_eq(memcmp(b.buffer + (i ? 0 : 30000), a.buffer, length), 0);
			ck_assert_int_eq(b.buffer[i ? 30000 : 0], 0);
			expect_wc(&a, i ? IBV_WC_RDMA_WRITE : IBV_WC_SEND, IBV_WC_SUCCESS);
		}
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_write_is_silent_and_a_read_fetches)
{
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	strcpy(a.buffer, "written");
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 0), 0);
	expect_wc(&a, IBV_WC_RDMA_WRITE, IBV_WC_SUCCESS);
	ck_assert_str_eq(b.buffer, "written");
	ck_assert_int_eq(ibv_poll_cq(b.cq, 1, &wc), 0);
	strcpy(b.buffer, "read");
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_READ, 5, IBV_SEND_FENCE), 0);
	expect_wc(&a, IBV_WC_RDMA_READ, IBV_WC_SUCCESS);
	ck_assert_str_eq(a.buffer, "read");
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_inline_payload_may_change_after_the_post)
{
	verbs_begin(&a, &b);
	for (uint32_t i = 0; i < 40; i++) {
		ck_assert_int_eq(verbs_recv(&b, i, 64 * (i % 8), 64), 0);
		memset(a.buffer, (int)('a' + i % 26), 64);
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 64, IBV_SEND_INLINE), 0);
		memset(a.buffer, 0, 64);
		expect_wc(&b, IBV_WC_RECV, IBV_WC_SUCCESS);
		ck_assert_int_eq(b.buffer[64 * (i % 8) + 63], (int)('a' + i % 26));
		expect_wc(&a, IBV_WC_SEND, IBV_WC_SUCCESS);
	}
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 65, IBV_SEND_INLINE), EINVAL);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_qp_may_be_connected_to_itself)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	verbs_open(&a, 0);
	verbs_make_qp(&a);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(verbs_modify(&a, &a, states[i]), 0);
	ck_assert_int_eq(verbs_recv(&a, 1, 100, 50), 0);
	strcpy(a.buffer, "myself");
	ck_assert_int_eq(verbs_send(&a, &a, IBV_WR_SEND, 7, 0), 0);
	expect_wc(&a, IBV_WC_RECV, IBV_WC_SUCCESS);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_SUCCESS);
	ck_assert_str_eq(a.buffer + 100, "myself");
	verbs_close(&a);
}
END_TEST

START_TEST(an_unsignaled_send_completes_silently)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&b, 2, 0, 64), 0);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_SEND, &sge);
	wr.send_flags = 0;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr_id = 2;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_uint_eq(wc.wr_id, 2);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(two_qps_share_a_receive_queue_and_its_limit_is_an_event)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_async_event event;
	struct pollfd pfd;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	b.srq = ibv_create_srq(b.pd, &init);
	ck_assert_ptr_nonnull(b.srq);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
	ck_assert_int_eq(ibv_destroy_srq(b.srq), EBUSY);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&b, 2, 64, 64), 0);
	ck_assert_int_eq(ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_wc(&b, IBV_WC_RECV, IBV_WC_SUCCESS);
	pfd = (struct pollfd){ .fd = b.context->async_fd, .events = POLLIN };
	ck_assert_int_eq(poll(&pfd, 1, 0), 1);
	ck_assert_int_eq(ibv_get_async_event(b.context, &event), 0);
	ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_SRQ_LIMIT_REACHED);
	ck_assert_ptr_eq(event.element.srq, b.srq);
	ibv_ack_async_event(&event);
	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
	ck_assert_int_eq(ibv_query_srq(b.srq, &limit), 0);
	ck_assert_uint_eq(limit.srq_limit, 0); /* it acts once */
	verbs_end_all(&a, &b);
}
END_TEST

static void begin_with_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	b.srq = ibv_create_srq(b.pd, &init);
	ck_assert_ptr_nonnull(b.srq);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
}

struct destroyer {
	struct ibv_srq *srq;
	pid_t tid;
	bool acknowledged; /* by the other thread */
	bool waited;
	int err;
};

/* All tests of the program may run in one process, so nothing of this is static. */
static void *destroy_srq(void *arg)
{
	struct destroyer *destroyer = arg;

	__atomic_store_n(&destroyer->tid, gettid(), __ATOMIC_RELEASE);
	destroyer->err = ibv_destroy_srq(destroyer->srq);
	destroyer->waited = __atomic_load_n(&destroyer->acknowledged, __ATOMIC_ACQUIRE);
	return NULL;
}

/* Two messages, each of which reaches the limit. */
static void reach_limit_twice(void)
{
	struct ibv_srq_attr limit = { .srq_limit = 2 };

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
		ck_assert_int_eq(verbs_recv(&b, 2, 64, 64), 0);
		limit.srq_limit += (unsigned int)i;
		ck_assert_int_eq(ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT), 0);
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
		expect_wc(&b, IBV_WC_RECV, IBV_WC_SUCCESS);
	}
}

/* Other calls go on meanwhile, and an event that they take is waited for, too. */
START_TEST(an_SRQ_is_not_destroyed_before_its_events_are_acknowledged)
{
	struct destroyer destroyer = { .err = -1 };
	struct ibv_async_event events[2];
	pthread_t thread;
	struct ibv_wc wc;

	begin_with_srq();
	destroyer.srq = b.srq;
	reach_limit_twice();
	ck_assert_int_eq(ibv_get_async_event(b.context, &events[0]), 0);
	ck_assert_int_eq((int)events[0].event_type, (int)IBV_EVENT_SRQ_LIMIT_REACHED);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	ck_assert_int_eq(pthread_create(&thread, NULL, destroy_srq, &destroyer), 0);
	b.srq = NULL;
	until_thread_asleep(&destroyer.tid);
	ck_assert_int_eq(ibv_poll_cq(b.cq, 1, &wc), 0);
	ck_assert_int_eq(ibv_get_async_event(b.context, &events[1]), 0);
	ibv_ack_async_event(&events[1]);
	until_thread_asleep(&destroyer.tid);
	__atomic_store_n(&destroyer.acknowledged, true, __ATOMIC_RELEASE);
	ibv_ack_async_event(&events[0]);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(destroyer.err, 0);
	ck_assert(destroyer.waited);
	verbs_end_all(&a, &b);
}
END_TEST

/* By the program, and by a request of the peer that it refuses. */
START_TEST(the_end_of_a_qp_with_an_SRQ_is_an_event)
{
	struct ibv_async_event event;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct pollfd pfd;
	struct ibv_wc wc;

	begin_with_srq();
	if (_i == 0) {
		ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
		ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
	} else {
		sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
		wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
		wr.wr.rdma.rkey++;
		ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
		ck_assert(verbs_poll(&a, &wc));
	}
	pfd = (struct pollfd){ .fd = b.context->async_fd, .events = POLLIN };
	ck_assert_int_eq(poll(&pfd, 1, 0), 1);
	ck_assert_int_eq(ibv_get_async_event(b.context, &event), 0);
	if (_i == 1) {
		ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_QP_ACCESS_ERR);
		ibv_ack_async_event(&event);
		ck_assert_int_eq(ibv_get_async_event(b.context, &event), 0);
	}
	ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_QP_LAST_WQE_REACHED);
	ck_assert_ptr_eq(event.element.qp, b.qp);
	ibv_ack_async_event(&event);
	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- statuses ---- */

static void expect_flushed(struct verbs_end *end)
{
	expect_wc(end, IBV_WC_RECV, IBV_WC_WR_FLUSH_ERR);
}

START_TEST(without_a_receive_the_retries_end_with_RNR_RETRY_EXC_ERR)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_RNR_RETRY_EXC_ERR);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_ERR);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_RTS);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_peer_in_error_is_found_by_RETRY_EXC_ERR)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&a, 5, 0, 64), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
	/* Nothing tells this side. */
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_RETRY_EXC_ERR);
	expect_flushed(&a);
	expect_flushed(&a);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_peer_that_comes_late_gets_the_retransmission)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)state), 0);
	strcpy(a.buffer, "early");
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 6, 0), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_INIT), 0);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_RTR), 0);
	expect_wc(&b, IBV_WC_RECV, IBV_WC_SUCCESS);
	ck_assert_str_eq(b.buffer, "early");
	expect_wc(&a, IBV_WC_SEND, IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_packet_sequence_number_has_24_bits)
{
	struct ibv_qp_attr attr;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr = verbs_attr(&a, &b);
		attr.qp_state = (enum ibv_qp_state)state;
		attr.sq_psn |= 0xab000000u;
		ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, verbs_mask(attr.qp_state)), 0);
		attr = verbs_attr(&b, &a);
		attr.qp_state = (enum ibv_qp_state)state;
		attr.rq_psn |= 0xcd000000u;
		ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, verbs_mask(attr.qp_state)), 0);
	}
	verbs_exchange(&a, &b);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(another_packet_sequence_number_is_no_connection)
{
	struct ibv_qp_attr attr;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)state), 0);
		attr = verbs_attr(&b, &a);
		attr.qp_state = (enum ibv_qp_state)state;
		attr.rq_psn++;
		ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, verbs_mask(attr.qp_state)), 0);
	}
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 6, 0), 0);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_RETRY_EXC_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_wrong_remote_key_ends_with_REM_ACCESS_ERR)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey++;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_wc(&a, IBV_WC_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(what_the_peers_qp_does_not_permit_ends_with_REM_ACCESS_ERR)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_READ, 8, 0), 0);
	expect_wc(&a, IBV_WC_RDMA_READ, IBV_WC_SUCCESS);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 0), 0);
	expect_wc(&a, IBV_WC_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_wrong_local_key_ends_with_LOC_PROT_ERR_at_this_side_alone)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey + 1 };
	wr = verbs_wr(&b, IBV_WR_SEND, &sge);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(ibv_poll_cq(b.cq, 1, &wc), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* 0: the peer has no Receive; 1: the remote key is wrong, too. */
START_TEST(a_wrong_local_key_is_found_before_what_the_peer_refuses)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	enum ibv_wr_opcode opcode = _i ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey + 1 };
	wr = verbs_wr(&b, opcode, &sge);
	wr.wr.rdma.rkey++;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_wc(&a, _i ? IBV_WC_RDMA_WRITE : IBV_WC_SEND, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_RTS);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_wrong_key_of_a_receive_ends_with_LOC_PROT_ERR_and_REM_OP_ERR)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)b.buffer, 64, b.mr->lkey + 1 };
	ck_assert_int_eq(ibv_post_recv(b.qp, &wr, &bad), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_wc(&b, IBV_WC_RECV, IBV_WC_LOC_PROT_ERR);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_REM_OP_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_short_receive_ends_with_LOC_LEN_ERR_and_REM_INV_REQ_ERR)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 4), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_wc(&b, IBV_WC_RECV, IBV_WC_LOC_LEN_ERR);
	expect_wc(&a, IBV_WC_SEND, IBV_WC_REM_INV_REQ_ERR);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(what_is_posted_to_a_qp_in_error_is_flushed_in_order)
{
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&a, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&a, 2, 0, 64), 0);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_ERR), 0);
	ck_assert_int_eq(verbs_recv(&a, 3, 0, 64), 0);
	for (uint64_t id = 1; id <= 3; id++) {
		ck_assert(verbs_poll(&a, &wc));
		ck_assert_uint_eq(wc.wr_id, id);
		ck_assert_int_eq((int)wc.status, (int)IBV_WC_WR_FLUSH_ERR);
	}
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect_flushed(&a);
	verbs_end_all(&a, &b);
}
END_TEST

/* Another QP of the same CQ, in error, with a Receive that is flushed. */
static void make_flushed(uint64_t wr_id)
{
	verbs_make_qp(&a);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_INIT), 0);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_ERR), 0);
	ck_assert_int_eq(verbs_recv(&a, wr_id, 0, 64), 0);
}

START_TEST(completions_of_a_destroyed_qp_go_and_others_stay)
{
	struct ibv_qp *qps[2];
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&a, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_ERR), 0);
	qps[0] = a.qp;
	make_flushed(2);
	qps[1] = a.qp;
	make_flushed(3);
	ck_assert_int_eq(ibv_destroy_qp(qps[0]), 0);
	ck_assert_int_eq(ibv_resize_cq(a.cq, a.cq->cqe * 2), 0);
	ck_assert_int_eq(verbs_recv(&a, 4, 0, 64), 0);
	ck_assert_int_eq(ibv_destroy_qp(qps[1]), 0);
	for (uint64_t id = 3; id <= 4; id++) {
		ck_assert(verbs_poll(&a, &wc));
		ck_assert_uint_eq(wc.wr_id, id);
	}
	ck_assert_int_eq(ibv_poll_cq(a.cq, 1, &wc), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_queue_that_is_resized_keeps_what_stayed_and_was_not_polled)
{
	struct ibv_qp *gone;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	gone = a.qp;
	make_flushed(1);
	for (uint64_t id = 2; id <= 4; id++)
		ck_assert_int_eq(verbs_recv(&a, id, 0, 64), 0);
	ck_assert_int_eq(ibv_destroy_qp(gone), 0);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_uint_eq(wc.wr_id, 1);
	ck_assert_int_eq(ibv_resize_cq(a.cq, a.cq->cqe * 2), 0);
	for (uint64_t id = 2; id <= 4; id++) {
		ck_assert(verbs_poll(&a, &wc));
		ck_assert_uint_eq(wc.wr_id, id);
	}
	ck_assert_int_eq(ibv_poll_cq(a.cq, 1, &wc), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- objects ---- */

START_TEST(an_object_in_use_is_busy)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_dealloc_pd(a.pd), EBUSY);
	ck_assert_int_eq(ibv_destroy_cq(a.cq), EBUSY);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_closed_device_takes_what_is_left_along)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(ibv_close_device(a.context), 0);
	ck_assert_int_eq(ibv_close_device(b.context), 0);
}
END_TEST

START_TEST(a_post_in_the_wrong_state_is_refused)
{
	verbs_open(&a, 0);
	verbs_make_qp(&a);
	ck_assert_int_eq(verbs_recv(&a, 1, 0, 64), EINVAL);
	ck_assert_int_eq(verbs_send(&a, &a, IBV_WR_SEND, 8, 0), EINVAL);
	ck_assert_int_eq(verbs_modify(&a, &a, IBV_QPS_INIT), 0);
	ck_assert_int_eq(verbs_send(&a, &a, IBV_WR_SEND, 8, 0), EINVAL);
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(verbs_recv(&a, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&a, 1, 0, 64), ENOMEM);
	verbs_close(&a);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_send_fills_a_receive, 1, NULL);
	unit_add(suite, immediate_data_comes_with_a_send_and_with_a_write, 1, NULL);
	unit_add(suite, a_write_is_silent_and_a_read_fetches, 1, NULL);
	unit_add(suite, an_inline_payload_may_change_after_the_post, 1, NULL);
	unit_add(suite, a_qp_may_be_connected_to_itself, 1, NULL);
	unit_add(suite, an_unsignaled_send_completes_silently, 1, NULL);
	unit_add(suite, two_qps_share_a_receive_queue_and_its_limit_is_an_event, 1, NULL);
	unit_add(suite, the_end_of_a_qp_with_an_SRQ_is_an_event, 2, NULL);
	unit_add(suite, without_a_receive_the_retries_end_with_RNR_RETRY_EXC_ERR, 1, NULL);
	unit_add(suite, a_peer_in_error_is_found_by_RETRY_EXC_ERR, 1, NULL);
	unit_add(suite, a_peer_that_comes_late_gets_the_retransmission, 1, NULL);
	unit_add(suite, a_packet_sequence_number_has_24_bits, 1, NULL);
	unit_add(suite, another_packet_sequence_number_is_no_connection, 1, NULL);
	unit_add(suite, a_wrong_remote_key_ends_with_REM_ACCESS_ERR, 1, NULL);
	unit_add(suite, what_the_peers_qp_does_not_permit_ends_with_REM_ACCESS_ERR, 1, NULL);
	unit_add(suite, a_wrong_local_key_ends_with_LOC_PROT_ERR_at_this_side_alone, 1, NULL);
	unit_add(suite, a_wrong_local_key_is_found_before_what_the_peer_refuses, 2, NULL);
	unit_add(suite, a_wrong_key_of_a_receive_ends_with_LOC_PROT_ERR_and_REM_OP_ERR, 1, NULL);
	unit_add(suite, a_short_receive_ends_with_LOC_LEN_ERR_and_REM_INV_REQ_ERR, 1, NULL);
	unit_add(suite, what_is_posted_to_a_qp_in_error_is_flushed_in_order, 1, NULL);
	unit_add(suite, completions_of_a_destroyed_qp_go_and_others_stay, 1, NULL);
	unit_add(suite, a_queue_that_is_resized_keeps_what_stayed_and_was_not_polled, 1, NULL);
	unit_add(suite, an_object_in_use_is_busy, 1, NULL);
	unit_add(suite, a_closed_device_takes_what_is_left_along, 1, NULL);
	unit_add(suite, a_post_in_the_wrong_state_is_refused, 1, NULL);
	/*
	 * These have threads. Where all tests run in one process, time is real from then on, and a
	 * machine may be too slow for retries.
	 */
	unit_add(suite, an_SRQ_is_not_destroyed_before_its_events_are_acknowledged, 1, NULL);
}

UNIT_SUITE("verbs_messages")
