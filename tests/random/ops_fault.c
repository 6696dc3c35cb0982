/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_fault.c - what may happen to the packets of a random program: losses, wrong check sums,
 * delays, copies, reorderings and refusals, seldom enough that sending again always helps in the
 * end.
 */
#include "prog.h"

static bool op_fault(struct prog *p)
{
	static const struct {
		const char *name;
		DAT_SIM_VERDICT verdict;
		DAT_UINT32 packets, per_million;
	} kinds[] = {
		{ "drop", DAT_SIM_DROP, 0, 30000 },
		{ "corrupt", DAT_SIM_CORRUPT, 0, 20000 },
		{ "delay", DAT_SIM_DELAY, 0, 50000 },
		{ "reorder", DAT_SIM_REORDER, 0, 50000 },
		{ "duplicate", DAT_SIM_DUPLICATE, 0, 100000 },
		{ "RNR", DAT_SIM_RNR, DAT_SIM_PACKET_SEND, 3000 },
		{ "out of sequence", DAT_SIM_NAK, DAT_SIM_PACKET_SEND | DAT_SIM_PACKET_WRITE,
		  10000 },
	};
	int n = pick(p, sizeof(kinds) / sizeof(kinds[0]));
	DAT_SIM_FAULT fault = { .packets = kinds[n].packets,
				.probability = kinds[n].per_million,
				.verdict = kinds[n].verdict,
				.nak = DAT_SIM_NAK_SEQUENCE };
	DAT_COUNT id;

	if (!p->lossy || p->faults == FAULTS)
		return false;
	if (kinds[n].verdict == DAT_SIM_DELAY || kinds[n].verdict == DAT_SIM_REORDER) {
		fault.delay_ns = 500 + (DAT_UINT64)pick(p, 5000);
		fault.jitter_ns = (DAT_UINT64)pick(p, 500);
	}
	says(p, "packets: %s", kinds[n].name);
	ok(p, "dat_sim_fault_add", dat_sim_fault_add(p->sim, &fault, &id));
	if (id != ++p->faults)
		fails(p, "fault rule %d has number %d", p->faults, id);
	return true;
}

static bool op_no_faults(struct prog *p)
{
	if (p->faults == 0)
		return false;
	says(p, "packets: all well");
	for (int id = 1; id <= p->faults; id++) {
		DAT_UINT64 fired = 0;

		ok(p, "dat_sim_fault_fired", dat_sim_fault_fired(p->sim, id, &fired));
		p->count[N_FAULTS] += fired;
	}
	ok(p, "dat_sim_fault_clear", dat_sim_fault_clear(p->sim));
	p->faults = 0;
	return true;
}

const struct op fault_ops[] = {
	{ "fault", 5, op_fault },
	{ "no faults", 2, op_no_faults },
	{ 0 },
};
