/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inboxes: how a message is appended to another process's, and what a process does for each message
 * in its own.
 */
#include "inbox.h"

#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "emu/hostile/posted.h"
#include "emu/mem.h"
#include "emu/fabric/trace.h"
#include "emu/partial.h"
#include "emu/qp.h"
#include "emu/payload/handed.h"
#include "emu/payload/reach.h"
#include "runner.h"
#include "shared.h"
#include "emu/upcall.h"

#define MESSAGES_MOST (1u << 20) /* in one call; the others are run in the next */

/*
 * The owner finds the message when it next takes the lock. Until then no thread misses it: each
 * takes the lock before it waits.
 */
static bool can_wait(struct emu_world *w, const struct emu_process *p,
		     const struct emu_message *message)
{
	return message->kind == EMU_MESSAGE_UPCALL && message->up.kind == EMU_UPCALL_CQ_NOTIFY &&
	       message->up.what && p->sleepers == 0 && !emu_lockstep(w);
}

EMU_COLD void emu_inbox_cut(struct emu_world *w, uint16_t process, emu_ref *link)
{
	*link = 0;
	emu_process(w, process)->overrun = true;
	w->membership->to_wake |= 1ul << (process - 1);
	emu_trace(w, "- note garbage among the messages to process %.31s",
		  emu_process(w, process)->node);
}

/* NULL: there is none yet. */
static struct emu_message *last_message(struct emu_world *w, uint16_t process)
{
	struct emu_process *p = emu_process(w, process);
	struct emu_message *last = p->inbox ? emu_inbox_at(w, p->inbox_tail) : NULL;

	if (p->inbox && !last)
		emu_inbox_cut(w, process, &p->inbox);
	return last;
}

/* `order` of the event that is running; 0: none is. */
static uint64_t running_order(const struct emu_world *w)
{
	const struct emu_section *section = &w->fab->shared.section;

	return section->running ? section->event.order : 0;
}

/*
 * False: no memory. The message is complete before it is linked, so a process that dies in between
 * leaves the list intact.
 */
static bool append_message(struct emu_world *w, uint16_t process, const struct emu_message *message)
{
	struct emu_process *p = emu_process(w, process);
	emu_ref ref = emu_pool_alloc(w, sizeof(struct emu_message));
	struct emu_message *last, *to;

	if (!ref || !can_wait(w, p, message))
		w->membership->to_wake |= 1ul << (process - 1);
	if (!ref)
		return false;
	last = last_message(w, process);
	to = emu_at(w, ref);
	*to = *message;
	to->mark = EMU_MESSAGE_MARK + ref;
	__asm__ volatile("" ::: "memory");
	if (last)
		last->next = ref;
	else
		p->inbox = ref;
	p->inbox_tail = ref;
	return true;
}

bool emu_inbox_run(struct emu_world *w, uint16_t process, const struct emu_event *event)
{
	struct emu_message message = { .kind = EMU_MESSAGE_RUN,
				       .during = running_order(w),
				       .event = *event };

	return append_message(w, process, &message);
}

void emu_inbox_tell(struct emu_world *w, uint16_t process, const struct emu_upcall *up)
{
	struct emu_message message = { .kind = EMU_MESSAGE_UPCALL,
				       .during = running_order(w),
				       .up = *up };

	/* Process 0: the owner is gone. */
	if (process && !append_message(w, process, &message))
		emu_process(w, process)->overrun = true;
}

struct emu_lost emu_inbox_completion(struct emu_world *w)
{
	const struct emu_event *e = &w->fab->shared.section.event;
	struct emu_lost lost = { .opcode = NIC_OP_READ };
	const struct emu_qp *qp = emu_qp_at(w, e->qp <= EMU_QPS ? e->qp : 0), *sender;
	enum emu_event_kind kind = emu_event_kind(e);

	/* The event of a message that is never answered is the sender's. */
	if (!w->fab->shared.section.running || kind == EMU_EV_UNANSWERED)
		return lost;
	lost.qp = emu_qp_index(w, qp);
	lost.number = w->fab->cq[qp->send_cq <= EMU_CQS ? qp->send_cq : 0].put;
	if (kind == EMU_EV_RESPONSE || kind == EMU_EV_RESPONSE_REST || kind == EMU_EV_LAND_RESPONSE)
		return lost;
	sender = emu_qp_at(w, qp->peer <= EMU_QPS ? qp->peer : 0);
	lost.opcode = ((const struct emu_swqe *)emu_wqe(w, &sender->sq, e->index))->opcode;
	lost.number = w->fab->cq[qp->recv_cq <= EMU_CQS ? qp->recv_cq : 0].put;
	return lost;
}

static enum emu_copy copy_to_inbox(struct emu_world *w, const struct emu_place *to, uint64_t from,
				   uint64_t length, const struct emu_lost *lost, uint64_t during)
{
	struct emu_message message = {
		.kind = EMU_MESSAGE_COPY,
		.during = during,
		.copy = { .addr = to->addr, .length = length, .posted = to->posted, .lost = *lost }
	};
	enum emu_copy copied = EMU_COPY_OK;

	message.copy.data = emu_pool_alloc(w, length);
	if (!message.copy.data)
		return EMU_COPY_BAD_TARGET;
	if (!emu_reach_to_arena(emu_at(w, message.copy.data), from, length))
		copied = EMU_COPY_BAD_SOURCE;
	else if (!append_message(w, to->process, &message))
		copied = EMU_COPY_BAD_TARGET;
	if (copied != EMU_COPY_OK)
		emu_pool_free(w->fab, message.copy.data, length);
	return copied;
}

