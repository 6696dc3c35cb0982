/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections that come and go at random, on two SRQs, while verbs calls fail, events are late and
 * the device may be removed. However it goes, all that an Endpoint took from its SRQ is given back,
 * and nothing is left in the device.
 */
#include <errno.h>
#include <unistd.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

enum {
	EPS = 12, /* of each side */
	STEPS = 1000,
	SEEDS = 3,
};

static const struct stub_config devices[] = {
	{ .iwarp = false },
	{ .cleans = true, .flush_polls = 2, .last_wqe_polls = 2, .blocks = true },
	{ .iwarp = true, .reset = -ECONNRESET, .early = true, .srq_resizes = true },
	{ .iwarp = true, .reset = -ECONNRESET, .far = true, .hears_late = true },
};

static const char *const calls[] = {
	"ibv_create_qp", "ibv_modify_qp",     "ibv_post_recv",      "ibv_post_send",
	"rdma_accept",   "rdma_connect",      "rdma_create_id",     "rdma_disconnect",
	"rdma_reject",   "rdma_resolve_addr", "rdma_resolve_route", "rdma_init_qp_attr",
};

static DAT_EP_HANDLE eps[2][EPS];
static uint32_t seed;

static int draw(int n)
{
	seed = seed * 1103515245u + 12345u;
	return (int)((seed >> 16) % (uint32_t)n);
}

static void calm(void)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		stub_fail(calls[i], 0, 0, false);
}

/* All events; requests are accepted by any Endpoint of this side that can, or rejected. */
static void answer(struct side *side)
{
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	while (dat_evd_dequeue(side->cr, &event) == DAT_SUCCESS) {
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		for (int i = 0; i < EPS && draw(8) > 0; i++)
			if (eps[1][i] && dat_cr_accept(cr, eps[1][i], 0, NULL) == DAT_SUCCESS)
				cr = DAT_HANDLE_NULL;
		if (cr)
			(void)dat_cr_reject(cr);
	}
}

static void empty(struct side *side)
{
	drain(side->recv);
	drain(side->request);
	drain(side->connect);
	drain(side->async);
}

static void post(struct side *side, DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET iov = segment(side, draw(SLOTS), SLOT_SIZE);

	(void)dat_ep_post_recv(ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
	(void)try_post_srq(side, draw(SLOTS));
}

static void step_of(struct side *side, DAT_EP_HANDLE *ep)
{
	switch (draw(9)) {
	case 0:
		must(dat_ep_free(*ep));
		*ep = NO_HANDLE;
		break;
	case 1:
		(void)dat_ep_reset(*ep);
		break;
	case 2:
		(void)dat_ep_disconnect(*ep,
					draw(2) ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
		break;
	case 3:
	case 4:
		(void)try_connect(*ep, &w.b, QUAL + (draw(8) == 0),
				  draw(4) ? DAT_TIMEOUT_INFINITE : (DAT_TIMEOUT)draw(3000) + 1);
		break;
	case 5:
		(void)dat_ep_set_watermark(*ep, draw(4) - 1, draw(6) - 1);
		break;
	default:
		post(side, *ep);
		(void)try_send(side, *ep, draw(SLOTS), SHORT);
		break;
	}
}

/* A message begins to arrive, and takes a Receive of an SRQ. */
static void half_message(void)
{
	struct stub_qp *qp;

	stub_lock();
	qp = stub_qp_by_number(1 + (uint32_t)draw(2 * EPS));
	if (qp && qp->v.srq && qp->v.state == IBV_QPS_RTS && !qp->half &&
	    qp->recv->put != qp->recv->get)
		stub_half_message(&qp->v);
	stub_unlock();
}

static void step_of_device(void)
{
	switch (draw(5)) {
	case 0:
		usleep((useconds_t)draw(2000));
		break;
	case 1:
		stub_fail(calls[draw((int)COUNT(calls))], 1 + draw(2), draw(2) ? EIO : ENOMEM,
			  false);
		break;
	case 2:
		stub_resend();
		break;
	case 3:
		half_message();
		break;
	default:
		calm();
		break;
	}
}

static DAT_EP_HANDLE new_ep(struct side *side, DAT_EP_HANDLE *ep)
{
	calm();
	if (*ep)
		must(dat_ep_free(*ep));
	*ep = draw(2) ? plain_ep(side) : srq_ep(side, side->srq);
	for (int i = 0; i < 3; i++)
		post(side, *ep);
	return *ep;
}

/* Most likely these two have a connection now. */
static void pair_up(void)
{
	DAT_EP_HANDLE a = new_ep(&w.a, &eps[0][draw(EPS)]), b = new_ep(&w.b, &eps[1][draw(EPS)]);
	DAT_COUNT nmore;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	must(try_connect(a, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	if (dat_evd_wait(w.b.cr, 100000, 1, &event, &nmore) != DAT_SUCCESS)
		return;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	if (dat_cr_accept(cr, b, 0, NULL) != DAT_SUCCESS)
		(void)dat_cr_reject(cr);
	if (draw(2))
		(void)dat_evd_wait(w.b.connect, 1000, 1, &event, &nmore);
	for (int i = 0; i < 4; i++) {
		(void)try_send(&w.a, a, i, SHORT);
		(void)try_send(&w.b, b, i, SHORT);
	}
}

static void step(void)
{
	int which = draw(2);
	struct side *side = which ? &w.b : &w.a;
	DAT_EP_HANDLE *ep = &eps[which][draw(EPS)];

	if (draw(6) == 0) {
		step_of_device();
	} else if (draw(4) == 0) {
		answer(&w.b);
		empty(side);
	} else if (draw(20) == 0) {
		(void)dat_srq_resize(side->srq, 8 + draw(40));
		(void)dat_srq_set_lw(side->srq, draw(8));
	} else if (draw(10) == 0) {
		pair_up();
	} else if (*ep) {
		step_of(side, ep);
	} else {
		new_ep(side, ep);
	}
}

static void expect_given_back(struct side *side)
{
	DAT_SRQ_PARAM srq;

	must(dat_srq_query(side->srq, DAT_SRQ_FIELD_ALL, &srq));
	ck_assert_int_eq(srq.available_dto_count, srq.outstanding_dto_count);
}

START_TEST(whatever_happens_nothing_is_left_behind)
{
	int before = stub_objects();

	stub_config = devices[_i % (int)COUNT(devices)];
	seed = (uint32_t)_i;
	calm(); /* the device is to know from the beginning that its calls may fail */
	setup_sides();
	w.a.srq = make_srq(&w.a, 16, 0);
	w.b.srq = make_srq(&w.b, 16, 0);
	listen_at(&w.b, QUAL);
	for (int i = 0; i < STEPS; i++)
		step();
	calm();
	if (draw(2))
		stub_remove_device();
	for (int i = 0; i < 2 * EPS; i++)
		if (eps[i % 2][i / 2])
			must(dat_ep_free(eps[i % 2][i / 2]));
	empty(&w.a);
	empty(&w.b);
	expect_given_back(&w.a);
	expect_given_back(&w.b);
	side_close(&w.a);
	side_close(&w.b);
	stub_await_objects(before);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, whatever_happens_nothing_is_left_behind, SEEDS * (int)COUNT(devices),
		 setup_nothing);
}

int main(void)
{
	return unit_run_on_stub("storm", fill);
}
