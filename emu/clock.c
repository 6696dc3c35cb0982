/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "cm.h"
#include "cq.h"
#include "inbox.h"
#include "qp.h"
#include "respond.h"
#include "recover.h"
#include "retry.h"
#include "rx.h"
#include "shared.h"
#include "tx.h"
#include "wire.h"

#define FOLLOW_MOST 1000u /* events run in one go */
#define CALL_MOST   32u   /* by a call, of a shared fabric: whoever waits there runs the others */
#define FOLLOW_REST_NS \
	20000u /* then, where there are more, others have the lock for so much longer */

static bool earlier(const struct emu_event *a, const struct emu_event *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* Put `event` where the hole at i belongs: children that are earlier move up. */
static EMU_COLD void sift_down(struct emu_fabric *fab, uint32_t i, const struct emu_event *event)
{
	struct emu_event *heap = fab->heap;
	uint32_t n = fab->events;

	for (;;) {
		uint32_t child = i * EMU_HEAP_ARITY + 1, least = child,
			 end = child + EMU_HEAP_ARITY;

		if (child >= n)
			break;
		if (end > n)
			end = n;
		while (++child < end)
			if (earlier(&heap[child], &heap[least]))
				least = child;
		if (!earlier(&heap[least], event))
			break;
		heap[i] = heap[least];
		i = least;
	}
	heap[i] = *event;
}

static inline void heap_pop(struct emu_fabric *fab)
{
	uint32_t n = --fab->events;

	if (n > 0)
		sift_down(fab, 0, &fab->heap[n]);
}

static void heap_remove(struct emu_fabric *fab, uint32_t i)
{
	struct emu_event last = fab->heap[--fab->events];

	if (i == fab->events)
		return;
	while (i > 0 && earlier(&last, &fab->heap[(i - 1) / EMU_HEAP_ARITY])) {
		fab->heap[i] = fab->heap[(i - 1) / EMU_HEAP_ARITY];
		i = (i - 1) / EMU_HEAP_ARITY;
	}
	sift_down(fab, i, &last);
	fab->heap[fab->events].order = EMU_NO_EVENT;
}

void emu_reschedule(struct emu_world *w, const struct emu_event *event, uint64_t time)
{
	emu_schedule(w, time, (enum emu_event_kind)(event->order & 0xff), event->qp, event->epoch,
		     event->index, event->packet);
}

static void dispatch(struct emu_world *w, struct emu_event *e)
{
	if (w->fab->observed > 0 && emu_wire_takes(w, e))
		return;
	switch (emu_event_kind(e)) {
	case EMU_EV_DATA:
	case EMU_EV_DATA_REST:
		if (!emu_qp_stale(emu_qp_at(w, e->qp), e))
			emu_respond(w, emu_qp_at(w, e->qp), e->index, e->packet, emu_event_kind(e));
		break;
	case EMU_EV_ACK:
		emu_retry_ack(w, e);
		break;
	case EMU_EV_RNR:
	case EMU_EV_NAK:
	case EMU_EV_NAK_SEQUENCE:
	case EMU_EV_RNR_TIMER:
		emu_tx_answer(w, e);
		break;
	case EMU_EV_RESPONSE:
	case EMU_EV_RESPONSE_REST:
		emu_retry_response(w, e);
		break;
	case EMU_EV_RETRY_TIMER:
		emu_retry_timer(w, e);
		break;
	case EMU_EV_ACK_DUE:
		emu_respond_ack_due(w, e);
		break;
	case EMU_EV_TERMINATE:
	case EMU_EV_BREAK:
	case EMU_EV_DISCONNECT:
		emu_qp_end_event(w, e);
		break;
	case EMU_EV_CM_REQUEST:
	case EMU_EV_CM_REPLY:
	case EMU_EV_CM_READY:
	case EMU_EV_CM_GONE:
	case EMU_EV_CM_TIMEOUT:
		emu_cm_event(w, e);
		break;
	case EMU_EV_NONE:
	case EMU_EV_COUNT:
		EMU_SURE(w, false);
	}
}

void emu_timer_start(struct emu_world *w, struct emu_qp *qp, uint64_t time,
		     enum emu_event_kind kind)
{
	EMU_SURE(w, !qp->timer);
	qp->timer = true;
	emu_schedule(w, time, kind, emu_qp_index(w, qp), qp->epoch, 0, 0);
}

static bool is_timer_of(struct emu_world *w, const struct emu_qp *qp, const struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);

	return (kind == EMU_EV_RNR_TIMER || kind == EMU_EV_RETRY_TIMER ||
		kind == EMU_EV_CM_TIMEOUT) &&
	       event->qp == emu_qp_index(w, qp) && event->epoch == qp->epoch;
}

