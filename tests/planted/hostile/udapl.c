/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udapl CASE [fixed]: programs that work on a kind NIC, and on a hostile one do not; each with its
 * correct version. The case says which way of being hostile (DATSIM_HOSTILE) shows the bug.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/planted/pair.h"

#define BYTES  256
#define ROUNDS 20

static struct end from, to;
static DAT_EP_HANDLE from_ep, to_ep;
static int fixed;

/* Let time pass as a program does that polls. */
static void poll_once(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (next_event(evd, &event))
		fail("an event came too early");
}

/* Between the first buffer of `from` and that of `to`. */
static void post_rdma(__typeof__(dat_ep_post_rdma_write) *post, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET iov = { .lmr_context = from.context,
				.virtual_address = (DAT_VADDR)(uintptr_t)from.memory,
				.segment_length = BYTES };
	DAT_RMR_TRIPLET target = { .rmr_context = to.rmr,
				   .target_address = (DAT_VADDR)(uintptr_t)to.memory,
				   .segment_length = BYTES };
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	check(post(from_ep, 1, &iov, c, &target, DAT_COMPLETION_DEFAULT_FLAG), "a post of RDMA");
}

static void post_write(void)
{
	post_rdma(dat_ep_post_rdma_write, 0);
}

/* watch=posted: the last byte of a message, which the receiver ignores, notes that it is sent. */
static void overwrite(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		from.memory[BYTES - 1] = 0;
		post_recv(&to, to_ep, 0, BYTES, 0);
		post_send(&from, from_ep, 0, BYTES, 42);
		if (!fixed)
			from.memory[BYTES - 1] = 1;
		wait_dto(from.request);
		wait_dto(to.recv);
		from.memory[BYTES - 1] = 1;
	}
}

/* watch=posted: a Receive is cleared after it was posted. */
static void clear(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		memset(from.memory, i + 1, BYTES);
		if (fixed)
			memset(to.memory, 0, BYTES);
		post_recv(&to, to_ep, 0, BYTES, 7);
		if (!fixed)
			memset(to.memory, 0, BYTES);
		post_send(&from, from_ep, 0, BYTES, 0);
		wait_dto(from.request);
		wait_dto(to.recv);
		if (to.memory[0] != i + 1)
			fail("another message came");
	}
}

/* watch=posted: the last byte of an RDMA Write, which the peer ignores, notes that it is posted. */
static void source(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		from.memory[BYTES - 1] = 0;
		post_rdma(dat_ep_post_rdma_write, 43);
		if (!fixed)
			from.memory[BYTES - 1] = 1;
		wait_dto(from.request);
		from.memory[BYTES - 1] = 1;
	}
}

/* watch=posted: the buffer of an RDMA Read is cleared after it was posted. */
static void sink(void)
{
	for (int i = 1; i <= ROUNDS; i++) {
		memset(to.memory, i, BYTES);
		if (fixed)
			memset(from.memory, 0, BYTES);
		post_rdma(dat_ep_post_rdma_read, 44);
		if (!fixed)
			memset(from.memory, 0, BYTES);
		wait_dto(from.request);
		if (from.memory[0] != i)
			fail("the Read got other bytes");
	}
}

/* poison=on: what changes in the buffer of a Receive is the message. */
static void peek(void)
{
	memset(from.memory, 'm', BYTES);
	post_recv(&to, to_ep, 0, BYTES, 0);
	post_send(&from, from_ep, 0, BYTES, 0);
	while (!fixed && to.memory[0] == 0)
		poll_once(to.connect);
	if (fixed)
		wait_dto(to.recv);
	if (to.memory[0] != 'm')
		fail("the message is another one");
	if (!fixed)
		wait_dto(to.recv);
	wait_dto(from.request);
}

