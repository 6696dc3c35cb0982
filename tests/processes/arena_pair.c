/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two processes: a client that asks by Send, gets the answer by RDMA Write and a Send, fetches
 * it again by RDMA Read, and between two questions sets a word of the arena; and its server. Errors
 * end a process in order. Memory that is not registered must stay as it is.
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "examples/pair/pair.h"

#define PAGE        4096u
#define PATIENCE_US 80000 /* with an event; it may be lost */
#define CALL_S      20    /* for a trial; then the process hangs and dies of SIGALRM */
#define ROUNDS      2     /* of a trial */
#define CANARY      0xa5

/* Messages of each process. */
enum {
	QUESTION,
	ANSWER,
	FETCHED,
	NOTE,
	MESSAGES
};

/* Cookies */
enum {
	SENT = 1,
	RECEIVED,
	WRITTEN,
	READ
};

struct arena_control *arena_control;

static struct {
	uint8_t *memory; /* a page of canaries, the messages, another page */
	struct pair_node node;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct pair_target target; /* the other's messages */
	bool asks;                 /* it is the client */
} self;

/* ---- memory ---- */

void arena_pair_begin(void)
{
	self.memory =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self.memory == MAP_FAILED)
		pair_fail("no memory");
	memset(self.memory, CANARY, 3 * PAGE);
	self.node.messages = (struct pair_message *)(void *)(self.memory + PAGE);
}

static bool is_page_untouched(const uint8_t *page)
{
	for (uint32_t i = 0; i < PAGE; i++)
		if (page[i] != CANARY)
			return false;
	return true;
}

bool arena_pair_untouched(void)
{
	return is_page_untouched(self.memory) && is_page_untouched(self.memory + PAGE) &&
	       is_page_untouched(self.memory + 2 * PAGE);
}

/* Something has written where it must not: a death that the judge sees. */
static void check_canaries(void)
{
	if (!is_page_untouched(self.memory) || !is_page_untouched(self.memory + 2 * PAGE))
		abort();
}

/* ---- uDAPL ---- */

/* Each second client dies at once instead: the server cleans up after it. */
static void give_up(void)
{
	check_canaries();
	if (self.asks && arena_control->next % 2)
		kill(getpid(), SIGKILL);
	alarm(CALL_S);
	if (self.node.ia)
		dat_ia_close(self.node.ia, DAT_CLOSE_ABRUPT_FLAG);
	check_canaries();
	_exit(1);
}

static void must(DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		give_up();
}

static void open_node(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = self.node.messages };
	DAT_VADDR address;
	DAT_VLEN length;
	int flags = DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG;

	must(dat_ia_open((DAT_NAME_PTR) "emu0", PAIR_QUEUE_LENGTH, &self.node.async,
			 &self.node.ia));
	must(dat_pz_create(self.node.ia, &self.node.pz));
	must(dat_lmr_create(self.node.ia, DAT_MEM_TYPE_VIRTUAL, region,
			    MESSAGES * sizeof(struct pair_message), self.node.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &self.node.lmr, &self.node.local, &self.node.key,
			    &length, &address));
	must(dat_evd_create(self.node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, flags, &self.evd));
	must(dat_ep_create(self.node.ia, self.node.pz, self.evd, self.evd, self.evd, NULL,
			   &self.ep));
}

