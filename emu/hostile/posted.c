/* SPDX-License-Identifier: BSD-3-Clause */
/* posted.c - records of the buffers that the NIC owns; see posted.h. */
#include "posted.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "emu/fabric/adapter.h"
#include "emu/fabric/sharing.h"
#include "emu/mem.h"
#include "host/random.h"
#include "bytes.h"
#include "sent.h"

#define BUCKETS 1024u

SLIST_HEAD(emu_bucket, emu_posted);
TAILQ_HEAD(emu_posted_list, emu_posted);

/* What this process has posted. */
struct emu_hostile {
	struct emu_posted_list all; /* in the order of the posts */
	struct emu_bucket bucket[BUCKETS];
	uint32_t last;   /* id */
	uint64_t copied; /* bytes of copies */
	uint32_t violations;
};

/*
 * Of LeakSanitizer, which does not look into mapped memory, where a world is: a process that exits
 * without closing its adapters would seem to have leaked what it posted.
 */
void __lsan_ignore_object(const void *object) __attribute__((weak));

static struct emu_hostile *hostile_of(struct emu_world *w)
{
	if (w->hostile)
		return w->hostile;
	w->hostile = calloc(1, sizeof(*w->hostile));
	if (!w->hostile)
		return NULL;
	TAILQ_INIT(&w->hostile->all);
	if (__lsan_ignore_object)
		__lsan_ignore_object(w->hostile);
	return w->hostile;
}

static struct emu_posted *find_posted(const struct emu_world *w, uint32_t id)
{
	struct emu_posted *p;

	if (!id || !w->hostile)
		return NULL;
	SLIST_FOREACH(p, &w->hostile->bucket[id % BUCKETS], chain)
	if (p->id == id)
		return p;
	return NULL;
}

static void free_posted(struct emu_hostile *h, struct emu_posted *p)
{
	h->violations += p->told;
	TAILQ_REMOVE(&h->all, p, entry);
	SLIST_REMOVE(&h->bucket[p->id % BUCKETS], p, emu_posted, chain);
	h->copied -= (p->bytes ? p->length : 0) + (p->before ? p->length : 0);
	h->copied -= p->kept ? p->length : 0;
	free(p->kept);
	free(p->bytes);
	free(p->before);
	free(p->sums);
	free(p);
}

/* Memory of this process has changed: by a payload, or by garbage. */
static void posted_changed(struct emu_world *w, uint64_t addr, uint64_t length, bool garbage)
{
	struct emu_posted *p;

	TAILQ_FOREACH(p, &w->hostile->all, entry)
		emu_bytes_refresh(p, addr, length, garbage);
}

/* ---- a post ---- */

/* A copy of the buffer; NULL: there is no room for one, or the memory is gone. */
static uint8_t *copy_buffer(struct emu_hostile *h, const struct emu_posted *p)
{
	uint8_t *bytes = NULL;

	if (p->length <= EMU_POSTED_BYTES - h->copied)
		bytes = malloc(p->length);
	if (!bytes)
		return NULL;
	if (!emu_bytes_read(p, 0, bytes, p->length)) {
		free(bytes);
		return NULL;
	}
	h->copied += p->length;
	return bytes;
}

/* Garbage that depends on the seed and the post alone. */
static void fill_with_garbage(struct emu_world *w, const struct emu_posted *p)
{
	uint64_t state = w->config.seed ^ (uint64_t)p->id << 32, word;

	for (uint64_t at = 0; at < p->length; at += sizeof(word)) {
		uint64_t n = p->length - at < sizeof(word) ? p->length - at : sizeof(word);

		word = random_next(&state) | 0x0101010101010101ul; /* no byte is 0 */
		emu_bytes_write(p, at, (const uint8_t *)&word, n);
	}
	for (uint32_t i = 0; i < p->num_sge; i++)
		posted_changed(w, p->sge[i].addr, p->sge[i].length, true);
}

static void poison_buffer(struct emu_world *w, struct emu_posted *p)
{
	const struct emu_posted *other;

	p->before = copy_buffer(w->hostile, p);
	if (!p->before)
		return;
	TAILQ_FOREACH(other, &w->hostile->all, entry)
		if (other != p && other->before)
			emu_bytes_inherit(p, other);
	fill_with_garbage(w, p);
}

