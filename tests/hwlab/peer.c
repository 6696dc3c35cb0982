/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer.c - the transfers of dtest, see peer.h; all received bytes are compared.
 *
 *	peer server ADAPTER ADDRESS PROVIDER	PROVIDER is the adapter's name for DAPL
 *	peer client ADAPTER ADDRESS LOG		LOG has the output of dtest -v
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/hwlab/peer.h"

#define WRITES      10
#define TEXT        26 /* bytes of dtest's text in its memory, with the terminating 0 */
#define PING        0x55
#define ANSWER      0xaa
#define DTEST_FILLS 'b' /* dtest's memory beside its texts */

/*
 * Byte i of our buffers. Their first bytes are a text, because dtest prints them as a string.
 */
static void fill(unsigned char *bytes, const char *text, unsigned int factor)
{
	for (unsigned int i = 0; i < PEER_BYTES; i++)
		bytes[i] = (unsigned char)(i * factor >> 3);
	strcpy((char *)bytes, text);
}

static DAT_LMR_TRIPLET segment(const struct peer *peer, const void *where, size_t bytes)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = peer->local,
		.virtual_address = (DAT_VADDR)(uintptr_t)where,
		.segment_length = bytes,
	};
}

static void post_receive(struct peer *peer, void *where, size_t bytes)
{
	DAT_LMR_TRIPLET target = segment(peer, where, bytes);
	DAT_DTO_COOKIE cookie = { .as_ptr = where };

	peer_check(dat_ep_post_recv(peer->ep, 1, &target, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
}

static void expect(DAT_EVD_HANDLE evd, const void *where, size_t bytes, const char *what)
{
	const DAT_EVENT event = peer_next(evd);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	peer_need(event.event_number == DAT_DTO_COMPLETION_EVENT, what);
	if (dto->status != DAT_DTO_SUCCESS)
		fprintf(stderr, "peer: status %d\n", dto->status);
	peer_need(dto->status == DAT_DTO_SUCCESS && dto->user_cookie.as_ptr == where &&
			  dto->transfered_length == bytes,
		  what);
}

static void transmit(struct peer *peer, void *where, size_t bytes, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET source = segment(peer, where, bytes);
	DAT_DTO_COOKIE cookie = { .as_ptr = where };

	peer_check(dat_ep_post_send(peer->ep, 1, &source, cookie, flags), "dat_ep_post_send");
	if (flags == DAT_COMPLETION_DEFAULT_FLAG)
		expect(peer->requests, where, bytes, "a Send");
}

/* ---- notes ---- */

static void say(struct peer *peer, const void *where)
{
	struct peer_note *note = &peer->memory->said;

	note->address = htobe64((uintptr_t)where);
	note->length = htobe32(PEER_BYTES);
	note->key = htobe32(peer->key);
	transmit(peer, note, sizeof(*note), DAT_COMPLETION_DEFAULT_FLAG);
}

static void hear(struct peer *peer, int n)
{
	const struct peer_note *note = &peer->memory->heard[n];

	expect(peer->receives, note, sizeof(*note), "a note");
	peer->remote.address = be64toh(note->address);
	peer->remote.length = be32toh(note->length);
	peer->remote.key = be32toh(note->key);
	peer_need(peer->remote.length == PEER_BYTES, "the length that a note names");
}

/* The client sends its note first. */
static void exchange(struct peer *peer, int n, const void *where)
{
	if (peer->serves)
		hear(peer, n);
	say(peer, where);
	if (!peer->serves)
		hear(peer, n);
}

/* ---- RDMA ---- */

static DAT_RMR_TRIPLET remote(const struct peer *peer)
{
	return (DAT_RMR_TRIPLET){
		.rmr_context = peer->remote.key,
		.target_address = peer->remote.address,
		.segment_length = peer->remote.length,
	};
}

/* The peer's memory begins with its text; its other bytes are unchanged. */
static bool begins(const unsigned char *bytes, const char *who, const char *what)
{
	char text[TEXT + 8];

	snprintf(text, sizeof(text), "%s RDMA %s data...", who, what);
	return strcmp((const char *)bytes, text) == 0;
}

static const char *other(const struct peer *peer)
{
	return peer->serves ? "client" : "server";
}

static void write_there(struct peer *peer)
{
	struct peer_memory *memory = peer->memory;
	DAT_LMR_TRIPLET source = segment(peer, memory->ours, PEER_BYTES);
	DAT_RMR_TRIPLET target = remote(peer);
	DAT_DTO_COOKIE cookie = { .as_ptr = memory->ours };

	fill(memory->ours, "libdat has written this", 11);
	fill(memory->offered, "libdat offers this", 13);
	for (int i = 0; i < WRITES; i++)
		peer_check(dat_ep_post_rdma_write(peer->ep, 1, &source, cookie, &target,
						  DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_rdma_write");
	for (int i = 0; i < WRITES; i++)
		expect(peer->requests, memory->ours, PEER_BYTES, "an RDMA Write");
	exchange(peer, 1, memory->offered);
	peer_need(begins(memory->written, other(peer), "write"), "what was written here");
	for (int i = TEXT; i < PEER_BYTES; i++)
		peer_need(memory->written[i] == DTEST_FILLS, "all of what was written here");
	puts("what DAPL writes is here");
}

/* dtest writes its text over our data when it begins to read, at some time. */
static void read_there(struct peer *peer)
{
	struct peer_memory *memory = peer->memory;
	DAT_LMR_TRIPLET target = segment(peer, memory->fetched, PEER_BYTES);
	DAT_RMR_TRIPLET source = remote(peer);
	DAT_DTO_COOKIE cookie = { .as_ptr = memory->fetched };

	do {
		peer_check(dat_ep_post_rdma_read(peer->ep, 1, &target, cookie, &source,
						 DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_rdma_read");
		expect(peer->requests, memory->fetched, PEER_BYTES, "an RDMA Read");
	} while (!begins(memory->fetched, other(peer), "read"));
	peer_need(memcmp(memory->fetched + TEXT, memory->ours + TEXT, PEER_BYTES - TEXT) == 0,
		  "what was written there and read back");
	puts("what libdat wrote is read back");
	for (int i = 0; i < PEER_PINGS; i++)
		post_receive(peer, memory->pings[i], PEER_BYTES);
	exchange(peer, 2, memory->offered);
}

/* ---- pings ---- */

/* On iWARP a message does not wait for a Receive, so dtest must have posted all of them before. */
static void ping(struct peer *peer)
{
	struct peer_memory *memory = peer->memory;

	peer_hear(peer->log, "Posted Receive Message Buffer", PEER_PINGS);
	fill(memory->ping, "", 17);
	memory->ping[0] = PING;
	for (int i = 0; i < PEER_PINGS; i++) {
		transmit(peer, memory->ping, PEER_BYTES, DAT_COMPLETION_DEFAULT_FLAG);
		expect(peer->receives, memory->pings[i], PEER_BYTES, "an answer");
		peer_need(memory->pings[i][0] == ANSWER, "what the answer says");
	}
}

/*
 * The client may disconnect after the last answer, before that Send is acknowledged.
 */
static void answer(struct peer *peer)
{
	struct peer_memory *memory = peer->memory;

	fill(memory->ping, "", 19);
	memory->ping[0] = ANSWER;
	for (int i = 0; i < PEER_PINGS; i++) {
		expect(peer->receives, memory->pings[i], PEER_BYTES, "a ping");
		peer_need(memory->pings[i][0] == PING, "what the ping says");
		transmit(peer, memory->ping, PEER_BYTES,
			 i < PEER_PINGS - 1 ? DAT_COMPLETION_DEFAULT_FLAG
					    : DAT_COMPLETION_SUPPRESS_FLAG);
	}
}

/* dtest's first ping or answer still has the data of its RDMA Read in its memory. */
static void ping_pong(struct peer *peer)
{
	struct peer_memory *memory = peer->memory;

	if (peer->serves)
		answer(peer);
	else
		ping(peer);
	peer_need(memcmp(memory->pings[0] + 1, memory->offered + 1, PEER_BYTES - 1) == 0,
		  "what was offered, read there and sent back");
	puts("what DAPL reads comes back");
}

int main(int argc, char **argv)
{
	static struct peer peer;
	struct in_addr address;

	if (argc != 5 || !inet_aton(argv[3], &address)) {
		fputs("usage: peer server|client ADAPTER ADDRESS PROVIDER|LOG\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	peer.serves = strcmp(argv[1], "server") == 0;
	peer.log = argv[4];
	peer_open(&peer, argv[2]);
	for (int i = 0; i < PEER_NOTES; i++)
		post_receive(&peer, &peer.memory->heard[i], sizeof(struct peer_note));
	peer_connect(&peer, address, argv[4]);
	exchange(&peer, 0, peer.memory->written);
	write_there(&peer);
	read_there(&peer);
	ping_pong(&peer);
	peer_disconnect(&peer);
	peer_close(&peer);
	puts("all is as it should be");
	return 0;
}
