/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time: running the events that are due, waiting, and following the monotonic clock. */
#include "clock.h"

#include "emu/quick.h"
#include "sharing.h"

#define FOLLOW_MOST 1000u /* events run in one wait */
#define CALL_MOST   32u   /* by one call in a shared fabric; waiting threads run the rest */
#define FOLLOW_REST_NS \
	20000u /* then, if more are due, leave the lock to others for at least this time */

uint32_t emu_pending(struct nic *nic, uint64_t *next_ns)
{
	const struct emu_world *w = emu_world_of(nic);
	const struct emu_event *first = emu_queue_first(w);

	if (first)
		*next_ns = first->time;
	return emu_queue_length(w);
}

bool emu_step(struct nic *nic)
{
	struct emu_world *w = emu_world_of(nic);
	struct nic *host = w->following ? emu_clock_host(w, nic) : NULL;
	const struct emu_event *first = emu_queue_first(w);

	/* In a shared fabric no process may advance time alone. */
	if (!first || emu_is_shared(w))
		return false;
	emu_run_event(w, first);
	/* The step advanced time beyond the monotonic clock: continue from the new time. */
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
	/*
	 * In a shared fabric return the monotonic time even if due events are left: a timeout
	 * counted from an older time would expire early.
	 */
	if (!emu_follow(w, host) && emu_is_shared(w))
		return host->up->monotonic_ns(host->ctx) - w->mono_base;
	return w->fab->now;
}

uint64_t emu_clock_real(struct emu_world *w)
{
	struct nic *host = w->following && emu_is_shared(w) ? emu_clock_host(w, &w->nics[0].base)
							    : NULL;
	uint64_t real = host ? host->up->monotonic_ns(host->ctx) - w->mono_base : 0;

	return real > w->fab->now ? real : w->fab->now;
}

/*
 * Events may become due faster than they can be run, without end (a Send that is answered RNR
 * forever). After `most` events virtual time then falls behind the monotonic clock, so that the
 * lock is not held longer and longer.
 */
static bool follow_clock(struct emu_world *w, struct nic *nic, unsigned int most)
{
	uint64_t mono = nic->up->monotonic_ns(nic->ctx) - w->mono_base;
	const struct emu_event *first;
	unsigned int n;

	/* Virtual time is not ahead either, except for garbage from another process. */
	if (emu_is_shared(w) && w->fab->now > mono)
		w->fab->now = mono;
	for (n = 0; (first = emu_queue_first(w)) && first->time <= mono; n++) {
		if (n == most) {
			/*
			 * A shared fabric's time base belongs to all processes and stays; its time
			 * just lags.
			 */
			if (!emu_is_shared(w))
				w->mono_base += mono - w->fab->now;
			return false;
		}
		if (emu_is_shared(w))
			w->sharing->run_first(w);
		else
			emu_run_event(w, first);
	}
	if (mono > w->fab->now)
		w->fab->now = mono;
	return true;
}

bool emu_follow(struct emu_world *w, struct nic *nic)
{
	return follow_clock(w, nic, emu_is_shared(w) ? CALL_MOST : FOLLOW_MOST);
}

/*
 * One step of a wait that follows the monotonic clock: run due events, else sleep until the next.
 */
enum nic_wait emu_clock_wait(struct emu_world *w, struct nic *nic, uint64_t deadline)
{
	uint64_t sequence = w->fab->sequence, until = deadline;
	uint32_t events = emu_queue_length(w);
	const struct emu_event *first;
	uint64_t begin = nic->up->monotonic_ns(nic->ctx), end;

	if (!follow_clock(w, nic, FOLLOW_MOST)) {
		/*
		 * Leave the lock to others for as long as it was held here. The deadline still
		 * holds.
		 */
		end = nic->up->monotonic_ns(nic->ctx);
		if (end - w->mono_base >= deadline)
			return NIC_WAIT_DEADLINE;
		nic->up->sleep(nic->ctx, end + (end - begin) + FOLLOW_REST_NS);
		return NIC_WAIT_RAN;
	}
	if (w->fab->sequence != sequence || emu_queue_length(w) != events)
		return NIC_WAIT_RAN;
	if (w->fab->now >= deadline)
		return NIC_WAIT_DEADLINE;
	first = emu_queue_first(w);
	if (first && first->time < until)
		until = first->time;
	if (until != NIC_TIME_NEVER)
		until += w->mono_base;
	return nic->up->sleep(nic->ctx, until);
}

/* With several threads, no single thread may advance time: from here on it follows the clock. */
static void start_following(struct emu_world *w, struct nic *host)
{
	w->following = true;
	w->mono_base = host->up->monotonic_ns(host->ctx) - w->fab->now;
	for (uint32_t i = 0; i <= w->nic_high; i++)
		w->nics[i].base.poll_quantum_ns = 0;
}

struct nic *emu_clock_host(struct emu_world *w, struct nic *nic)
{
	for (uint32_t i = 1; !nic->up && i <= w->nic_high; i++)
		/* In a shared fabric do not trust `open` in the arena. */
		if (emu_is_shared(w) ? w->nics[i].base.up != NULL : w->fab->adapters[i].open)
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
	struct nic *host = emu_queue_length(w) > 0 ? emu_clock_host(w, &w->nics[0].base) : NULL;

	if (host)
		emu_follow(w, host);
}

EMU_COLD bool emu_clock_follows_now(struct emu_world *w, struct nic *nic)
{
	struct nic *host = emu_clock_host(w, nic);

	if (host && !w->following && !emu_is_shared(w))
		start_following(w, host);
	return host != NULL;
}

static EMU_COLD enum nic_wait wait_threaded(struct emu_world *w, struct nic *host,
					    struct nic_cq *cq, uint64_t deadline)
{
	if (emu_is_shared(w))
		return w->sharing->wait(w, host, emu_cq_index(w, cq), deadline);
	return emu_clock_wait(w, host, deadline);
}

enum nic_wait emu_wait(struct nic *nic, struct nic_cq *cq_base, uint64_t deadline)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_fabric *fab = w->fab;
	const struct emu_cq *cq = cq_base ? emu_local_cq(cq_base)->entry : NULL;
	uint32_t put = cq ? cq->put : 0;
	const struct emu_event *first;

	if (emu_clock_follows(w, nic))
		return wait_threaded(w, emu_clock_host(w, nic), cq_base, deadline);
	while ((first = emu_queue_first(w)) && first->time <= deadline) {
		emu_run_event(w, first);
		if (!cq || cq->put != put || nic->attention)
			return NIC_WAIT_RAN;
	}
	if (deadline == NIC_TIME_NEVER)
		return NIC_WAIT_HOPELESS;
	if (deadline > fab->now)
		fab->now = deadline;
	return NIC_WAIT_DEADLINE;
}
