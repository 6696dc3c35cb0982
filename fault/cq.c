/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues of the fault layer: completions are fetched from the backend as soon as they
 * exist, rules are applied to them, and they wait here until lib polls.
 */
#include <stdlib.h>

#include "fault.h"

#define RING_FIRST 16u

/*
 * The queue of a CQ, made at its first use. A list is enough: only runs with faults use it. NULL:
 * no memory.
 */
static struct fault_cq *cq_find(struct nic_faults *f, struct nic_cq *cq)
{
	struct fault_cq *q;

	LIST_FOREACH(q, &f->cqs, link)
	if (q->cq == cq)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->cq = cq;
	q->limit = UINT32_MAX;
	LIST_INSERT_HEAD(&f->cqs, q, link);
	return q;
}

static bool has_room(struct fault_cq *q)
{
	uint32_t room = q->room ? 2 * q->room : RING_FIRST;
	struct fault_wc *ring;

	if (q->put - q->get < q->room)
		return true;
	ring = malloc(room * sizeof(*ring));
	if (!ring)
		return false;
	for (uint32_t i = q->get; i != q->put; i++)
		ring[i & (room - 1)] = q->ring[i & (q->room - 1)];
	free(q->ring);
	q->ring = ring;
	q->room = room;
	return true;
}

/*
 * Completions that wait here count as not polled, so the backend's limit is lower by their number.
 */
static void set_limit(struct nic_faults *f, struct fault_cq *q)
{
	uint32_t waiting = q->put - q->get;

	if (q->limit != UINT32_MAX)
		f->below->cq_limit(q->cq, q->limit > waiting ? q->limit - waiting : 0);
}

/* ---- applying rules ---- */

static struct fault_qp *qp_state(struct nic_faults *f, const struct nic_qp *qp)
{
	struct fault_qp *state;

	LIST_FOREACH(state, &f->qps, link)
	if (state->qp == qp)
		return state;
	return NULL;
}

void fault_qp_clean(struct nic_faults *f, const struct nic_qp *qp)
{
	struct fault_qp *state = qp_state(f, qp);

	if (!state)
		return;
	LIST_REMOVE(state, link);
	free(state);
}

/*
 * Give a completion an error status, with the effects of a NIC: the connection breaks, and later
 * work requests of the same queue are flushed, even if the peer has received them.
 */
static void complete_in_error(struct nic_faults *f, struct nic_wc *wc, struct fault_rule *rule)
{
	struct fault_qp *state = qp_state(f, wc->qp);

	if (!state) {
		state = calloc(1, sizeof(*state));
		if (!state) {
			fault_no_memory(f, rule, wc->qp->nic);
			return;
		}
		state->qp = wc->qp;
		LIST_INSERT_HEAD(&f->qps, state, link);
	}
	if (wc->opcode == NIC_OP_RECV)
		state->receives = true;
	else
		state->sends = true;
	wc->status = (uint8_t)rule->match.status;
	if (wc->opcode != NIC_OP_BIND) /* lib uses the length of a bind itself */
		wc->length = 0;
	f->below->qp_break(wc->qp);
}

static bool is_flushed(struct nic_faults *f, const struct nic_wc *wc)
{
	const struct fault_qp *state = qp_state(f, wc->qp);

	return state && (wc->opcode == NIC_OP_RECV ? state->receives : state->sends);
}

/*
 * Drop a completion as if the CQ were full. The QP breaks at once; lib gets the cq_lost upcall
 * later, because it may be in a poll now. False: no memory, the completion stays.
 */
static bool overflow_completion(struct nic_faults *f, struct nic_cq *cq, const struct nic_wc *wc)
{
	struct fault_later *later = fault_later_add(f, f->below->now(f->control), FAULT_LATER_LOST);

	if (!later)
		return false;
	later->cq = cq;
	later->qp = wc->qp;
	later->opcode = wc->opcode;
	f->below->qp_break(wc->qp);
	return true;
}

/* False: no memory. */
static bool delay_completion(struct nic_faults *f, struct fault_cq *q, struct fault_wc *entry,
			     uint64_t ns)
{
	uint64_t ready = f->below->now(f->control) + ns;
	struct fault_later *later = fault_later_add(f, ready, FAULT_LATER_READY);

	if (!later)
		return false;
	later->cq = q->cq;
	entry->ready = ready;
	fault_later_wake(f, q->cq->nic);
	return true;
}

static const char *wc_word(uint8_t opcode)
{
	static const char *const words[NIC_OP_COUNT] = {
		[NIC_OP_SEND] = "wc_send", [NIC_OP_WRITE] = "wc_write", [NIC_OP_READ] = "wc_read",
		[NIC_OP_BIND] = "wc_bind", [NIC_OP_RECV] = "wc_recv",   [NIC_OP_SWAP] = "wc_swap",
		[NIC_OP_ADD] = "wc_add",
	};

	return words[opcode];
}

