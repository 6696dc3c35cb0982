/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Delayed and lost events: upcalls that a rule delays or loses, notifications of delayed
 * completions, and failures of adapters and ends of processes at a given time.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"

static void later_insert(struct nic_faults *f, struct fault_later *later)
{
	struct fault_later *after;

	TAILQ_FOREACH(after, &f->later, link)
		if (after->time > later->time)
			break;
	if (after)
		TAILQ_INSERT_BEFORE(after, later, link);
	else
		TAILQ_INSERT_TAIL(&f->later, later, link);
}

struct fault_later *fault_later_add(struct nic_faults *f, uint64_t time, enum fault_later_kind kind)
{
	struct fault_later *later = calloc(1, sizeof(*later));

	if (!later)
		return NULL;
	later->time = time;
	later->kind = kind;
	later_insert(f, later);
	return later;
}

void fault_later_wake(struct nic_faults *f, struct nic *nic)
{
	f->host.up->wake(nic->ctx);
}

void fault_later_drop(struct nic_faults *f, struct fault_later *later)
{
	TAILQ_REMOVE(&f->later, later, link);
	free(later->dead);
	free(later);
}

uint64_t fault_later_next(const struct nic_faults *f)
{
	const struct fault_later *first = TAILQ_FIRST(&f->later);

	return first ? first->time : NIC_TIME_NEVER;
}

uint32_t fault_later_count(const struct nic_faults *f)
{
	const struct fault_later *later;
	uint32_t n = 0;

	TAILQ_FOREACH(later, &f->later, link)
		n += later->time != NIC_TIME_NEVER;
	return n;
}

/* ---- running entries ---- */

static void fail_adapter(struct nic_faults *f, struct fault_later *later)
{
	struct fault_rule *rule = &f->rules[later->rule];
	struct nic *nic = f->host.adapter(f->host.ctx, rule->match.adapter);
	bool removed = rule->match.spoil == NIC_SPOIL_REMOVE;

	if (!nic)
		return; /* the adapter is not open: nothing happens */
	rule->fired++;
	fault_trace(f, "%s fault rule=%u does=%s at=adapter", rule->match.adapter,
		    NIC_FAULT_ID0 + 1 + later->rule, removed ? "remove" : "fatal");
	later->dead->nic = nic;
	LIST_INSERT_HEAD(&f->dead, later->dead, link);
	later->dead = NULL;
	f->host.up->adapter_failed(nic->ctx);
	if (removed)
		f->host.up->adapter_event(nic->ctx, NIC_ADAPTER_REMOVED);
}

/* Each process of a shared fabric has the rule: only the one that has the adapter ends. */
static void kill_process(struct nic_faults *f, const struct fault_later *later)
{
	struct fault_rule *rule = &f->rules[later->rule];

	if (!f->host.adapter(f->host.ctx, rule->match.adapter))
		return;
	rule->fired++;
	fault_trace(f, "%s fault rule=%u does=kill at=process", rule->match.adapter,
		    NIC_FAULT_ID0 + 1 + later->rule);
	if (rule->match.until_ns)
		f->host.restarts(f->host.ctx);
	kill(getpid(), SIGKILL);
}

static void set_port(struct nic_faults *f, struct nic *nic, bool up)
{
	f->below->sim_port(nic, up);
	f->host.up->adapter_event(nic->ctx, up ? NIC_ADAPTER_PORT_UP : NIC_ADAPTER_PORT_DOWN);
}

/* True: the entry is queued again, for the time when the port comes up. */
static bool port_goes_down(struct nic_faults *f, struct fault_later *later)
{
	struct fault_rule *rule = &f->rules[later->rule];
	struct nic *nic = f->host.adapter(f->host.ctx, rule->match.adapter);

	if (!nic)
		return false; /* the adapter is not open: nothing happens */
	rule->fired++;
	memcpy(later->adapter, rule->match.adapter, sizeof(later->adapter));
	later->kind = FAULT_LATER_UP;
	later->time = rule->match.until_ns ? rule->match.until_ns : NIC_TIME_NEVER;
	later_insert(f, later);
	fault_trace(f, "%s fault rule=%u does=down at=port", later->adapter,
		    NIC_FAULT_ID0 + 1 + later->rule);
	set_port(f, nic, false);
	return true;
}

