/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links: bandwidth, holds of a link and of a message, and the lists of held packets.
 */
#include <errno.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "link.h"
#include "links.h"
#include "profile.h"
#include "emu/fabric/trace.h"
#include "wire.h"
#include "emu/fabric/adapter.h"

/* ---- lists of held packets ---- */

bool emu_held_append(struct emu_world *w, emu_ref *head, emu_ref *tail, uint32_t message,
		     const struct emu_event *event)
{
	emu_ref ref = emu_pool_alloc(w, sizeof(struct emu_held));
	struct emu_held *held;

	if (!ref)
		return false; /* no memory: the packet arrives instead of being held */
	held = emu_at(w, ref);
	*held = (struct emu_held){ .message = message, .event = *event };
	if (*tail)
		((struct emu_held *)emu_at(w, *tail))->next = ref;
	else
		*head = ref;
	*tail = ref;
	return true;
}

void emu_held_drain(struct emu_world *w, emu_ref *head, emu_ref *tail, bool deliver)
{
	emu_ref ref = *head;

	*head = *tail = 0;
	while (ref && emu_go_on(w)) {
		struct emu_held *held = emu_at(w, ref);
		emu_ref next = held->next;

		if (deliver)
			emu_reschedule(w, &held->event, w->fab->now);
		else if (emu_wire_marked(&held->event))
			emu_observe(w, -1);
		emu_pool_free(w->fab, ref, sizeof(*held));
		ref = next;
	}
}

/* ---- holds of a link and of a message, tested when a packet is about to arrive ---- */

static bool link_holds(struct emu_world *w, const struct emu_event *event,
		       const struct emu_packet *p)
{
	struct emu_link *link = emu_link_at(w, emu_link_find(w, p->from, p->to));

	if (!link->holding)
		return false;
	if (link->pass > 0) {
		link->pass--;
		return false;
	}
	return emu_held_append(w, &link->held, &link->held_tail, 0, event);
}

static struct emu_hold_rule *hold_rule(struct emu_world *w, const struct emu_qp *sender,
				       uint32_t message)
{
	struct emu_hold_rule *rules;

	if (!sender->holds)
		return NULL;
	rules = emu_at(w, sender->holds);
	for (uint32_t i = 0; i < EMU_HOLDS; i++)
		if (rules[i].message == message)
			return &rules[i];
	return NULL;
}

/*
 * In an in-order profile, a packet that was sent after a held one waits behind it. One that was
 * sent before passes, even if a fault made it late.
 */
static bool behind_held(struct emu_world *w, const struct emu_qp *sender, uint32_t index,
			uint32_t packet)
{
	const struct emu_held *held;
	emu_ref ref = sender->held;
	int32_t behind;

	if (!emu_profile(w)->in_order)
		return false;
	for (; ref && emu_go_on(w); ref = held->next) {
		held = emu_at(w, ref);
		behind = (int32_t)(index - held->event.index);
		if (behind > 0 ||
		    (behind == 0 && packet >= (held->event.packet & ((1u << EMU_EV_TRIES) - 1))))
			return true;
	}
	return false;
}

static bool message_holds(struct emu_world *w, const struct emu_event *event,
			  const struct emu_packet *p)
{
	enum emu_event_kind kind = emu_event_kind(event);
	struct emu_hold_rule *rule;
	struct emu_swqe *wqe;
	struct emu_qp *sender;

	if (kind != EMU_EV_DATA && kind != EMU_EV_DATA_REST)
		return false;
	sender = emu_qp_at(w, emu_qp_at(w, event->qp)->peer);
	if (!sender->holds && !sender->held)
		return false;
	if (event->index - sender->sq.get >= emu_wq_count(&sender->sq))
		return false; /* stale; the receiver drops it */
	wqe = emu_wqe(w, &sender->sq, event->index);
	rule = wqe->message ? hold_rule(w, sender, wqe->message) : NULL;
	/*
	 * By packet number, not by a count: a retransmission of a packet that passed passes, too.
	 */
	if (rule && p->packet < rule->packets)
		rule = NULL;
	if (!rule && !behind_held(w, sender, event->index, p->packet))
		return false;
	return emu_held_append(w, &sender->held, &sender->held_tail, wqe->message, event);
}

bool emu_link_holds(struct emu_world *w, const struct emu_event *event, const struct emu_packet *p)
{
	return link_holds(w, event, p) || message_holds(w, event, p);
}

/* ---- calls from tests ---- */

/* -ENOENT: there are no such adapters; -ENOMEM. */
static int find_link(struct emu_world *w, const char *from, const char *to, struct emu_link **link)
{
	uint16_t a = emu_adapter_find(w, from), b = emu_adapter_find(w, to);
	uint32_t index = a && b ? emu_link_get(w, a, b) : 0;

	if (!a || !b)
		return -ENOENT;
	if (!index)
		return -ENOMEM;
	*link = emu_link_at(w, index);
	return 0;
}

