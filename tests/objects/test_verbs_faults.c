/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of libibverbs, one call each: a call that a rule makes fail has the error asked for and
 * leaves nothing behind, and the next one succeeds. A device that fails, and a port that goes down.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

static struct verbs_end a, b;
static union ibv_gid group = { .raw = { 0xff, 0x12 } };

/* ---- calls: 0, or an errno ---- */

static int errno_of(const void *made)
{
	return made ? 0 : errno;
}

static int call_alloc_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(a.context);
	int err = errno_of(pd);

	return pd ? ibv_dealloc_pd(pd) : err;
}

static int call_reg_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(a.pd, a.buffer, 64, 0);
	int err = errno_of(mr);

	return mr ? ibv_dereg_mr(mr) : err;
}

static int call_rereg_mr(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE;

	return ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access) ? errno : 0;
}

static int call_alloc_mw(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	int err = errno_of(mw);

	return mw ? ibv_dealloc_mw(mw) : err;
}

static int call_bind_mw(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .wr_id = 1 };
	int err = ibv_bind_mw(a.qp, mw, &bind);

	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	return err;
}

static int call_create_channel(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(a.context);
	int err = errno_of(channel);

	return channel ? ibv_destroy_comp_channel(channel) : err;
}

static int call_create_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(a.context, 4, NULL, NULL, 0);
	int err = errno_of(cq);

	return cq ? ibv_destroy_cq(cq) : err;
}

static int call_resize_cq(void)
{
	int err = ibv_resize_cq(a.cq, 100);

	ck_assert_int_eq(a.cq->cqe, err ? 32 : 100);
	return err;
}

static int call_notify(void)
{
	return ibv_req_notify_cq(a.cq, 0);
}

static int call_create_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &init);
	int err = errno_of(srq);

	return srq ? ibv_destroy_srq(srq) : err;
}

static int call_modify_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &init);
	struct ibv_srq_attr attr = { .max_wr = 8 };
	int err = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);

	ck_assert_int_eq(ibv_query_srq(srq, &attr), 0);
	ck_assert_uint_eq(attr.max_wr, err ? 4 : 8);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	return err;
}

static int call_create_qp(void)
{
	struct ibv_qp_init_attr init = { .send_cq = a.cq,
					 .recv_cq = a.cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(a.pd, &init);
	int err = errno_of(qp);

	ck_assert_uint_eq(init.cap.max_inline_data, qp ? 32 : 0);
	return qp ? ibv_destroy_qp(qp) : err;
}

static int call_modify_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	int err = ibv_modify_qp(a.qp, &attr, IBV_QP_STATE);

	ck_assert_int_eq((int)a.qp->state, (int)(err ? IBV_QPS_RTS : IBV_QPS_SQD));
	return err;
}

static int call_create_ah(void)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };
	struct ibv_ah *ah = ibv_create_ah(a.pd, &attr);
	int err = errno_of(ah);

	return ah ? ibv_destroy_ah(ah) : err;
}

static int call_attach(void)
{
	struct ibv_qp *rc = a.qp;
	int err;

	a.type = IBV_QPT_UD;
	verbs_make_qp(&a);
	err = ibv_attach_mcast(a.qp, &group, 0xc001);
	if (!err)
		ck_assert_int_eq(ibv_detach_mcast(a.qp, &group, 0xc001), 0);
	ck_assert_int_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = rc;
	return err;
}

static int call_post_send(void)
{
	return verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 0);
}

static int call_post_recv(void)
{
	return verbs_recv(&a, 1, 0, 8);
}

static int call_post_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };
	int err;

	a.srq = ibv_create_srq(a.pd, &init);
	err = verbs_recv(&a, 1, 0, 8);
	/* A place is taken only by what succeeds. */
	if (err)
		ck_assert_int_eq(verbs_recv(&a, 1, 0, 8), 0);
	ck_assert_int_eq(verbs_recv(&a, 1, 0, 8), ENOMEM);
	ck_assert_int_eq(ibv_destroy_srq(a.srq), 0);
	a.srq = NULL;
	return err;
}

