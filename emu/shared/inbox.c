/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inboxes: how a message is appended to another process's, and what a process does for each message
 * in its own.
 */
#include "inbox.h"

#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "emu/mem.h"
#include "emu/partial.h"
#include "reach.h"
#include "runner.h"
#include "shared.h"
#include "emu/upcall.h"

#define AGAIN_NS      1000000u   /* retry when there is no memory for a message */
#define MESSAGES_MOST (1u << 20) /* in one call: garbage can make the list endless */

/*
 * False: no memory. The message is complete before it is linked, so a process that dies in between
 * leaves the list intact.
 */
static bool append_message(struct emu_world *w, uint16_t process, const struct emu_message *message)
{
	struct emu_process *p = emu_process(w, process);
	emu_ref ref = emu_pool_alloc(w, sizeof(struct emu_message));

	w->membership->to_wake |= 1ul << (process - 1);
	if (!ref)
		return false;
	*(struct emu_message *)emu_at(w, ref) = *message;
	if (w->fab->shared.section.running)
		((struct emu_message *)emu_at(w, ref))->during = w->fab->shared.section.event.order;
	__asm__ volatile("" ::: "memory");
	if (p->inbox)
		((struct emu_message *)emu_at(w, p->inbox_tail))->next = ref;
	else
		p->inbox = ref;
	p->inbox_tail = ref;
	return true;
}

void emu_inbox_run(struct emu_world *w, uint16_t process, const struct emu_event *event)
{
	struct emu_message message = { .kind = EMU_MESSAGE_RUN, .event = *event };

	if (!append_message(w, process, &message))
		emu_reschedule(w, event, w->fab->now + AGAIN_NS);
}

void emu_inbox_tell(struct emu_world *w, uint16_t process, const struct emu_upcall *up)
{
	struct emu_message message = { .kind = EMU_MESSAGE_UPCALL, .up = *up };

	/* Process 0: the owner is gone. */
	if (process && !append_message(w, process, &message))
		emu_process(w, process)->overrun = true;
}

bool emu_inbox_copy(struct emu_world *w, uint16_t process, uint64_t addr, const void *from,
		    uint64_t length)
{
	struct emu_message message = { .kind = EMU_MESSAGE_COPY,
				       .copy = { .addr = addr, .length = length } };

	message.copy.data = emu_pool_alloc(w, length);
	if (!message.copy.data)
		return false;
	memcpy(emu_at(w, message.copy.data), from, length);
	if (append_message(w, process, &message))
		return true;
	emu_pool_free(w->fab, message.copy.data, length);
	return false;
}

static bool take_message(struct emu_world *w, uint16_t process, struct emu_message *message)
{
	struct emu_process *p = emu_process(w, process);
	emu_ref ref = p->inbox;

	if (!ref)
		return false;
	*message = *(const struct emu_message *)emu_at(w, ref);
	p->inbox = message->next;
	emu_pool_free(w->fab, ref, sizeof(*message));
	return true;
}

static void place_payload(struct emu_world *w, const struct emu_message *message)
{
	/* Another process may have written garbage: the address must be in a region. */
	if (emu_mr_is_here(w, message->copy.addr, message->copy.length))
		emu_reach_place(message->copy.addr, emu_at(w, message->copy.data),
				message->copy.length);
	emu_pool_free(w->fab, message->copy.data, message->copy.length);
}

/*
 * Flush Receives that were posted without the lock while another process ended the QP (direct.c).
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

/* Upcalls were lost for want of memory: the state of this process's objects is no longer known. */
static void fail_adapters(struct emu_world *w)
{
	emu_process(w, w->process)->overrun = false;
	for (uint16_t i = 1; i <= EMU_ADAPTERS; i++)
		if (w->fab->adapters[i].open && emu_mine(w, i) && w->nics[i].base.up)
			w->nics[i].base.up->adapter_failed(w->nics[i].base.ctx);
}

void emu_inbox_empty(struct emu_world *w)
{
	struct emu_message message;

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
