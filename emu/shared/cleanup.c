/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frees what a process of a shared fabric leaves behind when it dies, and breaks its connections
 * (shared.h).
 */
#include "emu/fabric/arena.h"
#include "emu/cm.h"
#include "inbox.h"
#include "emu/qp.h"
#include "shared.h"
#include "emu/fabric/trace.h"

/* For each live entry of a table. */
#define EACH(fab, i, table, entries)                                                  \
	for (uint32_t i = 1; i <= EMU_HIGH(fab, table, entries) && emu_go_on(w); i++) \
		if ((fab)->entries[i].head.live)

static bool of_process(const struct emu_world *w, uint16_t adapter, uint16_t process)
{
	return EMU_AT(w->fab->adapters, adapter).open && emu_process_of(w, adapter) == process;
}

static bool pd_of_process(const struct emu_world *w, uint32_t pd, uint16_t process)
{
	return of_process(w, (uint16_t)EMU_AT(w->fab->pd, pd).adapter, process);
}

static void free_queues(struct emu_world *w, uint16_t process)
{
	struct emu_fabric *fab = w->fab;

	EACH(fab, i, qps, qp)
	if (of_process(w, fab->qp[i].adapter, process)) {
		emu_qp_clear(w, &fab->qp[i], EMU_EV_TERMINATE);
		emu_qp_free(w, &fab->qp[i]);
	}
	EACH(fab, i, srqs, srq)
	if (of_process(w, fab->srq[i].adapter, process)) {
		emu_wq_fini(w, &fab->srq[i].wq);
		EMU_FREE(fab, srqs, srq, i);
	}
	EACH(fab, i, cqs, cq)
	if (of_process(w, fab->cq[i].adapter, process))
		emu_cq_free(w, i);
}

static void free_memory(struct emu_world *w, uint16_t process)
{
	struct emu_fabric *fab = w->fab;

	EACH(fab, i, mws, mw)
	if (pd_of_process(w, fab->mw[i].pd, process)) {
		fab->mw[i].mr = 0;
		fab->mw[i].tag = 0;
		EMU_FREE(fab, mws, mw, i);
	}
	/* An MR without a tag: the process died in the middle of its deregistration. */
	EACH(fab, i, mrs, mr)
	if (!fab->mr[i].tag || pd_of_process(w, (uint32_t)(fab->mr[i].tag >> 32), process)) {
		fab->mr[i].tag = 0;
		EMU_FREE(fab, mrs, mr, i);
	}
	EACH(fab, i, pds, pd)
	if (pd_of_process(w, i, process))
		EMU_FREE(fab, pds, pd, i);
	fab->mem_epoch++;
}

void emu_shared_clean_up(struct emu_world *w, uint16_t process)
{
	struct emu_fabric *fab = w->fab;
	struct emu_process *p = emu_process(w, process);

	w->steps = w->steps_most;
	/* A trace in lockstep is the same in every run, so it holds no pid. */
	if (emu_lockstep(w))
		emu_trace(w, "- note process %s is gone", p->node);
	else
		emu_trace(w, "- note process %d, %s, is gone", p->pid, p->node);
	emu_inbox_discard(w, process);
	emu_cm_clean_up(w, process);
	free_queues(w, process);
	free_memory(w, process);
	for (uint16_t i = 1; i <= emu_adapter_high(w->fab); i++) {
		struct emu_adapter *adapter = &fab->adapters[i];

		/* One that the process was about to open, too: its events would have no owner. */
		if (adapter->process != process)
			continue;
		emu_trace_adapter(w, i);
		/* Last its process: if this one dies here, the next one begins again. */
		emu_link_forget(w, i);
		adapter->open = false;
		adapter->process = 0;
	}
	/* Messages that this clean-up sent to the dead process itself. */
	emu_inbox_discard(w, process);
	__atomic_store_n(&p->used, false, __ATOMIC_RELAXED);
	fab->shared.processes--;
	if (!emu_lockstep(w))
		return;
	if (emu_lockstep_task_exits(p->pid))
		emu_lockstep_await_end(w, p->pid);
	emu_lockstep_ready_outside(w); /* it has closed its descriptors */
	emu_lockstep_drop_process(w, process);
}
