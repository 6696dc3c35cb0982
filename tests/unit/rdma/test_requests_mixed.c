/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of Sends, Writes, Reads and binds over two connections in both directions, with
 * fences, suppressed successes, held links, bad contexts, disconnects. Each posted request
 * completes exactly once (a suppressed success never), and the requests of one Endpoint complete in
 * the order of posting.
 */
#include "tests/support/support.h"

enum {
	SEEDS = 40,
	STEPS = 300,
	EPS = 4, /* 0-2 and 1-3 are pairs; even ones belong to w.a */
	POSTED = 512
};

struct entry {
	bool suppressed, recv, done;
};

struct queue {
	DAT_EP_HANDLE ep;
	struct side *side, *peer;
	int posted;
	struct entry entries[POSTED];
};

static struct queue queues[EPS];
static DAT_RMR_HANDLE rmr[2];
static bool holding[2];
static DAT_UINT64 state;

static unsigned int roll(unsigned int n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % n;
}

static DAT_DTO_COOKIE name(int queue, int entry)
{
	return cookie(queue * POSTED + entry);
}

static int enter(int q, bool recv, bool suppressed)
{
	struct queue *queue = &queues[q];

	ck_assert_int_lt(queue->posted, POSTED);
	queue->entries[queue->posted] = (struct entry){ .recv = recv, .suppressed = suppressed };
	return queue->posted++;
}

/* ---- actions ---- */

static void receive(int q)
{
	struct queue *queue = &queues[q];
	DAT_LMR_TRIPLET iov = segment(queue->side, 32 + (int)roll(16), SLOT_SIZE);
	DAT_DTO_COOKIE c = name(q, queue->posted);

	if (dat_ep_post_recv(queue->ep, 1, &iov, c, DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
		enter(q, true, false);
}

static void request_on(int q)
{
	struct queue *queue = &queues[q];
	struct side *side = queue->side, *peer = queue->peer;
	DAT_LMR_TRIPLET iov[2] = { segment(side, (int)roll(32), roll(LONG + 1)),
				   segment(side, (int)roll(32), roll(SHORT)) };
	DAT_RMR_TRIPLET to = remote(peer, (int)roll(30), 2 * SLOT_SIZE);
	bool suppressed = roll(4) == 0;
	DAT_COMPLETION_FLAGS flags =
		(DAT_COMPLETION_FLAGS)((suppressed ? DAT_COMPLETION_SUPPRESS_FLAG : 0) |
				       (roll(6) == 0 ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0));
	DAT_DTO_COOKIE c = name(q, queue->posted);
	DAT_COUNT n = (DAT_COUNT)roll(3);
	DAT_RETURN ret;

	if (roll(150) == 0)
		to.rmr_context ^= 1u << roll(32);
	/* A bind may complete inside the call. */
	enter(q, false, suppressed);
	switch (roll(4)) {
	case 0:
		iov[0].segment_length = iov[0].segment_length / 2;
		ret = dat_ep_post_send(queue->ep, n, iov, c, flags);
		break;
	case 1:
		ret = dat_ep_post_rdma_write(queue->ep, n, iov, c, &to, flags);
		break;
	case 2:
		to.segment_length = n == 0 ? 0 : iov[0].segment_length;
		ret = dat_ep_post_rdma_read(queue->ep, n, iov, c, &to, flags);
		break;
	default:
		ret = dat_rmr_bind(rmr[side == &w.b], &iov[0], DAT_MEM_PRIV_ALL_FLAG, queue->ep, c,
				   flags, NULL);
		break;
	}
	if (ret != DAT_SUCCESS) {
		ck_assert_msg(is_failure(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP) ||
				      is_failure(ret, DAT_INVALID_STATE,
						 DAT_INVALID_STATE_EP_DISCPENDING),
			      "%s", ret_text(ret));
		queue->posted--;
	}
}

/* Does not hold a link twice: the packets that a second hold lets pass would overtake. */
static void wire(void)
{
	static const char *const ends[] = { "emu0", "emu1" };
	unsigned int from = roll(2);

	holding[from] = !holding[from];
	if (holding[from])
		must(dat_sim_hold_link(w.sim, ends[from], ends[1 - from], (DAT_COUNT)roll(6)));
	else
		release_link(ends[from], ends[1 - from]);
}

/* ---- expected results ---- */

static void account(const DAT_EVENT *event, struct side *side)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	int q = (int)(dto->user_cookie.as_64 / POSTED), n = (int)(dto->user_cookie.as_64 % POSTED);
	struct queue *queue = &queues[q];
	struct entry *entry = &queue->entries[n];
	int i;

	ck_assert_ptr_eq(queue->side, side);
	ck_assert_int_lt(n, queue->posted);
	ck_assert_msg(!entry->done, "entry %d of EP %d completes twice", n, q);
	entry->done = true;
	if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		ck_assert_ptr_eq(event->event_data.rmr_completion_event_data.rmr_handle,
				 rmr[side == &w.b]);
	else
		ck_assert_ptr_eq(dto->ep_handle, queue->ep);
	if (entry->suppressed)
		ck_assert_int_ne((int)dto->status, DAT_DTO_SUCCESS);
	/* All earlier entries of its queue are done, or are suppressed successes. */
	for (i = 0; i < n; i++) {
		const struct entry *before = &queue->entries[i];

		if (before->recv == entry->recv && !before->done && !before->suppressed)
			ck_abort_msg("%s %d of EP %d completes with %d before %d",
				     entry->recv ? "Receive" : "request", n, q, (int)dto->status,
				     i);
	}
}

static void reap(DAT_EVD_HANDLE evd, struct side *side)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		account(&event, side);
}