/* poison=on: the buffer of a Receive that was flushed is as it was before the post. */
static void flushed(void)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	strcpy(to.memory, "no message");
	post_recv(&to, to_ep, 0, BYTES, 0);
	check(dat_ep_disconnect(from_ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
	wait_event(to.recv, DAT_DTO_COMPLETION_EVENT, &event);
	dto = &event.event_data.dto_completion_event_data;
	if (fixed ? dto->status == DAT_DTO_SUCCESS : strcmp(to.memory, "no message") != 0)
		fail("a message came");
}

/* placement=tail, placement=random: a Write is there once its last byte is. */
static void last_byte(void)
{
	for (int i = 1; i <= ROUNDS; i++) {
		memset(from.memory, i, BYTES);
		post_recv(&to, to_ep, BYTES, 8, 0);
		post_write();
		post_send(&from, from_ep, BYTES, 8, 0);
		while (!fixed && to.memory[BYTES - 1] != i)
			poll_once(to.connect);
		if (fixed)
			wait_dto(to.recv);
		for (int j = 0; j < BYTES; j++)
			if (to.memory[j] != i)
				fail("only a part of the Write is there");
		if (!fixed)
			wait_dto(to.recv);
		wait_dto(from.request);
		wait_dto(from.request);
	}
}

/* ends=device: the peer of a connection that breaks hears that it is broken. */
static void hang_up(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	/* No Receive is long enough. */
	post_recv(&to, to_ep, 0, 8, 0);
	post_send(&from, from_ep, 0, BYTES, 0);
	check(dat_evd_wait(to.connect, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	if (!fixed && event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		fail("the connection is not broken");
}

/* retry=spurious: a Send completes before the answer to it arrives. */
static void reply_first(void)
{
	DAT_EVENT event;

	for (int i = 0; i < ROUNDS; i++) {
		post_recv(&to, to_ep, 0, 8, 0);
		post_recv(&from, from_ep, BYTES, 8, 0);
		post_send(&from, from_ep, 0, 8, 0);
		wait_dto(to.recv);
		post_send(&to, to_ep, 0, 8, 0);
		wait_dto(from.recv);
		if (!fixed && !next_event(from.request, &event))
			fail("the answer overtook the completion of the request");
		if (fixed)
			wait_dto(from.request);
		wait_dto(to.request);
	}
}

/* complete=sent: a Write that has completed is in the memory of the peer. */
static void delivered(void)
{
	for (int i = 1; i <= ROUNDS; i++) {
		memset(from.memory, i, BYTES);
		post_recv(&to, to_ep, BYTES, 8, 0);
		post_write();
		post_send(&from, from_ep, BYTES, 8, 0);
		wait_dto(from.request);
		if (fixed)
			wait_dto(to.recv);
		if (to.memory[0] != i)
			fail("the Write has completed, and is not there");
		if (!fixed)
			wait_dto(to.recv);
		wait_dto(from.request);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "overwrite", overwrite }, { "clear", clear },     { "source", source },
	{ "sink", sink },           { "peek", peek },       { "flushed", flushed },
	{ "last_byte", last_byte }, { "hang_up", hang_up }, { "reply_first", reply_first },
	{ "delivered", delivered },
};

/* An Endpoint that can make RDMA Reads, and answer them. */
static DAT_EP_HANDLE reading_ep(struct end *end)
{
	DAT_EP_PARAM param = { .ep_attr = { .max_rdma_read_in = 1, .max_rdma_read_out = 1 } };
	DAT_EP_HANDLE ep = end_ep(end, 8, 8);

	check(dat_ep_modify(ep,
			    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN |
				    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
			    &param),
	      "dat_ep_modify");
	return ep;
}

int main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(cases) / sizeof(cases[0]);

	while (i < n && (argc < 2 || strcmp(argv[1], cases[i].name) != 0))
		i++;
	if (i == n)
		fail("no such case");
	fixed = argc > 2;
	end_open(&from, "emu0", 4 * BYTES);
	end_open(&to, "emu1", 4 * BYTES);
	from_ep = reading_ep(&from);
	to_ep = reading_ep(&to);
	connect_pair(&from, from_ep, &to, to_ep);
	cases[i].run();
	check(dat_ep_free(from_ep), "dat_ep_free");
	check(dat_ep_free(to_ep), "dat_ep_free");
	end_close(&from);
	end_close(&to);
	return 0;
}
