/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways of a request through the verbs front have one outcome: the short posts and polls
 * (verbs/quick.c) and those made in full (verbs/post.c), in a world of one process and in a shared
 * one, traced or not.
 *
 * A seed makes a program of Sends and RDMA Writes: plain, unsignaled, solicited, inline, fenced, of
 * several segments, with immediate data, in lists, and in batches of ibv_wr_complete. Meanwhile the
 * receiver arms its CQ, and the limit of its SRQ. Each way runs it in a process of its own, and
 * writes down every completion and event, and what arrived. The records are the same, byte for
 * byte.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/random.h"
#include "tests/support/support.h"
#include "verbs_pair.h"

enum {
	SEEDS = 24,
	STEPS = 60,
	RECORD = 1 << 18,
	QUEUE = 16,
	SEGMENTS = 3,
	INLINE = 64,
	PLACE = 1024,
	PLACES = 16, /* of each buffer; Writes go to the slots behind those */
	MOST = 5,    /* requests of a step */
};

struct record {
	size_t length;
	bool complete;
	char text[RECORD];
};

enum way {
	AT_ONCE,
	TRACED,
	IN_FULL,
	SHARED,
	SHARED_TRACED,
	SHARED_IN_FULL,
	SHARED_BOUNCED,
	WAYS
};

/* in_full: of a process with a second thread of the program's, whose calls are made in full. */
static const struct {
	const char *name;
	bool shared, traced, in_full, bounced;
} ways[WAYS] = {
	[AT_ONCE] = { .name = "at once" },
	[TRACED] = { .name = "traced", .traced = true },
	[IN_FULL] = { .name = "in full", .in_full = true },
	[SHARED] = { .name = "shared", .shared = true },
	[SHARED_TRACED] = { .name = "shared, traced", .shared = true, .traced = true },
	[SHARED_IN_FULL] = { .name = "shared, in full", .shared = true, .in_full = true },
	[SHARED_BOUNCED] = { .name = "shared, bounced", .shared = true, .bounced = true },
};

static struct record *record;
static struct verbs_end a, b;
static struct ibv_comp_channel *channel; /* of b's CQ */
static uint64_t random_state;
static int posted, sent, received, written; /* Receives, messages that take one, Writes */

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
	return (int)(random_next(&random_state) % (uint64_t)n);
}

/* ---- the world ---- */

static void set(const char *name, const char *value)
{
	ck_assert_int_eq(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void choose_way(enum way way, const char *folder)
{
	set("XDG_RUNTIME_DIR", folder);
	set("DATSIM_FABRIC", ways[way].shared ? "ways" : NULL);
	set("DATSIM_COPY", ways[way].bounced ? "bounce" : NULL);
	set("DATSIM_TRACE", ways[way].traced ? "/dev/null" : NULL);
}

static void *sleep_on(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

static void make_qp(struct verbs_end *end)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = end->srq,
		.cap = { QUEUE, QUEUE, SEGMENTS, SEGMENTS, INLINE },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = end->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_WRITE,
	};

	end->qp = ibv_create_qp_ex(end->context, &init);
	ck_assert_ptr_nonnull(end->qp);
}

static void open_world(bool srq)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = PLACES, .max_sge = SEGMENTS } };

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	channel = ibv_create_comp_channel(b.context);
	ck_assert_int_eq(ibv_destroy_cq(b.cq), 0);
	b.cq = ibv_create_cq(b.context, 256, NULL, channel, 0);
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(fcntl(b.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	if (srq) {
		b.srq = ibv_create_srq(b.pd, &init);
		ck_assert_ptr_nonnull(b.srq);
	}
	make_qp(&a);
	make_qp(&b);
	verbs_connect(&a, &b);
}

/* ---- Receives ---- */

/* Slot n whole, or in two segments. */
static void fill_recv(struct ibv_recv_wr *wr, struct ibv_sge sge[2], int n)
{
	uint32_t cut = pick(4) ? PLACE : 1 + (uint32_t)pick(PLACE - 1);
	uint64_t at = (uintptr_t)b.buffer + (uint64_t)(n % PLACES) * PLACE;

	sge[0] = (struct ibv_sge){ at, cut, b.mr->lkey };
	sge[1] = (struct ibv_sge){ at + cut, PLACE - cut, b.mr->lkey };
	*wr = (struct ibv_recv_wr){ .wr_id = (uint64_t)n,
				    .sg_list = sge,
				    .num_sge = cut < PLACE ? 2 : 1 };
}

static void post_receives(int n)
{
	struct ibv_recv_wr wr[MOST], *bad;
	struct ibv_sge sge[MOST][2];

	for (int i = 0; i < n; i++) {
		fill_recv(&wr[i], sge[i], posted++);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	ck_assert_int_eq(b.srq ? ibv_post_srq_recv(b.srq, wr, &bad) : ibv_post_recv(b.qp, wr, &bad),
			 0);
}

/* Some Receives in advance, and what is to be told of the next messages. */
static void arm_some(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 + (uint32_t)pick(4) };
	int ahead = pick(3);

	if (posted + ahead - received <= PLACES - MOST && ahead > 0)
		post_receives(ahead);
	if (b.srq && pick(2) && posted - received >= (int)attr.srq_limit)
		ck_assert_int_eq(ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT), 0);
	if (pick(2))
		ck_assert_int_eq(ibv_req_notify_cq(b.cq, pick(2)), 0);
}