/* Apply the rules to a completion. False: it is dropped. */
static bool apply_rules(struct nic_faults *f, struct fault_cq *q, struct fault_wc *entry)
{
	struct nic_wc *wc = &entry->wc;
	struct fault_rule *rule;

	if (wc->status == NIC_WC_SUCCESS && is_flushed(f, wc)) {
		wc->status = NIC_WC_FLUSHED;
		if (wc->opcode != NIC_OP_BIND)
			wc->length = 0;
	}
	if (wc->status != NIC_WC_SUCCESS)
		return true;
	rule = fault_match_event(f, q->cq->nic, wc->qp->ctx, (uint32_t)NIC_EVENT_WC << wc->opcode,
				 wc_word(wc->opcode));
	if (!rule)
		return true;
	switch (rule->match.spoil) {
	case NIC_SPOIL_STATUS:
		complete_in_error(f, wc, rule);
		break;
	case NIC_SPOIL_DELAY:
		if (!delay_completion(f, q, entry, rule->match.delay_ns))
			fault_no_memory(f, rule, q->cq->nic);
		break;
	case NIC_SPOIL_OVERFLOW:
		if (overflow_completion(f, q->cq, wc))
			return false;
		fault_no_memory(f, rule, q->cq->nic);
		break;
	default:
		break;
	}
	return true;
}

void fault_cq_pull(struct nic_faults *f, struct nic_cq *cq)
{
	struct fault_cq *q = cq_find(f, cq);
	uint32_t put;

	if (!q)
		return;
	put = q->put;
	while (has_room(q)) {
		struct fault_wc *entry = &q->ring[q->put & (q->room - 1)];

		if (f->below->cq_poll(cq, &entry->wc, 1) != 1)
			break;
		entry->ready = 0;
		if (apply_rules(f, q, entry))
			q->put++;
	}
	if (q->put != put)
		set_limit(f, q);
}

void fault_cq_pull_all(struct nic_faults *f)
{
	struct fault_cq *q;

	LIST_FOREACH(q, &f->cqs, link)
	fault_cq_pull(f, q->cq);
}

/* Removes the completions of a QP that cannot be polled yet; returns the Receives among them. */
static uint32_t remove_waiting(struct fault_cq *q, const struct nic_qp *qp, uint64_t now)
{
	uint32_t keep = q->get, receives = 0;
	bool waits = false;

	for (uint32_t i = q->get; i != q->put; i++) {
		const struct fault_wc *entry = &q->ring[i & (q->room - 1)];

		waits |= entry->ready > now;
		if (waits && entry->wc.qp == qp)
			receives += entry->wc.opcode == NIC_OP_RECV;
		else
			q->ring[keep++ & (q->room - 1)] = *entry;
	}
	q->put = keep;
	return receives;
}

/* The limits of the CQs are set again by the front that resets or destroys the QP. */
uint32_t fault_cq_forget_qp(struct nic_faults *f, const struct nic_qp *qp)
{
	uint64_t now = f->below->now(f->control);
	uint32_t receives = 0;
	struct fault_cq *q;

	LIST_FOREACH(q, &f->cqs, link)
	receives += remove_waiting(q, qp, now);
	return receives;
}

/* ---- the entries ---- */

uint32_t fault_cq_put(struct nic_faults *f, struct nic_cq *cq)
{
	const struct fault_cq *q = cq_find(f, cq);

	return q ? q->put : 0;
}

int fault_cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n)
{
	struct nic_faults *f = fault_of(cq->nic);
	uint64_t now = f->below->now(cq->nic);
	struct fault_cq *q = cq_find(f, cq);
	int got = 0;

	if (!q)
		return 0;
	fault_cq_pull(f, cq);
	while (got < n && q->get != q->put) {
		const struct fault_wc *entry = &q->ring[q->get & (q->room - 1)];

		if (entry->ready > now)
			break;
		wc[got++] = entry->wc;
		q->get++;
	}
	if (got)
		set_limit(f, q);
	return got;
}

uint32_t fault_cq_count(struct nic_cq *cq)
{
	struct nic_faults *f = fault_of(cq->nic);
	uint64_t now = f->below->now(cq->nic);
	struct fault_cq *q = cq_find(f, cq);
	uint32_t i;

	if (!q)
		return 0;
	fault_cq_pull(f, cq);
	for (i = q->get; i != q->put && q->ring[i & (q->room - 1)].ready <= now; i++)
		;
	return i - q->get;
}

void fault_cq_limit(struct nic_cq *cq, uint32_t n)
{
	struct nic_faults *f = fault_of(cq->nic);
	struct fault_cq *q = cq_find(f, cq);

	if (!q) {
		f->below->cq_limit(cq, n); /* nothing waits here */
		return;
	}
	q->limit = n;
	set_limit(f, q);
}

bool fault_cq_begin(struct nic_cq *cq, uint32_t limit)
{
	if (!cq_find(fault_of(cq->nic), cq))
		return false;
	fault_cq_limit(cq, limit);
	return true;
}

static void free_queue(struct fault_cq *q)
{
	LIST_REMOVE(q, link);
	free(q->ring);
	free(q);
}

void fault_cq_destroy(struct nic_cq *cq)
{
	struct nic_faults *f = fault_of(cq->nic);
	struct fault_cq *q = cq_find(f, cq);

	fault_later_forget_ctx(f, cq->ctx);
	if (q)
		free_queue(q);
	f->below->cq_destroy(cq);
}

void fault_cq_free_all(struct nic_faults *f)
{
	while (!LIST_EMPTY(&f->cqs))
		free_queue(LIST_FIRST(&f->cqs));
}
