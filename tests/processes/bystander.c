/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bystander [STRIDE] - a process that owns no end of a connection runs the RNR timer of its sender,
 * and is killed before one in STRIDE of the stores that this makes into the arena. The connection
 * lives on, so both Sends of ends.h must arrive. So must they when recovery finds that the timer
 * itself is lost.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/fabric/clock.h"
#include "emu/shared/recover.h"
#include "emu/shared/stalled.h"
#include "ends.h"
#include "host/backend.h"

static int orders[2], reports[2]; /* pipes to and from the bystander */

/* As a call of the library does, and in one section, so that its helper thread is not first. */
static void run_timer(void)
{
	struct emu_world *w = (struct emu_world *)backend_next(NULL)->world;

	emu_shared_take(w);
	ends_make_due(w, NULL);
	emu_clock_settle(w);
	emu_shared_release(w);
}

static void run_bystander(struct stores *stores)
{
	struct pair_node node;
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stores_begin(stores);
	pair_open(&node, "emu0", 1);
	if (write(reports[1], "", 1) != 1 || read(orders[0], &order, 1) != 1)
		pair_fail("the main process is gone");
	stores_phase("the RNR timer of others");
	run_timer();
	stores_phase("nothing more");
	_exit(0);
}

/* Was it killed? */
static bool run_round(struct ends *ends, struct stores *stores)
{
	pid_t pid = fork();
	int status;
	char report;

	if (pid == 0)
		run_bystander(stores);
	hang_begin("a bystander that is killed");
	if (pid < 0 || read(reports[0], &report, 1) != 1)
		pair_fail("no bystander");
	ends_wait_and_stop(ends);
	if (write(orders[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid)
		pair_fail("no bystander");
	if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : status != 0)
		pair_fail("the bystander ends otherwise");
	/* This also cleans up after the dead. */
	ends_look(ends_make_due, NULL);
	ends_go_on(ends);
	return WIFSIGNALED(status);
}

/* As if the process that died had started the timer in the section in which it died. */
static int lose_timer(struct emu_world *w, void *arg)
{
	(void)arg;
	w->fab->events = 0;
	w->fab->heap[0].order = EMU_NO_EVENT;
	emu_recover(w);
	if (emu_stalled_resume(w) != 1)
		pair_fail("the sender's requests are not stalled");
	return 0;
}

static void run_round_without_timer(struct ends *ends)
{
	hang_begin("a timer that is lost");
	ends_wait_and_stop(ends);
	ends_look(lose_timer, NULL);
	ends_go_on(ends);
}

int main(int argc, char **argv)
{
	struct stores *stores = mmap(NULL, sizeof(*stores), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *refused = stores_refused();
	struct ends ends = { 0 };
	uint32_t stride = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1, killed = 0;

	if (argc > 2 || stride == 0) {
		fputs("usage: bystander [STRIDE]\n", stderr);
		return 2;
	}
	if (stores == MAP_FAILED || refused || pipe(orders) || pipe(reports)) {
		printf("skipped: %s\n", refused ? refused : "no memory, or no pipe");
		return 77;
	}
	hang_begin("the beginning");
	ends_start(&ends, NULL, NULL);
	run_round_without_timer(&ends);
	stores->phase = -1;
	run_round(&ends, stores);
	stores->phase = 0;
	for (stores->store = 1; stores->store <= stores->counted[0]; stores->store += stride)
		killed += run_round(&ends, stores);
	ends_finish(&ends);
	printf("killed before %u of %u stores\n", killed, stores->counted[0]);
	return 0;
}
