/* SPDX-License-Identifier: BSD-3-Clause */
/* ways.c - the lines of a schedule that make adapters hostile (tools/datsim/script/hostile.h). */
#include "explore.h"

#include "host/random.h"

static size_t add_ways(struct text *text, bool watch, bool others, uint64_t *random)
{
	static const char *const ways[] = { "poison=on",   "placement=tail", "placement=random",
					    "ends=device", "retry=spurious", "complete=sent" };
	uint64_t on = others ? random_next(random) : 0;
	size_t count = watch, i;

	/* It disturbs no program. */
	if (watch)
		text_add(text, "fabric watch=posted\n");
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!(on & 1u << i))
			continue;
		text_add(text, "fabric %s\n", ways[i]);
		count++;
	}
	return count;
}

void schedule_begin(struct schedule *schedule, const struct plan *plan, bool hostile,
		    uint64_t *random)
{
	schedule->fault_count = 0;
	schedule->slows = false;
	schedule->has_faults = hostile;
	schedule->text.length = 0;
	text_append(&schedule->text, plan->text, plan->fabric_at);
	schedule->way_count = add_ways(&schedule->text, plan->watch, hostile, random);
	text_append(&schedule->text, plan->text + plan->fabric_at,
		    plan->faults_at - plan->fabric_at);
	schedule->faults_at = schedule->text.length;
}
