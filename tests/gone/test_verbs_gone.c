/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that a program names after it has destroyed them. Each call says EINVAL, as the kernel
 * does of a handle that is no more, and nothing changes: the objects that live go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context_memory.h"
#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

#define MANY 600 /* more than are kept */

static struct verbs_end a, b;

/* Everything that was made has an end; a message still goes from one to the other. */
static void end_both(void)
{
	verbs_exchange(&a, &b);
	verbs_end_all(&a, &b);
}

static struct ibv_qp_init_attr queues(struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr){ .send_cq = cq,
					  .recv_cq = cq,
					  .cap = { 4, 4, 1, 1, 0 },
					  .qp_type = IBV_QPT_RC };
}

START_TEST(each_object_is_destroyed_once)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_ah_attr to = { .dlid = 1, .port_num = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr init;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	char memory[64];

	verbs_begin(&a, &b);
	pd = ibv_alloc_pd(a.context);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), 0);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	ah = ibv_create_ah(pd, &to);
	channel = ibv_create_comp_channel(a.context);
	cq = ibv_create_cq(a.context, 4, NULL, channel, 0);
	srq = ibv_create_srq(pd, &srq_init);
	init = queues(cq);
	qp = ibv_create_qp(pd, &init);
	ck_assert(pd && mr && mw && ah && channel && cq && srq && qp);
	for (int err = 0; err <= EINVAL; err += EINVAL) {
		EXPECT(err, ibv_destroy_qp(qp));
		EXPECT(err, ibv_destroy_srq(srq));
		EXPECT(err, ibv_destroy_cq(cq));
		EXPECT(err, ibv_destroy_comp_channel(channel));
		EXPECT(err, ibv_destroy_ah(ah));
		EXPECT(err, ibv_dealloc_mw(mw));
		EXPECT(err, ibv_dereg_mr(mr));
		EXPECT(err, ibv_dealloc_pd(pd));
	}
	end_both();
}
END_TEST

START_TEST(a_queue_pair_that_is_gone_takes_no_call)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init;
	struct ibv_mw_bind bind = { .wr_id = 1 };
	union ibv_gid group = { .raw = { 0xff } };
	struct ibv_qp *qp;
	struct ibv_mw *mw;

	verbs_begin(&a, &b);
	init = queues(a.cq);
	qp = ibv_create_qp(a.pd, &init);
	mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	EXPECT(0, ibv_destroy_qp(qp));
	EXPECT(EINVAL, ibv_post_send(qp, &send, &bad_send));
	ck_assert_ptr_eq(bad_send, &send);
	EXPECT(EINVAL, ibv_post_recv(qp, &recv, &bad_recv));
	ck_assert_ptr_eq(bad_recv, &recv);
	EXPECT(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	EXPECT(EINVAL, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	EXPECT(EINVAL, ibv_attach_mcast(qp, &group, 0xc001));
	EXPECT(EINVAL, ibv_detach_mcast(qp, &group, 0xc001));
	EXPECT(EINVAL, ibv_bind_mw(qp, mw, &bind));
	EXPECT(0, ibv_dealloc_mw(mw));
	end_both();
}
END_TEST

/* The queue pair lives; what the request names is gone. */
START_TEST(a_request_that_names_what_is_gone_is_refused)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad = NULL;
	struct ibv_mw_bind bind = { .wr_id = 1 };
	struct ibv_mw *one, *two;
	struct ibv_mr *mr;
	char memory[64];

	verbs_begin(&a, &b);
	one = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	two = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	mr = ibv_reg_mr(a.pd, memory, sizeof(memory), IBV_ACCESS_MW_BIND);
	ck_assert(one && two && mr);
	EXPECT(0, ibv_dereg_mr(mr));
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = mr,
						    .addr = (uintptr_t)memory,
						    .length = sizeof(memory) };
	EXPECT(EPERM, ibv_bind_mw(a.qp, one, &bind)); /* verbs.h compares the domains */
	EXPECT(0, ibv_dealloc_mw(one));
	EXPECT(EINVAL, ibv_bind_mw(a.qp, one, &bind));
	wr.bind_mw.mw = two;
	wr.bind_mw.rkey = ibv_inc_rkey(two->rkey);
	EXPECT(0, ibv_dealloc_mw(two));
	EXPECT(EINVAL, ibv_post_send(a.qp, &wr, &bad));
	ck_assert_ptr_eq(bad, &wr);
	end_both();
}
END_TEST

