/* SPDX-License-Identifier: BSD-3-Clause */
/* bytes.c - the bytes of a posted buffer, and what is told of one that the program changed. */
#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fabric/adapter.h"
#include "emu/fabric/trace.h"
#include "emu/guard.h"
#include "emu/mem.h"
#include "posted.h"

#define BLOCK     4096u
#define SAID_MOST 4

/* ---- the program's memory ---- */

/*
 * The raw copy: a sanitizer has nothing to say about it, since the NIC need not access these bytes
 * at all.
 */
static bool access_bytes(const struct emu_posted *p, uint64_t at, uint8_t *own, uint64_t length,
			 bool write)
{
	for (uint32_t i = 0; length > 0 && i < p->num_sge; i++) {
		const struct nic_sge *sge = &p->sge[i];
		uint64_t n = sge->length > at ? sge->length - at : 0;
		uint8_t *theirs = emu_memory(sge->addr + at);

		if (n > length)
			n = length;
		if (n > 0 && (write ? emu_guard_copy_raw(theirs, own, n)
				    : emu_guard_copy_raw(own, theirs, n)))
			return false;
		at = n > 0 || at < sge->length ? 0 : at - sge->length;
		own += n;
		length -= n;
	}
	return length == 0;
}

bool emu_bytes_read(const struct emu_posted *p, uint64_t at, uint8_t *to, uint64_t length)
{
	return access_bytes(p, at, to, length, false);
}

bool emu_bytes_write(const struct emu_posted *p, uint64_t at, const uint8_t *from, uint64_t length)
{
	return access_bytes(p, at, (uint8_t *)(uintptr_t)from, length, true);
}

/* ---- sums ---- */

static uint64_t sum_of(const uint8_t *bytes, uint64_t n)
{
	uint64_t sum = 0xcbf29ce484222325ul;

	while (n-- > 0)
		sum = (sum ^ *bytes++) * 0x100000001b3ul;
	return sum;
}

/* False: the memory is gone. */
static bool sum_block(const struct emu_posted *p, uint64_t block, uint64_t *sum)
{
	uint64_t at = block * BLOCK, n = p->length - at < BLOCK ? p->length - at : BLOCK;
	uint8_t now[BLOCK];

	if (!emu_bytes_read(p, at, now, n))
		return false;
	*sum = sum_of(now, n);
	return true;
}

uint64_t *emu_bytes_sums(const struct emu_posted *p)
{
	uint64_t blocks = (p->length + BLOCK - 1) / BLOCK;
	uint64_t *sums = malloc(blocks * sizeof(*sums));

	for (uint64_t i = 0; sums && i < blocks; i++) {
		if (sum_block(p, i, &sums[i]))
			continue;
		free(sums);
		return NULL;
	}
	return sums;
}

/* ---- what is told ---- */

static const char *const works[NIC_OP_COUNT] = {
	[NIC_OP_SEND] = "SEND", [NIC_OP_WRITE] = "RDMA_WRITE",  [NIC_OP_READ] = "RDMA_READ",
	[NIC_OP_RECV] = "RECV", [NIC_OP_SWAP] = "COMPARE_SWAP", [NIC_OP_ADD] = "FETCH_ADD",
};

/* "emu0.ep1"; of a Receive that is still on an SRQ: "emu0.srq1". */
static void name_owner(struct emu_world *w, const struct emu_posted *p, char name[64])
{
	const struct emu_qp *qp = emu_qp_at(w, p->qp);
	const struct emu_srq *srq = &EMU_AT(w->fab->srq, p->srq);

	if (p->qp)
		snprintf(name, 64, EMU_QP, EMU_QP_OF(w, qp));
	else
		snprintf(name, 64, "%s.srq%u", emu_adapter_name(w, srq->adapter), srq->name);
}

/* What the program calls the number that it gave. */
static const char *id_name(struct emu_world *w, const struct emu_posted *p)
{
	if (!p->qp)
		return "id";
	return emu_qp_at(w, p->qp)->noun == NIC_NOUN_EP ? "cookie" : "wr_id";
}

/* A number that needs more bits than 32 is probably an address, which would make runs differ. */
static void name_work(struct emu_world *w, const struct emu_posted *p, char text[64])
{
	int n = snprintf(text, 64, "work=%s", works[p->what % NIC_OP_COUNT]);

	if (p->wr_id <= UINT32_MAX)
		n += snprintf(text + n, 64 - (size_t)n, " %s=%lu", id_name(w, p), p->wr_id);
	if (p->message)
		snprintf(text + n, 64 - (size_t)n, " message=%u", p->message);
}

