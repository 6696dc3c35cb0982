/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways of a message through the emulator have one outcome: at once (emu/quick.c), step by step
 * (emu/respond.c), packet by packet where a rule watches (emu/wire), and between processes without
 * an event (emu/shared/direct.c).
 *
 * A seed makes a program of Sends, Receives, limits and dying keys on one connection. Each way runs
 * it in a process of its own and writes down every completion, every asynchronous event, the
 * payload and the counts of the Receive queue, whenever all Sends that can complete have completed.
 * The records are the same, byte for byte. At once, traced and step by step (each completion is in
 * the CQ before it is polled), each completion also comes at the same virtual time. (Packet by
 * packet, each packet's time is rounded by itself; between processes, time follows the clock.)
 */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/random.h"
#include "tests/support/model.h"

enum {
	SEEDS = 24,
	STEPS = 60,
	RECORD = 1 << 18,
	LAST = 400, /* bytes of it that a failure shows */
	SRQ_SIZE = 48,
	ROOM = 24, /* of Receives posted, Sends in flight and completions not dequeued */
	TIMES = 2048,
};

/* What a process writes down. */
struct record {
	size_t length;
	bool complete;
	char text[RECORD];
	size_t times;
	DAT_UINT64 time[TIMES]; /* at which each completion was dequeued */
};

enum way {
	AT_ONCE,
	TRACED,
	STEP_BY_STEP,
	PACKET_BY_PACKET,
	SHARED,
	SHARED_TRACED,
	SHARED_BOUNCED,
	WAYS
};

static const struct {
	const char *name;
	bool shared, traced, watched, bounced, steps;
} ways[WAYS] = {
	[AT_ONCE] = { .name = "at once" },
	[TRACED] = { .name = "traced", .traced = true },
	[STEP_BY_STEP] = { .name = "step by step", .steps = true },
	[PACKET_BY_PACKET] = { .name = "packet by packet", .watched = true },
	[SHARED] = { .name = "shared", .shared = true },
	[SHARED_TRACED] = { .name = "shared, traced", .shared = true, .traced = true },
	[SHARED_BOUNCED] = { .name = "shared, bounced", .shared = true, .bounced = true },
};

static struct record *record;

/* Where the program is. */
static struct {
	uint64_t seed;
	bool srq, iwarp;
	bool steps;
	int posted, sent, seen; /* Receives, Sends, completions of Receives dequeued */
} p;

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(record->text + record->length, RECORD - record->length, format, args);
	va_end(args);
	ck_assert_int_gt(n, 0);
	record->length += (size_t)n;
	ck_assert_uint_lt(record->length, RECORD);
}

static int pick(int n)
{
	return (int)(random_next(&p.seed) % (uint64_t)n);
}

static int delivered(void)
{
	return p.sent < p.posted ? p.sent : p.posted;
}

/* ---- the world of a way ---- */

static void set(const char *name, const char *value)
{
	ck_assert_int_eq(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

/* A Send that finds no Receive is sent again without end. */
static void choose_way(enum way way, const char *folder)
{
	set("XDG_RUNTIME_DIR", folder);
	set("DATSIM_FABRIC", ways[way].shared ? "ways" : NULL);
	set("DATSIM_COPY", ways[way].bounced ? "bounce" : NULL);
	set("DATSIM_TRACE", ways[way].traced ? "/dev/null" : NULL);
	set("DATSIM_PROFILE", p.iwarp ? "iwarp" : "ib");
	set("DATSIM_MTU", "256");
	/* A byte takes 8 ns, so that each is seen in the times of completions. */
	set("DATSIM_BANDWIDTH_BPS", ways[way].shared ? NULL : "1000000000");
	set("DATSIM_RNR_RETRY", "7");
	set("DATSIM_RNR_TIMER_NS", "100000");
}

/* Run events one by one, in steps, so that the next poll finds the completion in the CQ. */
static void take_steps(DAT_EVD_HANDLE handle)
{
	struct nic_cq *cq = nic_cq_of(handle);
	uint64_t next;

	while (cq && emu_ops.cq_count(cq) == 0 && emu_ops.sim_pending(cq->nic, &next) > 0) {
		qp_entry_of(w.b.ep)->rx_fast = false;
		must(dat_sim_step(w.sim));
	}
}

static DAT_EVENT await(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (p.steps)
		take_steps(evd);
	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	return event;
}

/* The same by polls, which run the events themselves (emu/quick.c, emu/quick_trace.c). */
static DAT_EVENT poll_for(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (p.steps)
		take_steps(evd);
	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		;
	return event;
}

static void connect_sides(void)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_EVENT event;

	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	event = await(w.b.cr);
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, w.b.ep, 0, NULL));
	event = await(w.a.connect);
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	event = await(w.b.connect);
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_psp_free(psp));
}

