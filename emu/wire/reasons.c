/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the reasons to observe packets, from what holds them: part of recovery. */
#include "emu/fabric/queue.h"
#include "link.h"
#include "wire.h"

static uint32_t marked_in_list(struct emu_world *w, emu_ref ref)
{
	uint32_t n = 0;

	while (ref && emu_go_on(w)) {
		const struct emu_held *held = emu_at(w, ref);

		n += emu_wire_marked(&held->event);
		ref = held->next;
	}
	return n;
}

static uint32_t reasons_of_qps(struct emu_world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, qps, qp); i++) {
		const struct emu_qp *qp = &w->fab->qp[i];

		if (!qp->head.live)
			continue;
		n += (qp->retry_timer != 0) + (qp->half_open != 0) + (qp->holds != 0);
		n += marked_in_list(w, qp->held) + marked_in_list(w, qp->early);
	}
	return n;
}

uint32_t emu_wire_reasons(struct emu_world *w)
{
	const struct emu_fabric *fab = w->fab;
	uint32_t n = fab->rules < EMU_RULES ? fab->rules : EMU_RULES;

	for (uint32_t i = 1; i <= emu_adapter_high(fab); i++)
		n += fab->adapters[i].port_down != 0;
	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link); i++)
		n += (fab->link[i].holding != 0) + marked_in_list(w, fab->link[i].held);
	for (uint32_t i = 0; i < emu_events(fab); i++)
		n += emu_wire_marked(&fab->heap[i]);
	return n + reasons_of_qps(w);
}