int emu_hold_link(struct nic *nic, const char *from, const char *to, uint32_t packets)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_link *link;
	int err = find_link(w, from, to, &link);

	if (err)
		return err;
	if (!link->holding)
		emu_observe(w, 1);
	link->holding = true;
	link->pass = packets;
	emu_trace(w, "%s>%s hold packets=%u", from, to, packets);
	return 0;
}

int emu_release_link(struct nic *nic, const char *from, const char *to)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_link *link;
	int err = find_link(w, from, to, &link);

	if (err)
		return err;
	if (!link->holding)
		return 0;
	link->holding = false;
	emu_trace(w, "%s>%s release", from, to);
	emu_held_drain(w, &link->held, &link->held_tail, true);
	emu_observe(w, -1);
	return 0;
}

int emu_set_link(struct nic *nic, const char *from, const char *to, uint64_t latency_ns,
		 uint64_t bandwidth_bps)
{
	struct emu_world *w = emu_world_of(nic);
	uint64_t last_arrival;
	struct emu_link *link;
	int err = find_link(w, from, to, &link);

	if (err)
		return err;
	last_arrival = (link->busy_until > w->fab->now ? link->busy_until : w->fab->now) +
		       link->latency_ns;
	link->not_before = emu_link_in_order(link, last_arrival);
	emu_link_init(link, latency_ns, bandwidth_bps);
	emu_trace(w, "%s>%s set latency_ns=%lu bandwidth_bps=%lu", from, to, latency_ns,
		  bandwidth_bps);
	return 0;
}

int emu_hold_message(struct nic_qp *base, uint64_t message, uint32_t packets)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_hold_rule *rule;

	if (message == 0 || message > UINT32_MAX)
		return -EINVAL;
	if (!qp->holds) {
		emu_ref ref = emu_pool_alloc(w, sizeof(*rule) * EMU_HOLDS);

		if (!ref)
			return -ENOMEM;
		qp->holds = ref;
		memset(emu_at(w, ref), 0, sizeof(*rule) * EMU_HOLDS);
		emu_observe(w, 1);
	}
	rule = hold_rule(w, qp, (uint32_t)message);
	if (!rule)
		rule = hold_rule(w, qp, 0);
	if (!rule)
		return -ENOMEM;
	rule->message = (uint32_t)message;
	rule->packets = packets;
	emu_trace(w, EMU_QP " hold message=%lu packets=%u", EMU_QP_OF(w, qp), message, packets);
	return 0;
}

static bool rules_used(const struct emu_hold_rule *rules)
{
	for (uint32_t i = 0; i < EMU_HOLDS; i++)
		if (rules[i].message)
			return true;
	return false;
}

static void free_rules_if_unused(struct emu_world *w, struct emu_qp *qp)
{
	if (!qp->holds || rules_used(emu_at(w, qp->holds)))
		return;
	emu_pool_free(w->fab, qp->holds, sizeof(struct emu_hold_rule) * EMU_HOLDS);
	qp->holds = 0;
	emu_observe(w, -1);
}

int emu_release_message(struct nic_qp *base, uint64_t message)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_hold_rule *rule;

	if (message == 0 || message > UINT32_MAX)
		return -EINVAL;
	rule = hold_rule(w, qp, (uint32_t)message);
	if (!rule)
		return 0;
	rule->message = 0;
	emu_trace(w, EMU_QP " release message=%lu", EMU_QP_OF(w, qp), message);
	/* Release all packets: those that another hold matches are held again on arrival. */
	emu_held_drain(w, &qp->held, &qp->held_tail, true);
	free_rules_if_unused(w, qp);
	return 0;
}

void emu_hold_forget(struct emu_world *w, struct emu_qp *qp, bool rules)
{
	emu_held_drain(w, &qp->held, &qp->held_tail, false);
	emu_held_drain(w, &qp->early, &qp->early_tail, false);
	if (!rules || !qp->holds)
		return;
	emu_pool_free(w->fab, qp->holds, sizeof(struct emu_hold_rule) * EMU_HOLDS);
	qp->holds = 0;
	emu_observe(w, -1);
}

void emu_link_forget(struct emu_world *w, uint16_t adapter)
{
	/* Without a reason to observe packets there is no hold, and no packet is held. */
	uint32_t links = emu_observed(w) ? EMU_HIGH(w->fab, links, link) : 0;

	for (uint32_t i = 1; i <= links; i++) {
		struct emu_link *link = emu_link_at(w, i);

		if (link->from != adapter && link->to != adapter)
			continue;
		emu_held_drain(w, &link->held, &link->held_tail, true);
		if (!link->holding)
			continue;
		link->holding = false;
		emu_observe(w, -1);
	}
	if (EMU_AT(w->fab->adapters, adapter).port_down)
		emu_observe(w, -1);
	EMU_AT(w->fab->adapters, adapter).port_down = false;
}