/* ---- requests ---- */

struct request {
	struct ibv_send_wr wr;
	struct ibv_sge sge[SEGMENTS];
	uint32_t length;
};

static enum ibv_wr_opcode pick_opcode(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE };
	size_t which = (size_t)pick(8);

	return which < COUNT(opcodes) ? opcodes[which] : IBV_WR_SEND;
}

static void cut_payload(struct request *r, uint64_t at)
{
	uint32_t left = r->length;

	r->wr.num_sge = r->length == 0 ? 0 : pick(3) ? 1 : 1 + pick(SEGMENTS);
	for (int i = 0; i < r->wr.num_sge; i++) {
		uint32_t length = i + 1 < r->wr.num_sge ? (uint32_t)pick((int)left + 1) : left;

		r->sge[i] = (struct ibv_sge){ at, length, a.mr->lkey };
		at += length;
		left -= length;
	}
}

static void fill_request(struct request *r, int n, bool last)
{
	static const uint32_t lengths[] = { 0, 1, 8, 63, 64, 65, 216, 217, 256, 1000, PLACE };
	uint64_t from = (uint64_t)(n % PLACES) * PLACE;

	r->length = lengths[pick(COUNT(lengths))];
	for (uint32_t i = 0; i < r->length; i++)
		a.buffer[from + i] = (char)(n * 7 + (int)i);
	r->wr = (struct ibv_send_wr){ .wr_id = (uint64_t)n,
				      .sg_list = r->sge,
				      .opcode = pick_opcode(),
				      .imm_data = (uint32_t)n,
				      .send_flags = pick(2) || last ? IBV_SEND_SIGNALED : 0 };
	cut_payload(r, (uintptr_t)a.buffer + from);
	if (r->length <= INLINE && pick(2))
		r->wr.send_flags |= IBV_SEND_INLINE;
	if (pick(4) == 0)
		r->wr.send_flags |= IBV_SEND_SOLICITED;
	if (pick(8) == 0)
		r->wr.send_flags |= IBV_SEND_FENCE;
	if (r->wr.opcode == IBV_WR_RDMA_WRITE) {
		r->wr.wr.rdma.remote_addr = (uintptr_t)b.buffer + PLACES * PLACE + from;
		r->wr.wr.rdma.rkey = b.mr->rkey;
	}
}

static void post_list(struct request *r, int n)
{
	struct ibv_send_wr *bad;

	for (int i = 0; i + 1 < n; i++)
		r[i].wr.next = &r[i + 1].wr;
	ck_assert_int_eq(ibv_post_send(a.qp, &r->wr, &bad), 0);
}

static void set_payload(struct ibv_qp_ex *ex, const struct request *r)
{
	struct ibv_data_buf buf[SEGMENTS];

	for (int i = 0; i < r->wr.num_sge; i++)
		buf[i] = (struct ibv_data_buf){ (void *)(uintptr_t)r->sge[i].addr,
						r->sge[i].length };
	if (r->wr.send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data_list(ex, (size_t)r->wr.num_sge, buf);
	else
		ibv_wr_set_sge_list(ex, (size_t)r->wr.num_sge, r->sge);
}

static void post_batch(const struct request *r, int n)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a.qp);

	ibv_wr_start(ex);
	for (int i = 0; i < n; i++) {
		ex->wr_id = r[i].wr.wr_id;
		ex->wr_flags = r[i].wr.send_flags;
		if (r[i].wr.opcode == IBV_WR_RDMA_WRITE)
			ibv_wr_rdma_write(ex, r[i].wr.wr.rdma.rkey, r[i].wr.wr.rdma.remote_addr);
		else if (r[i].wr.opcode == IBV_WR_SEND)
			ibv_wr_send(ex);
		else
			ibv_wr_send_imm(ex, r[i].wr.imm_data);
		set_payload(ex, &r[i]);
	}
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
}

/* ---- what is written down ---- */

static unsigned int sum_of(const char *from, uint32_t length)
{
	unsigned int sum = 0;

	for (uint32_t i = 0; i < length; i++)
		sum = sum * 31 + (unsigned char)from[i];
	return sum;
}

