/* SPDX-License-Identifier: BSD-3-Clause */
/* What the litmus tests share: litmus.h. */
#include "emu/fabric/fabric.h"
#include "host/nic.h"
#include "tests/litmus/litmus.h"
#include "tests/support/runtime.h"

int litmus_rounds(int rounds)
{
	const char *times = getenv("TORTURE_TIMES");

	return rounds * (times && *times ? atoi(times) : 1);
}

pthread_t litmus_start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, run, arg), 0);
	return thread;
}

void litmus_join(pthread_t thread)
{
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static struct emu_world *join_world(uint64_t bound_ns)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;
	struct nic_world *world;

	config.fabric = "litmus";
	config.latency_ns = config.bandwidth_bps = 0;
	config.lockstep = bound_ns > 0;
	config.preempt_ns = bound_ns;
	ck_assert_int_eq(emu_backend.world_create(&config, &world), 0);
	return (struct emu_world *)world;
}

void litmus_join_lockstep_worlds(struct litmus_worlds *worlds, uint64_t bound_ns)
{
	runtime_begin("litmus");
	worlds->world[0] = join_world(bound_ns);
	worlds->world[1] = join_world(bound_ns);
	worlds->own_mapping = worlds->world[1]->fab;
	worlds->world[1]->fab = worlds->world[0]->fab;
}

void litmus_join_worlds(struct litmus_worlds *worlds)
{
	litmus_join_lockstep_worlds(worlds, 0);
}

void litmus_leave_worlds(struct litmus_worlds *worlds)
{
	worlds->world[1]->fab = worlds->own_mapping;
	for (int i = 0; i < 2; i++)
		emu_backend.world_destroy((struct nic_world *)worlds->world[i]);
	runtime_end();
}