static void record_bytes(struct emu_world *w, struct emu_posted *p)
{
	struct emu_hostile *h = w->hostile;

	if (p->what == NIC_OP_RECV && (w->config.hostile & NIC_HOSTILE_POISON))
		poison_buffer(w, p);
	if (!(w->config.hostile & NIC_HOSTILE_WATCH))
		return;
	p->bytes = copy_buffer(h, p);
	if (!p->bytes)
		p->sums = emu_bytes_sums(p);
}

static uint32_t add_posted(struct emu_world *w, const struct emu_posted *made)
{
	struct emu_hostile *h = hostile_of(w);
	struct emu_posted *p = h ? malloc(sizeof(*p)) : NULL;

	if (!p)
		return 0;
	*p = *made;
	for (uint32_t i = 0; i < p->num_sge; i++)
		p->length += p->sge[i].length;
	p->id = ++h->last ?: ++h->last;
	TAILQ_INSERT_TAIL(&h->all, p, entry);
	SLIST_INSERT_HEAD(&h->bucket[p->id % BUCKETS], p, chain);
	if (p->length > 0)
		record_bytes(w, p);
	return p->id;
}

static void set_segments(struct emu_posted *p, const struct nic_sge *sge, uint32_t n)
{
	p->num_sge = n < EMU_MAX_SGE ? n : EMU_MAX_SGE;
	memcpy(p->sge, sge, p->num_sge * sizeof(*sge));
}

uint32_t emu_posted_request(struct emu_world *w, const struct emu_qp *qp,
			    const struct nic_send_wr *wr, uint32_t message)
{
	struct emu_posted p = { .qp = emu_qp_index(w, qp),
				.wr_id = wr->wr_id,
				.message = message,
				.what = wr->opcode };

	if (wr->opcode == NIC_OP_BIND ||
	    !(w->config.hostile & (NIC_HOSTILE_WATCH | NIC_HOSTILE_SENT)))
		return 0;
	set_segments(&p, wr->sge, wr->num_sge);
	return add_posted(w, &p);
}

uint32_t emu_posted_receive(struct emu_world *w, const struct emu_qp *qp, const struct emu_srq *srq,
			    const struct nic_recv_wr *wr)
{
	struct emu_posted p = { .qp = qp ? emu_qp_index(w, qp) : 0,
				.srq = srq ? (uint32_t)(srq - w->fab->srq) : 0,
				.wr_id = wr->wr_id,
				.what = NIC_OP_RECV };

	set_segments(&p, wr->sge, wr->num_sge);
	return add_posted(w, &p);
}

/* ---- accesses of the NIC ---- */

void emu_posted_look(struct emu_world *w, uint32_t id, uint64_t addr, uint64_t length)
{
	struct emu_posted *p = find_posted(w, id);
	uint64_t at = 0;

	for (uint32_t i = 0; p && i < p->num_sge; i++) {
		const struct nic_sge *sge = &p->sge[i];

		if (addr - sge->addr < sge->length && length <= sge->length - (addr - sge->addr)) {
			emu_bytes_compare(w, p, at + (addr - sge->addr), length);
			return;
		}
		at += sge->length;
	}
}

void emu_posted_wrote(struct emu_world *w, uint64_t addr, uint64_t length)
{
	if (w->hostile)
		posted_changed(w, addr, length, false);
}

enum emu_copy emu_hostile_move(struct emu_world *w, const struct emu_sgl *dst, uint64_t to,
			       const struct emu_sgl *src, uint64_t from, uint64_t length)
{
	struct emu_place target = { EMU_AT(w->fab->adapters, dst->adapter).process, to,
				    dst->posted };
	struct emu_place source = { EMU_AT(w->fab->adapters, src->adapter).process, from,
				    src->posted };
	const void *kept;
	uint64_t fault;

	if (emu_is_shared(w))
		return w->sharing->copy(w, &target, &source, length);
	emu_posted_look(w, src->posted, from, length);
	emu_posted_look(w, dst->posted, to, length);
	kept = emu_posted_kept(w, src->posted, from);
	fault = emu_guard_copy(emu_memory(to), kept ? kept : emu_memory(from), length);
	emu_posted_wrote(w, to, length);
	if (!fault)
		return EMU_COPY_OK;
	return emu_guard_is_in(fault, emu_memory(from), length) ? EMU_COPY_BAD_SOURCE
								: EMU_COPY_BAD_TARGET;
}

/* ---- complete=sent ---- */