static void reap_all(void)
{
	reap(w.a.request, &w.a);
	reap(w.a.recv, &w.a);
	reap(w.b.request, &w.b);
	reap(w.b.recv, &w.b);
	drain(w.a.connect);
	drain(w.b.connect);
}

static void all_done(void)
{
	int q, i;

	for (q = 0; q < EPS; q++)
		for (i = 0; i < queues[q].posted; i++)
			if (!queues[q].entries[i].done && !queues[q].entries[i].suppressed)
				ck_abort_msg("entry %d of EP %d never completed", i, q);
}

/* ---- the programs ---- */

static void begin(void)
{
	DAT_EP_ATTR attr = ep_attr();
	int q;

	attr.max_request_dtos = attr.max_recv_dtos = 8;
	attr.max_rdma_read_out = 1 + (DAT_COUNT)roll(3);
	attr.max_rdma_read_in = 4;
	memset(queues, 0, sizeof(queues));
	holding[0] = holding[1] = false;
	rmr[0] = make_rmr(&w.a);
	rmr[1] = make_rmr(&w.b);
	for (q = 0; q < EPS; q++) {
		queues[q].side = q % 2 ? &w.b : &w.a;
		queues[q].peer = q % 2 ? &w.a : &w.b;
		queues[q].ep = plain_ep_with(queues[q].side, &attr);
	}
	connect_eps(&w.a, queues[0].ep, &w.b, queues[1].ep);
	connect_eps(&w.b, queues[3].ep, &w.a, queues[2].ep);
}

static void step(void)
{
	int q = (int)roll(EPS);

	switch (roll(8)) {
	case 0:
	case 1:
		receive(q);
		break;
	case 2:
	case 3:
	case 4:
		request_on(q);
		break;
	case 5:
		advance_us(roll(5));
		break;
	case 6:
		reap_all();
		break;
	default:
		if (roll(40) == 0)
			must(dat_ep_disconnect(queues[q].ep, (DAT_CLOSE_FLAGS)roll(2)));
		else
			wire();
		break;
	}
}

static void finish(void)
{
	int q;

	release_link("emu0", "emu1");
	release_link("emu1", "emu0");
	for (q = 0; q < EPS; q++)
		must(dat_ep_disconnect(queues[q].ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	reap_all();
	all_done();
}

START_TEST(each_request_completes_exactly_once)
{
	int i;

	state = (DAT_UINT64)_i + 1;
	begin();
	for (i = 0; i < STEPS; i++)
		step();
	finish();
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop_all(suite, each_request_completes_exactly_once, SEEDS);
}

UNIT_SUITE("requests_mixed")
