/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In a program of several threads, each call of libibverbs and librdmacm takes the lock and leaves
 * it, however the call ends. The program's own pthread_mutex_lock and pthread_mutex_unlock count
 * what a thread holds: nothing after a call, and it never unlocks what it does not hold.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/verbs/cm/cm_pair.h"
#include "tests/verbs/verbs_pair.h"

static __thread int held, taken;
static __thread sem_t *stopped; /* post it before a lock that this thread has to wait for */
static __thread bool twice;
static int (*real_lock)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);
static struct verbs_end a, b;
static pthread_t thread;
static sem_t sem;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (!real_lock)
		real_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	held++;
	taken++;
	if (stopped && pthread_mutex_trylock(mutex) == 0)
		return 0;
	if (stopped)
		sem_post(stopped);
	return real_lock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (!real_unlock)
		real_unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	twice |= held == 0;
	held--;
	return real_unlock(mutex);
}

/* The expression is true, and has taken the lock and left it. */
#define LOCKED(expression)                                                    \
	do {                                                                  \
		held = taken = 0;                                             \
		twice = false;                                                \
		ck_assert_msg((expression), "%s", #expression);               \
		ck_assert_msg(taken > 0, "%s takes no lock", #expression);    \
		ck_assert_msg(held == 0, "%s holds %d", #expression, held);   \
		ck_assert_msg(!twice, "%s leaves a lock twice", #expression); \
	} while (0)

static void *sleeper(void *unused)
{
	(void)unused;
	while (sem_wait(&sem))
		;
	return NULL;
}

static void begin_threads(void)
{
	sem_init(&sem, 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleeper, NULL), 0);
}

static void end_threads(void)
{
	sem_post(&sem);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* ---- libibverbs ---- */

START_TEST(calls_about_memory)
{
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	struct ibv_pd *pd = NULL;
	struct ibv_mr *mr = NULL;
	struct ibv_mw *mw = NULL;

	begin_threads();
	verbs_begin(&a, &b);
	LOCKED((pd = ibv_alloc_pd(a.context)) != NULL);
	LOCKED((mr = ibv_reg_mr(pd, a.buffer, 64, IBV_ACCESS_MW_BIND)) != NULL);
	LOCKED(!ibv_reg_mr(pd, (void *)4096, 4096, 0));
	LOCKED(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, a.pd, NULL, 0, 0) == 0);
	LOCKED(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)4096, 4096, 0) ==
	       IBV_REREG_MR_ERR_CMD);
	LOCKED((mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1)) != NULL);
	bind.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)a.buffer, 64, 0 };
	LOCKED(ibv_bind_mw(a.qp, mw, &bind) == 0);
	bind.bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED;
	LOCKED(ibv_bind_mw(a.qp, mw, &bind) == EINVAL);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	LOCKED(ibv_dereg_mr(mr) == EBUSY);
	LOCKED(ibv_dealloc_pd(a.pd) == EBUSY);
	LOCKED(ibv_dealloc_mw(mw) == 0);
	LOCKED(ibv_dereg_mr(mr) == 0);
	LOCKED(ibv_dealloc_pd(pd) == 0);
	verbs_end_all(&a, &b);
	end_threads();
}
END_TEST

static void fail_without_descriptors(void)
{
	struct rlimit before, none = { 0, 0 };
	struct ibv_device **list = ibv_get_device_list(NULL);

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	LOCKED(!ibv_create_comp_channel(a.context));
	ck_assert_ptr_null(ibv_open_device(list[0]));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ibv_free_device_list(list);
}