static void post_receive(int message)
{
	DAT_LMR_TRIPLET segment = pair_segment(&self.node, message);
	DAT_DTO_COOKIE cookie = { .as_64 = RECEIVED };

	must(dat_ep_post_recv(self.ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(int message, size_t length)
{
	DAT_LMR_TRIPLET segment = pair_segment(&self.node, message);
	DAT_DTO_COOKIE cookie = { .as_64 = SENT };

	segment.segment_length = length;
	must(dat_ep_post_send(self.ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The server waits for as long as there is a client. */
static bool waits_again(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED && !self.asks &&
	       !__atomic_load_n(&arena_control->ended, __ATOMIC_SEQ_CST);
}

/* The next event; whatever is not expected ends the process. */
static DAT_EVENT next_event(DAT_TIMEOUT patience_us)
{
	DAT_RETURN ret;
	DAT_COUNT more;
	DAT_EVENT event;

	do {
		alarm(CALL_S);
		ret = dat_evd_wait(self.evd, patience_us, 1, &event, &more);
	} while (waits_again(ret));
	must(ret);
	if (event.event_number == DAT_DTO_COMPLETION_EVENT &&
	    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		give_up();
	return event;
}

/* Completions with the cookies of a set of bits, in any order. */
static void await_completions(uint32_t cookies)
{
	while (cookies) {
		DAT_EVENT event = next_event(PATIENCE_US);
		uint64_t cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;

		if (event.event_number != DAT_DTO_COMPLETION_EVENT || cookie > READ ||
		    !(cookies & 1u << cookie))
			give_up();
		cookies &= ~(1u << cookie);
	}
}

/* ---- the server ---- */

static void accept_client(const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	struct pair_target mine = pair_target(&self.node, 0);
	DAT_CR_PARAM request;

	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
	if (request.private_data_size < (DAT_COUNT)sizeof(self.target))
		give_up();
	memcpy(&self.target, request.private_data, sizeof(self.target));
	post_receive(QUESTION);
	must(dat_cr_accept(cr, self.ep, sizeof(mine), &mine));
}

static DAT_RMR_TRIPLET remote_message(int message)
{
	DAT_RMR_TRIPLET remote = pair_remote(&self.target);

	remote.target_address += (DAT_VADDR)message * sizeof(struct pair_message);
	return remote;
}

static void answer_question(void)
{
	DAT_LMR_TRIPLET segment = pair_segment(&self.node, ANSWER);
	DAT_RMR_TRIPLET to = remote_message(ANSWER);
	DAT_DTO_COOKIE cookie = { .as_64 = WRITTEN };

	pair_answer(&self.node.messages[QUESTION], &self.node.messages[ANSWER]);
	post_receive(QUESTION);
	must(dat_ep_post_rdma_write(self.ep, 1, &segment, cookie, &to,
				    DAT_COMPLETION_DEFAULT_FLAG));
	post_send(NOTE, sizeof(DAT_UINT64));
}

void arena_serve(void)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	alarm(CALL_S);
	open_node();
	must(dat_psp_create(self.node.ia, PAIR_QUALIFIER, self.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	__atomic_store_n(&arena_control->ready, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		event = next_event(PATIENCE_US);
		check_canaries();
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			accept_client(&event);
		else if (event.event_number == DAT_DTO_COMPLETION_EVENT &&
			 event.event_data.dto_completion_event_data.user_cookie.as_64 == RECEIVED)
			answer_question();
		else if (event.event_number != DAT_DTO_COMPLETION_EVENT &&
			 event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			give_up();
	}
}

/* ---- the client ---- */

static void connect_server(void)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pair_target mine = pair_target(&self.node, 0);
	DAT_EVENT event;

	must(dat_ep_connect(self.ep, (DAT_IA_ADDRESS_PTR)&host, PAIR_QUALIFIER, PATIENCE_US * 10,
			    sizeof(mine), &mine, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next_event(PATIENCE_US * 10);
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED ||
	    event.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof(self.target))
		give_up();
	memcpy(&self.target, event.event_data.connect_event_data.private_data, sizeof(self.target));
}

static void expect_answer(const struct pair_message *answer)
{
	struct pair_message expected;

	pair_answer(&self.node.messages[QUESTION], &expected);
	if (memcmp((const void *)answer, (const void *)&expected, sizeof(expected)) != 0)
		give_up();
}

static void ask_once(uint64_t round)
{
	struct pair_message *messages = self.node.messages;
	DAT_LMR_TRIPLET segment = pair_segment(&self.node, FETCHED);
	DAT_RMR_TRIPLET from = remote_message(ANSWER);
	DAT_DTO_COOKIE cookie = { .as_64 = READ };

	pair_ask(&messages[QUESTION], round, 1);
	post_receive(NOTE);
	post_send(QUESTION, sizeof(struct pair_message));
	await_completions(1u << SENT | 1u << RECEIVED);
	expect_answer(&messages[ANSWER]);
	must(dat_ep_post_rdma_read(self.ep, 1, &segment, cookie, &from,
				   DAT_COMPLETION_DEFAULT_FLAG));
	await_completions(1u << READ);
	expect_answer(&messages[FETCHED]);
}

void arena_ask(void)
{
	uint64_t round = 0;

	self.asks = true;
	alarm(CALL_S);
	open_node();
	connect_server();
	ask_once(++round);
	if (!arena_words_begin())
		give_up();
	if (!arena_control->seed)
		arena_control->trials = arena_words_trials();
	while (arena_control->next < arena_control->trials) {
		alarm(CALL_S);
		arena_word_set(arena_control->next++);
		for (int i = 0; i < ROUNDS; i++)
			ask_once(++round);
		check_canaries();
		arena_word_restore();
		arena_control->harmless++;
	}
	give_up();
}
