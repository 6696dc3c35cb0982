/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "link.h"
#include "profile.h"
#include "trace.h"
#include "world.h"

void emu_link_init(struct emu_link *link, uint64_t latency_ns, uint64_t bandwidth_bps)
{
	unsigned __int128 per_byte = (unsigned __int128)8000000000u << 32;

	link->latency_ns = latency_ns;
	link->bandwidth_bps = bandwidth_bps;
	link->ns_per_byte = 0;
	if (bandwidth_bps == 0)
		return;
	per_byte = (per_byte + bandwidth_bps - 1) / bandwidth_bps;
	link->ns_per_byte = per_byte > UINT64_MAX ? UINT64_MAX : (uint64_t)per_byte;
}

/* Which way a packet travels; false: the event is a timer, nobody's packet. */
static bool packet_route(struct emu_world *w, const struct emu_event *event, uint16_t *from,
			 uint16_t *to)
{
	const struct emu_conn *conn;
	const struct emu_qp *qp;

	switch (emu_event_kind(event)) {
	case EMU_EV_DATA:
	case EMU_EV_DATA_REST:
	case EMU_EV_ACK:
	case EMU_EV_RNR:
	case EMU_EV_NAK:
	case EMU_EV_RESPONSE:
	case EMU_EV_RESPONSE_REST:
	case EMU_EV_TERMINATE:
	case EMU_EV_DISCONNECT:
	case EMU_EV_CM_READY:
	case EMU_EV_CM_GONE:
		qp = emu_qp_at(w, event->qp);
		*from = qp->peer_adapter;
		*to = qp->adapter;
		return true;
	case EMU_EV_CM_REQUEST:
		conn = &w->fab->conn[event->index];
		*from = conn->from;
		*to = conn->to;
		return true;
	case EMU_EV_CM_REPLY:
		conn = &w->fab->conn[event->index];
		*from = conn->to;
		*to = conn->from;
		return true;
	case EMU_EV_RNR_TIMER:
	case EMU_EV_BREAK:
	case EMU_EV_CM_TIMEOUT:
	case EMU_EV_NONE:
	case EMU_EV_COUNT:
		break;
	}
	return false;
}

/* ---- lists of held packets ---- */

bool emu_held_append(struct emu_world *w, emu_ref *head, emu_ref *tail, uint32_t message,
		     const struct emu_event *event)
{
	emu_ref ref = emu_pool_alloc(w->fab, sizeof(struct emu_held));
	struct emu_held *held;

	if (!ref)
		return false; /* no memory to hold it: it arrives */
	held = emu_at(w, ref);
	*held = (struct emu_held){ .message = message, .event = *event };
	if (*tail)
		((struct emu_held *)emu_at(w, *tail))->next = ref;
	else
		*head = ref;
	*tail = ref;
	return true;
}

/* Empty a list, oldest first; with `deliver` its packets go back on the wire, to arrive now. */
void emu_held_drain(struct emu_world *w, emu_ref *head, emu_ref *tail, bool deliver)
{
	emu_ref ref = *head;

	*head = *tail = 0;
	while (ref) {
		struct emu_held *held = emu_at(w, ref);
		emu_ref next = held->next;

		if (deliver)
			emu_reschedule(w, &held->event);
		emu_pool_free(w->fab, ref, sizeof(*held));
		ref = next;
	}
}

/* ---- the two kinds of hold, looked at when a packet is about to arrive ---- */

