/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet rules: matching a packet against them, and the faults they cause.
 */
#include <errno.h>
#include <string.h>

#include "emu/fabric/clock.h"
#include "links.h"
#include "profile.h"
#include "emu/respond.h"
#include "retry.h"
#include "rules.h"
#include "emu/fabric/trace.h"
#include "emu/fabric/adapter.h"
#include "emu/fabric/config.h"
#include "emu/fabric/sharing.h"

#define TIME_MAX (1ul << 50) /* so that no sum of times wraps */

/* What cannot happen to a packet that is never answered. */
#define FAULTS_OF_ANSWERED (1u << NIC_FAULT_RNR | 1u << NIC_FAULT_NAK | 1u << NIC_FAULT_DUPLICATE)

/* ---- matching ---- */

static bool end_fits(struct emu_world *w, const char *name, uint32_t qp_name, uint16_t adapter,
		     const struct emu_qp *qp)
{
	if (name[0] && strcmp(name, emu_adapter_name(w, adapter)) != 0)
		return false;
	return qp_name == 0 || (qp && qp->name == qp_name && qp->noun != NIC_NOUN_ID);
}

static bool kind_fits(const struct nic_packet_rule *rule, const struct emu_packet *p)
{
	if (rule->packets && !(rule->packets & p->what))
		return false;
	if (p->unanswered && (1u << rule->fault & FAULTS_OF_ANSWERED))
		return false;
	if (rule->fault == NIC_FAULT_RNR)
		return p->what == NIC_PACKET_SEND && p->first;
	if (rule->fault == NIC_FAULT_NAK && !(p->what & NIC_PACKET_REQUESTS))
		return false;
	return (rule->part != NIC_PART_FIRST || p->first) &&
	       (rule->part != NIC_PART_LAST || p->last);
}

/*
 * Does the rule fire for this matching packet? The random number is drawn last, only if it decides.
 */
static bool rule_counts(struct emu_world *w, struct emu_rule *rule)
{
	const struct nic_packet_rule *m = &rule->match;

	if (!nic_rule_in_turn(++rule->seen, m->after, m->nth, m->every))
		return false;
	if (m->times && rule->fired >= m->times)
		return false;
	return m->probability == 0 || emu_random(w) % NIC_PROBABILITY_1 < m->probability;
}

static struct emu_rule *find_rule(struct emu_world *w, const struct emu_packet *p)
{
	uint64_t now = w->fab->now;

	for (uint32_t i = 0; i < w->fab->rules && i < EMU_RULES; i++) {
		struct emu_rule *rule = &w->fab->rule[i];
		const struct nic_packet_rule *m = &rule->match;

		if (m->fault >= NIC_FAULT_COUNT || m->nak >= NIC_NAK_COUNT)
			continue; /* garbage */
		if (!nic_rule_in_time(now, m->since_ns, m->until_ns) || !kind_fits(m, p) ||
		    !end_fits(w, m->from, m->from_qp, p->from, p->source) ||
		    !end_fits(w, m->to, m->to_qp, p->to, p->target) || !rule_counts(w, rule))
			continue;
		rule->fired++;
		if (m->fault != NIC_FAULT_PASS)
			return rule;
	}
	return NULL;
}

/* ---- faults ---- */

static const char *const fault_words[NIC_FAULT_COUNT] = {
	[NIC_FAULT_PASS] = "pass",
	[NIC_FAULT_DROP] = "drop",
	[NIC_FAULT_CORRUPT] = "corrupt",
	[NIC_FAULT_DELAY] = "delay",
	[NIC_FAULT_REORDER] = "reorder",
	[NIC_FAULT_DUPLICATE] = "duplicate",
	[NIC_FAULT_RNR] = "rnr",
	[NIC_FAULT_NAK] = "nak",
	[NIC_FAULT_LINK_DOWN] = "link_down",
	[NIC_FAULT_LINK_UP] = "link_up",
	[NIC_FAULT_HOST_DEAD] = "host_dead",
};

static void trace_fault(struct emu_world *w, const struct emu_packet *p, const char *word,
			uint32_t rule)
{
	char text[EMU_PACKET_TEXT];

	if (!w->fab->trace_on)
		return;
	emu_packet_text(w, p, text);
	emu_trace_line(w, "%s>%s %s rule=%u %s", emu_adapter_name(w, p->from),
		       emu_adapter_name(w, p->to), word, rule, text);
}

