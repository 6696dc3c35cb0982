/* SPDX-License-Identifier: BSD-3-Clause */
#include "inbox.h"

#include <string.h>

#include "arena.h"
#include "clock.h"
#include "mem.h"
#include "rx.h"
#include "shared.h"
#include "upcall.h"

#define AGAIN_NS 1000000u /* where there is no memory for a message now */

/* False: no memory. Whole before it is on the list: who dies here leaves it off. */
static bool add(struct emu_world *w, uint16_t process, const struct emu_message *message)
{
	struct emu_process *p = emu_process(w, process);
	emu_ref ref = emu_pool_alloc(w, sizeof(struct emu_message));

	w->membership->ring |= 1ul << (process - 1);
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

	if (!add(w, process, &message))
		emu_reschedule(w, event, w->fab->now + AGAIN_NS);
}

void emu_inbox_tell(struct emu_world *w, uint16_t process, enum emu_message_kind kind,
		    uint32_t index, uint32_t qp, uint32_t what)
{
	struct emu_message message = { .kind = kind,
				       .up = { .index = index, .qp = qp, .what = what } };

	/* To one that is gone nothing is told. */
	if (process && !add(w, process, &message))
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
	if (add(w, process, &message))
		return true;
	emu_pool_free(w->fab, message.copy.data, length);
	return false;
}

static bool is_about(const struct emu_message *message, uint32_t conn)
{
	enum emu_event_kind kind = emu_event_kind(&message->event);

	return message->kind == EMU_MESSAGE_RUN && message->event.index == conn &&
	       (kind == EMU_EV_CM_REQUEST || kind == EMU_EV_CM_REPLY);
}

bool emu_inbox_has_request(struct emu_world *w, uint32_t conn)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		const struct emu_process *p = emu_process(w, i);
		emu_ref ref = p->used ? p->inbox : 0;

		for (uint32_t n = 0; ref && n < EMU_STEPS_MOST; n++) {
			const struct emu_message *message = emu_at(w, ref);

			if (is_about(message, conn))
				return true;
			ref = message->next;
		}
	}
	return false;
}

static bool take(struct emu_world *w, uint16_t process, struct emu_message *message)
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

static void place(struct emu_world *w, const struct emu_message *message)
{
	/* The arena is others', too: what they say of this process's memory has to be so. */
	if (emu_mr_is_here(w, message->copy.addr, message->copy.length))
		emu_reach_place(message->copy.addr, emu_at(w, message->copy.data),
				message->copy.length);
	emu_pool_free(w->fab, message->copy.data, message->copy.length);
}

/* Receives that this process posted without the lock while another one ended their QP: direct.c. */
static void flush_late(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->state == EMU_QP_ERROR && emu_wq_count(&qp->rq) > 0)
		emu_rx_flush(w, qp);
}

static void perform(struct emu_world *w, const struct emu_message *message)
{
	struct emu_event event = message->event;

	switch ((enum emu_message_kind)message->kind) {
	case EMU_MESSAGE_RUN:
		emu_clock_run(w, &event);
		break;
	case EMU_MESSAGE_COPY:
		place(w, message);
		break;
	case EMU_MESSAGE_CQ_NOTIFY:
		emu_up_cq_notify(w, message->up.index);
		break;
	case EMU_MESSAGE_CQ_LOST:
		emu_up_cq_lost(w, message->up.index, message->up.qp,
			       (enum nic_opcode)message->up.what);
		break;
	case EMU_MESSAGE_SRQ_LIMIT:
		emu_up_srq_limit(w, message->up.index);
		break;
	case EMU_MESSAGE_SOFT_LIMIT:
		emu_up_soft_limit(w, emu_qp_at(w, message->up.qp));
		break;
	case EMU_MESSAGE_ESTABLISHED:
		emu_up_established(w, emu_qp_at(w, message->up.qp));
		break;
	case EMU_MESSAGE_CONN_END:
		flush_late(w, emu_qp_at(w, message->up.qp));
		emu_up_conn_end(w, emu_qp_at(w, message->up.qp),
				(enum nic_conn_end)message->up.what);
		break;
	}
}

/* Upcalls were lost: nothing about its objects is sure any more. */
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

	for (uint32_t i = 0; i < EMU_STEPS_MOST && take(w, w->process, &message); i++)
		perform(w, &message);
	if (emu_process(w, w->process)->overrun)
		fail_adapters(w);
}

void emu_inbox_discard(struct emu_world *w, uint16_t process)
{
	struct emu_message message;

	for (uint32_t i = 0; i < EMU_STEPS_MOST && take(w, process, &message); i++) {
		if (message.kind == EMU_MESSAGE_RUN)
			emu_reschedule(w, &message.event, w->fab->now);
		else if (message.kind == EMU_MESSAGE_COPY)
			emu_pool_free(w->fab, message.copy.data, message.copy.length);
	}
}
