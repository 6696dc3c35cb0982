/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sixteen threads on two adapters, of a private fabric, a shared one, and one in lockstep: eight
 * connections with a thread at each end. In each round a thread writes into the memory of its peer,
 * sends a message, and takes and compares what the peer wrote and sent; in between it makes, uses
 * and frees objects of its own. Ruling G7: every message comes once, in order and whole, and no
 * object is left.
 *
 * TORTURE_TIMES in the environment multiplies the rounds.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/support/runtime.h"
#include "tests/support/support.h"

enum {
	THREADS = 16,
	ROUNDS = 24,
	AHEAD = 2,                        /* Receives that are posted */
	OF_THREAD = SLOTS / (THREADS / 2) /* slots of a thread in the memory of its side */
};

/*
 * The slots of a thread. Of those with an array, rounds take turns: a thread is at most one round
 * ahead of its peer, whose message it needs for the next.
 */
enum {
	SLOT_SEND,                     /* what it sends and writes */
	SLOT_WRITTEN = SLOT_SEND + 2,  /* what its peer writes */
	SLOT_RECV = SLOT_WRITTEN + 2,  /* what its peer sends */
	SLOT_READ = SLOT_RECV + AHEAD, /* what it reads of its peer's SLOT_SEND */
};

enum way {
	WAY_POLL,
	WAY_WAIT,
	WAY_CNO,
	WAYS
};

struct runner {
	int number, rounds;
	enum way way;
	struct side *side;
	struct runner *peer;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE dto, connect;
	DAT_CNO_HANDLE cno;
	int sent, received,
		read; /* completions taken: of Sends and Writes, of Receives, of Reads */
	pthread_t thread;
};

static struct runner runners[THREADS];

static int slot_of(const struct runner *r, int which)
{
	return r->number / 2 * OF_THREAD + which;
}

/* ---- the worlds ---- */

static void open_sides(void)
{
	runtime_begin("torture");
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
}

static void setup_private(void)
{
	open_sides();
}

static void setup_shared(void)
{
	setenv("DATSIM_FABRIC", "torture", 1);
	open_sides();
}

static void setup_lockstep(void)
{
	setenv("DATSIM_LOCKSTEP", "1000", 1);
	setup_shared();
}

/* ---- connections ---- */

static DAT_EVENT wait_on(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_uint_eq(event.event_number, number);
	return event;
}

static void post_one(struct runner *r, int ahead)
{
	int n = slot_of(r, SLOT_RECV + ahead);
	DAT_LMR_TRIPLET iov = segment(r->side, n, SHORT);

	must(dat_ep_post_recv(r->ep, 1, &iov, cookie(n), DAT_COMPLETION_DEFAULT_FLAG));
}

static void make_runner(int number, int rounds)
{
	struct runner *r = &runners[number];
	struct side *side = number % 2 ? &w.b : &w.a;

	*r = (struct runner){ .number = number,
			      .rounds = rounds,
			      .way = (enum way)(number / 2 % WAYS),
			      .side = side,
			      .peer = &runners[number ^ 1] };
	must(dat_cno_create(side->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &r->cno));
	r->dto = make_evd(side, EVD_LENGTH, DAT_EVD_DTO_FLAG);
	if (r->way == WAY_CNO)
		must(dat_evd_modify_cno(r->dto, r->cno));
	r->connect = make_evd(side, 8, DAT_EVD_CONNECTION_FLAG);
	must(dat_ep_create(side->ia, side->pz, r->dto, r->dto, r->connect, NULL, &r->ep));
	for (int i = 0; i < AHEAD; i++)
		post_one(r, i);
}

static void connect_runners(struct runner *active, struct runner *passive)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_EVENT event;

	must(try_connect(active->ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	event = wait_on(w.b.cr, DAT_CONNECTION_REQUEST_EVENT);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive->ep, 0, NULL));
	wait_on(active->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	wait_on(passive->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_psp_free(psp));
}

/* ---- a thread ---- */

static int seed_of(const struct runner *r, int round)
{
	return round * THREADS + r->number;
}

static void check_slot(struct runner *r, int which, int round)
{
	ck_assert_msg(slot_holds(r->side, slot_of(r, which), seed_of(r->peer, round), SHORT),
		      "thread %d, round %d: slot %d does not hold what the peer put there",
		      r->number, round, which);
}

