/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules: matching them against calls, completions and events, and adding and removing them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "host/random.h"

#define TIME_MAX (1ul << 50) /* so that no sum of times wraps */

static const char *const words[NIC_SPOIL_COUNT] = {
	[NIC_SPOIL_PASS] = "pass",     [NIC_SPOIL_FAIL] = "fail",
	[NIC_SPOIL_STATUS] = "status", [NIC_SPOIL_OVERFLOW] = "overflow",
	[NIC_SPOIL_LOSE] = "lose",     [NIC_SPOIL_DELAY] = "delay",
	[NIC_SPOIL_FATAL] = "fatal",   [NIC_SPOIL_REMOVE] = "remove",
	[NIC_SPOIL_DOWN] = "down",     [NIC_SPOIL_KILL] = "kill",
};

void fault_trace(struct nic_faults *f, const char *format, ...)
{
	va_list args;

	if (!f->control->tracing)
		return;
	va_start(args, format);
	f->below->trace(f->control, format, args);
	va_end(args);
}

bool fault_is_dead(const struct nic_faults *f, const struct nic *nic)
{
	const struct fault_dead *dead;

	LIST_FOREACH(dead, &f->dead, link)
	if (dead->nic == nic)
		return true;
	return false;
}

/* ---- matching ---- */

/* The counts and the chance of a rule. Chance comes last: a number is drawn only if it decides. */
static bool rule_counts(struct nic_faults *f, struct fault_rule *rule)
{
	const struct nic_fault_rule *m = &rule->match;

	if (!nic_rule_in_turn(++rule->seen, m->after, m->nth, m->every))
		return false;
	if (m->times && rule->fired >= m->times)
		return false;
	return m->probability == 0 || random_next(&f->random) % NIC_PROBABILITY_1 < m->probability;
}

static bool place_fits(const struct nic_faults *f, const struct nic_fault_rule *m,
		       const struct nic *nic, const void *qp_ctx)
{
	if (!nic_rule_in_time(f->below->now(f->control), m->since_ns, m->until_ns))
		return false;
	if (m->adapter[0] && strcmp(m->adapter, f->host.adapter_name(nic)) != 0)
		return false;
	const char *noun;

	return !m->qp || (qp_ctx && f->host.qp_name(qp_ctx, &noun) == m->qp);
}

/* What happens, for which there may be a rule: a call or an event. */
struct happening {
	uint32_t entry, call, event;
	const char *at;
};

static bool what_fits(const struct nic_fault_rule *m, const struct happening *h)
{
	if (!h->entry)
		return m->events & h->event;
	return (m->entries & h->entry) && (h->entry != NIC_ENTRY_CALL || m->call == h->call);
}

static struct fault_rule *rule_match(struct nic_faults *f, struct nic *nic, const void *qp_ctx,
				     const struct happening *h)
{
	for (uint32_t i = 0; i < f->count; i++) {
		struct fault_rule *rule = &f->rules[i];
		const struct nic_fault_rule *m = &rule->match;
		char qp[24] = "";
		const char *noun;
		uint32_t name;

		if (!what_fits(m, h) || !place_fits(f, m, nic, qp_ctx) || !rule_counts(f, rule))
			continue;
		rule->fired++;
		if (qp_ctx) {
			name = f->host.qp_name(qp_ctx, &noun);
			snprintf(qp, sizeof(qp), ".%s%u", noun, name);
		}
		fault_trace(f, "%s%s fault rule=%u does=%s at=%s", f->host.adapter_name(nic), qp,
			    NIC_FAULT_ID0 + 1 + i, words[m->spoil], h->at);
		if (m->spoil != NIC_SPOIL_PASS)
			return rule;
	}
	return NULL;
}

struct fault_rule *fault_match_entry(struct nic_faults *f, struct nic *nic, const struct nic_qp *qp,
				     uint32_t entry, const char *at)
{
	const struct happening h = { .entry = entry, .at = at };

	return rule_match(f, nic, qp ? qp->ctx : NULL, &h);
}

struct fault_rule *fault_match_event(struct nic_faults *f, struct nic *nic, const void *qp_ctx,
				     uint32_t event, const char *at)
{
	const struct happening h = { .event = event, .at = at };

	return rule_match(f, nic, qp_ctx, &h);
}

int nic_fault_call(struct nic_faults *f, struct nic *nic, const void *qp_ctx, uint32_t call,
		   const char *name)
{
	const struct happening h = { .entry = NIC_ENTRY_CALL, .call = call, .at = name };
	const struct fault_rule *rule;

	if (fault_is_dead(f, nic))
		return -EIO;
	rule = rule_match(f, nic, qp_ctx, &h);
	return rule ? rule->match.error : 0;
}

void fault_no_memory(struct nic_faults *f, struct fault_rule *rule, struct nic *nic)
{
	rule->fired--;
	fault_trace(f, "%s note no memory for rule %u: the adapter fails",
		    f->host.adapter_name(nic), NIC_FAULT_ID0 + 1 + (uint32_t)(rule - f->rules));
	f->host.up->adapter_failed(nic->ctx);
}