START_TEST(a_datagram_to_an_address_that_is_gone_is_refused)
{
	struct ibv_ah_attr to = { .dlid = 1, .port_num = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_ah *ah;

	verbs_begin_of(&a, &b, IBV_QPT_UD);
	ah = ibv_create_ah(a.pd, &to);
	ck_assert_ptr_nonnull(ah);
	EXPECT(0, ibv_destroy_ah(ah));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = VERBS_QKEY;
	EXPECT(EINVAL, ibv_post_send(a.qp, &wr, &bad));
	ck_assert_ptr_eq(bad, &wr);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_queue_pair_of_single_requests_that_is_gone_takes_none)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;

	verbs_begin(&a, &b);
	init.pd = a.pd;
	init.send_cq = init.recv_cq = a.cq;
	qp = ibv_create_qp_ex(a.context, &init);
	ck_assert_ptr_nonnull(qp);
	ex = ibv_qp_to_qp_ex(qp);
	EXPECT(0, ibv_destroy_qp(qp));
	for (int i = 0; i < 2; i++) {
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, 1, 0, 4);
		ibv_wr_rdma_write(ex, 1, 0);
		ibv_wr_set_inline_data(ex, a.buffer, 4);
		if (i == 0)
			ibv_wr_abort(ex);
	}
	EXPECT(EINVAL, ibv_wr_complete(ex));
	end_both();
}
END_TEST

START_TEST(a_completion_queue_that_is_gone_takes_no_call)
{
	struct ibv_cq_init_attr_ex ex_init = { .cqe = 4 };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr init;
	struct ibv_cq_ex *ex;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *cq_context;

	verbs_begin(&a, &b);
	channel = ibv_create_comp_channel(a.context);
	cq = ibv_create_cq(a.context, 4, NULL, channel, 0);
	EXPECT(0, ibv_destroy_cq(cq));
	EXPECT_MINUS(EINVAL, ibv_poll_cq(cq, 1, &wc));
	EXPECT(EINVAL, ibv_req_notify_cq(cq, 0));
	EXPECT(EINVAL, ibv_resize_cq(cq, 8));
	init = queues(cq);
	EXPECT_NULL(EINVAL, ibv_create_qp(a.pd, &init));
	EXPECT(0, ibv_destroy_comp_channel(channel));
	EXPECT_MINUS(EINVAL, ibv_get_cq_event(channel, &cq, &cq_context));
	EXPECT_NULL(EINVAL, ibv_create_cq(a.context, 4, NULL, channel, 0));
	ex = ibv_create_cq_ex(a.context, &ex_init);
	ck_assert_ptr_nonnull(ex);
	EXPECT(0, ibv_destroy_cq(ibv_cq_ex_to_cq(ex)));
	EXPECT(EINVAL, ibv_start_poll(ex, &poll));
	EXPECT(EINVAL, ibv_next_poll(ex));
	ibv_end_poll(ex);
	end_both();
}
END_TEST

START_TEST(a_shared_receive_queue_that_is_gone_takes_no_call)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .max_wr = 4 };
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_srq *srq;

	verbs_begin(&a, &b);
	srq = ibv_create_srq(a.pd, &srq_init);
	EXPECT(0, ibv_destroy_srq(srq));
	EXPECT(EINVAL, ibv_post_srq_recv(srq, &recv, &bad));
	ck_assert_ptr_eq(bad, &recv);
	EXPECT(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	EXPECT(EINVAL, ibv_query_srq(srq, &attr));
	init = queues(a.cq);
	init.srq = srq;
	EXPECT_NULL(EINVAL, ibv_create_qp(a.pd, &init));
	end_both();
}
END_TEST

