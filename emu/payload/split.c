/* SPDX-License-Identifier: BSD-3-Clause */
/* The sender's side of a long payload that both ends copy: split.h. */
#include "split.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "peer.h"
#include "emu/shared/shared.h"

#define LOOKS_A_YIELD 2500

static uint64_t first_claim(uint32_t offer)
{
	return (uint64_t)offer << 32;
}

struct split_sender {
	struct emu_world *w;
	const struct emu_split_way *way;
	struct emu_process *receiver;
	struct emu_stage *stage; /* set aside for a piece that the receiver does not finish */
	uint32_t offer;
	uint32_t length; /* without the last bytes */
	bool is_late;    /* the receiver, with its last piece */
	uint32_t theirs; /* the last piece that the receiver has claimed; EMU_SPLIT_NONE */
};

/* No piece can be claimed any longer. The exchange sees the last claim that was made. */
static void close_offer(const struct split_sender *s)
{
	__atomic_exchange_n(&s->w->fab->shared.split.claims, first_claim(s->offer) | EMU_SPLIT_NONE,
			    __ATOMIC_ACQ_REL);
}

/* False: the receiver still copies a piece of an earlier sender, which has died. */
static bool open_offer(const struct split_sender *s, const struct emu_cq *cq)
{
	struct emu_split *split = &s->w->fab->shared.split;
	const struct emu_process *own = emu_process(s->w, s->w->process);

	close_offer(s);
	if (emu_split_helps(s->receiver))
		return false;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&split->from, s->w->process, __ATOMIC_RELAXED);
	__atomic_store_n(&split->generation, own->generation, __ATOMIC_RELAXED);
	__atomic_store_n(&split->to, s->way->to, __ATOMIC_RELAXED);
	__atomic_store_n(&split->length, s->length, __ATOMIC_RELAXED);
	__atomic_store_n(&split->to_lkey, s->way->to_lkey, __ATOMIC_RELAXED);
	__atomic_store_n(&split->to_addr, s->way->to_addr, __ATOMIC_RELAXED);
	__atomic_store_n(&split->from_addr, s->way->from_addr, __ATOMIC_RELAXED);
	__atomic_store_n(&split->claims, first_claim(s->offer), __ATOMIC_RELEASE);
	emu_inline_publish(emu_inline_at(s->w, cq, cq->put), emu_split_mark(cq->put));
	return true;
}

static bool write_piece(const struct split_sender *s, uint32_t at)
{
	const struct emu_split_way *way = s->way;

	return emu_peer_write_piece(s->w, way->to, way->to_addr + at,
				    emu_memory(way->from_addr + at),
				    emu_split_piece(s->length, at));
}

/* The receiver has claimed all from here to there. */
static void note_theirs(struct split_sender *s, uint32_t from, uint32_t to)
{
	for (; from < to; from += emu_split_piece(s->length, from))
		s->theirs = from;
}

static uint32_t last_offer(const struct emu_split *s)
{
	return (uint32_t)(__atomic_load_n(&s->claims, __ATOMIC_RELAXED) >> 32);
}

/* False: some of the memory is gone; or another process has written garbage. */
static bool write_pieces(struct split_sender *s)
{
	struct emu_split *split = &s->w->fab->shared.split;
	uint32_t next = 0, at;

	while ((at = emu_split_claim(split, s->offer, s->length)) != EMU_SPLIT_NONE) {
		note_theirs(s, next, at);
		if (!write_piece(s, at))
			return false;
		next = at + emu_split_piece(s->length, at);
	}
	note_theirs(s, next, s->length);
	return last_offer(split) == s->offer;
}

/* The receiver may need the processor on which this thread runs. */
bool emu_split_wait(const struct emu_process *receiver, int looks)
{
	for (; emu_split_helps(receiver); looks--) {
		if (looks <= 0)
			return false;
		if (looks % LOOKS_A_YIELD == 0)
			syscall(SYS_sched_yield);
		else
			__builtin_ia32_pause();
	}
	return true;
}

static bool write_last(const struct split_sender *s)
{
	const struct emu_split_way *way = s->way;

	return emu_peer_write(s->w, way->to, way->to_addr + s->length,
			      emu_memory(way->from_addr + s->length), EMU_SPLIT_LAST);
}

/* The receiver copies its pieces in order, so all but the last one are there. */
static bool stage_rest(const struct split_sender *s, const struct emu_cq *cq)
{
	struct emu_inline_cqe *cqe = emu_inline_at(s->w, cq, cq->put);
	uint32_t length = emu_split_piece(s->length, s->theirs);
	uint8_t *last = (uint8_t *)emu_at(s->w, s->stage->data) + length;

	if (!emu_reach_to_arena(last, s->way->from_addr + s->length, EMU_SPLIT_LAST) ||
	    !emu_stage_load(s->w, s->stage, cq, cq->put, s->way->from_addr + s->theirs, length))
		return false;
	cqe->rest.at = s->theirs;
	cqe->rest.length = length;
	return true;
}

static bool could_help(const struct split_sender *s)
{
	return __atomic_load_n(&s->receiver->help_failed, __ATOMIC_RELAXED) != s->offer;
}

static bool copy_split(struct split_sender *s, const struct emu_cq *cq)
{
	bool written = write_pieces(s);
	int looks;

	if (!written)
		close_offer(s);
	looks = written ? EMU_SPLIT_LOOKS : EMU_SPLIT_PATIENT_LOOKS;
	/* Once all is claimed, or nothing can be, a receiver that begins to help is not late. */
	s->is_late = !emu_split_wait(s->receiver, looks) &&
		     (!written || s->theirs != EMU_SPLIT_NONE);
	if (!written)
		return false;
	if (s->is_late)
		return stage_rest(s, cq);
	return could_help(s) && write_last(s);
}

enum emu_split_placed emu_split_place(struct emu_world *w, const struct emu_cq *cq,
				      const struct emu_split_way *way)
{
	struct split_sender s = { .w = w,
				  .way = way,
				  .receiver = emu_process(w, way->to),
				  .offer = last_offer(&w->fab->shared.split) + 1,
				  .length = way->length - EMU_SPLIT_LAST,
				  .theirs = EMU_SPLIT_NONE };
	struct emu_inline_cqe *cqe = emu_inline_at(w, cq, cq->put);

	cqe->rest.length = 0;
	if (!emu_peer_reach(w, way->to) || way->to == w->process ||
	    !emu_mr_is_here(w, way->from_addr, way->length))
		return EMU_SPLIT_NOT;
	s.stage = emu_stage_find(w, cq, emu_split_piece(s.length, 0) + EMU_SPLIT_LAST);
	if (!s.stage || !open_offer(&s, cq))
		return EMU_SPLIT_NOT;
	if (copy_split(&s, cq) && emu_peer_is_there(w, way->to))
		return EMU_SPLIT_PLACED;
	emu_inline_publish(cqe, cq->put + 1);
	return s.is_late ? EMU_SPLIT_LATE : EMU_SPLIT_NOT;
}

void emu_split_withdraw(struct emu_world *w)
{
	__atomic_fetch_or(&w->fab->shared.split.claims, EMU_SPLIT_NONE, __ATOMIC_ACQ_REL);
}
