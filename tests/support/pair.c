/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints, connections between the two sides, and the messages that go over them. */
#include "tests/support/support.h"

/* ---- endpoints ---- */

/* A size of 0 means the adapter's maximum (ruling A1). */
DAT_EP_ATTR ep_attr(void)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = 32,
		.max_request_dtos = 32,
		.max_recv_iov = 4,
		.max_request_iov = 4,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};

	return attr;
}

DAT_EP_HANDLE plain_ep_with(struct side *side, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = NO_HANDLE;

	must(dat_ep_create(side->ia, side->pz, side->recv, side->request, side->connect, attr,
			   &ep));
	return ep;
}

DAT_EP_HANDLE plain_ep(struct side *side)
{
	DAT_EP_ATTR attr = ep_attr();

	return plain_ep_with(side, &attr);
}

DAT_SRQ_HANDLE make_srq(struct side *side, DAT_COUNT size, DAT_COUNT low_watermark)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = size,
		.max_recv_iov = 4,
		.low_watermark = low_watermark,
	};
	DAT_SRQ_HANDLE srq = NO_HANDLE;

	must(dat_srq_create(side->ia, side->pz, &attr, &srq));
	return srq;
}

DAT_EP_HANDLE srq_ep_with(struct side *side, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = NO_HANDLE;

	must(dat_ep_create_with_srq(side->ia, side->pz, side->recv, side->request, side->connect,
				    srq, attr, &ep));
	return ep;
}

DAT_EP_HANDLE srq_ep(struct side *side, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = ep_attr();

	return srq_ep_with(side, srq, &attr);
}

/* ---- connections ---- */