static void open_world(enum way way)
{
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	must(dat_sim_of(w.a.ia, &w.sim));
	w.a.ep = plain_ep(&w.a);
	if (p.srq) {
		w.b.srq = make_srq(&w.b, SRQ_SIZE, 0);
		w.b.ep = srq_ep(&w.b, w.b.srq);
	} else {
		w.b.ep = plain_ep(&w.b);
	}
	connect_sides();
	/* A rule that has no chance to fire looks at every packet. */
	if (ways[way].watched)
		drop(DAT_SIM_PACKET_SEND | DAT_SIM_PACKET_ACK, UINT64_MAX);
}

/* ---- what is written down ---- */

static void note_dto(const char *what, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	int n = (int)dto->user_cookie.as_64;
	unsigned int sum = 0;

	ck_assert_int_eq(event->event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_uint_lt(record->times, TIMES);
	record->time[record->times++] = now_ns();
	for (int i = 0; what[0] == 'r' && i < SLOT_SIZE; i++)
		sum = sum * 31 + slot(&w.b, n)[i];
	note("%s %d status %d bytes %lu sum %x\n", what, n, (int)dto->status,
	     (unsigned long)dto->transfered_length, sum);
}

static void note_counts(void)
{
	DAT_SRQ_PARAM param;
	DAT_COUNT nbufs = -1, span = -1;

	must(dat_ep_recv_query(w.b.ep, &nbufs, &span));
	note("allocated %d span %d\n", (int)nbufs, (int)span);
	if (!p.srq)
		return;
	must(dat_srq_query(w.b.srq, DAT_SRQ_FIELD_ALL, &param));
	note("available %d outstanding %d\n", (int)param.available_dto_count,
	     (int)param.outstanding_dto_count);
}

static void note_async(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(w.b.async, &event) == DAT_SUCCESS)
		note("async %#x\n", (unsigned int)event.event_number);
}

static void reap(int n)
{
	DAT_EVENT event;

	for (; n > 0; n--, p.seen++) {
		must(dat_evd_dequeue(w.b.recv, &event));
		note_dto("receive", &event);
	}
}

/* ---- steps ---- */

static DAT_LMR_TRIPLET part(struct side *side, int n, int from, int length)
{
	DAT_LMR_TRIPLET triplet = segment(side, n, (DAT_VLEN)length);

	triplet.virtual_address += (DAT_VADDR)from;
	return triplet;
}

/* Slot n, whole, in one segment or in two. */
static void step_receive(void)
{
	int n = p.posted % SLOTS, cut = pick(4) ? SLOT_SIZE : 1 + pick(SLOT_SIZE - 1);
	DAT_LMR_TRIPLET to[] = { part(&w.b, n, 0, cut), part(&w.b, n, cut, SLOT_SIZE - cut) };
	DAT_COUNT parts = cut < SLOT_SIZE ? 2 : 1;

	if (p.posted - p.seen >= ROOM)
		return;
	if (p.srq)
		must(dat_srq_post_recv(w.b.srq, parts, to, cookie(n)));
	else
		must(dat_ep_post_recv(w.b.ep, parts, to, cookie(n), DAT_COMPLETION_DEFAULT_FLAG));
	p.posted++;
}

