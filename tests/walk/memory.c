/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - where messages come from and go to.
 *
 * Every byte of a message is a function of its connection and number, so a buffer says by itself
 * what it received. Buffers are poisoned when they are posted, and have guard bytes behind them.
 */
#include <string.h>

#include "walk.h"

static uint8_t message_byte(uint32_t id, int n, unsigned int at)
{
	uint64_t key = ((uint64_t)id << 20 | (unsigned int)n) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint8_t)((key >> (at % 8 * 8)) ^ (at * 0x2fu));
}

static uint8_t *buffer_at(struct walk *w, int b)
{
	return w->memory_b + (size_t)b * (w->buffer_size + WALK_GUARD);
}

static uint8_t *slot_at(struct walk *w, int p, int n)
{
	return w->memory_a + ((size_t)p * WALK_SLOTS + (size_t)(n % WALK_SLOTS)) * w->slot_size;
}

/* One segment or two, split anywhere */
static int split(struct walk *w, uint8_t *at, unsigned int length, DAT_LMR_CONTEXT lkey,
		 DAT_LMR_TRIPLET iov[2])
{
	unsigned int first = length;

	if (length > 1 && walk_chance(w, 30))
		first = 1 + (unsigned int)walk_pick(w, (int)length - 1);
	iov[0] = (DAT_LMR_TRIPLET){ .lmr_context = lkey,
				    .virtual_address = (DAT_VADDR)(uintptr_t)at,
				    .segment_length = first };
	iov[1] = (DAT_LMR_TRIPLET){ .lmr_context = lkey,
				    .virtual_address = (DAT_VADDR)(uintptr_t)(at + first),
				    .segment_length = length - first };
	return first < length ? 2 : 1;
}

/* Any free buffer: it is poisoned again, so that a late write is noticed. */
int buffer_take(struct walk *w, int plain, int order, DAT_LMR_TRIPLET iov[2], int *segments,
		DAT_DTO_COOKIE *cookie)
{
	int first = walk_pick(w, WALK_BUFFERS);

	for (int n = 0; n < WALK_BUFFERS; n++) {
		int b = (first + n) % WALK_BUFFERS;
		struct buffer *buffer = &w->buffer[b];

		if (buffer->out)
			continue;
		memset(buffer_at(w, b), WALK_POISON, w->buffer_size + WALK_GUARD);
		buffer->out = true;
		buffer->plain = plain;
		buffer->order = order;
		buffer->serial++;
		cookie->as_64 = (uint64_t)buffer->serial << 32 | (unsigned int)b;
		*segments = split(w, buffer_at(w, b), w->buffer_size, w->lkey_b, iov);
		return b;
	}
	return -1;
}

int buffer_of(struct walk *w, DAT_DTO_COOKIE cookie)
{
	uint64_t b = cookie.as_64 & 0xffffffff;

	if (b >= WALK_BUFFERS || w->buffer[b].serial != cookie.as_64 >> 32)
		walk_fails(w, "a Receive completed with cookie %#llx, which was never given",
			   (unsigned long long)cookie.as_64);
	if (!w->buffer[b].out)
		walk_fails(w, "buffer %d completed twice", (int)b);
	return (int)b;
}

void buffer_give_back(struct walk *w, int b)
{
	w->buffer[b].out = false;
}

int buffer_forget(struct walk *w, int plain)
{
	int n = 0;

	for (int b = 0; b < WALK_BUFFERS; b++) {
		if (w->buffer[b].out && w->buffer[b].plain == plain) {
			buffer_check_guard(w, b);
			w->buffer[b].out = false;
			n++;
		}
	}
	return n;
}

int buffer_count(const struct walk *w, int plain)
{
	int n = 0;

	for (int b = 0; b < WALK_BUFFERS; b++)
		n += w->buffer[b].out && w->buffer[b].plain == plain;
	return n;
}

void buffer_check_guard(struct walk *w, int b)
{
	const uint8_t *guard = buffer_at(w, b) + w->buffer_size;

	for (int n = 0; n < WALK_GUARD; n++) {
		if (guard[n] != WALK_POISON)
			walk_fails(w, "byte %d behind buffer %d was written", n, b);
	}
}

bool buffer_holds(struct walk *w, int b, int p, int n)
{
	unsigned int length = (unsigned int)model_message(&w->model.conn[p], n)->length;
	const uint8_t *at = buffer_at(w, b);
	unsigned int same = 0;

	while (same < length && at[same] == message_byte(w->pair[p].id, n, same))
		same++;
	if (same < length)
		return false;
	while (same < w->buffer_size && at[same] == WALK_POISON)
		same++;
	return same == w->buffer_size;
}

void slot_fill(struct walk *w, int p, int n, unsigned int length, DAT_LMR_TRIPLET iov[2],
	       int *segments)
{
	uint8_t *at = slot_at(w, p, n);

	for (unsigned int byte = 0; byte < length; byte++)
		at[byte] = message_byte(w->pair[p].id, n, byte);
	*segments = split(w, at, length, w->lkey_a, iov);
	if (length == 0 && walk_chance(w, 50))
		*segments = 0;
}

/* A completed Send's memory is the Consumer's again: the NIC must not read it any more. */
void slot_spoil(struct walk *w, int p, int n)
{
	memset(slot_at(w, p, n), 0x5a, w->slot_size);
}