START_TEST(calls_about_completions)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 4,
					    .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP };
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	struct ibv_comp_channel *channel = NULL;
	struct ibv_cq_ex *ex = NULL;
	struct ibv_cq *cq = NULL, *told;
	struct ibv_wc wc;
	void *context;

	begin_threads();
	verbs_begin(&a, &b);
	fail_without_descriptors();
	LOCKED((channel = ibv_create_comp_channel(a.context)) != NULL);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	LOCKED((cq = ibv_create_cq(a.context, 4, NULL, channel, 0)) != NULL);
	LOCKED(ibv_destroy_comp_channel(channel) == EBUSY);
	LOCKED(ibv_resize_cq(cq, 8) == 0);
	LOCKED(ibv_resize_cq(cq, 0) == EINVAL);
	LOCKED(ibv_req_notify_cq(cq, 0) == 0);
	LOCKED(ibv_req_notify_cq(cq, 1) == 0);
	LOCKED(ibv_get_cq_event(channel, &told, &context) == -1);
	LOCKED(ibv_poll_cq(cq, 1, &wc) == 0);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(a.cq), 0);
	a.cq = cq;
	verbs_make_qp(&a);
	ck_assert_int_eq(ibv_req_notify_cq(cq, 0), 0);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_INIT), 0);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_ERR), 0);
	LOCKED(verbs_recv(&a, 1, 0, 8) == 0);
	LOCKED(ibv_get_cq_event(channel, &told, &context) == 0);
	LOCKED((ibv_ack_cq_events(cq, 1), true));
	LOCKED(ibv_poll_cq(cq, 1, &wc) == 1);
	LOCKED(ibv_destroy_cq(cq) == EBUSY);
	LOCKED((ex = ibv_create_cq_ex(a.context, &init)) != NULL);
	LOCKED(ibv_start_poll(ex, &attr) == ENOENT);
	LOCKED(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)) == 0);
	LOCKED(ibv_destroy_qp(a.qp) == 0);
	LOCKED(ibv_destroy_cq(cq) == 0);
	LOCKED(ibv_destroy_comp_channel(channel) == 0);
	a.qp = NULL;
	a.cq = ibv_create_cq(a.context, 1, NULL, NULL, 0);
	verbs_end_all(&a, &b);
	end_threads();
}
END_TEST

START_TEST(calls_about_shared_receive_queues)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .max_wr = 8 };
	struct ibv_recv_wr wr = { .num_sge = 9 }, *bad;

	begin_threads();
	verbs_open(&a, 0);
	LOCKED((a.srq = ibv_create_srq(a.pd, &init)) != NULL);
	LOCKED(ibv_modify_srq(a.srq, &attr, IBV_SRQ_MAX_WR) == 0);
	LOCKED(ibv_modify_srq(a.srq, &attr, 1 << 5) == EINVAL);
	LOCKED(ibv_query_srq(a.srq, &attr) == 0);
	LOCKED(verbs_recv(&a, 1, 0, 8) == 0);
	LOCKED(ibv_post_srq_recv(a.srq, &wr, &bad) == EINVAL);
	verbs_make_qp(&a);
	LOCKED(ibv_destroy_srq(a.srq) == EBUSY);
	LOCKED(ibv_post_recv(a.qp, &wr, &bad) == EINVAL);
	LOCKED(ibv_destroy_qp(a.qp) == 0);
	LOCKED(ibv_destroy_srq(a.srq) == 0);
	a.qp = NULL;
	a.srq = NULL;
	LOCKED(ibv_close_device(a.context) == 0);
	end_threads();
}
END_TEST

/* From ibv_wr_start to its end, which may be an abort, or fail. */
static int post_batch(struct ibv_qp_ex *ex, bool good)
{
	ibv_wr_start(ex);
	if (good)
		ibv_wr_rdma_write(ex, b.mr->rkey, (uintptr_t)b.buffer);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buffer, 8);
	return ibv_wr_complete(ex);
}

static bool abort_batch(struct ibv_qp_ex *ex)
{
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, b.mr->rkey, (uintptr_t)b.buffer);
	ibv_wr_abort(ex);
	return true;
}

static void use_extended(struct ibv_qp_ex *ex)
{
	LOCKED(abort_batch(ex));
	LOCKED(post_batch(ex, false) == EINVAL);
	LOCKED(post_batch(ex, true) == 0);
}