START_TEST(nothing_is_made_in_a_protection_domain_that_is_gone)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_ah_attr to = { .dlid = 1, .port_num = 1 };
	struct ibv_wc wc = { .slid = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char memory[64];

	verbs_begin(&a, &b);
	pd = ibv_alloc_pd(a.context);
	EXPECT(0, ibv_dealloc_pd(pd));
	init = queues(a.cq);
	EXPECT_NULL(EINVAL, ibv_reg_mr(pd, memory, sizeof(memory), 0));
	EXPECT_NULL(EINVAL, ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	EXPECT_NULL(EINVAL, ibv_create_ah(pd, &to));
	EXPECT_NULL(EINVAL, ibv_create_ah_from_wc(pd, &wc, NULL, 1));
	EXPECT_NULL(EINVAL, ibv_create_srq(pd, &srq_init));
	EXPECT_NULL(EINVAL, ibv_create_qp(pd, &init));
	mr = ibv_reg_mr(a.pd, memory, sizeof(memory), 0);
	EXPECT_MINUS(EINVAL, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0));
	EXPECT(0, ibv_dereg_mr(mr));
	EXPECT_MINUS(EINVAL, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	end_both();
}
END_TEST

/* Declared in a header for drivers only. */
int ibv_query_gid_type(struct ibv_context *ibv, uint8_t port, unsigned int index, int *type);

START_TEST(a_device_that_is_closed_takes_no_call)
{
	struct ibv_context *context;
	struct ibv_async_event event;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;
	int type;

	verbs_begin(&a, &b);
	context = ibv_open_device(a.context->device);
	ck_assert_ptr_nonnull(context);
	EXPECT(0, ibv_close_device(context));
	EXPECT_MINUS(EINVAL, ibv_close_device(context));
	EXPECT_NULL(EINVAL, ibv_alloc_pd(context));
	EXPECT_NULL(EINVAL, ibv_create_comp_channel(context));
	EXPECT_NULL(EINVAL, ibv_create_cq(context, 4, NULL, NULL, 0));
	EXPECT_MINUS(EINVAL, ibv_get_async_event(context, &event));
	EXPECT(EINVAL, ibv_query_device(context, &attr));
	EXPECT(EINVAL, ibv_query_port(context, 1, &port));
	EXPECT_MINUS(EINVAL, ibv_query_gid(context, 1, 0, &gid));
	EXPECT_MINUS(EINVAL, ibv_query_gid_type(context, 1, 0, &type));
	EXPECT_MINUS(EINVAL, ibv_query_pkey(context, 1, 0, &pkey));
	EXPECT_MINUS(EINVAL, ibv_get_pkey_index(context, 1, 0xffff));
	end_both();
}
END_TEST

/* A device that is closed destroys the objects that are left. */
START_TEST(objects_of_a_device_that_is_closed_are_gone)
{
	struct ibv_context *context;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	context = ibv_open_device(a.context->device);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	EXPECT(0, ibv_close_device(context));
	EXPECT(EINVAL, ibv_dealloc_pd(pd));
	EXPECT_MINUS(EINVAL, ibv_poll_cq(cq, 1, &wc));
	EXPECT(EINVAL, ibv_destroy_cq(cq));
	end_both();
}
END_TEST

static void expect_nothing_of(struct verbs_end *end)
{
	struct ibv_async_event event;
	struct ibv_device_attr attr;
	struct ibv_wc wc;

	EXPECT(0, ibv_query_device(end->context, &attr)); /* it may ask for this */
	EXPECT_MINUS(EINVAL, ibv_poll_cq(end->cq, 1, &wc));
	EXPECT(EINVAL, verbs_recv(end, 7, 1024, 64));
	EXPECT(EINVAL, ibv_destroy_qp(end->qp));
	EXPECT(EINVAL, ibv_destroy_cq(end->cq));
	EXPECT(EINVAL, ibv_dereg_mr(end->mr));
	EXPECT(EINVAL, ibv_dealloc_pd(end->pd));
	EXPECT_NULL(EINVAL, ibv_alloc_pd(end->context));
	EXPECT_MINUS(EINVAL, ibv_get_async_event(end->context, &event));
	EXPECT_MINUS(EINVAL, ibv_close_device(end->context));
}

/* It may open devices of its own, and its parent's go on. */
START_TEST(a_forked_child_has_none_of_its_parents_objects)
{
	int status;
	pid_t child;

	verbs_begin(&a, &b);
	child = fork();
	if (child == 0) {
		expect_nothing_of(&a);
		expect_nothing_of(&b);
		verbs_begin(&a, &b);
		end_both();
		_exit(0);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	end_both();
}
END_TEST

/* It is put together by calls that are not in a table of the context. */
START_TEST(a_forked_child_posts_no_batch_on_a_queue_pair_of_its_parent)
{
	struct ibv_qp_init_attr_ex init = { .cap = { 4, 4, 1, 1, 8 },
					    .qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;
	int status;
	pid_t child;

	if (_i)
		setenv("DATSIM_FABRIC", "gone", 1);
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	init.pd = a.pd;
	init.send_cq = init.recv_cq = a.cq;
	a.qp = ibv_create_qp_ex(a.context, &init);
	ck_assert_ptr_nonnull(a.qp);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
	ex = ibv_qp_to_qp_ex(a.qp);
	EXPECT(0, verbs_recv(&b, 1, 0, 8));
	child = fork();
	if (child == 0) {
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, a.buffer, 8);
		EXPECT(EINVAL, ibv_wr_complete(ex));
		ibv_wr_start(ex);
		ibv_wr_abort(ex);
		_exit(0);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(ibv_poll_cq(b.cq, 1, &wc), 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, a.buffer, 8);
	EXPECT(0, ibv_wr_complete(ex));
	ck_assert(verbs_poll(&b, &wc));
	verbs_end_all(&a, &b);
	unsetenv("DATSIM_FABRIC");
}
END_TEST

/* Their memory is given back in the end; the last is known still. */
START_TEST(of_many_that_are_gone_the_last_are_known)
{
	struct ibv_pd *pd[MANY];

	verbs_begin(&a, &b);
	for (int i = 0; i < MANY; i++)
		pd[i] = ibv_alloc_pd(a.context);
	for (int i = 0; i < MANY; i++) {
		ck_assert_ptr_nonnull(pd[i]);
		EXPECT(0, ibv_dealloc_pd(pd[i]));
	}
	for (int i = MANY - 200; i < MANY; i++)
		EXPECT(EINVAL, ibv_dealloc_pd(pd[i]));
	end_both();
}
END_TEST

/* ---- a thread that waits in what another one closes ---- */

#define SOON   20000 /* us; a thread usually begins to wait within them */
#define TRIES  50    /* enough for one in which the thread does */
#define OFFERS 64    /* blocks of memory */

static void *await_async(void *context)
{
	struct ibv_async_event event;

	ibv_get_async_event(context, &event);
	return NULL;
}

/* It sleeps on, as in a read from a descriptor that is closed; other devices have no part in it. */
START_TEST(a_wait_for_events_of_a_device_that_is_closed_does_not_end)
{
	struct ibv_context *context;
	struct ibv_device **list;
	pthread_t thread;

	list = ibv_get_device_list(NULL);
	ck_assert_ptr_nonnull(list);
	for (int with_other = 0; with_other < 2; with_other++) {
		context = ibv_open_device(list[0]);
		ck_assert_ptr_nonnull(context);
		if (with_other)
			verbs_begin(&a, &b);
		ck_assert_int_eq(pthread_create(&thread, NULL, await_async, context), 0);
		usleep(SOON);
		ck_assert_int_eq(ibv_close_device(context), 0);
		if (!with_other)
			verbs_begin(&a, &b);
		usleep(SOON);
		end_both();
		ck_assert_int_eq(pthread_cancel(thread), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ibv_free_device_list(list);
}
END_TEST

static __thread struct {
	struct ibv_device *device;
	struct ibv_context *context; /* in which the call waits */
	bool done;
	jmp_buf forever;
} reopened;

/*
 * Let the next calloc of that size take this memory, which was freed. malloc keeps the first blocks
 * that are freed in a cache of its own, so other blocks are freed before this one.
 */
static void offer_memory(const void *memory, size_t size)
{
	void *same[OFFERS], *found = NULL;

	for (int i = 0; i < OFFERS; i++)
		same[i] = malloc(size);
	for (int i = 0; i < OFFERS; i++)
		if (same[i] == memory)
			found = same[i];
		else if (i < OFFERS / 2)
			free(same[i]);
	free(found);
	for (int i = OFFERS / 2; i < OFFERS; i++)
		if (same[i] != found)
			free(same[i]);
}

/* Open a context in the memory of the one just closed, unless a sanitizer keeps that memory. */
static void reopen(void)
{
	struct ibv_context *closed = reopened.context, *other;
	size_t size;
	void *memory = context_memory(closed, &size);

	ck_assert_int_eq(ibv_close_device(closed), 0);
	for (int i = 0; i < MANY; i++) {
		other = ibv_open_device(reopened.device);
		ck_assert_ptr_nonnull(other);
		ck_assert_int_eq(ibv_close_device(other), 0);
	}
	offer_memory(memory, size);
	reopened.context = ibv_open_device(reopened.device);
	ck_assert_ptr_nonnull(reopened.context);
	reopened.done = true;
}

/* The library calls these two. */
int poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	if (reopened.device && ms != 0) {
		ck_assert(!reopened.done);
		reopen();
		errno = EINTR; /* it looks again */
		return -1;
	}
	return ppoll(fds, n, ms < 0 ? NULL : &ts, NULL);
}

int pause(void)
{
	if (reopened.done)
		longjmp(reopened.forever, 1);
	return ppoll(NULL, 0, NULL, NULL);
}

/* In the same thread, so that it happens at the same place in each run. */
START_TEST(a_wait_for_events_is_no_wait_for_those_of_a_device_that_is_opened_later)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_async_event event;

	ck_assert_ptr_nonnull(list);
	signal(SIGALRM, SIG_DFL); /* the test library has handlers without SA_RESTART */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	verbs_begin(&a, &b);
	reopened.context = ibv_open_device(list[0]);
	ck_assert_ptr_nonnull(ibv_create_comp_channel(reopened.context)); /* and a helper */
	reopened.device = list[0];
	if (setjmp(reopened.forever) == 0) {
		ibv_get_async_event(reopened.context, &event);
		ck_abort_msg("the wait ended");
	}
	reopened.device = NULL;
	reopened.done = false;
	ck_assert_int_eq(ibv_close_device(reopened.context), 0);
	ibv_free_device_list(list);
	end_both();
}
END_TEST

/* The errno with which it ended. */
static void *await_cq(void *channel)
{
	struct ibv_cq *cq;
	void *context;

	ck_assert_int_eq(ibv_get_cq_event(channel, &cq, &context), -1);
	return (void *)(intptr_t)errno;
}

/* The errno that ends a wait for a channel with its device; EINVAL: it began after that. */
static int end_of_wait(struct ibv_device *from, bool destroys)
{
	struct ibv_context *context = ibv_open_device(from);
	struct ibv_comp_channel *channel;
	pthread_t thread;
	void *err;

	ck_assert_ptr_nonnull(context);
	channel = ibv_create_comp_channel(context);
	ck_assert_int_eq(pthread_create(&thread, NULL, await_cq, channel), 0);
	usleep(SOON);
	if (destroys) {
		ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
		EXPECT(EINVAL, ibv_destroy_comp_channel(channel));
		usleep(SOON); /* it may have been woken */
	}
	ck_assert_int_eq(ibv_close_device(context), 0);
	ck_assert_int_eq(pthread_join(thread, &err), 0);
	return (int)(intptr_t)err;
}

static void expect_end_of_wait(struct ibv_device *from, bool destroys)
{
	int err = EINVAL;

	for (int i = 0; i < TRIES && err == EINVAL; i++)
		err = end_of_wait(from, destroys);
	ck_assert_int_eq(err, EIO);
}

/* As the kernel closes the channels of a device. */
START_TEST(a_wait_for_a_channel_ends_with_EIO_when_its_device_is_closed)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	ck_assert_ptr_nonnull(list);
	expect_end_of_wait(list[0], false);
	verbs_begin(&a, &b);
	expect_end_of_wait(list[0], false);
	end_both();
	ibv_free_device_list(list);
}
END_TEST

/* Until then it sleeps on: the kernel keeps the file for a read that began. */
START_TEST(a_wait_for_a_channel_that_is_destroyed_ends_when_its_device_is_closed)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	ck_assert_ptr_nonnull(list);
	expect_end_of_wait(list[0], true);
	ibv_free_device_list(list);
}
END_TEST

/* So is one whose only waiter was cancelled. */
START_TEST(a_channel_without_a_waiter_closes_its_descriptor)
{
	struct ibv_comp_channel *channel;
	pthread_t thread;
	int fd;

	verbs_begin(&a, &b);
	channel = ibv_create_comp_channel(a.context);
	fd = channel->fd;
	ck_assert_int_eq(pthread_create(&thread, NULL, await_cq, channel), 0);
	usleep(SOON);
	ck_assert_int_eq(pthread_cancel(thread), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	EXPECT(0, ibv_destroy_comp_channel(channel));
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	end_both();
}
END_TEST

/* As the kernel closes a file with the last read from it. */
START_TEST(a_channel_that_is_destroyed_closes_its_descriptor_with_its_last_waiter)
{
	struct ibv_comp_channel *channel;
	pthread_t thread;
	int fd;

	verbs_begin(&a, &b);
	channel = ibv_create_comp_channel(a.context);
	fd = channel->fd;
	ck_assert_int_eq(pthread_create(&thread, NULL, await_cq, channel), 0);
	usleep(SOON);
	EXPECT(0, ibv_destroy_comp_channel(channel));
	ck_assert_int_eq(pthread_cancel(thread), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	end_both();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_object_is_destroyed_once, 1, NULL);
	unit_add(suite, a_queue_pair_that_is_gone_takes_no_call, 1, NULL);
	unit_add(suite, a_request_that_names_what_is_gone_is_refused, 1, NULL);
	unit_add(suite, a_datagram_to_an_address_that_is_gone_is_refused, 1, NULL);
	unit_add(suite, a_queue_pair_of_single_requests_that_is_gone_takes_none, 1, NULL);
	unit_add(suite, a_completion_queue_that_is_gone_takes_no_call, 1, NULL);
	unit_add(suite, a_shared_receive_queue_that_is_gone_takes_no_call, 1, NULL);
	unit_add(suite, nothing_is_made_in_a_protection_domain_that_is_gone, 1, NULL);
	unit_add(suite, a_device_that_is_closed_takes_no_call, 1, NULL);
	unit_add(suite, objects_of_a_device_that_is_closed_are_gone, 1, NULL);
	unit_add(suite, a_forked_child_has_none_of_its_parents_objects, 1, NULL);
	unit_add(suite, a_forked_child_posts_no_batch_on_a_queue_pair_of_its_parent, 2, NULL);
	unit_add(suite, of_many_that_are_gone_the_last_are_known, 1, NULL);
	unit_add(suite, a_wait_for_events_of_a_device_that_is_closed_does_not_end, 1, NULL);
	unit_add(suite, a_wait_for_events_is_no_wait_for_those_of_a_device_that_is_opened_later, 1,
		 NULL);
	unit_add(suite, a_wait_for_a_channel_ends_with_EIO_when_its_device_is_closed, 1, NULL);
	unit_add(suite, a_wait_for_a_channel_that_is_destroyed_ends_when_its_device_is_closed, 1,
		 NULL);
	unit_add(suite, a_channel_without_a_waiter_closes_its_descriptor, 1, NULL);
	unit_add(suite, a_channel_that_is_destroyed_closes_its_descriptor_with_its_last_waiter, 1,
		 NULL);
}

UNIT_SUITE("verbs_gone")