static bool link_holds(struct emu_world *w, struct emu_event *event)
{
	struct emu_link *link;
	uint16_t from, to;

	if (!packet_route(w, event, &from, &to))
		return false;
	link = &w->fab->links[emu_link_at(from, to)];
	if (!link->holding)
		return false;
	if (link->pass > 0) {
		link->pass--;
		if (emu_event_kind(event) == EMU_EV_DATA_REST)
			event->order = (event->order & ~0xfful) | EMU_EV_DATA;
		else if (emu_event_kind(event) == EMU_EV_RESPONSE_REST)
			event->order = (event->order & ~0xfful) | EMU_EV_RESPONSE;
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

/* In order, whatever was sent behind a held packet waits behind it. */
static bool behind_held(struct emu_world *w, const struct emu_qp *sender, uint32_t index)
{
	const struct emu_held *held;

	if (!emu_profile(w)->in_order)
		return false;
	for (emu_ref ref = sender->held; ref; ref = held->next) {
		held = emu_at(w, ref);
		if ((int32_t)(index - held->event.index) >= 0)
			return true;
	}
	return false;
}

static bool message_holds(struct emu_world *w, struct emu_event *event)
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
	/* By number, not by count: a packet that is sent again passes again. */
	if (rule && event->packet < rule->packets) {
		event->order = (event->order & ~0xfful) | EMU_EV_DATA;
		rule = NULL;
	}
	if (!rule && !behind_held(w, sender, event->index))
		return false;
	return emu_held_append(w, &sender->held, &sender->held_tail, wqe->message, event);
}

bool emu_link_looks(struct emu_world *w, struct emu_event *event)
{
	if (event->order & EMU_EV_ARRIVED)
		return false;
	return link_holds(w, event) || message_holds(w, event);
}

bool emu_link_observed(struct emu_world *w, const struct emu_qp *sender)
{
	return w->fab->holds > 0 &&
	       (sender->holds ||
		w->fab->links[emu_link_at(sender->adapter, sender->peer_adapter)].holding);
}

/* ---- what a test asks for ---- */

static struct emu_link *find_link(struct emu_world *w, const char *from, const char *to)
{
	uint16_t a = emu_adapter_find(w, from), b = emu_adapter_find(w, to);

	return a && b ? &w->fab->links[emu_link_at(a, b)] : NULL;
}

int emu_hold_link(struct nic *nic, const char *from, const char *to, uint32_t packets)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_link *link = find_link(w, from, to);

	if (!link)
		return -ENOENT;
	if (!link->holding)
		w->fab->holds++;
	link->holding = true;
	link->pass = packets;
	emu_trace(w, "%s>%s hold packets=%u", from, to, packets);
	return 0;
}

int emu_release_link(struct nic *nic, const char *from, const char *to)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_link *link = find_link(w, from, to);

	if (!link)
		return -ENOENT;
	if (!link->holding)
		return 0;
	link->holding = false;
	w->fab->holds--;
	emu_trace(w, "%s>%s release", from, to);
	emu_held_drain(w, &link->held, &link->held_tail, true);
	return 0;
}

int emu_set_link(struct nic *nic, const char *from, const char *to, uint64_t latency_ns,
		 uint64_t bandwidth_bps)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_link *link = find_link(w, from, to);
	uint64_t under_way;

	if (!link)
		return -ENOENT;
	under_way = (link->busy_until > w->fab->now ? link->busy_until : w->fab->now) +
		    link->latency_ns;
	link->not_before = emu_link_in_order(link, under_way);
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
		emu_ref ref = emu_pool_alloc(w->fab, sizeof(*rule) * EMU_HOLDS);

		if (!ref)
			return -ENOMEM;
		qp->holds = ref;
		memset(emu_at(w, ref), 0, sizeof(*rule) * EMU_HOLDS);
		w->fab->holds++;
	}
	rule = hold_rule(w, qp, (uint32_t)message);
	if (!rule)
		rule = hold_rule(w, qp, 0);
	if (!rule)
		return -ENOMEM;
	rule->message = (uint32_t)message;
	rule->packets = packets;
	emu_trace(w, "%s.ep%u hold message=%lu packets=%u", emu_adapter_name(w, qp->adapter),
		  qp->name, message, packets);
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
	w->fab->holds--;
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
	emu_trace(w, "%s.ep%u release message=%lu", emu_adapter_name(w, qp->adapter), qp->name,
		  message);
	free_rules_if_unused(w, qp);
	/* All of them: what another rule still holds is held again when it arrives. */
	emu_held_drain(w, &qp->held, &qp->held_tail, true);
	return 0;
}

void emu_hold_forget(struct emu_world *w, struct emu_qp *qp, bool rules)
{
	emu_held_drain(w, &qp->held, &qp->held_tail, false);
	if (!rules || !qp->holds)
		return;
	emu_pool_free(w->fab, qp->holds, sizeof(struct emu_hold_rule) * EMU_HOLDS);
	qp->holds = 0;
	w->fab->holds--;
}

void emu_link_forget(struct emu_world *w, uint16_t adapter)
{
	for (uint16_t i = 1; i <= EMU_ADAPTERS; i++)
		for (int out = 0; out <= (i != adapter); out++) {
			struct emu_link *link = &w->fab->links[out ? emu_link_at(adapter, i)
								   : emu_link_at(i, adapter)];

			if (link->holding)
				w->fab->holds--;
			link->holding = false;
			emu_held_drain(w, &link->held, &link->held_tail, true);
		}
}
