/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma.c - RDMA and binds of random programs. A Write goes to the window that its DTO has in the
 * memory of the peer's side, a Read comes from that side's source; both are looked at, byte by
 * byte.
 */
#include <string.h>

#include "prog.h"

#define POISON 0xa5

static uint8_t source_byte(int s, int i)
{
	return (uint8_t)(i * 13 + i / 241 + s * 101);
}

static uint8_t *source(const struct prog *p, int s)
{
	return p->side[s].memory + (size_t)2 * DTOS * SLOT;
}

static uint8_t *window(const struct prog *p, int s, int d)
{
	return p->side[s].memory + ((size_t)DTOS + (size_t)d) * SLOT;
}

void source_fill(struct prog *p, int s)
{
	uint8_t *at = source(p, s);

	for (int i = 0; i < SOURCE; i++)
		at[i] = source_byte(s, i);
}

static uint8_t written_byte(const struct prog *p, int d, int i)
{
	return (uint8_t)(p->dto[d].serial * 29 + (uint32_t)i * 3 + (uint32_t)i / 239);
}

/* ---- RMRs ---- */

int new_rmr(struct prog *p, int s)
{
	for (int m = 0; m < RMRS; m++) {
		if (p->rmr[m].handle)
			continue;
		p->rmr[m] = (struct rmr){ .side = s };
		ok(p, "dat_rmr_create", dat_rmr_create(p->side[s].pz, &p->rmr[m].handle));
		return m;
	}
	return NONE;
}

void drop_rmr(struct prog *p, int m)
{
	ok(p, "dat_rmr_free", dat_rmr_free(p->rmr[m].handle));
	p->rmr[m].handle = DAT_HANDLE_NULL;
}

/* All of the windows and the source, or nothing. */
void post_bind(struct prog *p, int e, int m, DAT_COMPLETION_FLAGS flags)
{
	struct rmr *rmr = &p->rmr[m];
	struct side *side = &p->side[rmr->side];
	int d = dto_new(p, DTO_BIND, e, NONE, rmr->bound && chance(p, 30) ? 0 : 1);
	DAT_LMR_TRIPLET range = {
		.lmr_context = side->lkey,
		.virtual_address = (DAT_VADDR)(uintptr_t)window(p, rmr->side, 0),
		.segment_length = p->dto[d].length ? (DAT_VLEN)DTOS * SLOT + SOURCE : 0,
	};
	DAT_RMR_COOKIE cookie = { .as_64 = dto_cookie(p, d).as_64 };

	says(p, "  bind: dto %d of ep %d, rmr %d, %s", d, e, m, p->dto[d].length ? "on" : "off");
	ok(p, "dat_rmr_bind",
	   dat_rmr_bind(rmr->handle, &range,
			DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			p->ep[e].handle, cookie, flags, &rmr->context));
	rmr->bound = false;
	rmr->users++;
	p->dto[d].rmr = m;
	request_posted(p, d, flags);
}

/* ---- posting ---- */

/* A key to the memory of that side: its region's, or that of an RMR which stays bound meanwhile. */
static DAT_RMR_CONTEXT any_key(struct prog *p, int d, int s)
{
	int m = pick(p, RMRS);

	if (!p->rmr[m].handle || p->rmr[m].side != s || !p->rmr[m].bound)
		return p->side[s].rkey;
	p->dto[d].rmr = m;
	p->rmr[m].users++;
	return p->rmr[m].context;
}

static DAT_RMR_TRIPLET remote(struct prog *p, int d, int s, const uint8_t *at, bool good)
{
	DAT_RMR_TRIPLET triplet = { .rmr_context = any_key(p, d, s),
				    .target_address = (DAT_VADDR)(uintptr_t)at,
				    .segment_length = (DAT_VLEN)p->dto[d].length };

	if (!good)
		triplet.target_address += MEMORY;
	return triplet;
}

static int peer_side(struct prog *p, int e)
{
	const struct conn *c = conn_of(p, e);

	return c ? c->side[1 - life_of(p, e)->end] : p->ep[e].side;
}

static void posted(struct prog *p, int e, int d, DAT_COMPLETION_FLAGS flags, bool good)
{
	struct conn *c = conn_of(p, e);

	if (c && !good)
		c->causes |= ACCESS;
	if (c)
		p->dto[d].message = c->way[life_of(p, e)->end].sent;
	request_posted(p, d, flags);
}

