/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * undo - a process is killed before each store of one Send on the direct path
 * (emu/shared/direct.c), of one segment or of three, or of one RDMA Write. The receiver gets the
 * message whole or not at all. Another connection, on the same SRQ and the same EVD, finds its next
 * message in the next Receive.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/sim.h>

#include "die.h"

#define QUALIFIER 7960
#define RECEIVES  4
#define SEGMENTS  3
#define LARGEST   (128u << 10)
#define SPAN      ((int)(LARGEST / sizeof(struct pair_message)) + 1) /* of the node's, for one */

/* In an inline CQE, in a staging buffer, and copied by both ends */
static const uint32_t sizes[] = { 64, 224, LARGEST };

struct round {
	uint32_t size;
	uint64_t number;
	int segments;
	bool writes; /* in place of the second Send */
};

static struct pair_target *written; /* where an RDMA Write goes: shared by all processes */

struct receiver {
	struct pair_node node;
	DAT_EVD_HANDLE requests, connect, recv, send;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE from, to, victim; /* from, to: connected to each other */
	DAT_UINT64 next;                /* of all Receives */
};

static uint8_t byte_of(uint64_t number, uint32_t at)
{
	return (uint8_t)(number * 17 + at * 5 + 1);
}

static uint8_t *memory(const struct pair_node *node, DAT_UINT64 buffer)
{
	return (uint8_t *)&node->messages[buffer];
}

static DAT_LMR_TRIPLET segment(const struct pair_node *node, DAT_UINT64 buffer, uint32_t size)
{
	DAT_LMR_TRIPLET triplet = pair_segment(node, (int)buffer);

	triplet.segment_length = size;
	return triplet;
}

static DAT_EVD_HANDLE make_evd(const struct pair_node *node, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	pair_check(dat_evd_create(node->ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, flags, &evd),
		   "dat_evd_create");
	return evd;
}

/* The node's largest message is larger than any that this test sends. */
static void begin(struct pair_node *node, int messages)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pair_open(node, "emu0", messages * SPAN);
}

/* ---- the victim ---- */

