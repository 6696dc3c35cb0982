/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All orders of the ways in which a small world can come to its end: disconnects of either side and
 * flag, the network going on (all the way, or by one event), held messages let go, requests
 * answered, events reaped, and everything freed, reset or closed, Endpoints, EVDs, SRQ, PSP and
 * whole adapters. One connection with up to two messages, stopped at every point of their way.
 *
 * An odometer of choices (choice.h) goes every way exactly once. Wherever it stands, the model of
 * prog.h holds, all that must be refused is refused, and at the end nothing is left.
 * ORDERS_DEPTH: calls in a row (3), ORDERS_DEPTH_TWO: with two messages (2).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prog.h"
#include "tests/support/asserts.h"

enum point {
	POSTED,
	ON_THE_WIRE,
	HALF_ARRIVED,
	ARRIVED,
	AT_REST,
	POINTS
};

enum start {
	REQUESTED,
	REQUEST_ARRIVED,
	REQUEST_ACCEPTED,
	CONNECTED,
	ONE_MESSAGE,
	TWO_MESSAGES = ONE_MESSAGE + POINTS,
	STARTS = TWO_MESSAGES + POINTS * POINTS,
};

enum {
	LONG_MESSAGE = 3 * MTU,
	A = 0,
	B = 1,
	KINDS = 2 * 2 * 2 * 2, /* profile, SRQ, one EVD for all or one each, Receives or none */
};

/* One way through one start */
struct orders {
	struct prog p;
	int profile, with_srq, one_evd, starved, start;
	int srq, psp, cr_evd, evd[SIDES][3];
	bool closed[SIDES], freed[SIDES];
	int held; /* messages of A */
};

/* ---- the start ---- */

static void make_side(struct orders *o, int s)
{
	struct prog *p = &o->p;
	unsigned int all = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CONNECTION_FLAG;

	o->evd[s][0] = new_evd(p, s, o->one_evd ? all : DAT_EVD_DTO_FLAG, 64);
	o->evd[s][1] = o->evd[s][2] = o->evd[s][0];
	if (!o->one_evd) {
		o->evd[s][1] = new_evd(p, s, DAT_EVD_DTO_FLAG, 64);
		o->evd[s][2] = new_evd(p, s, DAT_EVD_CONNECTION_FLAG, 64);
	}
	o->srq = s == B && o->with_srq ? new_srq(p, s, 8) : NONE;
	ck_assert_int_eq(new_ep(p, s, o->srq, o->evd[s][0], o->evd[s][1], o->evd[s][2],
				DAT_COMPLETION_DEFAULT_FLAG),
			 s);
}

static void post_receives(struct orders *o)
{
	post_recv(&o->p, A, SLOT);
	for (int n = 0; !o->starved && n < 3; n++) {
		if (o->with_srq)
			post_srq(&o->p, o->srq, SLOT);
		else
			post_recv(&o->p, B, SLOT);
	}
}

static void connect_both(struct orders *o)
{
	struct prog *p = &o->p;

	ep_connect_to(p, A, B, p->psp[o->psp].qual, DAT_TIMEOUT_INFINITE);
	if (o->start == REQUESTED)
		return;
	settle(p);
	ck_assert(reap(p, o->cr_evd));
	if (o->start == REQUEST_ARRIVED)
		return;
	request_accept(p, 0, B);
	if (o->start == REQUEST_ACCEPTED)
		return;
	settle(p);
	look(p);
	ck_assert(reap(p, o->evd[A][2]) && reap(p, o->evd[B][2]));
}

static void send_to(struct orders *o, int message, enum point point)
{
	struct prog *p = &o->p;

	if (point == HALF_ARRIVED) {
		ok(p, "dat_sim_hold_message", dat_sim_hold_message(p->ep[A].handle, message, 1));
		o->held = message;
	}
	/* Short ones take shorter ways. */
	post_send(p, A, point != HALF_ARRIVED && o->with_srq != o->one_evd ? 64 : LONG_MESSAGE,
		  DAT_COMPLETION_DEFAULT_FLAG);
	switch (point) {
	case POSTED:
		break;
	case ON_THE_WIRE:
		advance(p, p->config.latency_ns / 2);
		break;
	case ARRIVED: /* its acknowledgement is in flight */
		advance(p, p->config.latency_ns * 3 / 2);
		break;
	default:
		advance(p, p->config.latency_ns * 3);
	}
}

static void begin(struct orders *o)
{
	struct prog *p = &o->p;

	world_open(p);
	o->cr_evd = new_evd(p, B, DAT_EVD_CR_FLAG, 4);
	o->psp = new_psp(p, B, o->cr_evd, PSP_CONSUMER);
	make_side(o, A);
	make_side(o, B);
	post_receives(o);
	connect_both(o);
	if (o->start >= TWO_MESSAGES) {
		send_to(o, 1, (enum point)((o->start - TWO_MESSAGES) / POINTS));
		send_to(o, 2, (enum point)((o->start - TWO_MESSAGES) % POINTS));
	} else if (o->start >= ONE_MESSAGE) {
		send_to(o, 1, (enum point)(o->start - ONE_MESSAGE));
	}
	look(p);
}