static uint64_t add_jitter(struct emu_world *w, const struct nic_packet_rule *rule, uint64_t delay)
{
	uint64_t jitter = rule->jitter_ns;

	if (jitter == 0)
		return delay;
	delay += emu_random(w) % (2 * jitter + 1);
	return delay > jitter ? delay - jitter : 0;
}

static const struct emu_link *link_of(struct emu_world *w, const struct emu_packet *p)
{
	return emu_link_at(w, emu_link_find(w, p->from, p->to));
}

/* Delay the packet, and with DELAY (not REORDER) all later packets of its link. */
static bool delay_packet(struct emu_world *w, struct emu_event *event, const struct emu_packet *p,
			 const struct nic_packet_rule *rule)
{
	uint32_t index = emu_link_get(w, p->from, p->to);
	struct emu_link *link = emu_link_at(w, index);
	uint64_t delay = rule->delay_ns, when;

	if (rule->fault == NIC_FAULT_REORDER && delay == 0)
		delay = link->latency_ns + 1;
	when = w->fab->now + add_jitter(w, rule, delay);
	if (when < link->late)
		when = link->late;
	if (rule->fault == NIC_FAULT_DELAY && index)
		link->late = when;
	emu_wire_delay(w, event, when);
	if (!emu_profile(w)->stream && !p->unanswered)
		emu_retry_on(w, p->requester);
	return true;
}

/* On a stream, TCP removes duplicates. */
static void duplicate_packet(struct emu_world *w, const struct emu_event *event)
{
	if (!emu_profile(w)->stream)
		emu_wire_delay(w, event, w->fab->now);
}

/* Have the responder answer the request as the rule says, if it is the one expected next. */
static bool answer_by_rule(struct emu_world *w, const struct emu_event *event,
			   const struct emu_packet *p, const struct nic_packet_rule *rule)
{
	const struct emu_link *link = link_of(w, p);
	struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (qp->epoch == event->epoch)
		emu_respond_injected(w, qp, p->index, p->packet, rule);
	/* A packet before it is late, so the responder dropped it without an answer. */
	if (link->late > w->fab->now && !emu_profile(w)->stream)
		emu_retry_on(w, p->requester);
	return true;
}

static bool apply_rule(struct emu_world *w, struct emu_event *event, const struct emu_packet *p,
		       const struct nic_packet_rule *rule)
{
	switch ((enum nic_fault)rule->fault) {
	case NIC_FAULT_DROP:
	case NIC_FAULT_CORRUPT:
		emu_retry_lost(w, event, p);
		return true;
	case NIC_FAULT_DELAY:
	case NIC_FAULT_REORDER:
		return delay_packet(w, event, p, rule);
	case NIC_FAULT_DUPLICATE:
		duplicate_packet(w, event);
		return false;
	case NIC_FAULT_RNR:
	case NIC_FAULT_NAK:
		return answer_by_rule(w, event, p, rule);
	case NIC_FAULT_LINK_DOWN:
	case NIC_FAULT_LINK_UP:
	case NIC_FAULT_HOST_DEAD:
	case NIC_FAULT_PASS:
	case NIC_FAULT_COUNT:
		break;
	}
	return false;
}

/* LINK_DOWN, LINK_UP and HOST_DEAD take effect before the packet that triggers them arrives. */
static void change_link_or_host(struct emu_world *w, const struct emu_packet *p, uint32_t fault)
{
	bool changes = fault == NIC_FAULT_LINK_DOWN || fault == NIC_FAULT_LINK_UP;
	uint32_t index = changes ? emu_link_get(w, p->from, p->to) : 0;

	if (index)
		emu_link_at(w, index)->down = fault == NIC_FAULT_LINK_DOWN;
	if (fault == NIC_FAULT_HOST_DEAD)
		EMU_AT(w->fab->adapters, p->to).dead = true;
}

static bool takes_down(uint32_t fault)
{
	return fault == NIC_FAULT_LINK_DOWN || fault == NIC_FAULT_HOST_DEAD;
}

static bool is_silent(const struct emu_adapter *adapter)
{
	return adapter->dead || adapter->port_down;
}

static bool is_cut(struct emu_world *w, const struct emu_packet *p)
{
	return link_of(w, p)->down || is_silent(&EMU_AT(w->fab->adapters, p->from)) ||
	       is_silent(&EMU_AT(w->fab->adapters, p->to));
}