/* In one segment, or in SEGMENTS, which are gathered in the arena. */
static void send_one(const struct pair_node *node, DAT_EP_HANDLE ep, const struct round *round)
{
	DAT_LMR_TRIPLET parts[SEGMENTS];
	uint32_t at = 0;

	for (int i = 0; i < round->segments; i++) {
		uint32_t left = round->size - at;

		parts[i] = segment(node, 0, i + 1 < round->segments ? left / 3 : left);
		parts[i].virtual_address += at;
		at += (uint32_t)parts[i].segment_length;
	}
	pair_check(dat_ep_post_send(ep, round->segments, parts, (DAT_DTO_COOKIE){ .as_64 = 1 },
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
}

static void write_one(const struct pair_node *node, DAT_EP_HANDLE ep, uint32_t size)
{
	DAT_LMR_TRIPLET message = segment(node, 0, size);
	DAT_RMR_TRIPLET to = pair_remote(written);

	to.segment_length = size;
	pair_check(dat_ep_post_rdma_write(ep, 1, &message, (DAT_DTO_COOKIE){ .as_64 = 2 }, &to,
					  DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_rdma_write");
}

static void live(struct stores *stores, const struct round *round)
{
	struct pair_node node;
	DAT_EVD_HANDLE connect, dto;
	DAT_EP_HANDLE ep;

	stores_begin(stores);
	begin(&node, 1);
	connect = make_evd(&node, DAT_EVD_CONNECTION_FLAG);
	dto = make_evd(&node, DAT_EVD_DTO_FLAG);
	pair_check(dat_ep_create(node.ia, node.pz, dto, dto, connect, NULL, &ep), "dat_ep_create");
	connect_ep(ep, QUALIFIER, connect);
	for (uint32_t at = 0; at < round->size; at++)
		memory(&node, 0)[at] = byte_of(round->number, at);
	/* The first Send looks up the segment and takes the slow path. */
	send_one(&node, ep, round);
	expect_dto(dto, 1);
	stores_phase("a Send, or a Write");
	if (round->writes)
		write_one(&node, ep, round->size);
	else
		send_one(&node, ep, round);
	stores_phase("nothing more");
	_exit(0);
}

/* ---- the receiver ---- */

static void post_receive(struct receiver *r, DAT_UINT64 number)
{
	DAT_LMR_TRIPLET buffer =
		segment(&r->node, number % RECEIVES * SPAN, SPAN * sizeof(struct pair_message));

	memset(memory(&r->node, number % RECEIVES * SPAN), 0, SPAN * sizeof(struct pair_message));
	pair_check(dat_srq_post_recv(r->srq, 1, &buffer, (DAT_DTO_COOKIE){ .as_64 = number }),
		   "dat_srq_post_recv");
}

static DAT_EP_HANDLE accept_one(struct receiver *r)
{
	DAT_EVENT event = expect_event(r->requests, DAT_CONNECTION_REQUEST_EVENT);
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = LARGEST,
			     .max_request_dtos = RECEIVES,
			     .max_recv_dtos = RECEIVES,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	DAT_EP_HANDLE ep;

	pair_check(dat_ep_create_with_srq(r->node.ia, r->node.pz, r->recv, r->send, r->connect,
					  r->srq, &attr, &ep),
		   "dat_ep_create_with_srq");
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		   "dat_cr_accept");
	return ep;
}

static void open_receiver(struct receiver *r)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECEIVES, .max_recv_iov = 1 };
	DAT_PSP_HANDLE psp;

	begin(&r->node, RECEIVES + 1);
	*written = pair_target(&r->node, RECEIVES * SPAN);
	r->requests = make_evd(&r->node, DAT_EVD_CR_FLAG);
	r->connect = make_evd(&r->node, DAT_EVD_CONNECTION_FLAG);
	r->recv = make_evd(&r->node, DAT_EVD_DTO_FLAG);
	r->send = make_evd(&r->node, DAT_EVD_DTO_FLAG);
	pair_check(dat_srq_create(r->node.ia, r->node.pz, &attr, &r->srq), "dat_srq_create");
	for (DAT_UINT64 i = 0; i < RECEIVES; i++)
		post_receive(r, i);
	pair_check(dat_psp_create(r->node.ia, QUALIFIER, r->requests, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	pair_check(dat_ep_create(r->node.ia, r->node.pz, r->send, r->send, r->connect, NULL,
				 &r->from),
		   "dat_ep_create");
	ask_ep(r->from, QUALIFIER);
	r->to = accept_one(r);
	expect_event(r->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_event(r->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_DTO_COMPLETION_EVENT_DATA next_receive(struct receiver *r)
{
	DAT_EVENT event;
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	while (dat_evd_dequeue(r->recv, &event) != DAT_SUCCESS)
		;
	if (dto->status != DAT_DTO_SUCCESS)
		pair_fail("a Receive failed");
	if (dto->user_cookie.as_64 != r->next)
		pair_fail("another Receive than the next");
	return *dto;
}

static void expect_bytes(const uint8_t *got, const struct round *round)
{
	for (uint32_t at = 0; at < round->size; at++)
		if (got[at] != byte_of(round->number, at))
			pair_fail("a message that is not whole");
}

/* A Write is there, or nothing of it. No byte_of() begins with two zeros. */
static bool is_written(struct receiver *r, const struct round *round)
{
	uint8_t *got = memory(&r->node, RECEIVES * SPAN);
	bool any = got[0] || got[1];

	if (any)
		expect_bytes(got, round);
	memset(got, 0, round->size);
	return any;
}

/* Nothing of this is usual: it goes by events, and completes in the ring. */
static void send_nothing(struct receiver *r)
{
	pair_check(dat_ep_post_send(r->from, 0, NULL, (DAT_DTO_COOKIE){ .as_64 = 7 },
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	expect_dto(r->send, 7);
}

static void look_after(struct receiver *r, const struct round *round)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto;
	int messages = 0;

	expect_event(r->connect, DAT_CONNECTION_EVENT_BROKEN);
	send_nothing(r);
	for (dto = next_receive(r); dto.ep_handle == r->victim; dto = next_receive(r)) {
		if (dto.transfered_length != round->size)
			pair_fail("a message of another length");
		expect_bytes(memory(&r->node, r->next % RECEIVES * SPAN), round);
		post_receive(r, r->next++ + RECEIVES);
		messages++;
	}
	if (messages < 1 || messages > (round->writes ? 1 : 2))
		pair_fail("another number of messages");
	if (is_written(r, round) && !round->writes)
		pair_fail("a Send has written");
	/*
	 * Receives of before the death are slow ones, as a key died with it: none is left for the
	 * next victim.
	 */
	for (int i = 0; i < RECEIVES; i++) {
		if (i > 0) {
			send_nothing(r);
			dto = next_receive(r);
		}
		if (dto.ep_handle != r->to || dto.transfered_length != 0)
			pair_fail("the other connection's message is lost");
		post_receive(r, r->next++ + RECEIVES);
	}
	pair_check(dat_ep_free(r->victim), "dat_ep_free");
}

static void receive(int orders, int reports)
{
	static struct receiver r;
	struct round round;

	open_receiver(&r);
	while (write(reports, "", 1) == 1 && read(orders, &round, sizeof(round)) == sizeof(round)) {
		r.victim = accept_one(&r);
		expect_event(r.connect, DAT_CONNECTION_EVENT_ESTABLISHED);
		look_after(&r, &round);
	}
	pair_check(dat_ia_close(r.node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	_exit(0);
}

/* ---- the rounds ---- */

static pid_t begin_receiver(int *orders, int *reports)
{
	int order[2], report[2];
	pid_t pid;

	if (pipe(order) || pipe(report))
		pair_fail("no pipe");
	pid = fork();
	if (pid == 0) {
		close(order[1]);
		receive(order[0], report[1]);
	}
	close(order[0]);
	close(report[1]);
	*orders = order[1];
	*reports = report[0];
	return pid;
}

/* false: the victim reached its end */
static bool kill_one(struct stores *stores, const struct round *round, const char *fabric)
{
	struct usage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		live(stores, round);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		pair_fail("no victim");
	/* Joining a fabric cleans up after dead processes, so the test need not wait. */
	if (!usage_of(fabric, &usage))
		pair_fail("the fabric cannot be looked at");
	if (!WIFSIGNALED(status) && status)
		pair_fail("the victim ends otherwise");
	return WIFSIGNALED(status);
}

struct all {
	struct stores *stores;
	const char *fabric;
	int orders, reports, kills;
};

static bool kill_at_each(struct all *all, struct round *round)
{
	bool killed = true;
	char said;

	for (all->stores->store = 1; killed; all->stores->store++) {
		hang_begin("a sender that is killed");
		round->number++;
		if (write(all->orders, round, sizeof(*round)) != sizeof(*round))
			return false;
		killed = kill_one(all->stores, round, all->fabric);
		all->kills += killed;
		if (read(all->reports, &said, 1) != 1) {
			printf("before store %u of a Send of %u bytes, %d segments\n",
			       all->stores->store, round->size, round->segments);
			return false;
		}
	}
	return true;
}

static bool kill_at_sizes(struct all *all, struct round *round)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		round->size = sizes[i];
		/*
		 * Of several packets: it does not take the direct path while it is traced. To
		 * gather it takes tens of thousands of stores.
		 */
		if (sizes[i] == LARGEST && (getenv("DATSIM_TRACE") || round->segments > 1))
			continue;
		if (!kill_at_each(all, round))
			return false;
	}
	return true;
}

int main(void)
{
	struct all all = { .stores = mmap(NULL, sizeof(struct stores), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0),
			   .fabric = getenv("DATSIM_FABRIC") };
	const char *refused = stores_refused();
	struct round round = { .number = 1, .segments = 1 };
	int status;
	pid_t pid;
	char said;

	written = mmap(NULL, sizeof(*written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (!all.fabric || all.stores == MAP_FAILED || written == MAP_FAILED || refused) {
		printf("skipped: %s\n", refused ? refused : "no fabric");
		return 77;
	}
	signal(SIGPIPE, SIG_IGN);
	pid = begin_receiver(&all.orders, &all.reports);
	if (pid < 0 || read(all.reports, &said, 1) != 1)
		pair_fail("no receiver");
	if (!kill_at_sizes(&all, &round))
		return 1;
	round.segments = SEGMENTS;
	if (!kill_at_sizes(&all, &round))
		return 1;
	round.segments = 1;
	round.size = sizes[0];
	round.writes = true;
	if (!kill_at_each(&all, &round))
		return 1;
	close(all.orders);
	if (waitpid(pid, &status, 0) != pid || status)
		pair_fail("the receiver does not end well");
	printf("killed before %d stores\n", all.kills);
	return 0;
}
