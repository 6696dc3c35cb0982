/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_queue.c - the cost of an event, by the number of events that are pending.
 *
 *	bench_queue			measure 1,000 to 1,000,000 pending events and print it
 *	bench_queue PENDING ROUNDS	so many are pending; each round takes the first off the
 *					queue and queues another one
 *
 * The next event is due at a random time, up to as long from now as the whole queue lasts: no order
 * in which a FIFO would do. It is linked with the model, for no call of the library does only this.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "emu/fabric/config.h"
#include "emu/fabric/queue.h"
#include "emu/fabric/world.h"
#include "host/nic_backend.h"

#define REPEATS 5
#define STEP_NS 100u

static struct emu_world *world;
static uint32_t pending;

_Noreturn void bench_die(const char *what, unsigned int code)
{
	fprintf(stderr, "bench_queue: %s failed (%#x)\n", what, code);
	exit(1);
}

static void make_queue(uint32_t events)
{
	struct nic_config config = { .profile = "ib", .seed = 1, .mtu = 4096 };
	struct nic_world *made;

	if (emu_world_create(&config, &made))
		bench_die("emu_world_create", 0);
	world = (struct emu_world *)made;
	pending = events;
	while (events-- > 0)
		emu_schedule(world, emu_random(world) % ((uint64_t)pending * STEP_NS), EMU_EV_BREAK,
			     0, 0, 0, 0);
}

static void end_queue(void)
{
	const struct emu_event *first;

	while ((first = emu_queue_first(world)))
		emu_queue_pop(world, first);
	emu_world_destroy(world);
}

static void run_rounds(long rounds)
{
	while (rounds-- > 0) {
		const struct emu_event *first = emu_queue_first(world);
		uint64_t span = (uint64_t)pending * STEP_NS * 2;

		world->fab->now = first->time;
		emu_queue_pop(world, first);
		emu_schedule(world, world->fab->now + emu_random(world) % span, EMU_EV_BREAK, 0, 0,
			     0, 0);
	}
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 1000, 10000, 100000, 1000000 };
	double ns, least = 0;

	if (argc == 3) {
		make_queue((uint32_t)atol(argv[1]));
		run_rounds(atol(argv[2]));
		end_queue();
		return 0;
	}
	printf("%-30s %8s %9s  %s\n", "events pending", "ns", "ratio", "wanted");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		make_queue(sizes[i]);
		ns = bench_quickest(run_rounds, 1000000);
		least = i ? least : ns;
		printf("%-30u %8.1f %9.2f  %s\n", sizes[i], ns, ns / least,
		       sizes[i] == 1000000 ? "at most 2.5" : "");
		end_queue();
	}
	return 0;
}