START_TEST(calls_about_queue_pairs)
{
	struct ibv_ah_attr to = { .dlid = 1, .port_num = 1 };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_async_event event;
	struct ibv_qp_init_attr init;
	struct ibv_port_attr port;
	struct ibv_ah *ah = NULL;
	struct ibv_wc wc;

	begin_threads();
	verbs_begin(&a, &b);
	fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK);
	LOCKED(ibv_query_port(a.context, 1, &port) == 0);
	LOCKED(ibv_query_rt_values_ex(a.context, &values) == 0);
	LOCKED((ah = ibv_create_ah(a.pd, &to)) != NULL);
	LOCKED(ibv_destroy_ah(ah) == 0);
	LOCKED(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 0) == 0);
	LOCKED(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 1u << 20) == EINVAL);
	LOCKED(verbs_recv(&a, 1, 0, 8) == 0);
	ck_assert(verbs_poll(&a, &wc));
	LOCKED(ibv_query_qp(a.qp, &attr, 0, &init) == 0);
	attr.qp_state = IBV_QPS_RTR;
	LOCKED(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE) == EINVAL);
	LOCKED(ibv_get_async_event(a.context, &event) == -1);
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1;
	LOCKED(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
	LOCKED(ibv_get_async_event(a.context, &event) == 0);
	LOCKED((ibv_ack_async_event(&event), true));
	LOCKED(ibv_destroy_qp(a.qp) == 0);
	init.cap.max_send_sge = 1;
	LOCKED((a.qp = ibv_create_qp(a.pd, &init)) != NULL);
	verbs_end_all(&a, &b);
	end_threads();
}
END_TEST

START_TEST(calls_about_batches)
{
	struct ibv_qp_init_attr_ex init;
	struct ibv_wc wc;

	begin_threads();
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&b);
	init = (struct ibv_qp_init_attr_ex){ .send_cq = a.cq,
					     .recv_cq = a.cq,
					     .cap = { 4, 4, 1, 1, 0 },
					     .qp_type = IBV_QPT_RC,
					     .sq_sig_all = 1,
					     .comp_mask = IBV_QP_INIT_ATTR_PD |
							  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					     .pd = a.pd,
					     .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };
	LOCKED((a.qp = ibv_create_qp_ex(a.context, &init)) != NULL);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++) {
		LOCKED(verbs_modify(&a, &b, (enum ibv_qp_state)i) == 0);
		LOCKED(verbs_modify(&b, &a, (enum ibv_qp_state)i) == 0);
	}
	use_extended(ibv_qp_to_qp_ex(a.qp));
	ck_assert(verbs_poll(&a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
	end_threads();
}
END_TEST

START_TEST(calls_about_multicast_groups)
{
	union ibv_gid gid = { .raw = { 0xff, 0x12 } };

	begin_threads();
	verbs_begin_of(&a, &b, IBV_QPT_UD);
	LOCKED(ibv_attach_mcast(a.qp, &gid, 0xc001) == 0);
	LOCKED(ibv_detach_mcast(a.qp, &gid, 0xc001) == 0);
	LOCKED(ibv_detach_mcast(a.qp, &gid, 0xc001) != 0);
	verbs_end_all(&a, &b);
	end_threads();
}
END_TEST

/* ---- librdmacm ---- */

START_TEST(calls_about_ids)
{
	struct sockaddr_in there, nowhere = cm_address("192.0.2.1", 1);
	struct rdma_event_channel *other = NULL;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id = NULL;
	uint8_t tos = 1;

	begin_threads();
	there = cm_address(CM_THERE, CM_PORT + 1);
	LOCKED((other = rdma_create_event_channel()) != NULL);
	fcntl(other->fd, F_SETFL, O_NONBLOCK);
	LOCKED(rdma_create_id(other, &id, NULL, RDMA_PS_TCP) == 0);
	LOCKED(rdma_listen(id, 1) == 0 || errno == EINVAL);
	LOCKED(rdma_bind_addr(id, (struct sockaddr *)&nowhere) == -1);
	LOCKED(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1) == 0);
	LOCKED(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 2) == -1);
	LOCKED(rdma_destroy_id(id) == 0);
	LOCKED(rdma_create_id(other, &id, NULL, RDMA_PS_TCP) == 0);
	LOCKED(rdma_get_cm_event(other, &event) == -1);
	LOCKED(rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 1000) == 0);
	LOCKED(rdma_get_cm_event(other, &event) == 0);
	LOCKED(rdma_ack_cm_event(event) == 0);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 1000), -1);
	LOCKED(rdma_resolve_route(id, 1000) == 0);
	LOCKED(rdma_resolve_route(id, 1000) == -1);
	LOCKED(rdma_migrate_id(id, NULL) == 0);
	LOCKED(rdma_destroy_id(id) == 0);
	LOCKED((rdma_destroy_event_channel(other), true));
	end_threads();
}
END_TEST