static uint32_t find_timer(struct emu_world *w, const struct emu_qp *qp)
{
	uint32_t i = 0, n = emu_events(w->fab);

	while (i < n && !is_timer_of(w, qp, &w->fab->heap[i]))
		i++;
	return i;
}

bool emu_timer_queued(struct emu_world *w, const struct emu_qp *qp)
{
	return find_timer(w, qp) < emu_events(w->fab);
}

/* Found by looking: timers are stopped when connections come and go, not per message. */
void emu_timer_stop(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_fabric *fab = w->fab;
	uint32_t i;

	if (!qp->timer)
		return;
	qp->timer = false;
	emu_retry_off(w, qp);
	i = find_timer(w, qp);
	EMU_SURE(w, i < fab->events);
	if (i < fab->events && fab->events <= EMU_EVENTS)
		heap_remove(fab, i);
}

uint32_t emu_pending(struct nic *nic, uint64_t *next_ns)
{
	struct emu_fabric *fab = emu_world_of(nic)->fab;

	if (fab->events > 0)
		*next_ns = fab->heap[0].time;
	return fab->events;
}

static EMU_COLD void run_any(struct emu_world *w)
{
	struct emu_event event = w->fab->heap[0];

	heap_pop(w->fab);
	dispatch(w, &event);
}

/* Run the first event; there is one. The two kinds of every message take the short way. */
static inline void run_first(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;
	const struct emu_event *e = &fab->heap[0];
	enum emu_event_kind kind = emu_event_kind(e);
	uint32_t qp = e->qp, epoch = e->epoch, index = e->index, packet = e->packet;

	/* Only under the monotonic clock may an event be late. */
	if (e->time >= fab->now)
		fab->now = e->time;
	else
		assert(w->following);
	if (kind > EMU_EV_ACK || fab->observed > 0) {
		run_any(w);
		return;
	}
	heap_pop(fab);
	if (kind == EMU_EV_DATA)
		emu_rx_data(w, qp, epoch, index, packet, kind);
	else
		emu_tx_ack(w, qp, epoch, index);
}

/* Who dies meanwhile has changed nothing. */
static void run_shared(struct emu_world *w, struct emu_event *event)
{
	emu_section_event(w, event);
	dispatch(w, event);
	emu_section_event_done(w);
}

/* In a shared fabric: here, or where it has to be. */
EMU_COLD void emu_clock_run_first(struct emu_world *w)
{
	struct emu_event event = w->fab->heap[0];
	uint16_t process;

	/* Another process wrote nonsense there: nothing is sure any more. */
	if (w->fab->events > EMU_EVENTS) {
		w->fab->events = 0;
		emu_process(w, w->process)->overrun = true;
		return;
	}

	if (event.time > w->fab->now)
		w->fab->now = event.time;
	/* Twice for a moment is better than not at all. */
	process = emu_shared_runner(w, &event);
	if (process)
		emu_inbox_run(w, process, &event);
	else
		emu_section_event(w, &event);
	heap_pop(w->fab);
	w->fab->heap[w->fab->events].order = EMU_NO_EVENT;
	if (process)
		return;
	dispatch(w, &event);
	emu_section_event_done(w);
}

void emu_clock_run(struct emu_world *w, struct emu_event *event)
{
	run_shared(w, event);
}