/* On stderr, of the first few; the trace has all. */
static void say_change(struct emu_world *w, const struct emu_posted *p, const char *name,
		       uint32_t segment, const char *bytes)
{
	uint32_t before = emu_posted_violations(&w->nics[0].base) - 1;

	if (before < SAID_MOST)
		fprintf(stderr,
			"libdat: %s: the program changed a buffer of the adapter: %s, %s %lu, "
			"segment %u: %s; it is the adapter's from the post to the completion "
			"(watch=posted)\n",
			name, works[p->what % NIC_OP_COUNT], id_name(w, p), p->wr_id, segment,
			bytes);
	else if (before == SAID_MOST)
		fprintf(stderr, "libdat: and more such buffers, which the trace has\n");
}

/* was, is: the byte, or -1: unknown, somewhere in the block from `at` on. */
static void tell_change(struct emu_world *w, struct emu_posted *p, uint64_t at, int was, int is)
{
	char name[64], work[64], byte[64] = "";
	uint64_t offset = at;
	uint32_t segment = 0;

	p->told = true;
	while (segment + 1 < p->num_sge && offset >= p->sge[segment].length)
		offset -= p->sge[segment++].length;
	name_owner(w, p, name);
	name_work(w, p, work);
	if (was >= 0)
		snprintf(byte, sizeof(byte), " was=%d is=%d", was, is);
	emu_trace(w, "%s violation rule=watch %s segment=%u offset=%lu%s", name, work, segment,
		  offset, byte);
	if (was >= 0)
		snprintf(byte, sizeof(byte), "byte %lu was 0x%02x, is 0x%02x", offset, was, is);
	else
		snprintf(byte, sizeof(byte), "some of the %u bytes from %lu on", BLOCK, offset);
	say_change(w, p, name, segment, byte);
}

/* ---- comparing ---- */

static void compare_sums(struct emu_world *w, struct emu_posted *p, uint64_t at, uint64_t length)
{
	uint64_t sum;

	for (uint64_t i = at / BLOCK; i * BLOCK < at + length && !p->told; i++)
		if (sum_block(p, i, &sum) && sum != p->sums[i])
			tell_change(w, p, i * BLOCK, -1, -1);
}

void emu_bytes_compare(struct emu_world *w, struct emu_posted *p, uint64_t at, uint64_t length)
{
	uint8_t now[BLOCK];
	bool same;

	if (p->sums && !p->told)
		compare_sums(w, p, at, length);
	while (p->bytes && !p->told && length > 0) {
		uint64_t n = length < BLOCK ? length : BLOCK;

		if (!emu_bytes_read(p, at, now, n))
			return; /* the memory is gone, which the request finds out itself */
		same = memcmp(now, p->bytes + at, n) == 0;
		for (uint64_t i = 0; !same && i < n && !p->told; i++)
			if (now[i] != p->bytes[at + i])
				tell_change(w, p, at + i, p->bytes[at + i], now[i]);
		at += n;
		length -= n;
	}
}

void emu_bytes_refresh(struct emu_posted *p, uint64_t addr, uint64_t length, bool garbage)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < p->num_sge; at += p->sge[i++].length) {
		uint64_t begin = p->sge[i].addr, end = begin + p->sge[i].length, n;

		if (addr > begin)
			begin = addr;
		if (addr + length < end)
			end = addr + length;
		if (begin >= end)
			continue;
		n = end - begin;
		begin = at + (begin - p->sge[i].addr);
		if (p->bytes)
			(void)emu_bytes_read(p, begin, p->bytes + begin, n);
		if (p->before && !garbage)
			(void)emu_bytes_read(p, begin, p->before + begin, n);
		for (uint64_t b = begin / BLOCK; p->sums && b * BLOCK < begin + n; b++)
			(void)sum_block(p, b, &p->sums[b]);
	}
}

/* Number of bytes that two segments share, and where these begin in each. */
static uint64_t shared_bytes(const struct nic_sge *a, const struct nic_sge *b, uint64_t *in_a,
			     uint64_t *in_b)
{
	uint64_t begin = a->addr > b->addr ? a->addr : b->addr;
	uint64_t a_end = a->addr + a->length, b_end = b->addr + b->length;
	uint64_t end = a_end < b_end ? a_end : b_end;

	*in_a = begin - a->addr;
	*in_b = begin - b->addr;
	return end > begin ? end - begin : 0;
}

void emu_bytes_inherit(struct emu_posted *p, const struct emu_posted *from)
{
	uint64_t at = 0, in_p, in_from, n;

	for (uint32_t i = 0; i < p->num_sge; at += p->sge[i++].length) {
		uint64_t other = 0;

		for (uint32_t j = 0; j < from->num_sge; other += from->sge[j++].length) {
			n = shared_bytes(&p->sge[i], &from->sge[j], &in_p, &in_from);
			if (n > 0)
				memcpy(p->before + at + in_p, from->before + other + in_from, n);
		}
	}
}