bool emu_posted_keep(struct emu_world *w, uint32_t id)
{
	struct emu_posted *p = find_posted(w, id);

	if (!p)
		return false;
	emu_bytes_compare(w, p, 0, p->length);
	if (!p->kept && p->length > 0)
		p->kept = copy_buffer(w->hostile, p);
	if (!p->kept && p->length > 0)
		return false;
	/* What the program does with the buffer from now on is its own business. */
	w->hostile->copied -= p->bytes ? p->length : 0;
	free(p->bytes);
	free(p->sums);
	p->bytes = NULL;
	p->sums = NULL;
	return true;
}

bool emu_posted_is_kept(const struct emu_world *w, const struct emu_swqe *wqe)
{
	const struct emu_posted *p;

	if (!(w->config.hostile & NIC_HOSTILE_SENT) || !(wqe->flags & EMU_SWQE_SENT))
		return false;
	p = find_posted(w, wqe->mem_epoch);
	return p && (p->kept || p->length == 0);
}

const void *emu_posted_kept(const struct emu_world *w, uint32_t id, uint64_t addr)
{
	const struct emu_posted *p = find_posted(w, id);
	uint64_t at = 0;

	if (!p || !p->kept)
		return NULL;
	for (uint32_t i = 0; i < p->num_sge; at += p->sge[i++].length)
		if (addr - p->sge[i].addr < p->sge[i].length)
			return p->kept + at + (addr - p->sge[i].addr);
	return NULL;
}

/* ---- completion ---- */

/* Bytes from `placed` on, which no message has written, get their values of before the post. */
static void restore_rest(struct emu_world *w, struct emu_posted *p, uint32_t placed)
{
	uint64_t at = 0;

	emu_bytes_write(p, placed, p->before + placed, p->length - placed);
	for (uint32_t i = 0; i < p->num_sge; i++) {
		uint64_t end = at + p->sge[i].length;

		if (end > placed) {
			uint64_t skip = placed > at ? placed - at : 0;

			emu_posted_wrote(w, p->sge[i].addr + skip, p->sge[i].length - skip);
		}
		at = end;
	}
}

void emu_posted_done_here(struct emu_world *w, uint32_t qp, uint32_t id, uint32_t placed)
{
	struct emu_posted *p = find_posted(w, id);

	if (!p)
		return;
	if (p->srq)
		p->qp = qp;
	emu_bytes_compare(w, p, 0, p->length);
	if (p->before && placed == EMU_POSTED_FAILED)
		fill_with_garbage(w, p);
	else if (p->before && placed < p->length)
		restore_rest(w, p, placed);
	free_posted(w->hostile, p);
}

void emu_posted_done(struct emu_world *w, const struct emu_qp *qp, uint32_t id, uint32_t placed)
{
	struct emu_upcall up = { .kind = EMU_UPCALL_POSTED_DONE,
				 .index = id,
				 .qp = emu_qp_index(w, qp),
				 .what = placed };

	if (!id)
		return;
	if (emu_mine(w, qp->adapter))
		emu_posted_done_here(w, up.qp, id, placed);
	else
		emu_post_upcall(w, qp->adapter, &up);
}

void emu_posted_drop(struct emu_world *w, uint32_t id)
{
	struct emu_posted *p = find_posted(w, id);

	if (p)
		free_posted(w->hostile, p);
}

void emu_posted_forget(struct emu_world *w, const struct emu_qp *qp, const struct emu_srq *srq)
{
	uint32_t qp_index = qp ? emu_qp_index(w, qp) : 0;
	uint32_t srq_index = srq ? (uint32_t)(srq - w->fab->srq) : 0;
	struct emu_posted *p, *next;

	if (!w->hostile || !emu_mine(w, qp ? qp->adapter : srq->adapter))
		return;
	for (p = TAILQ_FIRST(&w->hostile->all); p; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (qp ? p->qp == qp_index && !p->srq : p->srq == srq_index)
			free_posted(w->hostile, p);
	}
}

uint32_t emu_posted_violations(struct nic *nic)
{
	const struct emu_world *w = emu_world_of(nic);
	const struct emu_posted *p;
	uint32_t n = w->hostile ? w->hostile->violations : 0;

	if (w->hostile)
		TAILQ_FOREACH(p, &w->hostile->all, entry)
			n += p->told;
	return n;
}

void emu_posted_end(struct emu_world *w)
{
	struct emu_posted *p;

	if (!w->hostile)
		return;
	while ((p = TAILQ_FIRST(&w->hostile->all)))
		free_posted(w->hostile, p);
	free(w->hostile);
	w->hostile = NULL;
}