/* Another rule may have taken the port down, too. */
static bool is_held_down(const struct nic_faults *f, const char *adapter)
{
	const struct fault_later *later;

	TAILQ_FOREACH(later, &f->later, link)
		if (later->kind == FAULT_LATER_UP && strcmp(later->adapter, adapter) == 0)
			return true;
	return false;
}

static void port_comes_up(struct nic_faults *f, const struct fault_later *later)
{
	struct nic *nic = f->host.adapter(f->host.ctx, later->adapter);

	if (!nic || is_held_down(f, later->adapter))
		return;
	fault_trace(f, "%s fault does=up at=port", later->adapter);
	set_port(f, nic, true);
}

void nic_fault_opened(struct nic_faults *f, struct nic *nic)
{
	if (is_held_down(f, f->host.adapter_name(nic)))
		set_port(f, nic, false);
}

static void later_upcall(struct nic_faults *f, const struct fault_later *later)
{
	const struct nic_fault_upcall *u = &later->upcall;
	const struct nic_upcalls *up = f->host.up;

	switch ((enum nic_event)u->event) {
	case NIC_EVENT_NOTIFY:
		up->cq_notify(u->ctx);
		break;
	case NIC_EVENT_SRQ_LIMIT:
		up->srq_limit(u->ctx);
		break;
	case NIC_EVENT_SOFT_LIMIT:
		up->qp_soft_limit(u->ctx);
		break;
	case NIC_EVENT_CONN_REQUEST:
		up->conn_request(u->ctx, u->conn);
		break;
	case NIC_EVENT_ESTABLISHED:
		up->established(u->ctx, u->peer ? &later->peer : NULL);
		break;
	default:
		if (u->event & NIC_EVENT_ALARM_ALL)
			up->qp_event(u->ctx, NIC_QP_ALARM);
		for (int why = 0; why < NIC_END_COUNT; why++)
			if (u->event == (uint32_t)NIC_EVENT_END << why)
				up->conn_end(u->ctx, (enum nic_conn_end)why);
		break;
	}
}

static void later_run(struct nic_faults *f, struct fault_later *later)
{
	TAILQ_REMOVE(&f->later, later, link);
	switch (later->kind) {
	case FAULT_LATER_UPCALL:
		later_upcall(f, later);
		break;
	case FAULT_LATER_LOST:
		f->host.up->cq_lost(later->cq->ctx, later->qp->ctx, (enum nic_opcode)later->opcode);
		break;
	case FAULT_LATER_READY:
		f->host.up->cq_notify(later->cq->ctx);
		break;
	case FAULT_LATER_FATAL:
		fail_adapter(f, later);
		break;
	case FAULT_LATER_KILL:
		kill_process(f, later);
		break;
	case FAULT_LATER_DOWN:
		if (port_goes_down(f, later))
			return;
		break;
	case FAULT_LATER_UP:
		port_comes_up(f, later);
		break;
	}
	free(later->dead);
	free(later);
}

void fault_later_run(struct nic_faults *f)
{
	uint64_t now = f->below->now(f->control);

	while (fault_later_next(f) <= now)
		later_run(f, TAILQ_FIRST(&f->later));
}

void fault_later_heal(struct nic_faults *f)
{
	struct fault_later *later, *next;

	for (later = TAILQ_FIRST(&f->later); later; later = next) {
		next = TAILQ_NEXT(later, link);
		if (later->kind == FAULT_LATER_FATAL || later->kind == FAULT_LATER_KILL ||
		    later->kind == FAULT_LATER_DOWN)
			fault_later_drop(f, later);
		else if (later->kind == FAULT_LATER_UP)
			later_run(f, later);
	}
}

/* ---- upcalls that a rule applies to ---- */

static bool is_end(const struct fault_later *later)
{
	return later->kind == FAULT_LATER_UPCALL && (later->upcall.event & NIC_EVENT_END_ALL);
}

bool fault_later_end(struct nic_faults *f, const struct nic_qp *qp)
{
	struct fault_later *later;

	TAILQ_FOREACH(later, &f->later, link) {
		if (is_end(later) && later->upcall.ctx == qp->ctx) {
			later_run(f, later);
			return true;
		}
	}
	return false;
}

/* A connection ends while its ESTABLISHED is still delayed: lib must not hear of it any more. */
static void forget_established(struct nic_faults *f, const void *ctx)
{
	struct fault_later *later, *next;

	for (later = TAILQ_FIRST(&f->later); later; later = next) {
		next = TAILQ_NEXT(later, link);
		if (later->kind == FAULT_LATER_UPCALL && later->upcall.ctx == ctx &&
		    later->upcall.event == NIC_EVENT_ESTABLISHED)
			fault_later_drop(f, later);
	}
}