bool emu_rules_take(struct emu_world *w, struct emu_event *event, const struct emu_packet *p)
{
	struct emu_rule *rule = find_rule(w, p);
	const struct emu_link *link;

	if (rule) {
		trace_fault(w, p, fault_words[rule->match.fault],
			    (uint32_t)(rule - w->fab->rule) + 1);
		change_link_or_host(w, p, rule->match.fault);
	}
	if (is_cut(w, p)) {
		/* The packet that takes the link or host down has its line already. */
		if (!rule || !takes_down(rule->match.fault))
			trace_fault(w, p, "lost", 0);
		emu_retry_lost(w, event, p);
		return true;
	}
	if (rule && apply_rule(w, event, p, &rule->match))
		return true;
	/*
	 * Packets delayed until this very moment may still be queued: this one arrives behind them.
	 */
	link = link_of(w, p);
	if (!link->late || link->late < w->fab->now)
		return false;
	emu_wire_delay(w, event, link->late);
	return true;
}

bool emu_rules_cut(struct emu_world *w, struct emu_event *event, const struct emu_packet *p)
{
	if (!is_cut(w, p))
		return false;
	trace_fault(w, p, "lost", 0);
	event->order &= ~(uint64_t)EMU_EV_JUDGED;
	emu_retry_lost(w, event, p);
	return true;
}

/* ---- ports ---- */

void emu_port_set(struct nic *nic, bool up)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_adapter *adapter = &EMU_AT(w->fab->adapters, emu_nic(nic)->adapter);

	if (adapter->port_down == !up)
		return;
	adapter->port_down = !up;
	emu_observe(w, up ? -1 : 1);
}

/* ---- adding and removing rules ---- */

/* In a shared fabric any node name is valid: its process may join later. */
static bool name_fits(const struct emu_world *w, const char name[NIC_ADAPTER_NAME])
{
	return memchr(name, '\0', NIC_ADAPTER_NAME) &&
	       (!name[0] || emu_is_shared(w) || emu_adapter_possible(name));
}

static bool is_valid_rule(const struct emu_world *w, const struct nic_packet_rule *r)
{
	uint32_t packets = r->packets ? r->packets : NIC_PACKET_ALL;

	if (!name_fits(w, r->from) || !name_fits(w, r->to))
		return false;
	if ((r->packets & ~(uint32_t)NIC_PACKET_ALL) || r->part >= NIC_PART_COUNT ||
	    r->fault >= NIC_FAULT_COUNT || r->nak >= NIC_NAK_COUNT ||
	    r->probability > NIC_PROBABILITY_1)
		return false;
	if (r->fault == NIC_FAULT_RNR && !(packets & NIC_PACKET_SEND))
		return false;
	if (r->fault == NIC_FAULT_NAK && !(packets & NIC_PACKET_REQUESTS))
		return false;
	return r->delay_ns <= TIME_MAX && r->jitter_ns <= TIME_MAX;
}

int emu_rule_add(struct nic *nic, const struct nic_packet_rule *rule, uint32_t *id)
{
	struct emu_world *w = emu_world_of(nic);
	uint32_t n = w->fab->rules;

	if (!is_valid_rule(w, rule))
		return -EINVAL;
	if (n == EMU_RULES)
		return -ENOMEM;
	w->fab->rule[n] = (struct emu_rule){ .match = *rule };
	w->fab->rules = n + 1;
	emu_observe(w, 1);
	*id = n + 1;
	emu_trace(w, "- rule add=%u verdict=%s", *id, fault_words[rule->fault]);
	return 0;
}

int emu_rule_fired(struct nic *nic, uint32_t id, uint64_t *fired)
{
	const struct emu_fabric *fab = emu_world_of(nic)->fab;

	if (id == 0 || id > fab->rules)
		return -ENOENT;
	*fired = fab->rule[id - 1].fired;
	return 0;
}

void emu_rules_clear(struct nic *nic)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_fabric *fab = w->fab;
	int rules = (int)fab->rules;

	if (rules == 0)
		return;
	emu_trace(w, "- rule clear=%d", rules);
	fab->rules = 0;
	/* Unused rules are zero: spare.c. */
	for (int i = 0; i < rules && i < (int)EMU_RULES; i++)
		fab->rule[i] = (struct emu_rule){ .fired = 0 };
	for (uint32_t i = 1; i <= emu_adapter_high(fab); i++)
		fab->adapters[i].dead = false;
	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link); i++) {
		fab->link[i].down = false;
		fab->link[i].late = 0;
	}
	emu_observe(w, -rules);
}

void emu_rules_trace(struct emu_world *w)
{
	for (uint32_t i = 0; i < w->fab->rules && i < EMU_RULES; i++)
		emu_trace(w, "- rule fired=%u times=%lu", i + 1, w->fab->rule[i].fired);
}