/* ---- the calls ---- */

static bool alive(const struct orders *o, int e)
{
	return o->p.ep[e].handle && !o->p.ep[e].dead;
}

static bool can_disconnect(struct orders *o, int e, bool abrupt)
{
	if (!alive(o, e))
		return false;
	switch (state_of(&o->p, e)) {
	case DAT_EP_STATE_UNCONNECTED:
	case DAT_EP_STATE_DISCONNECTED:
		return false;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return abrupt;
	default:
		return true;
	}
}

static bool graceful(struct orders *o, int e, bool just_ask)
{
	if (just_ask || !can_disconnect(o, e, false))
		return can_disconnect(o, e, false);
	ok(&o->p, "dat_ep_disconnect",
	   dat_ep_disconnect(o->p.ep[e].handle, DAT_CLOSE_GRACEFUL_FLAG));
	model_disconnect(&o->p, e, false);
	return true;
}

static bool abrupt(struct orders *o, int e, bool just_ask)
{
	if (just_ask || !can_disconnect(o, e, true))
		return can_disconnect(o, e, true);
	ok(&o->p, "dat_ep_disconnect", dat_ep_disconnect(o->p.ep[e].handle, DAT_CLOSE_ABRUPT_FLAG));
	model_disconnect(&o->p, e, true);
	return true;
}

static bool reset(struct orders *o, int e, bool just_ask)
{
	if (!alive(o, e) || state_of(&o->p, e) != DAT_EP_STATE_DISCONNECTED)
		return false;
	if (just_ask)
		return true;
	ok(&o->p, "dat_ep_reset", dat_ep_reset(o->p.ep[e].handle));
	wipe_ep(&o->p, e);
	model_reset(&o->p, e);
	return true;
}

static bool free_ep(struct orders *o, int e, bool just_ask)
{
	if (just_ask || !alive(o, e))
		return alive(o, e);
	drop_ep(&o->p, e);
	return true;
}

static bool close_ia(struct orders *o, int s, bool just_ask)
{
	if (just_ask || !o->p.side[s].ia)
		return o->p.side[s].ia;
	side_close_abruptly(&o->p, s);
	return true;
}

static bool reap_side(struct orders *o, int s, bool just_ask)
{
	bool some = false;

	for (int n = 0; n < 3; n++) {
		if (!o->p.evd[o->evd[s][n]].handle || (n > 0 && o->one_evd))
			continue;
		some |= queued(&o->p, o->evd[s][n]) > 0;
		if (!just_ask)
			reap_all(&o->p, o->evd[s][n]);
	}
	return some;
}

static bool free_evds(struct orders *o, int s, bool just_ask)
{
	bool some = false;

	for (int n = 0; n < 3; n++) {
		if (!o->p.evd[o->evd[s][n]].handle || o->p.evd[o->evd[s][n]].users > 0)
			continue;
		some = true;
		if (!just_ask)
			drop_evd(&o->p, o->evd[s][n]);
	}
	return some;
}

static bool free_srq(struct orders *o, int unused, bool just_ask)
{
	bool can = o->srq != NONE && o->p.srq[o->srq].handle && o->p.srq[o->srq].users == 0;

	(void)unused;
	if (can && !just_ask)
		drop_srq(&o->p, o->srq);
	return can;
}

static bool free_psp(struct orders *o, int unused, bool just_ask)
{
	bool can = o->p.psp[o->psp].handle;

	(void)unused;
	if (can && !just_ask)
		drop_psp(&o->p, o->psp);
	return can;
}

static bool release(struct orders *o, int unused, bool just_ask)
{
	bool can = o->held > 0 && alive(o, A);

	(void)unused;
	for (; can && !just_ask && o->held > 0; o->held--)
		ok(&o->p, "dat_sim_release_message",
		   dat_sim_release_message(o->p.ep[A].handle, o->held));
	return can;
}

static bool answer(struct orders *o, int accept, bool just_ask)
{
	bool can = o->p.request[0].handle &&
		   (!accept || (alive(o, B) && state_of(&o->p, B) == DAT_EP_STATE_UNCONNECTED));

	if (!can || just_ask)
		return can;
	if (accept)
		request_accept(&o->p, 0, B);
	else
		request_reject(&o->p, 0);
	return true;
}

static bool take_request(struct orders *o, int unused, bool just_ask)
{
	bool can = o->p.evd[o->cr_evd].handle && queued(&o->p, o->cr_evd) > 0;

	(void)unused;
	if (can && !just_ask)
		reap_all(&o->p, o->cr_evd);
	return can;
}

/* The network goes on: by one event, or until it rests. */
static bool go_on(struct orders *o, int all, bool just_ask)
{
	DAT_COUNT events = 0;

	ok(&o->p, "dat_sim_pending", dat_sim_pending(o->p.sim, &events, NULL));
	if (events == 0 || just_ask)
		return events > 0;
	if (all)
		settle(&o->p);
	else
		ok(&o->p, "dat_sim_step", dat_sim_step(o->p.sim));
	return true;
}