void post_write(struct prog *p, int e, int length, DAT_COMPLETION_FLAGS flags, bool good)
{
	int d = dto_new(p, DTO_WRITE, e, NONE, length), s = peer_side(p, e), pieces;
	DAT_RMR_TRIPLET to = remote(p, d, s, window(p, s, d), good);
	DAT_LMR_TRIPLET iov[2];

	says(p, "  write: dto %d of ep %d, %d bytes, flags %#x, %s", d, e, length,
	     (unsigned int)flags, good ? "good" : "bad");
	for (int i = 0; i < length; i++)
		dto_slot(p, d)[i] = written_byte(p, d, i);
	memset(window(p, s, d), POISON, SLOT);
	pieces = dto_segments(p, d, iov);
	to.segment_length = (DAT_VLEN)(length - 1);
	if (length > 0)
		refused(p, "dat_ep_post_rdma_write",
			dat_ep_post_rdma_write(p->ep[e].handle, pieces, iov, dto_cookie(p, d), &to,
					       flags),
			DAT_LENGTH_ERROR);
	/* There may be more room than it needs. */
	to.segment_length = (DAT_VLEN)(length + (good ? pick(p, SLOT - length + 1) : 0));
	ok(p, "dat_ep_post_rdma_write",
	   dat_ep_post_rdma_write(p->ep[e].handle, pieces, iov, dto_cookie(p, d), &to, flags));
	posted(p, e, d, flags, good);
}

void post_read(struct prog *p, int e, int length, DAT_COMPLETION_FLAGS flags, bool good)
{
	int d = dto_new(p, DTO_READ, e, NONE, length), s = peer_side(p, e), pieces;
	DAT_LMR_TRIPLET iov[2];
	DAT_RMR_TRIPLET from;

	p->dto[d].from = pick(p, SOURCE - length);
	from = remote(p, d, s, source(p, s) + p->dto[d].from, good);
	says(p, "  read: dto %d of ep %d, %d bytes, flags %#x, %s", d, e, length,
	     (unsigned int)flags, good ? "good" : "bad");
	memset(dto_slot(p, d), POISON, SLOT);
	pieces = dto_segments(p, d, iov);
	from.segment_length++;
	refused(p, "dat_ep_post_rdma_read",
		dat_ep_post_rdma_read(p->ep[e].handle, pieces, iov, dto_cookie(p, d), &from, flags),
		DAT_LENGTH_ERROR);
	from.segment_length--;
	ok(p, "dat_ep_post_rdma_read",
	   dat_ep_post_rdma_read(p->ep[e].handle, pieces, iov, dto_cookie(p, d), &from, flags));
	posted(p, e, d, flags, good);
}

/* ---- what must have come of it ---- */

static void check_window(struct prog *p, int d)
{
	const uint8_t *at = window(p, peer_side(p, p->dto[d].ep), d);

	for (int i = 0; i < SLOT; i++)
		if (at[i] != (i < p->dto[d].length ? written_byte(p, d, i) : POISON))
			fails(p, "dto %d: byte %d of %d that it wrote is wrong", d, i,
			      p->dto[d].length);
}

static void check_read(struct prog *p, int d)
{
	const uint8_t *at = dto_slot(p, d);
	int s = peer_side(p, p->dto[d].ep), from = p->dto[d].from;

	for (int i = 0; i < SLOT; i++)
		if (at[i] != (i < p->dto[d].length ? source_byte(s, from + i) : POISON))
			fails(p, "dto %d: byte %d of %d that it read is wrong", d, i,
			      p->dto[d].length);
}

static void check_bound(struct prog *p, int d)
{
	struct rmr *rmr = &p->rmr[p->dto[d].rmr];
	DAT_RMR_PARAM param;

	rmr->bound = p->dto[d].length > 0;
	if (!rmr->bound)
		return;
	ok(p, "dat_rmr_query", dat_rmr_query(rmr->handle, DAT_RMR_FIELD_ALL, &param));
	if (param.rmr_context != rmr->context ||
	    param.lmr_triplet.segment_length != (DAT_VLEN)DTOS * SLOT + SOURCE)
		fails(p, "dto %d: its RMR is bound to something else", d);
}

void rdma_succeeded(struct prog *p, int d)
{
	switch (p->dto[d].kind) {
	case DTO_WRITE:
		check_window(p, d);
		p->count[N_WRITTEN]++;
		break;
	case DTO_READ:
		check_read(p, d);
		p->count[N_READ]++;
		break;
	case DTO_BIND:
		check_bound(p, d);
		p->count[N_BOUND]++;
		break;
	default:
		break;
	}
}

void writes_came(struct prog *p, int e, int message)
{
	for (int n = 0; n < p->ep[e].send_count; n++) {
		int d = p->ep[e].sends[n];

		if (p->dto[d].kind == DTO_WRITE && p->dto[d].live && p->dto[d].message < message)
			check_window(p, d);
	}
}