static void note_received(int n)
{
	struct ibv_wc wc;

	for (int i = 0; i < n; i++) {
		ck_assert(verbs_poll(&b, &wc));
		ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
		note("receive %lu bytes %u flags %#x imm %u sum %x\n", (unsigned long)wc.wr_id,
		     wc.byte_len, (unsigned int)wc.wc_flags,
		     wc.wc_flags & IBV_WC_WITH_IMM ? wc.imm_data : 0,
		     sum_of(b.buffer + wc.wr_id % PLACES * PLACE, wc.byte_len));
	}
}

/* All up to that request, which is signaled. */
static void note_sent(int last)
{
	struct ibv_wc wc;

	do {
		ck_assert(verbs_poll(&a, &wc));
		note("send %lu status %d opcode %d\n", (unsigned long)wc.wr_id, (int)wc.status,
		     (int)wc.opcode);
	} while (wc.wr_id != (uint64_t)last);
}

static void note_events(void)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	while (ibv_get_async_event(b.context, &event) == 0) {
		note("event %d\n", (int)event.event_type);
		ibv_ack_async_event(&event);
	}
	while (ibv_get_cq_event(channel, &cq, &context) == 0) {
		note("notified\n");
		ibv_ack_cq_events(cq, 1);
	}
}

static int count; /* requests so far */

/* Returns how many of them take a Receive. */
static int post_some(void)
{
	struct request r[MOST];
	int n = pick(2) ? 1 : 1 + pick(MOST), messages = 0;

	for (int i = 0; i < n; i++) {
		fill_request(&r[i], count++, i == n - 1);
		messages += r[i].wr.opcode != IBV_WR_RDMA_WRITE;
		written += r[i].wr.opcode == IBV_WR_RDMA_WRITE;
	}
	sent += messages;
	while (posted < sent)
		post_receives(sent - posted > 1 && pick(2) ? 2 : 1);
	if (pick(3))
		post_list(r, n);
	else
		post_batch(r, n);
	/* Inline payload was copied by the post. */
	for (int i = 0; i < n; i++)
		if (r[i].wr.send_flags & IBV_SEND_INLINE)
			memset(a.buffer + r[i].wr.wr_id % PLACES * PLACE, 0, r[i].length);
	return messages;
}

static void step(void)
{
	int messages = 0;

	arm_some();
	for (int times = 1 + pick(QUEUE / MOST); times > 0; times--)
		messages += post_some();
	note_sent(count - 1);
	note_received(messages);
	received += messages;
	note_events();
	note("written %d sum %x\n", written, sum_of(b.buffer + PLACES * PLACE, PLACES * PLACE));
}

static void run_program(enum way way, int seed)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	if (ways[way].in_full)
		ck_assert_int_eq(pthread_create(&thread, NULL, sleep_on, &mutex), 0);
	open_world(seed & 1);
	random_state = (uint64_t)seed;
	for (int i = 0; i < STEPS; i++)
		step();
	verbs_close(&a);
	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(b.cq), 0);
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
	b.qp = NULL;
	b.cq = ibv_create_cq(b.context, 1, NULL, NULL, 0);
	verbs_close(&b);
	pthread_mutex_unlock(&mutex);
	if (ways[way].in_full)
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
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
	ck_assert_msg(status == 0 && record->complete, "%s: it ended with %#x", ways[way].name,
		      (unsigned int)status);
}

static void compare(const struct record *first, const struct record *r, enum way way)
{
	size_t at = 0, line;

	while (first->text[at] && first->text[at] == r->text[at])
		at++;
	line = at;
	while (line > 0 && r->text[line - 1] != '\n')
		line--;
	ck_assert_msg(first->text[at] == r->text[at], "byte %zu\n%s: %.60s\n%s: %.60s", at,
		      ways[0].name, first->text + line, ways[way].name, r->text + line);
}

START_TEST(every_way_of_a_request_has_the_same_outcome)
{
	char folder[] = "/tmp/ways.XXXXXX", inside[sizeof(folder) + 8];
	struct record *records = mmap(NULL, WAYS * sizeof(struct record), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(records, MAP_FAILED);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int way = 0; way < WAYS; way++) {
		record = &records[way];
		run_way((enum way)way, _i, folder);
		compare(&records[0], record, (enum way)way);
	}
	ck_assert_uint_gt(records[0].length, 1000);
	snprintf(inside, sizeof(inside), "%s/datsim", folder);
	ck_assert_int_eq(rmdir(inside), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	munmap(records, WAYS * sizeof(struct record));
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("ways");

	tcase_add_loop_test(tcase, every_way_of_a_request_has_the_same_outcome, 0, SEEDS);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("ways of the verbs front")