bool emu_step(struct nic *nic)
{
	struct emu_world *w = emu_world_of(nic);
	struct nic *host = w->following ? emu_clock_host(w, nic) : NULL;

	/* Nobody jumps ahead of other processes. */
	if (w->fab->events == 0 || w->process)
		return false;
	run_first(w);
	/* Somebody jumped ahead of the monotonic clock: it goes on from there. */
	if (host)
		w->mono_base = host->up->monotonic_ns(host->ctx) - w->fab->now;
	return true;
}

uint64_t emu_now(struct nic *nic)
{
	struct emu_world *w = emu_world_of(nic);
	struct nic *host = w->following ? emu_clock_host(w, nic) : NULL;

	if (!host)
		return w->fab->now;
	/* In a shared fabric it is that time though events are behind: a timeout counted from theirs came early. */
	if (!emu_follow(w, host) && w->process)
		return host->up->monotonic_ns(host->ctx) - w->mono_base;
	return w->fab->now;
}

/*
 * Events may come faster than they can be run, without end (a Send that is answered "not ready" for ever):
 * then time slips, so that nobody runs them for longer and longer with the lock held.
 */
static bool follow(struct emu_world *w, struct nic *nic, unsigned int most)
{
	uint64_t mono = nic->up->monotonic_ns(nic->ctx) - w->mono_base;
	unsigned int n;

	/* Nor is it ahead, but where another process wrote nonsense. */
	if (w->process && w->fab->now > mono)
		w->fab->now = mono;
	for (n = 0; w->fab->events > 0 && w->fab->heap[0].time <= mono; n++) {
		if (n == most) {
			/* The time of a shared fabric is not this process's alone: there it falls behind. */
			if (!w->process)
				w->mono_base += mono - w->fab->now;
			return false;
		}
		if (w->process)
			emu_clock_run_first(w);
		else
			run_first(w);
	}
	if (mono > w->fab->now)
		w->fab->now = mono;
	return true;
}

bool emu_follow(struct emu_world *w, struct nic *nic)
{
	return follow(w, nic, w->process ? CALL_MOST : FOLLOW_MOST);
}

/* One step under the monotonic clock: what is due runs, what is not is slept for. */
static enum nic_wait wait_following(struct emu_world *w, struct nic *nic, uint64_t deadline)
{
	uint64_t sequence = w->fab->sequence, until = deadline;
	uint32_t events = w->fab->events;
	uint64_t begin = nic->up->monotonic_ns(nic->ctx), end;

	if (!follow(w, nic, FOLLOW_MOST)) {
		/* Others want the lock, too: for as long as we had it. A wait ends all the same. */
		end = nic->up->monotonic_ns(nic->ctx);
		if (end - w->mono_base >= deadline)
			return NIC_WAIT_DEADLINE;
		nic->up->sleep(nic->ctx, end + (end - begin) + FOLLOW_REST_NS);
		return NIC_WAIT_RAN;
	}
	if (w->fab->sequence != sequence || w->fab->events != events)
		return NIC_WAIT_RAN;
	if (w->fab->now >= deadline)
		return NIC_WAIT_DEADLINE;
	if (w->fab->events > 0 && w->fab->heap[0].time < until)
		until = w->fab->heap[0].time;
	if (until != NIC_TIME_NEVER)
		until += w->mono_base;
	return nic->up->sleep(nic->ctx, until);
}

/* Once several threads are about, time is nobody's to jump with any more. */
static void start_following(struct emu_world *w, struct nic *host)
{
	w->following = true;
	w->mono_base = host->up->monotonic_ns(host->ctx) - w->fab->now;
	for (uint32_t i = 0; i <= EMU_ADAPTERS; i++)
		w->nics[i].base.poll_quantum_ns = 0;
}

void emu_clock_share(struct emu_world *w, struct nic *nic)
{
	struct emu_shared *shared = &w->fab->shared;

	nic->poll_quantum_ns = w->nics[0].base.poll_quantum_ns = 0;
	if (emu_lockstep(w))
		return;
	if (!shared->clock_runs)
		shared->mono_base = nic->up->monotonic_ns(nic->ctx) - w->fab->now;
	shared->clock_runs = true;
	w->following = true;
	w->mono_base = shared->mono_base;
}