static void take(struct runner *r, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	int which = (int)dto->user_cookie.as_64 - slot_of(r, 0);

	ck_assert_uint_eq(event->event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
	ck_assert_ptr_eq(dto->ep_handle, r->ep);
	if (which < SLOT_WRITTEN) {
		r->sent++;
	} else if (which == SLOT_READ) {
		r->read++;
	} else {
		ck_assert_int_eq(which, SLOT_RECV + r->received % AHEAD);
		ck_assert_uint_eq(dto->transfered_length, SHORT);
		r->received++;
	}
}

/* Take one completion, in the way of this thread. */
static void take_one(struct runner *r)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT nmore;
	DAT_EVENT event;

	while (dat_evd_dequeue(r->dto, &event) != DAT_SUCCESS) {
		if (r->way == WAY_POLL) {
			sched_yield();
		} else if (r->way == WAY_WAIT) {
			must(dat_evd_wait(r->dto, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
			break;
		} else {
			must(dat_cno_wait(r->cno, DAT_TIMEOUT_INFINITE, &evd));
			ck_assert_ptr_eq(evd, r->dto);
		}
	}
	take(r, &event);
}

static DAT_RMR_TRIPLET remote_slot(const struct runner *r, int which)
{
	return remote(r->peer->side, slot_of(r->peer, which), SHORT);
}

/* What was written is there when the message that was sent after it has come. */
static void exchange(struct runner *r, int round)
{
	int mine = SLOT_SEND + round % 2, written = SLOT_WRITTEN + round % 2;

	fill_slot(r->side, slot_of(r, mine), seed_of(r, round));
	must(try_write(r->side, r->ep, slot_of(r, mine), remote_slot(r, written),
		       DAT_COMPLETION_DEFAULT_FLAG));
	must(try_send(r->side, r->ep, slot_of(r, mine), SHORT));
	while (r->sent < 2 * (round + 1) || r->received <= round)
		take_one(r);
	check_slot(r, SLOT_RECV + round % AHEAD, round);
	check_slot(r, written, round);
	post_one(r, round % AHEAD);
}

static void fetch(struct runner *r, int round)
{
	must(try_read(r->side, r->ep, slot_of(r, SLOT_READ), remote_slot(r, SLOT_SEND + round % 2),
		      DAT_COMPLETION_DEFAULT_FLAG));
	while (r->read <= round)
		take_one(r);
	check_slot(r, SLOT_READ, round);
}

/* Objects that no other thread knows, beside all that happens */
static void make_and_free(struct runner *r, int round)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(r->side, slot_of(r, SLOT_SEND)) };
	DAT_LMR_CONTEXT context;
	DAT_EVD_HANDLE evd;
	DAT_LMR_HANDLE lmr;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;

	must(dat_pz_create(r->side->ia, &pz));
	must(dat_lmr_create(r->side->ia, DAT_MEM_TYPE_VIRTUAL, region, SHORT, pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, &context, NULL, NULL, NULL));
	must(dat_evd_create(r->side->ia, 8, r->way == WAY_CNO ? r->cno : NO_HANDLE,
			    DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, &evd));
	if (r->way != WAY_CNO) {
		post_se(evd, round);
		must(dat_evd_dequeue(evd, &event));
	}
	must(dat_ep_create(r->side->ia, pz, evd, evd, NO_HANDLE, NULL, &ep));
	must(dat_evd_resize(evd, 16));
	must(dat_ep_free(ep));
	must(dat_evd_free(evd));
	must(dat_lmr_free(lmr));
	must(dat_pz_free(pz));
}

static void *run(void *arg)
{
	struct runner *r = arg;

	for (int round = 0; round < r->rounds; round++) {
		exchange(r, round);
		fetch(r, round);
		make_and_free(r, round);
	}
	return NULL;
}

/* ---- all of them ---- */

static int rounds(void)
{
	const char *times = getenv("TORTURE_TIMES");

	return ROUNDS * (times && *times ? atoi(times) : 1);
}

START_TEST(G7_sixteen_threads_get_their_own_messages_whole_and_in_order)
{
	for (int i = 0; i < THREADS; i++)
		make_runner(i, rounds());
	for (int i = 0; i < THREADS; i += 2)
		connect_runners(&runners[i], &runners[i + 1]);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&runners[i].thread, NULL, run, &runners[i]), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(runners[i].thread, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(runners[i].sent, 2 * rounds());
		ck_assert_int_eq(runners[i].received, rounds());
	}
	side_close(&w.a);
	side_close(&w.b);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
	runtime_end_any();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add_case(suite, "private",
		      G7_sixteen_threads_get_their_own_messages_whole_and_in_order, 0, 1,
		      setup_private);
	unit_add_case(suite, "shared", G7_sixteen_threads_get_their_own_messages_whole_and_in_order,
		      0, 1, setup_shared);
	unit_add_case(suite, "lockstep",
		      G7_sixteen_threads_get_their_own_messages_whole_and_in_order, 0, 1,
		      setup_lockstep);
}

UNIT_SUITE_OF_PROCESSES("threads_torture")