/* Before it is called here, each end was made and connected. */
static const struct {
	const char *name;
	int before;
	int (*call)(void);
} calls[] = {
	{ "ibv_alloc_pd", 2, call_alloc_pd },
	{ "ibv_reg_mr", 2, call_reg_mr },
	{ "ibv_rereg_mr", 0, call_rereg_mr },
	{ "ibv_alloc_mw", 0, call_alloc_mw },
	{ "ibv_bind_mw", 0, call_bind_mw },
	{ "ibv_create_comp_channel", 0, call_create_channel },
	{ "ibv_create_cq", 2, call_create_cq },
	{ "ibv_resize_cq", 0, call_resize_cq },
	{ "ibv_req_notify_cq", 0, call_notify },
	{ "ibv_create_srq", 0, call_create_srq },
	{ "ibv_modify_srq", 0, call_modify_srq },
	{ "ibv_create_qp", 2, call_create_qp },
	{ "ibv_modify_qp", 6, call_modify_qp },
	{ "ibv_create_ah", 0, call_create_ah },
	{ "ibv_attach_mcast", 0, call_attach },
	{ "ibv_post_send", 0, call_post_send },
	{ "ibv_post_recv", 0, call_post_recv },
	{ "ibv_post_srq_recv", 0, call_post_srq },
};

static void set_rule(const char *format, const char *name, int n)
{
	char text[200];

	snprintf(text, sizeof(text), format, name, n);
	setenv("DATSIM_FAULTS", text, 1);
}

START_TEST(a_call_fails_once_and_leaves_nothing)
{
	set_rule("line=1 spoil=fail api=verbs call=%s error=1 nth=%d;", calls[_i].name,
		 calls[_i].before + 1);
	verbs_begin(&a, &b);
	ck_assert_int_eq(calls[_i].call(), EPERM);
	ck_assert_int_eq(calls[_i].call(), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* Where no error is given, it is that of a full queue. */
START_TEST(a_call_fails_with_ENOMEM)
{
	set_rule("line=1 spoil=fail api=verbs call=%s nth=%d;", calls[_i].name,
		 calls[_i].before + 1);
	verbs_begin(&a, &b);
	ck_assert_int_eq(calls[_i].call(), ENOMEM);
	ck_assert_int_eq(calls[_i].call(), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- devices and ports ---- */

static bool next_event(struct verbs_end *end, struct ibv_async_event *event)
{
	struct ibv_wc wc;

	fcntl(end->context->async_fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 1000; i++) {
		if (ibv_get_async_event(end->context, event) == 0) {
			ibv_ack_async_event(event);
			return true;
		}
		ck_assert_int_eq(errno, EAGAIN);
		ibv_poll_cq(a.cq, 1, &wc);
	}
	return false;
}

START_TEST(a_device_that_fails_ends_its_queue_pairs)
{
	struct ibv_async_event event;
	struct ibv_qp *first;
	struct ibv_wc wc;

	setenv("DATSIM_FAULTS", "line=1 spoil=fatal adapter=emu0 since_ns=100000;", 1);
	verbs_begin(&a, &b);
	first = a.qp;
	verbs_make_qp(&a); /* in RESET, which it does not leave */
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 8), 0);
	ck_assert(next_event(&a, &event));
	ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_DEVICE_FATAL);
	ck_assert_int_eq((int)first->state, (int)IBV_QPS_ERR);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_RESET);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_RTS);
	ck_assert(!next_event(&a, &event));
	ck_assert(!next_event(&b, &event));
	ck_assert_ptr_null(ibv_alloc_pd(a.context));
	ck_assert_int_eq(errno, EIO);
	ck_assert_int_eq(ibv_poll_cq(b.cq, 1, &wc), 0);
	ck_assert_int_eq(ibv_destroy_qp(first), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_port_that_goes_down_comes_up_again)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;

	setenv("DATSIM_FAULTS", "line=1 spoil=down adapter=emu0 since_ns=100000 until_ns=1000000;",
	       1);
	verbs_begin(&a, &b);
	for (int up = 0; up < 2; up++) {
		ck_assert(next_event(&a, &event));
		ck_assert_int_eq((int)event.event_type,
				 (int)(up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR));
		ck_assert_int_eq(event.element.port_num, 1);
		ck_assert_int_eq(ibv_query_port(a.context, 1, &port), 0);
		ck_assert_int_eq((int)port.state, (int)(up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN));
		ck_assert_uint_eq(port.phys_state, up ? 5 : 2);
		ck_assert_int_eq(ibv_query_port(b.context, 1, &port), 0);
		ck_assert_int_eq((int)port.state, (int)IBV_PORT_ACTIVE);
	}
	ck_assert(!next_event(&a, &event));
	ck_assert(!next_event(&b, &event));
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_call_fails_once_and_leaves_nothing, (int)COUNT(calls), NULL);
	unit_add(suite, a_call_fails_with_ENOMEM, (int)COUNT(calls), NULL);
	unit_add(suite, a_device_that_fails_ends_its_queue_pairs, 1, NULL);
	unit_add(suite, a_port_that_goes_down_comes_up_again, 1, NULL);
}

UNIT_SUITE_OF_PROCESSES("verbs_faults")
