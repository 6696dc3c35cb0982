/* SPDX-License-Identifier: BSD-3-Clause */
/* lone.c - see lone.h. */
#include "lone.h"

#include <string.h>
#include <unistd.h>

#include "emu/fabric/spare.h"
#include "emu/fabric/trace.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

struct emu_world *lone_join(struct nic_config config)
{
	struct emu_world *world = emu_world_map_bare();

	runtime_begin("lone");
	config.fabric = "lab";
	ck_assert_int_eq(emu_shared_join(world, &config), 0);
	emu_shared_take(world);
	return world;
}

void lone_leave(struct emu_world *world)
{
	emu_shared_release(world);
	emu_shared_leave(world);
	emu_world_unmap_bare(world);
	runtime_end();
}

struct emu_world *lone_begin(struct nic_config config)
{
	struct emu_world *world = lone_join(config);

	emu_process(world, OTHER)->used = true;
	world->fab->adapter_high = 4; /* tests fill in entries of the table themselves */
	world->nic_high = 4;
	return world;
}

void lone_end(struct emu_world *world)
{
	emu_process(world, OTHER)->used = false;
	lone_leave(world);
}

struct emu_world *lone_begin_two(struct nic_config config)
{
	struct emu_world *world = lone_begin(config);
	struct emu_fabric *fab = world->fab;

	fab->shared.processes = 2;
	fab->adapters[MINE] = (struct emu_adapter){ .open = true, .process = OWN };
	fab->adapters[THEIRS] = (struct emu_adapter){ .open = true, .process = OTHER };
	return world;
}

void lone_end_two(struct emu_world *world)
{
	struct emu_fabric *fab = world->fab;

	/* The last process leaves the fabric. */
	emu_process(world, OWN)->overrun = false;
	fab->shared.processes = 1;
	fab->events = fab->observed = 0;
	lone_end(world);
}

/* ---- lockstep ---- */

struct emu_world *lone_begin_lockstep(struct nic_config config)
{
	struct emu_world *world;

	config.lockstep = true;
	world = lone_begin(config);
	emu_process(world, OTHER)->pid = getpid();
	return world;
}

void lone_end_lockstep(struct emu_world *world)
{
	struct emu_lockstep *ls = &world->fab->shared.lockstep;

	for (uint32_t i = SELF; i <= emu_thread_high(ls); i++)
		ls->thread[i].state = EMU_THREAD_NONE;
	world->fab->events = 0;
	lone_end(world);
}

void lone_thread(struct emu_world *world, uint32_t index, uint16_t process,
		 enum emu_thread_state state, uint64_t until)
{
	struct emu_lockstep *ls = &world->fab->shared.lockstep;

	ls->thread[index] = (struct emu_thread){ .state = (uint8_t)state,
						 .process = process,
						 .tid = NO_THREAD,
						 .number = index,
						 .until = until };
	if (ls->high < index)
		ls->high = index;
}

struct emu_thread *lone_enter(struct emu_world *world)
{
	struct emu_lockstep *ls = &world->fab->shared.lockstep;

	ck_assert(emu_lockstep_enter(world, false));
	ck_assert_uint_eq(emu_lockstep_self(world), SELF);
	ck_assert_uint_eq(ls->turn, SELF);
	return &ls->thread[SELF];
}

bool lone_is_traced(struct emu_world *world, const char *words)
{
	const char *text;
	size_t length;

	ck_assert_int_eq(emu_trace_text(world, &text, &length), 0);
	return strstr(text, words);
}
