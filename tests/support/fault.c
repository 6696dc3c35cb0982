/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet faults. */
#include "tests/support/support.h"

DAT_COUNT fault(DAT_SIM_FAULT rule)
{
	DAT_COUNT id = 0;

	must(dat_sim_fault_add(w.sim, &rule, &id));
	return id;
}

DAT_COUNT drop(int packets, DAT_UINT64 nth)
{
	return fault((DAT_SIM_FAULT){ .packets = (DAT_UINT32)packets,
				      .nth = nth,
				      .verdict = DAT_SIM_DROP });
}

DAT_UINT64 fired(DAT_COUNT id)
{
	DAT_UINT64 count = UINT64_MAX;

	must(dat_sim_fault_fired(w.sim, id, &count));
	return count;
}

void expect_end(struct side *side, int number)
{
	expect_connection(side->connect, side->ep, number);
	expect_no_event(side->connect);
	expect_state(side->ep, DAT_EP_STATE_DISCONNECTED);
}
