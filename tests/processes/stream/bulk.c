/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bulk - messages of many sizes to a process that does not poll until all of them are sent. Some
 * wait for it in the arena (inline or in staging buffers), others are already in its memory or in
 * its inbox; all must arrive whole, even those for a region that is deregistered meanwhile, and in
 * a program that spins on its memory. Then more short ones than have room in the arena beside one
 * CQ (EMU_INLINE_CQES).
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/processes/die.h"

#define QUALIFIER 7950
#define WINDOW    8
#define LARGEST   ((1u << 20) + 4096)
#define MANY      300
#define MANY_BYTE 64

static const uint32_t sizes[] = { 64, 216, 217, 4096, 65536, 262143, 262145, 1u << 20, LARGEST };

#define SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

struct end {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, send, other;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT key;
	uint8_t *memory;
	int from, to; /* pipes: the other end says when */
};

static uint8_t byte_of(int size, int message, uint32_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) * 13 + (unsigned int)(size * WINDOW + message) * 31);
}

static void tell(const struct end *end)
{
	if (write(end->to, "", 1) != 1)
		pair_fail("the other end is gone");
}

static void await(const struct end *end)
{
	char said;

	if (read(end->from, &said, 1) != 1)
		pair_fail("the other is gone");
}

static void make_evd(const struct end *end, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	pair_check(dat_evd_create(end->ia, MANY, DAT_HANDLE_NULL, flags, evd), "dat_evd_create");
}

static void make_lmr(struct end *end)
{
	DAT_REGION_DESCRIPTION region = { .for_va = end->memory };
	DAT_RMR_CONTEXT remote;
	DAT_VADDR address;
	DAT_VLEN length;

	pair_check(dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, region, (DAT_VLEN)WINDOW * LARGEST,
				  end->pz, DAT_MEM_PRIV_ALL_FLAG, &end->lmr, &end->key, &remote,
				  &length, &address),
		   "dat_lmr_create");
}

static void open_end(struct end *end)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_recv_dtos = MANY,
			     .max_request_dtos = MANY,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };

	end->async = DAT_HANDLE_NULL;
	pair_check(dat_ia_open((DAT_NAME_PTR) "emu0", WINDOW, &end->async, &end->ia),
		   "dat_ia_open");
	pair_check(dat_pz_create(end->ia, &end->pz), "dat_pz_create");
	make_evd(end, DAT_EVD_DTO_FLAG, &end->recv);
	make_evd(end, DAT_EVD_DTO_FLAG, &end->send);
	make_evd(end, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &end->other);
	end->memory = calloc(WINDOW, LARGEST);
	if (!end->memory)
		pair_fail("out of memory");
	make_lmr(end);
	pair_check(dat_ep_create(end->ia, end->pz, end->recv, end->send, end->other, &attr,
				 &end->ep),
		   "dat_ep_create");
}

static DAT_LMR_TRIPLET segment(const struct end *end, int message, uint32_t size)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = end->key,
				  .virtual_address = (DAT_VADDR)(uintptr_t)end->memory +
						     (DAT_VADDR)message * LARGEST,
				  .segment_length = size };
}

/* Polls and does not sleep: a sleeping receiver would be woken for the first message. */
static void poll_for(DAT_EVD_HANDLE evd, int message)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		;
	dto = &event.event_data.dto_completion_event_data;
	if (dto->status != DAT_DTO_SUCCESS || dto->user_cookie.as_64 != (DAT_UINT64)message)
		pair_fail("another completion");
}

