/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ages - a process is killed before each store that it makes while it joins a fabric and opens an
 * adapter and an EP. The counters by which others tell the users of one entry of the arena apart
 * (the generations of processes and adapters, the epochs of QPs) never go back: a survivor that
 * knew an earlier user would take the next one for it. Nor does an adapter still belong to the dead
 * process: events for it would go to an inbox without a reader.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <dat/sim.h>

#include "die.h"
#include "emu/fabric/spare.h"
#include "emu/shared/shared.h"

#define ENTRIES 8 /* of each table; a victim and those before it use the first ones */

struct ages {
	uint32_t process[ENTRIES], adapter[ENTRIES], qp[ENTRIES];
	uint16_t owner[ENTRIES]; /* of the adapter */
};

static int look(struct emu_world *w, void *arg)
{
	struct ages *ages = arg;

	for (uint16_t i = 0; i < ENTRIES; i++) {
		ages->process[i] = emu_process(w, i)->generation;
		ages->adapter[i] = w->fab->adapters[i].generation;
		ages->owner[i] = w->fab->adapters[i].process;
		ages->qp[i] = w->fab->qp[i].epoch;
	}
	return 0;
}

/* It also cleans up after the dead. */
static void look_at(const char *fabric, struct ages *ages)
{
	struct nic_config config = { .fabric = fabric };
	struct emu_world *w = emu_world_map_bare();

	if (!w || emu_shared_look(w, &config, true, look, ages))
		pair_fail("the fabric cannot be looked at");
	emu_world_unmap_bare(w);
}

static bool has_gone_back(const char *what, const uint32_t *before, const uint32_t *now)
{
	for (int i = 0; i < ENTRIES; i++) {
		/* With small limits, epochs step from 0 to EMU_FIRST, also after a wrap. */
		if ((int32_t)(now[i] - before[i]) >= 0 || (EMU_FIRST && !before[i]))
			continue;
		printf("# the %s of entry %d was %u and is %u\n", what, i, before[i], now[i]);
		return true;
	}
	return false;
}

static bool has_owner(const uint16_t *owner)
{
	for (int i = 0; i < ENTRIES; i++) {
		if (!owner[i])
			continue;
		printf("# adapter %d belongs to process %d, which is gone\n", i, owner[i]);
		return true;
	}
	return false;
}

static void live(struct stores *stores)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;
	DAT_EP_HANDLE ep;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stores_begin(stores);
	stores_phase("an adapter and an EP");
	pair_check(dat_ia_open((DAT_NAME_PTR) "emu0", 1, &async, &ia), "dat_ia_open");
	pair_check(dat_pz_create(ia, &pz), "dat_pz_create");
	pair_check(dat_evd_create(ia, 1, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &evd),
		   "dat_evd_create");
	pair_check(dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd, NULL, &ep),
		   "dat_ep_create");
	stores_phase("nothing more");
	pair_check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	_exit(0);
}

/* True: it was killed. */
static bool kill_one(struct stores *stores, uint32_t store)
{
	pid_t pid;
	int status;

	stores->store = store;
	pid = fork();
	if (pid == 0)
		live(stores);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || (!WIFSIGNALED(status) && status))
		pair_fail("no victim, or it ends otherwise");
	return WIFSIGNALED(status);
}

int main(void)
{
	struct stores *stores = mmap(NULL, sizeof(struct stores), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *fabric = getenv("DATSIM_FABRIC"), *refused = stores_refused();
	struct ages before = { 0 }, now = { 0 };
	bool killed = true, bad = false;
	uint32_t store = 0;

	if (!fabric || stores == MAP_FAILED || refused) {
		printf("skipped: %s\n", refused ? refused : "no fabric");
		return 77;
	}
	hang_begin("a process that is killed while it joins");
	pair_check(dat_sim_fabric_create(fabric, NULL), "dat_sim_fabric_create");
	kill_one(stores, UINT32_MAX); /* lives, and gives each entry a first user */
	look_at(fabric, &before);
	while (killed && !bad) {
		killed = kill_one(stores, ++store);
		look_at(fabric, &now);
		bad = has_owner(now.owner) ||
		      has_gone_back("generation of the process", before.process, now.process) ||
		      has_gone_back("generation of the adapter", before.adapter, now.adapter) ||
		      has_gone_back("epoch of the QP", before.qp, now.qp);
		before = now;
	}
	printf("killed before %u stores\n", store - killed);
	pair_check(dat_sim_fabric_destroy(fabric), "dat_sim_fabric_destroy");
	return bad;
}
