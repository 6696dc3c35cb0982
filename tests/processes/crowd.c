/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd PROCESSES ROUNDS [PIECES BYTES RECEIVES] - every process sends PIECES messages to every
 * other one, and posts its Receives only after its Sends, so that Sends meet RNR and wait behind
 * each other while all processes poll. At most RECEIVES are posted for each peer at a time. All
 * must complete, in order (ruling Q6).
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "die.h"

#define QUALIFIER 8000 /* and the next ones: one for each process */
#define CROWD_MAX 16
#define MEETINGS  3

/* What each member sends to each other one in a round, and how few Receives it posts. */
struct burst {
	int pieces, bytes, receives;
};

struct member {
	int number, count;
	struct burst burst;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE dto, connect, request;
	DAT_PZ_HANDLE pz;
	DAT_LMR_CONTEXT key;
	uint32_t *memory; /* of each peer: all messages to it, then all from it */
	DAT_EP_HANDLE ep[CROWD_MAX];
};

static uint32_t *message_at(const struct member *m, int peer, int message)
{
	return m->memory + ((size_t)(peer * 2 * m->burst.pieces + message) *
			    ((size_t)m->burst.bytes / sizeof(uint32_t)));
}

static void open_member(struct member *m)
{
	int dtos = m->count * 2 * m->burst.pieces;
	DAT_VLEN bytes = (DAT_VLEN)dtos * (DAT_VLEN)m->burst.bytes, length;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_PSP_HANDLE psp;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;

	m->memory = calloc(1, bytes);
	if (!m->memory)
		pair_fail("out of memory");
	region.for_va = m->memory;
	pair_check(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &m->ia), "dat_ia_open");
	pair_check(dat_pz_create(m->ia, &m->pz), "dat_pz_create");
	pair_check(dat_lmr_create(m->ia, DAT_MEM_TYPE_VIRTUAL, region, bytes, m->pz,
				  DAT_MEM_PRIV_ALL_FLAG, &lmr, &m->key, &remote, &length, &address),
		   "dat_lmr_create");
	pair_check(dat_evd_create(m->ia, dtos, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &m->dto),
		   "dat_evd_create");
	pair_check(dat_evd_create(m->ia, dtos, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
				  &m->connect),
		   "dat_evd_create");
	pair_check(dat_evd_create(m->ia, dtos, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &m->request),
		   "dat_evd_create");
	pair_check(dat_psp_create(m->ia, (DAT_CONN_QUAL)(QUALIFIER + m->number), m->request,
				  DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
}

static void make_ep(struct member *m, int peer)
{
	pair_check(dat_ep_create(m->ia, m->pz, m->dto, m->dto, m->connect, NULL, &m->ep[peer]),
		   "dat_ep_create");
}

/* To each member before this one; those behind it connect to this one. */
static void connect_member(struct member *m)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	for (int peer = 0; peer < m->number; peer++) {
		make_ep(m, peer);
		pair_check(dat_ep_connect(m->ep[peer], (DAT_IA_ADDRESS_PTR)&host,
					  (DAT_CONN_QUAL)(QUALIFIER + peer), DAT_TIMEOUT_INFINITE,
					  sizeof(m->number), &m->number, DAT_QOS_BEST_EFFORT,
					  DAT_CONNECT_DEFAULT_FLAG),
			   "dat_ep_connect");
		expect_event(m->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	for (int i = m->number + 1; i < m->count; i++) {
		int peer;

		event = expect_event(m->request, DAT_CONNECTION_REQUEST_EVENT);
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		pair_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
		memcpy(&peer, param.private_data, sizeof(peer));
		make_ep(m, peer);
		pair_check(dat_cr_accept(cr, m->ep[peer], 0, NULL), "dat_cr_accept");
		expect_event(m->connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

static void post(const struct member *m, int peer, int message)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = m->key,
		.virtual_address = (DAT_VADDR)(uintptr_t)message_at(m, peer, message),
		.segment_length = (DAT_VLEN)m->burst.bytes,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)(peer * 2 * m->burst.pieces + message) };

	if (message < m->burst.pieces)
		pair_check(dat_ep_post_send(m->ep[peer], 1, &segment, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	else
		pair_check(dat_ep_post_recv(m->ep[peer], 1, &segment, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_recv");
}

static uint32_t word_of(const struct member *m, uint32_t round, int piece)
{
	return round * (uint32_t)m->burst.pieces + (uint32_t)piece;
}

static void send_all(const struct member *m, uint32_t round)
{
	for (int i = 0; i < m->burst.pieces; i++)
		for (int peer = 0; peer < m->count; peer++) {
			if (peer == m->number)
				continue;
			*message_at(m, peer, i) = word_of(m, round, i);
			post(m, peer, i);
		}
}

static void post_first_receives(const struct member *m)
{
	for (int i = 0; i < m->burst.receives; i++)
		for (int peer = 0; peer < m->count; peer++)
			if (peer != m->number)
				post(m, peer, m->burst.pieces + i);
}

static void poll_all(const struct member *m)
{
	int pieces = m->burst.pieces, next[CROWD_MAX][2] = { { 0 } };
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	for (int left = (m->count - 1) * 2 * pieces; left > 0; left--) {
		int peer, message, *expected;

		while (dat_evd_dequeue(m->dto, &event) != DAT_SUCCESS)
			;
		dto = &event.event_data.dto_completion_event_data;
		peer = (int)dto->user_cookie.as_64 / (2 * pieces);
		message = (int)dto->user_cookie.as_64 % (2 * pieces);
		expected = &next[peer][message / pieces];
		if (dto->status != DAT_DTO_SUCCESS || message % pieces != (*expected)++)
			pair_fail("a DTO failed, or completed out of order");
		message += m->burst.receives;
		if (message >= pieces + m->burst.receives && message < 2 * pieces)
			post(m, peer, message);
	}
}

static void expect_all(const struct member *m, uint32_t round)
{
	for (int peer = 0; peer < m->count; peer++)
		for (int i = 0; i < m->burst.pieces && peer != m->number; i++)
			if (*message_at(m, peer, m->burst.pieces + i) != word_of(m, round, i))
				pair_fail("a Receive holds another message");
}

/* A pipe of its own for each meeting: a fast member must not take a byte of the one before. */
struct meetings {
	int come[2], go[MEETINGS][2];
};

static void meet(const struct meetings *meetings, int number)
{
	char byte = 0;

	if (write(meetings->come[1], &byte, 1) != 1 || read(meetings->go[number][0], &byte, 1) != 1)
		pair_fail("the other processes are gone");
}

static void run_member(struct member *m, uint32_t rounds, const struct meetings *meetings)
{
	open_member(m);
	meet(meetings, 0);
	connect_member(m);
	meet(meetings, 1);
	for (uint32_t round = 0; round < rounds; round++) {
		send_all(m, round);
		post_first_receives(m);
		poll_all(m);
		expect_all(m, round);
	}
	meet(meetings, 2);
	pair_check(dat_ia_close(m->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(m->memory);
	_exit(0);
}

/* All have come: let all go on. */
static void let_meet(const struct meetings *meetings, int number, int count)
{
	char byte;

	for (int i = 0; i < count; i++)
		if (read(meetings->come[0], &byte, 1) != 1)
			pair_fail("a process is gone");
	for (int i = 0; i < count; i++)
		if (write(meetings->go[number][1], "", 1) != 1)
			pair_fail("a process is gone");
}

int main(int argc, char **argv)
{
	struct member m = { .count = argc > 2 ? atoi(argv[1]) : 0, .burst = { 4, 40000, 4 } };
	struct meetings meetings;
	int status, bad = 0;

	if (argc == 6)
		m.burst = (struct burst){ atoi(argv[3]), atoi(argv[4]), atoi(argv[5]) };
	if ((argc != 3 && argc != 6) || m.count < 2 || m.count > CROWD_MAX ||
	    m.burst.bytes < (int)sizeof(uint32_t) || m.burst.receives < 1 ||
	    m.burst.receives > m.burst.pieces) {
		fputs("usage: crowd PROCESSES ROUNDS [PIECES BYTES RECEIVES]\n", stderr);
		return 2;
	}
	hang_begin("Sends of all to all");
	bad = pipe(meetings.come);
	for (int i = 0; i < MEETINGS; i++)
		bad |= pipe(meetings.go[i]);
	if (bad)
		pair_fail("no pipe");
	for (; m.number < m.count; m.number++)
		if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			run_member(&m, (uint32_t)strtoul(argv[2], NULL, 10), &meetings);
	close(meetings.come[1]);
	for (int i = 0; i < MEETINGS; i++)
		let_meet(&meetings, i, m.count);
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}