static void post_receives(const struct end *end)
{
	for (int i = 0; i < WINDOW; i++) {
		DAT_LMR_TRIPLET whole = segment(end, i, LARGEST);
		DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };

		pair_check(dat_ep_post_recv(end->ep, 1, &whole, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_recv");
	}
}

static void send_window(const struct end *end, int size)
{
	for (int i = 0; i < WINDOW; i++) {
		DAT_LMR_TRIPLET piece = segment(end, i, sizes[size]);
		DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };

		for (uint32_t at = 0; at < sizes[size]; at++)
			end->memory[(size_t)i * LARGEST + at] = byte_of(size, i, at);
		pair_check(dat_ep_post_send(end->ep, 1, &piece, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	}
	for (int i = 0; i < WINDOW; i++)
		poll_for(end->send, i);
	/* The Send is complete: a change of its buffer must not reach the receiver. */
	memset(end->memory, 0xee, (size_t)WINDOW * LARGEST);
}

static void expect_window(const struct end *end, int size)
{
	for (int i = 0; i < WINDOW; i++)
		for (uint32_t at = 0; at < LARGEST; at++)
			if (end->memory[(size_t)i * LARGEST + at] !=
			    (at < sizes[size] ? byte_of(size, i, at) : 0))
				pair_fail("other bytes");
	memset(end->memory, 0, (size_t)WINDOW * LARGEST);
}

static void send_many(const struct end *end, int round)
{
	for (int i = 0; i < MANY; i++) {
		DAT_LMR_TRIPLET piece = segment(end, 0, MANY_BYTE);
		DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };

		piece.virtual_address += (DAT_VADDR)i * MANY_BYTE;
		memset(end->memory + (size_t)i * MANY_BYTE, byte_of(round, i, 0), MANY_BYTE);
		pair_check(dat_ep_post_send(end->ep, 1, &piece, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
	}
	for (int i = 0; i < MANY; i++)
		poll_for(end->send, i);
}

static void receive_many(const struct end *end, int round)
{
	for (int i = 0; i < MANY; i++) {
		DAT_LMR_TRIPLET piece = segment(end, 0, MANY_BYTE);
		DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };

		piece.virtual_address += (DAT_VADDR)i * MANY_BYTE;
		pair_check(dat_ep_post_recv(end->ep, 1, &piece, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_recv");
	}
	tell(end);
	await(end);
	for (int i = 0; i < MANY; i++) {
		poll_for(end->recv, i);
		for (int at = 0; at < MANY_BYTE; at++)
			if (end->memory[(size_t)i * MANY_BYTE + (size_t)at] != byte_of(round, i, 0))
				pair_fail("other bytes in a short message");
	}
}

/* ---- the receiver ---- */

/* How it gets what was sent. */
enum way {
	POLLS,
	DEREGISTERS, /* the region, before it polls */
	SPINS,       /* on its memory, before it polls */
};

static bool has_message(const struct end *end, int size, int message)
{
	const volatile uint8_t *got = end->memory + (size_t)message * LARGEST;

	for (uint32_t at = sizes[size]; at > 0; at--)
		if (got[at - 1] != byte_of(size, message, at - 1))
			return false;
	return true;
}

/* No call of the library is made meanwhile. Then the program may use the buffers as it likes. */
static void spin_for(struct end *end, int size)
{
	for (int i = 0; i < WINDOW; i++)
		while (!has_message(end, size, i))
			sched_yield();
	expect_window(end, size);
	for (int i = 0; i < WINDOW; i++)
		poll_for(end->recv, i);
	for (size_t at = 0; at < (size_t)WINDOW * LARGEST; at++)
		if (end->memory[at])
			pair_fail("a message is placed again");
}

static void receive_all(struct end *end, enum way way)
{
	for (int size = 0; size < SIZES; size++) {
		post_receives(end);
		tell(end);
		await(end);
		if (way == SPINS) {
			spin_for(end, size);
			continue;
		}
		if (way == DEREGISTERS) {
			pair_check(dat_lmr_free(end->lmr), "dat_lmr_free");
			expect_window(end, size);
			make_lmr(end);
		}
		for (int i = 0; i < WINDOW; i++)
			poll_for(end->recv, i);
		if (way == POLLS)
			expect_window(end, size);
	}
}

static void receiver(struct end *end)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	open_end(end);
	pair_check(dat_psp_create(end->ia, QUALIFIER, end->other, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	tell(end);
	event = expect_event(end->other, DAT_CONNECTION_REQUEST_EVENT);
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end->ep, 0,
				 NULL),
		   "dat_cr_accept");
	expect_event(end->other, DAT_CONNECTION_EVENT_ESTABLISHED);
	receive_all(end, POLLS);
	receive_all(end, DEREGISTERS);
	receive_all(end, SPINS);
	for (int round = 0; round < 2; round++)
		receive_many(end, round);
	expect_event(end->other, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_check(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	_exit(0);
}

/* ---- the sender ---- */

static void sender(struct end *end)
{
	open_end(end);
	await(end);
	connect_ep(end->ep, QUALIFIER, end->other);
	for (int way = POLLS; way <= SPINS; way++)
		for (int size = 0; size < SIZES; size++) {
			await(end);
			send_window(end, size);
			tell(end);
		}
	for (int round = 0; round < 2; round++) {
		await(end);
		send_many(end, round);
		tell(end);
	}
	pair_check(dat_ep_disconnect(end->ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	expect_event(end->other, DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_check(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(end->memory);
}

int main(void)
{
	struct end end = { .ia = DAT_HANDLE_NULL };
	int there[2], back[2], status;
	pid_t pid;

	hang_begin("messages to a process that does not poll");
	if (pipe(there) || pipe(back))
		pair_fail("no pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		end.from = there[0];
		end.to = back[1];
		receiver(&end);
	}
	close(back[1]);
	end.from = back[0];
	end.to = there[1];
	sender(&end);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		pair_fail("the receiver does not end well");
	printf("%d messages, each right\n", 3 * SIZES * WINDOW + 2 * MANY);
	return 0;
}