static int send_flags(void)
{
	static const int flags[] = { DAT_COMPLETION_DEFAULT_FLAG,
				     DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				     DAT_COMPLETION_SUPPRESS_FLAG,
				     DAT_COMPLETION_BARRIER_FENCE_FLAG };

	return flags[pick(COUNT(flags))];
}

static void send_one(int length, int flags)
{
	int n = p.sent % SLOTS, cut = length > 1 && pick(4) == 0 ? 1 + pick(length - 1) : length;
	DAT_LMR_TRIPLET from[] = { part(&w.a, n, 0, cut), part(&w.a, n, cut, length - cut) };

	fill_slot(&w.a, n, p.sent);
	must(dat_ep_post_send(w.a.ep, length ? cut < length ? 2 : 1 : 0, from, cookie(n),
			      (DAT_COMPLETION_FLAGS)flags));
	p.sent++;
}

/*
 * Sends, the last of which says when all are complete. On iWARP each finds a Receive, or all ends.
 * Where a watermark may be set, the Receives are reaped later: how many are taken and not reaped at
 * a time depends on when messages arrive, and that on the way.
 */
static void step_send(void)
{
	static const int lengths[] = { 0, 1, 8, 64, 216, 217, 255, 256, 257, 512, 1000, SLOT_SIZE };
	int most = 1 + pick(4), first = p.sent, flags;
	enum {
		WAIT,
		POLL,
		POLL_BOTH
	} how = (unsigned int)pick(p.srq ? 2 : 3);
	DAT_EVENT event;

	while (p.posted - p.sent < most)
		if (p.iwarp || pick(2))
			step_receive();
		else
			break;
	if (p.iwarp && p.posted - p.sent < most)
		return;
	for (int i = 0; i < most; i++) {
		flags = i < most - 1 ? send_flags() : DAT_COMPLETION_DEFAULT_FLAG;
		send_one(lengths[pick(COUNT(lengths))], flags);
	}
	/* The messages that found no Receive wait for it. */
	while (p.posted < p.sent)
		step_receive();
	for (; how == POLL_BOTH && p.seen < delivered(); p.seen++) {
		event = poll_for(w.b.recv);
		note_dto("receive", &event);
	}
	do {
		event = how == WAIT ? await(w.a.request) : poll_for(w.a.request);
		note_dto("send", &event);
	} while ((int)event.event_data.dto_completion_event_data.user_cookie.as_64 !=
		 (p.sent - 1) % SLOTS);
	note("%d Sends from %d on\n", p.sent - first, first);
	note_async();
	note_counts();
	if (delivered() - p.seen > ROOM / 2 || pick(2))
		reap(delivered() - p.seen);
	else if (delivered() > p.seen)
		reap(pick(delivered() - p.seen));
	note_counts();
}

/* A key dies that no message uses: keys are looked at again. */
static void step_key(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.b, 0) };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL));
	must(dat_lmr_free(lmr));
}

static void step_limit(void)
{
	if (!p.srq)
		return;
	if (pick(2))
		must(dat_srq_set_lw(w.b.srq, pick(8)));
	else
		must(dat_ep_set_watermark(w.b.ep, pick(6), DAT_WATERMARK_INFINITE));
	note_async();
}

/* ---- the end ---- */

static void end_too_long(void)
{
	DAT_LMR_TRIPLET to = part(&w.b, p.posted % SLOTS, 0, 16);

	while (p.posted > p.sent)
		send_one(1, DAT_COMPLETION_DEFAULT_FLAG);
	if (p.srq)
		must(dat_srq_post_recv(w.b.srq, 1, &to, cookie(p.posted % SLOTS)));
	else
		must(dat_ep_post_recv(w.b.ep, 1, &to, cookie(p.posted % SLOTS),
				      DAT_COMPLETION_DEFAULT_FLAG));
	p.posted++;
	send_one(17, DAT_COMPLETION_DEFAULT_FLAG);
}