enum emu_copy emu_inbox_copy(struct emu_world *w, const struct emu_place *to, uint64_t from,
			     uint64_t length)
{
	struct emu_lost lost = emu_inbox_completion(w);

	return copy_to_inbox(w, to, from, length, &lost, running_order(w));
}

enum emu_copy emu_inbox_copy_late(struct emu_world *w, const struct emu_place *to, uint64_t from,
				  uint64_t length, const struct emu_lost *lost)
{
	return copy_to_inbox(w, to, from, length, lost, 0);
}

static bool take_message(struct emu_world *w, uint16_t process, struct emu_message *message)
{
	struct emu_process *p = emu_process(w, process);
	emu_ref ref = p->inbox;
	struct emu_message *first = emu_inbox_at(w, ref);

	if (ref && !first)
		emu_inbox_cut(w, process, &p->inbox);
	if (!first)
		return false;
	*message = *first;
	p->inbox = message->next;
	__asm__ volatile("" ::: "memory");
	first->mark = 0;
	emu_pool_free(w->fab, ref, sizeof(*message));
	return true;
}

EMU_COLD void emu_inbox_note_lost(struct emu_world *w)
{
	emu_trace(w,
		  "- note lost: a Receive of %.31s completes with an error after all, for its "
		  "memory is gone",
		  emu_process(w, w->process)->node);
}

void emu_inbox_lose(struct emu_world *w, const struct emu_lost *lost)
{
	bool read = lost->opcode == NIC_OP_READ;
	struct emu_qp *qp = emu_qp_at(w, lost->qp <= EMU_QPS ? lost->qp : 0);
	uint32_t index = read ? qp->send_cq : qp->recv_cq;
	struct emu_cq *cq = &w->fab->cq[index <= EMU_CQS ? index : 0];
	struct emu_cqe *cqe;

	if (!qp->head.live || !emu_mine(w, qp->adapter))
		return;
	emu_qp_break_soon(w, qp);
	if (lost->number - cq->get >= cq->put - cq->get)
		return;
	cqe = (struct emu_cqe *)emu_at(w, cq->ring) + (lost->number & cq->mask);
	if (cqe->qp != lost->qp || cqe->opcode != (read ? NIC_OP_READ : NIC_OP_RECV))
		return;
	cqe->status = NIC_WC_LOCAL_PROTECTION;
	cqe->length = 0;
	if (!read)
		emu_inbox_note_lost(w);
}

static void place_payload(struct emu_world *w, const struct emu_message *message)
{
	const uint64_t addr = message->copy.addr, length = message->copy.length;

	/* Another process may have written garbage: the address must be in a region. */
	if (emu_mr_is_here(w, addr, length)) {
		emu_posted_look(w, message->copy.posted, addr, length);
		if (!emu_reach_place_from_arena(addr, emu_at(w, message->copy.data), length))
			emu_inbox_lose(w, &message->copy.lost);
		emu_posted_wrote(w, addr, length);
	}
	emu_pool_free(w->fab, message->copy.data, message->copy.length);
}

/*
 * Flush Receives that were posted without the lock while another process ended the QP
 * (direct_owner.c).
 */
static void flush_late(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->state == EMU_QP_ERROR && emu_wq_count(&qp->rq) > 0)
		emu_rx_flush(w, qp);
}

static void run_message(struct emu_world *w, const struct emu_message *message)
{
	struct emu_event event = message->event;

	w->steps = w->steps_most;
	switch ((enum emu_message_kind)message->kind) {
	case EMU_MESSAGE_RUN:
		if (emu_event_is_valid(&event))
			emu_run_left(w, &event);
		break;
	case EMU_MESSAGE_COPY:
		place_payload(w, message);
		break;
	case EMU_MESSAGE_UPCALL:
		if (message->up.kind == EMU_UPCALL_CONN_END && message->up.qp <= EMU_QPS)
			flush_late(w, emu_qp_at(w, message->up.qp));
		emu_upcall(w, &message->up);
		break;
	}
}

/* Messages were lost, for want of memory or to garbage: the state of objects is not known. */
static void fail_adapters(struct emu_world *w)
{
	emu_process(w, w->process)->overrun = false;
	for (uint16_t i = 1; i <= w->nic_high; i++)
		if (w->nics[i].base.up)
			w->nics[i].base.up->adapter_failed(w->nics[i].base.ctx);
}

void emu_inbox_empty(struct emu_world *w)
{
	struct emu_message message;

	if (emu_handed_waits(w))
		emu_handed_take(w);
	for (uint32_t i = 0; i < MESSAGES_MOST && take_message(w, w->process, &message); i++)
		run_message(w, &message);
	if (emu_process(w, w->process)->overrun)
		fail_adapters(w);
}

void emu_inbox_discard(struct emu_world *w, uint16_t process)
{
	struct emu_message message;

	while (emu_go_on(w) && take_message(w, process, &message)) {
		if (message.kind == EMU_MESSAGE_RUN && emu_event_is_valid(&message.event))
			emu_reschedule(w, &message.event, w->fab->now);
		else if (message.kind == EMU_MESSAGE_COPY)
			emu_pool_free(w->fab, message.copy.data, message.copy.length);
	}
}