bool nic_fault_memory(struct nic_faults *f, struct nic *nic, const char *where)
{
	return !fault_match_entry(f, nic, NULL, NIC_ENTRY_MEMORY, where);
}

/* ---- the rules ---- */

/* Can a rule give a completion this status? */
static bool is_status(uint32_t status)
{
	return (status != NIC_WC_SUCCESS && status < NIC_WC_COUNT) ||
	       (status > NIC_WC_OWN && status <= NIC_WC_OWN_MOST);
}

/* Has the rule the fields that its verdict needs, and no others? */
static bool is_complete(const struct nic_fault_rule *r)
{
	switch ((enum nic_spoil)r->spoil) {
	case NIC_SPOIL_PASS:
		return !r->entries != !r->events;
	case NIC_SPOIL_FAIL:
		return r->entries && !r->events && r->error < 0;
	case NIC_SPOIL_STATUS:
		return r->events && !(r->events & ~(uint32_t)NIC_EVENT_WC_ALL) && !r->entries &&
		       is_status(r->status);
	case NIC_SPOIL_OVERFLOW:
		return r->events && !(r->events & ~(uint32_t)NIC_EVENT_WC_ALL) && !r->entries;
	case NIC_SPOIL_LOSE: /* upcalls only: a NIC never loses completions */
		return r->events && !(r->events & ~NIC_EVENT_UPCALLS) && !r->entries;
	case NIC_SPOIL_DELAY:
		return r->events && !r->entries;
	case NIC_SPOIL_FATAL:
	case NIC_SPOIL_REMOVE:
	case NIC_SPOIL_KILL:
		return !r->events && !r->entries && r->adapter[0];
	case NIC_SPOIL_DOWN:
		return !r->events && !r->entries && r->adapter[0] && r->until_ns <= TIME_MAX &&
		       (r->until_ns == 0 || r->until_ns > r->since_ns);
	case NIC_SPOIL_COUNT:
		break;
	}
	return false;
}

static bool is_valid(const struct nic_fault_rule *r)
{
	if (r->spoil >= NIC_SPOIL_COUNT || !is_complete(r))
		return false;
	if (r->entries & ~(uint32_t)NIC_ENTRY_ALL || !(r->entries & NIC_ENTRY_CALL) != !r->call ||
	    r->events & ~((uint32_t)NIC_EVENT_WC_ALL | NIC_EVENT_UPCALLS))
		return false;
	return memchr(r->adapter, '\0', sizeof(r->adapter)) &&
	       r->probability <= NIC_PROBABILITY_1 && r->delay_ns <= TIME_MAX &&
	       r->since_ns <= TIME_MAX;
}

/* Of a rule about an adapter, which will be the next one. */
static int add_moment(struct nic_faults *f, const struct nic_fault_rule *rule)
{
	enum fault_later_kind kind = rule->spoil == NIC_SPOIL_DOWN   ? FAULT_LATER_DOWN
				     : rule->spoil == NIC_SPOIL_KILL ? FAULT_LATER_KILL
								     : FAULT_LATER_FATAL;
	struct fault_later *later;

	later = fault_later_add(f, rule->since_ns, kind);
	if (!later)
		return -ENOMEM;
	later->rule = f->count;
	if (kind != FAULT_LATER_FATAL)
		return 0;
	later->dead = calloc(1, sizeof(*later->dead));
	if (later->dead)
		return 0;
	fault_later_drop(f, later);
	return -ENOMEM;
}

int nic_fault_add(struct nic_faults *f, const struct nic_fault_rule *rule, uint32_t *id)
{
	if (!is_valid(rule) || (rule->spoil == NIC_SPOIL_DOWN && !(f->control->caps & NIC_CAP_SIM)))
		return -EINVAL;
	if (f->count == NIC_FAULT_RULES)
		return -ENOMEM;
	if (rule->spoil >= NIC_SPOIL_FATAL && add_moment(f, rule))
		return -ENOMEM;
	f->rules[f->count++] = (struct fault_rule){ .match = *rule };
	*id = NIC_FAULT_ID0 + f->count;
	fault_trace(f, "- rule add=%u verdict=%s", *id, words[rule->spoil]);
	return 0;
}

int nic_fault_fired(struct nic_faults *f, uint32_t id, uint64_t *fired)
{
	if (id <= NIC_FAULT_ID0 || id > NIC_FAULT_ID0 + f->count)
		return -ENOENT;
	*fired = f->rules[id - NIC_FAULT_ID0 - 1].fired;
	return 0;
}

void nic_fault_clear(struct nic_faults *f)
{
	if (f->count == 0)
		return;
	fault_trace(f, "- rule clear=%u", f->count);
	f->count = 0;
	fault_later_heal(f);
}
