/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "die.h"
#include "emu/fabric/arena.h"
#include "emu/shared/shared.h"
#include "emu/payload/inline.h"
#include "emu/fabric/spare.h"
#include "emu/wire/links.h"

#define LOOKS   8000 /* then it says what is missing */
#define LOOK_NS 500000

static uint32_t units_of(const struct emu_stage *stage)
{
	uint32_t units = 0;

	if (stage->data)
		emu_pool_class(stage->bytes, &units);
	return units;
}

static uint64_t pool_in_use(struct emu_world *w)
{
	uint64_t used = w->fab->pool_next - 1;

	for (uint32_t class = 1; class < EMU_POOL_CLASSES; class ++) {
		emu_ref ref = w->fab->pool_free[class];

		while (ref) {
			used -= emu_pool_class_units(class);
			memcpy(&ref, emu_at(w, ref), sizeof(ref));
		}
	}
	/* A stage keeps its memory for its next user. */
	for (uint32_t i = 0; i < EMU_STAGES; i++)
		used -= units_of(&w->fab->shared.stage[i]);
	return used;
}

static uint32_t stages_in_use(struct emu_world *w)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < EMU_STAGES; i++)
		used += !emu_stage_is_free(w, &w->fab->shared.stage[i]);
	return used;
}

/* Of multicast groups. */
static uint32_t members_in_use(struct emu_world *w)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < w->fab->members; i++)
		used += w->fab->member[i].qp != 0;
	return used;
}

static int look(struct emu_world *w, void *arg)
{
	const struct emu_fabric *fab = w->fab;
	struct usage *usage = arg;

	*usage = (struct usage){
		.processes = fab->shared.processes,
		.observed = fab->observed,
		.pds = fab->pds.live,
		.mrs = fab->mrs.live,
		.mws = fab->mws.live,
		.cqs = fab->cqs.live,
		.srqs = fab->srqs.live,
		.qps = fab->qps.live,
		.members = members_in_use(w),
		.listeners = fab->listeners.live,
		.conns = fab->conns.live,
		.stages = stages_in_use(w),
		.pool = pool_in_use(w),
	};
	if (fab->link_places) { /* the table of links is the fabric's own */
		uint32_t units;

		emu_pool_class(emu_links_bytes(fab), &units);
		usage->pool -= units;
	}
	for (uint32_t i = 1; i <= emu_adapter_high(fab); i++)
		usage->adapters += fab->adapters[i].open;
	return 0;
}

bool usage_of(const char *fabric, struct usage *usage)
{
	struct nic_config config = { .fabric = fabric };
	struct emu_world *w = emu_world_map_bare();
	int err;

	if (!w)
		return false;
	err = emu_shared_look(w, &config, true, look, usage);
	emu_world_unmap_bare(w);
	return !err;
}

bool usage_same(const struct usage *a, const struct usage *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void usage_say(const char *what, const struct usage *u)
{
	printf("# %s: %lu processes, %lu adapters, %lu PDs, %lu MRs, %lu MWs, %lu CQs, %lu SRQs, "
	       "%lu QPs, %lu members of groups, %lu listeners, %lu requests, %lu stages, "
	       "%lu units of the pool, %lu reasons to look\n",
	       what, u->processes, u->adapters, u->pds, u->mrs, u->mws, u->cqs, u->srqs, u->qps,
	       u->members, u->listeners, u->conns, u->stages, u->pool, u->observed);
}

bool usage_returns(const char *fabric, const struct usage *before)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct usage now = { 0 };

	for (int i = 0; usage_of(fabric, &now); i++) {
		if (usage_same(&now, before))
			return true;
		if (i == LOOKS) {
			usage_say("before", before);
			usage_say("now", &now);
		}
		nanosleep(&pause, NULL);
	}
	return false;
}