DAT_PSP_HANDLE listen_at(struct side *side, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp = NO_HANDLE;

	must(dat_psp_create(side->ia, qual, side->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	return psp;
}

DAT_RSP_HANDLE reserve(struct side *side, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep)
{
	DAT_RSP_HANDLE rsp = NO_HANDLE;

	must(dat_rsp_create(side->ia, qual, ep, side->cr, &rsp));
	return rsp;
}

DAT_PSP_HANDLE listen_for_eps(struct side *side, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp = NO_HANDLE;

	must(dat_psp_create(side->ia, qual, side->cr, DAT_PSP_PROVIDER_FLAG, &psp));
	return psp;
}

DAT_EP_HANDLE ep_of_request(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	must(dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param));
	return param.local_ep_handle;
}

void configure(struct side *side, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = {
		.pz_handle = side->pz,
		.recv_evd_handle = side->recv,
		.request_evd_handle = side->request,
		.connect_evd_handle = side->connect,
	};

	must(dat_ep_modify(ep,
			   DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				   DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				   DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			   &param));
}

DAT_RETURN try_connect(DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(ep, address(to), qual, timeout, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

DAT_CR_HANDLE request(DAT_EP_HANDLE ep, struct side *passive, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp = listen_at(passive, qual);
	DAT_CR_HANDLE cr;

	must(try_connect(ep, passive, qual, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(passive->cr, psp);
	must(dat_psp_free(psp));
	return cr;
}

void connect_eps(struct side *active, DAT_EP_HANDLE active_ep, struct side *passive,
		 DAT_EP_HANDLE passive_ep)
{
	DAT_CR_HANDLE cr = request(active_ep, passive, QUAL);

	must(dat_cr_accept(cr, passive_ep, 0, NULL));
	run_quiet();
	expect_connection(active->connect, active_ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(passive->connect, passive_ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void plain_pair(void)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

void srq_pair_with(DAT_COUNT srq_size, const DAT_EP_ATTR *b_attr)
{
	w.a.ep = plain_ep(&w.a);
	w.b.srq = make_srq(&w.b, srq_size, DAT_SRQ_LW_DEFAULT);
	w.b.ep = srq_ep_with(&w.b, w.b.srq, b_attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

void srq_pair(DAT_COUNT srq_size)
{
	DAT_EP_ATTR attr = ep_attr();

	srq_pair_with(srq_size, &attr);
}

void second_srq_pair(DAT_EP_HANDLE *a2, DAT_EP_HANDLE *b2)
{
	*a2 = plain_ep(&w.a);
	*b2 = srq_ep(&w.b, w.b.srq);
	connect_eps(&w.a, *a2, &w.b, *b2);
}

void exchange_unevenly(void)
{
	post_recvs(&w.a, w.a.ep, 0, 2);
	post_recvs(&w.b, w.b.ep, 4, 5);
	deliver(&w.b, w.b.ep, 2);
	deliver(&w.a, w.a.ep, 5);
	ck_assert_int_eq(drain(w.a.recv) + drain(w.b.recv), 7);
}

void uneven_pair(void)
{
	plain_pair();
	exchange_unevenly();
}

void disconnect_pair(void)
{
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* ---- states ---- */

const DAT_EP_STATE reachable_states[REACHABLE_STATES] = {
	DAT_EP_STATE_UNCONNECTED,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
	DAT_EP_STATE_COMPLETION_PENDING,
	DAT_EP_STATE_CONNECTED,
	DAT_EP_STATE_DISCONNECT_PENDING,
	DAT_EP_STATE_DISCONNECTED,
	DAT_EP_STATE_RESERVED,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
};

/* w.a's reply is held on the wire, so w.a's EP waits for the end of the handshake. */
static void to_completion_pending(void)
{
	DAT_CR_HANDLE cr;

	w.b.ep = plain_ep(&w.b);
	cr = request(w.b.ep, &w.a, QUAL);
	hold_link("emu0", "emu1");
	must(dat_cr_accept(cr, w.a.ep, 0, NULL));
	run_quiet();
}

/* A Send that cannot complete delays a graceful disconnect. */
static void to_disconnect_pending(void)
{
	hold_link("emu0", "emu1");
	post_send(&w.a, w.a.ep, SLOTS - 1, SHORT);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	run_quiet();
}

static DAT_CR_HANDLE ask_for(DAT_HANDLE sp)
{
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.b.ep, &w.a, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	return expect_request(w.a.cr, sp);
}

static void to_tentative(void)
{
	must(dat_ep_free(w.a.ep));
	w.a.ep = ep_of_request(ask_for(listen_for_eps(&w.a, QUAL)));
	configure(&w.a, w.a.ep);
}

DAT_EP_HANDLE ep_in_state(DAT_EP_STATE state)
{
	w.a.ep = plain_ep(&w.a);
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		w.b.ep = plain_ep(&w.b);
		(void)request(w.a.ep, &w.b, QUAL);
		break;
	case DAT_EP_STATE_COMPLETION_PENDING:
		to_completion_pending();
		break;
	case DAT_EP_STATE_RESERVED:
		(void)reserve(&w.a, QUAL, w.a.ep);
		break;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		(void)ask_for(reserve(&w.a, QUAL, w.a.ep));
		break;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		to_tentative();
		break;
	default:
		w.b.ep = plain_ep(&w.b);
		connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
		if (state == DAT_EP_STATE_DISCONNECT_PENDING)
			to_disconnect_pending();
		if (state == DAT_EP_STATE_DISCONNECTED)
			disconnect_pair();
		break;
	}
	expect_state(w.a.ep, state);
	return w.a.ep;
}

DAT_UINT32 state_subtype(DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DAT_INVALID_STATE_EP_UNCONNECTED;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_ACTCONNPENDING;
	case DAT_EP_STATE_COMPLETION_PENDING:
		return DAT_INVALID_STATE_EP_COMPLPENDING;
	case DAT_EP_STATE_CONNECTED:
		return DAT_INVALID_STATE_EP_CONNECTED;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return DAT_INVALID_STATE_EP_DISCPENDING;
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_INVALID_STATE_EP_DISCONNECTED;
	case DAT_EP_STATE_RESERVED:
		return DAT_INVALID_STATE_EP_RESERVED;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_PASSCONNPENDING;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_TENTCONNPENDING;
	default:
		ck_abort_msg("state %d is not reachable", (int)state);
		return DAT_NO_SUBTYPE;
	}
}

/* ---- data ---- */

unsigned char *slot(struct side *side, int n)
{
	return side->memory + GUARD + (size_t)n * SLOT_SIZE;
}

DAT_LMR_TRIPLET segment(struct side *side, int n, DAT_VLEN length)
{
	DAT_LMR_TRIPLET triplet = {
		.lmr_context = side->context,
		.virtual_address = (DAT_VADDR)(uintptr_t)slot(side, n),
		.segment_length = length,
	};

	return triplet;
}

DAT_DTO_COOKIE cookie(int n)
{
	DAT_DTO_COOKIE value = { .as_64 = (DAT_UINT64)n };

	return value;
}

void post_recv(struct side *side, DAT_EP_HANDLE ep, int n)
{
	DAT_LMR_TRIPLET iov = segment(side, n, SLOT_SIZE);

	must(dat_ep_post_recv(ep, 1, &iov, cookie(n), DAT_COMPLETION_DEFAULT_FLAG));
}

void post_recvs(struct side *side, DAT_EP_HANDLE ep, int first, int count)
{
	int i;

	for (i = 0; i < count; i++)
		post_recv(side, ep, first + i);
}

DAT_RETURN try_post_srq(struct side *side, int n)
{
	DAT_LMR_TRIPLET iov = segment(side, n, SLOT_SIZE);

	return dat_srq_post_recv(side->srq, 1, &iov, cookie(n));
}

void post_srq(struct side *side, int n)
{
	must(try_post_srq(side, n));
}

void post_srqs(struct side *side, int first, int count)
{
	int i;

	for (i = 0; i < count; i++)
		post_srq(side, first + i);
}

DAT_RETURN try_send(struct side *side, DAT_EP_HANDLE ep, int n, DAT_VLEN length)
{
	DAT_LMR_TRIPLET iov = segment(side, n, length);

	return dat_ep_post_send(ep, 1, &iov, cookie(n), DAT_COMPLETION_DEFAULT_FLAG);
}

void post_send(struct side *side, DAT_EP_HANDLE ep, int n, DAT_VLEN length)
{
	must(try_send(side, ep, n, length));
}

void deliver(struct side *side, DAT_EP_HANDLE ep, int messages)
{
	int i;

	for (i = 0; i < messages; i++)
		post_send(side, ep, i, SHORT);
	run_quiet();
	for (i = 0; i < messages; i++)
		expect_dto(side->request, ep, i, DAT_DTO_SUCCESS);
}

void send_half(struct side *side, DAT_EP_HANDLE ep, int message, int n)
{
	must(dat_sim_hold_message(ep, message, 1));
	post_send(side, ep, n, LONG);
	run_quiet();
}

void release_message(DAT_EP_HANDLE ep, int message)
{
	must(dat_sim_release_message(ep, message));
	run_quiet();
}

static unsigned char pattern(int seed, size_t i)
{
	return (unsigned char)((size_t)seed * 31 + i * 7 + i / 251);
}

void fill_slot(struct side *side, int n, int seed)
{
	size_t i;

	for (i = 0; i < SLOT_SIZE; i++)
		slot(side, n)[i] = pattern(seed, i);
}

bool slot_holds(struct side *side, int n, int seed, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (slot(side, n)[i] != pattern(seed, i))
			return false;
	return true;
}