START_TEST(calls_about_connections)
{
	struct rdma_conn_param param = cm_param("answer");

	begin_threads();
	cm_begin();
	LOCKED(rdma_connect(cm_client, &param) == -1);
	cm_ask();
	if (_i == 0) {
		LOCKED(rdma_reject(cm_server, "no", 2) == 0);
		LOCKED(rdma_reject(cm_server, "no", 2) == -1);
		cm_take(RDMA_CM_EVENT_REJECTED);
		ck_assert_str_eq(cm_data, "no");
	} else {
		cm_make_qp(cm_server);
		LOCKED(rdma_accept(cm_server, &param) == 0);
		LOCKED(rdma_accept(cm_server, &param) == -1);
		cm_take(RDMA_CM_EVENT_ESTABLISHED);
		cm_take(RDMA_CM_EVENT_ESTABLISHED);
		LOCKED(rdma_disconnect(cm_client) == 0);
		LOCKED(rdma_disconnect(cm_server) == 0);
		LOCKED((rdma_destroy_qp(cm_server), true));
	}
	LOCKED((rdma_destroy_qp(cm_client), true));
	LOCKED(rdma_destroy_id(cm_client) == 0);
	LOCKED(rdma_destroy_id(cm_server) == 0);
	LOCKED(rdma_destroy_id(cm_listener) == 0);
	rdma_destroy_event_channel(cm_channel);
	end_threads();
}
END_TEST

/* ---- a batch, and a post of another thread ---- */

static sem_t looked; /* the other thread waits for the batch to end, or has posted */

static void *post_inline(void *payload)
{
	struct ibv_sge sge = { (uintptr_t)payload, 8, 0 };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };
	struct ibv_send_wr *bad;
	int err;

	stopped = &looked;
	err = ibv_post_send(a.qp, &wr, &bad);
	stopped = NULL;
	sem_post(&looked);
	return err ? &looked : NULL;
}

/* From ibv_wr_start on the queue is the batch's: a device's driver holds its lock so long. */
START_TEST(a_post_of_another_thread_waits_for_the_end_of_a_batch)
{
	static char first[8] = "batch", other[8] = "post";
	struct ibv_qp_init_attr_ex init = { .cap = { 4, 4, 1, 1, 8 },
					    .qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;
	pthread_t poster;
	void *failed;

	if (_i)
		setenv("DATSIM_FABRIC", "lock", 1);
	begin_threads();
	sem_init(&looked, 0, 0);
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	init.pd = a.pd;
	init.send_cq = init.recv_cq = a.cq;
	a.qp = ibv_create_qp_ex(a.context, &init);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
	ex = ibv_qp_to_qp_ex(a.qp);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_int_eq(verbs_recv(&b, i, 8 * i, 8), 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, first, sizeof(first));
	ck_assert_int_eq(pthread_create(&poster, NULL, post_inline, other), 0);
	while (sem_wait(&looked))
		;
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	ck_assert_int_eq(pthread_join(poster, &failed), 0);
	ck_assert_ptr_null(failed);
	for (int i = 0; i < 2; i++)
		ck_assert(verbs_poll(&b, &wc));
	ck_assert_str_eq(b.buffer, first);
	ck_assert_str_eq(b.buffer + 8, other);
	verbs_end_all(&a, &b);
	unsetenv("DATSIM_FABRIC");
	end_threads();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, calls_about_memory, 1, NULL);
	unit_add(suite, calls_about_completions, 1, NULL);
	unit_add(suite, calls_about_shared_receive_queues, 1, NULL);
	unit_add(suite, calls_about_queue_pairs, 1, NULL);
	unit_add(suite, calls_about_batches, 1, NULL);
	unit_add(suite, a_post_of_another_thread_waits_for_the_end_of_a_batch, 2, NULL);
	unit_add(suite, calls_about_multicast_groups, 1, NULL);
	unit_add(suite, calls_about_ids, 1, NULL);
	unit_add(suite, calls_about_connections, 2, NULL);
}

UNIT_SUITE("verbs_lock")