struct nic *emu_clock_host(struct emu_world *w, struct nic *nic)
{
	for (uint32_t i = 1; !nic->up && i <= EMU_ADAPTERS; i++)
		/* Of a shared one others may say that it is closed. */
		if (w->process ? w->nics[i].base.up != NULL : w->fab->adapters[i].open)
			nic = &w->nics[i].base;
	return nic->up ? nic : NULL;
}

bool emu_clock_due(struct emu_world *w, uint64_t time)
{
	struct nic *host = emu_clock_host(w, &w->nics[0].base);

	return host && time <= host->up->monotonic_ns(host->ctx) - w->mono_base;
}

void emu_clock_settle(struct emu_world *w)
{
	struct nic *host = w->fab->events > 0 ? emu_clock_host(w, &w->nics[0].base) : NULL;

	if (host)
		emu_follow(w, host);
}

/* Whether time follows the monotonic clock by now: see clock.h. */
static EMU_COLD bool follows_now(struct emu_world *w, struct nic *nic)
{
	struct nic *host = emu_clock_host(w, nic);

	if (host && !w->following && !emu_lockstep(w))
		start_following(w, host);
	return host != NULL;
}

static inline bool follows(struct emu_world *w, struct nic *nic)
{
	return __builtin_expect(nic->threaded, 0) && follows_now(w, nic);
}

static EMU_COLD enum nic_wait wait_threaded(struct emu_world *w, struct nic *host,
					    struct nic_cq *cq, uint64_t deadline)
{
	if (emu_lockstep(w))
		return emu_lockstep_wait(w, host, emu_cq_index(w, cq), deadline);
	return wait_following(w, host, deadline);
}

enum nic_wait emu_wait(struct nic *nic, struct nic_cq *cq_base, uint64_t deadline)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_fabric *fab = w->fab;
	const struct emu_cq *cq = cq_base ? emu_local_cq(cq_base)->entry : NULL;
	uint32_t put = cq ? cq->put : 0;

	if (follows(w, nic))
		return wait_threaded(w, emu_clock_host(w, nic), cq_base, deadline);
	while (fab->events > 0 && fab->heap[0].time <= deadline) {
		run_first(w);
		if (!cq || cq->put != put || nic->attention)
			return NIC_WAIT_RAN;
	}
	if (deadline == NIC_TIME_NEVER)
		return NIC_WAIT_HOPELESS;
	if (deadline > fab->now)
		fab->now = deadline;
	return NIC_WAIT_DEADLINE;
}

/* Under the monotonic clock nothing is to be gained by looking longer. */
static EMU_COLD bool spin_following(struct emu_local_cq *cq, struct nic_wc *wc)
{
	struct nic *host = emu_clock_host(cq->world, cq->base.nic);

	if (emu_lockstep(cq->world))
		emu_lockstep_poll(cq->world);
	else if (host)
		emu_follow(cq->world, host);
	if (cq->entry->put == cq->entry->get)
		return false;
	emu_cq_get(cq->world, cq->entry, wc);
	return true;
}

bool emu_cq_spin(struct nic_cq *base, struct nic_wc *wc)
{
	struct emu_world *w = emu_local_cq(base)->world;
	struct emu_cq *cq = emu_local_cq(base)->entry;
	struct emu_fabric *fab = w->fab;
	uint64_t deadline;

	if (cq->put == cq->get) {
		if (follows(w, base->nic))
			return spin_following(emu_local_cq(base), wc);
		deadline = fab->now + base->nic->poll_quantum_ns;
		do {
			if (fab->events == 0 || fab->heap[0].time > deadline) {
				fab->now = deadline;
				return false;
			}
			run_first(w);
		} while (cq->put == cq->get);
	}
	emu_cq_get(w, cq, wc);
	return true;
}
