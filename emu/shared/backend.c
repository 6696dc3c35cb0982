/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulator's entry in lib's list of backends: private fabrics (emu/fabric/world.c), and fabrics
 * of several processes, which this folder adds to them.
 */
#include <errno.h>

#include "direct.h"
#include "emu/hostile/posted.h"
#include "emu/fabric/spare.h"
#include "emu/fabric/world.h"
#include "emu/guard.h"
#include "emu/wire/profile.h"
#include "fabrics.h"
#include "shared.h"

static int join_fabric(const struct nic_config *config, struct nic_world **world)
{
	struct emu_world *w = emu_world_map_bare();
	int err;

	if (!w)
		return -ENOMEM;
	err = emu_shared_join(w, config);
	if (err) {
		emu_world_unmap_bare(w);
		return err;
	}
	emu_nic_init(w, 0, NULL, NULL);
	*world = (struct nic_world *)w;
	return 0;
}

static int world_create(const struct nic_config *config, struct nic_world **world)
{
	if (emu_profile_find(config->profile) < 0)
		return -EINVAL;
	return config->fabric ? join_fabric(config, world) : emu_world_create(config, world);
}

static void world_destroy(struct nic_world *world)
{
	struct emu_world *w = (struct emu_world *)world;

	emu_posted_end(w);
	if (!w->sharing) {
		emu_world_destroy(w);
		return;
	}
	if (w->guarded)
		emu_guard_end();
	emu_shared_leave(w);
	emu_world_unmap_bare(w);
}

static struct nic *control_nic(struct nic_world *world)
{
	return &((struct emu_world *)world)->nics[0].base;
}

const struct nic_backend emu_backend = {
	.size = sizeof(struct nic_backend),
	.name = "emu",
	.simulated = true,
	.world_create = world_create,
	.world_destroy = world_destroy,
	.adapter_name = emu_adapter_listed,
	.open = emu_adapter_open,
	.control = control_nic,
	.shared = emu_shared,
	.enter = emu_shared_enter,
	.leave = emu_shared_exit,
	.settle = emu_shared_settle,
	.quiet = emu_direct_quiet,
	.quick = emu_direct_quick,
	.line_begin = emu_direct_line_begin,
	.line_end = emu_direct_line_end,
	.sleep = emu_shared_sleep,
	.ring = emu_shared_ring,
	.watch = emu_shared_watch,
	.await = emu_shared_await,
	.lockstep = emu_shared_lockstep,
	.outside = emu_shared_outside,
	.pause = emu_shared_pause,
	.expects = emu_shared_expects,
	.book = emu_shared_book,
	.thread_ends = emu_shared_thread_ends,
	.process_exits = emu_shared_process_exits,
	.forked = emu_shared_forked,
	.fabric_make = emu_fabric_make,
	.fabric_end = emu_fabric_end,
	.fabric_next = emu_fabric_next,
	.fabric_member = emu_fabric_member,
	.fabric_hold = emu_fabric_hold,
	.fabric_note = emu_fabric_note,
	.fabric_trace = emu_fabric_trace,
};