static void end_hard_limit(void)
{
	step_receive();
	must(dat_ep_set_watermark(w.b.ep, DAT_WATERMARK_INFINITE, delivered() - p.seen));
	send_one(100, DAT_COMPLETION_DEFAULT_FLAG);
}

static void note_end(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = await(evd);

	note("end %#x\n", (unsigned int)event.event_number);
}

static void note_rest(const char *what, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		note_dto(what, &event);
}

static void end_program(void)
{
	switch (pick(p.srq ? 3 : 2)) {
	case 0:
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case 1:
		end_too_long();
		break;
	default:
		end_hard_limit();
	}
	note_end(w.a.connect);
	note_end(w.b.connect);
	note_rest("send", w.a.request);
	note_rest("receive", w.b.recv);
	note_async();
	note_counts();
}

static void run_program(enum way way, int seed)
{
	open_world(way);
	p.steps = ways[way].steps;
	p.seed = (uint64_t)seed;
	for (int i = 0; i < STEPS; i++) {
		switch (pick(8)) {
		case 0:
			step_key();
			break;
		case 1:
			step_limit();
			break;
		case 2:
		case 3:
			step_receive();
			break;
		default:
			step_send();
		}
	}
	end_program();
	w.sim = NO_HANDLE;
	side_close(&w.a);
	side_close(&w.b);
	record->complete = true;
}

static void run_way(enum way way, int seed, const char *folder)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		choose_way(way, folder);
		run_program(way, seed);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0 && record->complete, "%s: it ended with %#x, behind:\n%s",
		      ways[way].name, (unsigned int)status,
		      record->text + (record->length > LAST ? record->length - LAST : 0));
}

/* From the first byte that differs back to where its line begins. */
static const char *line_at(const struct record *r, size_t at)
{
	while (at > 0 && r->text[at - 1] != '\n')
		at--;
	return r->text + at;
}

static void compare_times(const struct record *first, const struct record *r, enum way way)
{
	ck_assert_uint_eq(r->times, first->times);
	for (size_t i = 0; i < r->times; i++)
		ck_assert_msg(r->time[i] == first->time[i],
			      "completion %zu comes at %lu %s, and at %lu %s", i,
			      (unsigned long)first->time[i], ways[0].name,
			      (unsigned long)r->time[i], ways[way].name);
}

static void compare(const struct record *first, const struct record *r, enum way way)
{
	size_t at = 0;

	while (first->text[at] && first->text[at] == r->text[at])
		at++;
	ck_assert_msg(first->text[at] == r->text[at], "byte %zu\n%s: %.60s\n%s: %.60s", at,
		      ways[0].name, line_at(first, at), ways[way].name, line_at(r, at));
	if (!ways[way].shared && !ways[way].watched)
		compare_times(first, r, way);
}

/* The last process has removed the fabric, and leaves the folder of fabrics. */
static void remove_folder(const char *folder)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/datsim", folder);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(every_way_of_a_message_has_the_same_outcome)
{
	char folder[] = "/tmp/ways.XXXXXX";
	struct record *records = mmap(NULL, WAYS * sizeof(struct record), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(records, MAP_FAILED);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	p.srq = _i & 1;
	p.iwarp = _i & 2;
	for (int way = 0; way < WAYS; way++) {
		record = &records[way];
		run_way((enum way)way, _i, folder);
		compare(&records[0], record, (enum way)way);
	}
	ck_assert_uint_gt(records[0].length, 1000);
	remove_folder(folder);
	munmap(records, WAYS * sizeof(struct record));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ways");
	TCase *tcase = tcase_create("ways");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, every_way_of_a_message_has_the_same_outcome, 0, SEEDS);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
