/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crowd PROCESSES ROUNDS - every process sends to every other one, and posts its Receives only
 * after its Sends, so that Sends meet RNR and wait behind each other while all processes poll. All
 * must complete, in order (ruling Q6).
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "die.h"

#define QUALIFIER 8000 /* and the next ones: one for each process */
#define CROWD_MAX 16
#define BURST     4
#define BYTES     40000
#define HANG_S    120
#define MEETINGS  3

struct member {
	int number, count;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE dto, connect, request;
	DAT_PZ_HANDLE pz;
	DAT_LMR_CONTEXT key;
	uint32_t *memory; /* of each peer: BURST messages to it, then BURST from it */
	DAT_EP_HANDLE ep[CROWD_MAX];
};

static uint32_t *message_at(const struct member *m, int peer, int message)
{
	return m->memory + ((size_t)peer * 2 * BURST + (size_t)message) * (BYTES / 4);
}

static void open_member(struct member *m)
{
	DAT_VLEN bytes = (DAT_VLEN)m->count * 2 * BURST * BYTES, length;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_PSP_HANDLE psp;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	int dtos = m->count * 2 * BURST;

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
		.segment_length = BYTES,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)(peer * 2 * BURST + message) };

	if (message < BURST)
		pair_check(dat_ep_post_send(m->ep[peer], 1, &segment, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	else
		pair_check(dat_ep_post_recv(m->ep[peer], 1, &segment, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_recv");
}

static void post_all(const struct member *m, bool send, uint32_t round)
{
	for (int i = send ? 0 : BURST; i < (send ? BURST : 2 * BURST); i++)
		for (int peer = 0; peer < m->count; peer++) {
			if (peer == m->number)
				continue;
			if (send)
				*message_at(m, peer, i) = round * BURST + (uint32_t)i;
			post(m, peer, i);
		}
}

static void poll_all(const struct member *m)
{
	int next[CROWD_MAX][2] = { { 0 } };
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	for (int left = (m->count - 1) * 2 * BURST; left > 0; left--) {
		int message, *expected;

		while (dat_evd_dequeue(m->dto, &event) != DAT_SUCCESS)
			;
		dto = &event.event_data.dto_completion_event_data;
		message = (int)dto->user_cookie.as_64 % (2 * BURST);
		expected = &next[dto->user_cookie.as_64 / (2 * BURST)][message / BURST];
		if (dto->status != DAT_DTO_SUCCESS || message % BURST != (*expected)++)
			pair_fail("a DTO failed, or completed out of order");
	}
}

static void expect_all(const struct member *m, uint32_t round)
{
	for (int peer = 0; peer < m->count; peer++)
		for (int i = 0; i < BURST && peer != m->number; i++)
			if (*message_at(m, peer, BURST + i) != round * BURST + (uint32_t)i)
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
	alarm(HANG_S);
	open_member(m);
	meet(meetings, 0);
	connect_member(m);
	meet(meetings, 1);
	for (uint32_t round = 0; round < rounds; round++) {
		post_all(m, true, round);
		post_all(m, false, round);
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
	struct member m = { .count = argc == 3 ? atoi(argv[1]) : 0 };
	struct meetings meetings;
	int status, bad = 0;

	if (m.count < 2 || m.count > CROWD_MAX) {
		fputs("usage: crowd PROCESSES ROUNDS\n", stderr);
		return 2;
	}
	alarm(HANG_S);
	bad = pipe(meetings.come);
	for (int i = 0; i < MEETINGS; i++)
		bad |= pipe(meetings.go[i]);
	if (bad)
		pair_fail("no pipe");
	for (; m.number < m.count; m.number++)
		if (fork() == 0)
			run_member(&m, (uint32_t)strtoul(argv[2], NULL, 10), &meetings);
	close(meetings.come[1]);
	for (int i = 0; i < MEETINGS; i++)
		let_meet(&meetings, i, m.count);
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}