static const char *event_word(uint32_t event)
{
	switch (event) {
	case NIC_EVENT_NOTIFY:
		return "notify";
	case NIC_EVENT_SRQ_LIMIT:
		return "srq_limit";
	case NIC_EVENT_SOFT_LIMIT:
		return "soft_limit";
	case NIC_EVENT_CONN_REQUEST:
		return "conn_request";
	case NIC_EVENT_ESTABLISHED:
		return "established";
	default:
		return event & NIC_EVENT_ALARM_ALL ? "alarm" : "conn_end";
	}
}

/* lib's context of the QP of an upcall; NULL: it is not about a QP. */
static const void *upcall_qp(const struct nic_fault_upcall *u)
{
	return u->event & (NIC_EVENT_SOFT_LIMIT | NIC_EVENT_ESTABLISHED | NIC_EVENT_END_ALL |
			   NIC_EVENT_ALARM_ALL)
		       ? u->ctx
		       : NULL;
}

/*
 * Is an upcall kept in the list? Delayed ones are. Lost ones are if something must still happen to
 * them: a connection request has to be rejected, the end of a connection reported at a disconnect.
 */
static bool is_kept(const struct nic_fault_upcall *u, const struct nic_fault_rule *rule)
{
	return rule->spoil == NIC_SPOIL_DELAY ||
	       (u->event & (NIC_EVENT_CONN_REQUEST | NIC_EVENT_END_ALL));
}

bool nic_fault_upcall(struct nic_faults *f, const struct nic_fault_upcall *u)
{
	struct fault_rule *rule;
	struct fault_later *later;
	uint64_t when = NIC_TIME_NEVER;

	if (u->event & NIC_EVENT_END_ALL)
		forget_established(f, u->ctx);
	rule = fault_match_event(f, u->nic, upcall_qp(u), u->event, event_word(u->event));
	if (!rule)
		return false;
	if (!is_kept(u, &rule->match))
		return true;
	if (rule->match.spoil == NIC_SPOIL_DELAY)
		when = f->below->now(f->control) + rule->match.delay_ns;
	later = fault_later_add(f, when, FAULT_LATER_UPCALL);
	if (!later) {
		fault_no_memory(f, rule, u->nic);
		return false;
	}
	later->upcall = *u;
	if (u->peer) {
		later->peer = *u->peer;
		if (later->peer.private_data_size > sizeof(later->data))
			later->peer.private_data_size = sizeof(later->data);
		if (later->peer.private_data_size > 0)
			memcpy(later->data, u->peer->private_data, later->peer.private_data_size);
		later->peer.private_data = later->data;
	}
	if (when != NIC_TIME_NEVER)
		fault_later_wake(f, u->nic);
	return true;
}

/* ---- destroying objects ---- */

void fault_later_forget_qp(struct nic_faults *f, const struct nic_qp *qp)
{
	struct fault_later *later, *next;

	for (later = TAILQ_FIRST(&f->later); later; later = next) {
		next = TAILQ_NEXT(later, link);
		/*
		 * lib's counts depend on it. The upcall can only add entries of this kind, behind
		 * it.
		 */
		if (later->kind == FAULT_LATER_LOST && later->qp == qp)
			later_run(f, later);
		else if (later->kind == FAULT_LATER_UPCALL && upcall_qp(&later->upcall) == qp->ctx)
			fault_later_drop(f, later);
	}
}

void fault_later_forget_ctx(struct nic_faults *f, const void *ctx)
{
	struct fault_later *later, *next;

	for (later = TAILQ_FIRST(&f->later); later; later = next) {
		next = TAILQ_NEXT(later, link);
		if ((later->kind == FAULT_LATER_UPCALL && later->upcall.ctx == ctx) ||
		    (later->kind == FAULT_LATER_READY && later->cq->ctx == ctx))
			fault_later_drop(f, later);
	}
}

void fault_later_unlisten(struct nic_faults *f, const struct nic_listener *listener)
{
	struct fault_later *later, *next;

	for (later = TAILQ_FIRST(&f->later); later; later = next) {
		next = TAILQ_NEXT(later, link);
		if (later->kind != FAULT_LATER_UPCALL || later->upcall.ctx != listener->ctx)
			continue;
		f->below->reject(later->upcall.conn, false);
		fault_later_drop(f, later);
	}
}