static const struct {
	const char *name;
	bool (*call)(struct orders *o, int arg, bool just_ask);
	int arg;
} calls[] = {
	{ "graceful disconnect of A", graceful, A },
	{ "graceful disconnect of B", graceful, B },
	{ "abrupt disconnect of A", abrupt, A },
	{ "abrupt disconnect of B", abrupt, B },
	{ "the network rests", go_on, true },
	{ "one event", go_on, false },
	{ "release", release, 0 },
	{ "accept", answer, true },
	{ "reject", answer, false },
	{ "take the request", take_request, 0 },
	{ "reap A", reap_side, A },
	{ "reap B", reap_side, B },
	{ "reset A", reset, A },
	{ "reset B", reset, B },
	{ "free A", free_ep, A },
	{ "free B", free_ep, B },
	{ "free the EVDs of A", free_evds, A },
	{ "free the EVDs of B", free_evds, B },
	{ "free the SRQ", free_srq, 0 },
	{ "free the PSP", free_psp, 0 },
	{ "close the adapter of A", close_ia, A },
	{ "close the adapter of B", close_ia, B },
};

enum {
	CALLS = sizeof(calls) / sizeof(calls[0])
};

/* ---- all orders ---- */

static void one_call(struct orders *o)
{
	int can[CALLS], count = 0, n;

	for (n = 0; n < CALLS; n++)
		if (calls[n].call(o, calls[n].arg, true))
			can[count++] = n;
	if (count == 0)
		return;
	n = can[pick(&o->p, count)];
	says(&o->p, "%s", calls[n].name);
	calls[n].call(o, calls[n].arg, false);
	look(&o->p);
	refusals(&o->p);
	look(&o->p);
}

static void finish(struct orders *o)
{
	release(o, 0, false);
	reckon(&o->p);
	world_close(&o->p);
}

/* A sanitizer takes its time. */
static int depth_from(const char *name, int otherwise)
{
	const char *text = getenv(name);

#ifdef __SANITIZE_ADDRESS__
	otherwise--;
#endif
	return text ? atoi(text) : otherwise;
}

static unsigned long run_all(struct orders *o, int depth)
{
	static struct orders fresh;
	struct choice choice;
	unsigned long ways = 0;

	world_create(&o->p, o->profile ? DAT_SIM_PROFILE_IWARP : DAT_SIM_PROFILE_IB, false);
	choice_by_odometer(&choice);
	do {
		fresh = *o;
		fresh.p.choice = &choice;
		begin(&fresh);
		for (fresh.p.step = 1; fresh.p.step <= (unsigned int)depth; fresh.p.step++)
			one_call(&fresh);
		finish(&fresh);
		ways++;
	} while (choice_next(&choice));
	world_end(&o->p);
	return ways;
}

START_TEST(all_orders_of_the_end_complete_each_DTO_once_and_leave_nothing)
{
	static struct orders o;
	static char replay[80];
	int start = _i % STARTS, kind = _i / STARTS;
	int depth = start >= TWO_MESSAGES ? depth_from("ORDERS_DEPTH_TWO", 2)
					  : depth_from("ORDERS_DEPTH", 3);
	unsigned long ways;

	o.start = start;
	o.profile = kind & 1;
	o.with_srq = kind >> 1 & 1;
	o.one_evd = kind >> 2 & 1;
	o.starved = kind >> 3 & 1;
	snprintf(replay, sizeof(replay), "ORDERS_ONE=%d ./test_orders", _i);
	o.p.replay = replay;
	ways = run_all(&o, depth);
	if (getenv("ORDERS_SAY"))
		printf("# start %d kind %d depth %d: %lu orders\n", start, kind, depth, ways);
	ck_assert_uint_gt(ways, (unsigned long)CALLS / 4);
}
END_TEST

START_TEST(an_odometer_goes_every_way_exactly_once)
{
	bool seen[2][3][4] = { { { false } } };
	struct choice c;
	int ways = 0;

	choice_by_odometer(&c);
	do {
		int i = choice_pick(&c, 2), j = choice_pick(&c, 3), k = 3;

		if (j != 1) /* a question that is asked on some ways only */
			k = choice_pick(&c, 3);
		ck_assert(!seen[i][j][k]);
		seen[i][j][k] = true;
		ways++;
	} while (choice_next(&c));
	ck_assert_int_eq(ways, 2 * (3 + 1 + 3));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("orders");
	TCase *tcase = tcase_create("orders");
	SRunner *runner = srunner_create(suite);
	const char *one = getenv("ORDERS_ONE");
	int failed, first = one ? atoi(one) : 0, end = one ? first + 1 : STARTS * KINDS;

	tcase_add_test(tcase, an_odometer_goes_every_way_exactly_once);
	tcase_add_loop_test(tcase, all_orders_of_the_end_complete_each_DTO_once_and_leave_nothing,
			    first, end);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
