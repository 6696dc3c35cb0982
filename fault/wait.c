/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting: the times of delayed events are merged into those of the backend. */
#include "fault.h"

/*
 * Run one step: the backend's next event or the entries due here, whichever comes first. Real
 * hardware has no steps; it needs the CQ whose completions the caller waits for.
 */
static enum nic_wait wait_step(struct nic_faults *f, struct nic *nic, struct nic_cq *cq,
			       uint64_t deadline)
{
	/* First: where time follows the clock this runs events, and they may add entries here. */
	uint64_t now = f->below->now(nic);
	uint64_t due = fault_later_next(f), until = due < deadline ? due : deadline;
	enum nic_wait outcome;

	if (due <= now) {
		fault_later_run(f);
		return NIC_WAIT_RAN;
	}
	outcome = f->below->wait(nic, nic->caps & NIC_CAP_SIM ? NULL : cq, until);
	fault_cq_pull_all(f);
	if (outcome != NIC_WAIT_DEADLINE || due > deadline)
		return outcome;
	fault_later_run(f);
	return NIC_WAIT_RAN;
}

enum nic_wait fault_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline)
{
	struct nic_faults *f = fault_of(nic);
	uint32_t put = cq ? fault_cq_put(f, cq) : 0, count = cq ? fault_cq_count(cq) : 0;
	enum nic_wait outcome;

	do {
		outcome = wait_step(f, nic, cq, deadline);
	} while (outcome == NIC_WAIT_RAN && cq && fault_cq_put(f, cq) == put &&
		 fault_cq_count(cq) == count && !nic->attention);
	return outcome;
}

bool fault_cq_spin(struct nic_cq *cq, struct nic_wc *wc)
{
	struct nic_faults *f = fault_of(cq->nic);
	uint64_t deadline;

	if (fault_cq_poll(cq, wc, 1) == 1)
		return true;
	/* On real hardware time passes by itself. */
	if (!(cq->nic->caps & NIC_CAP_SIM)) {
		fault_later_run(f);
		return fault_cq_poll(cq, wc, 1) == 1;
	}
	deadline = f->below->now(cq->nic) + cq->nic->poll_quantum_ns;
	while (wait_step(f, cq->nic, cq, deadline) == NIC_WAIT_RAN)
		if (fault_cq_poll(cq, wc, 1) == 1)
			return true;
	return fault_cq_poll(cq, wc, 1) == 1;
}

uint64_t nic_fault_due(const struct nic_faults *f)
{
	return fault_later_next(f);
}

void nic_fault_run(struct nic_faults *f)
{
	fault_later_run(f);
	fault_cq_pull_all(f);
}

bool fault_sim_step(struct nic *nic)
{
	struct nic_faults *f = fault_of(nic);
	uint64_t due = fault_later_next(f), next = NIC_TIME_NEVER;
	bool ran;

	f->below->sim_pending(nic, &next);
	if (due < next) {
		while (f->below->now(nic) < due && f->below->wait(nic, NULL, due) == NIC_WAIT_RAN)
			;
		fault_later_run(f);
		fault_cq_pull_all(f);
		return true;
	}
	ran = f->below->sim_step(nic);
	fault_cq_pull_all(f);
	return ran;
}

uint32_t fault_sim_pending(struct nic *nic, uint64_t *next_ns)
{
	struct nic_faults *f = fault_of(nic);
	uint64_t due = fault_later_next(f), next = NIC_TIME_NEVER;
	uint32_t n = f->below->sim_pending(nic, &next) + fault_later_count(f);

	if (n > 0)
		*next_ns = due < next ? due : next;
	return n;
}
