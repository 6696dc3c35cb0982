/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bystander [STRIDE] - a process that owns no end of a connection runs the RNR timer of its sender,
 * and is killed before one in STRIDE of the stores that this makes into the arena. The connection
 * lives on, so both Sends of ends.h must arrive.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"

static int orders[2], reports[2]; /* pipes to and from the bystander */

static void run_bystander(struct stores *stores)
{
	struct pair_node node;
	DAT_EVD_HANDLE empty;
	DAT_EVENT event;
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stores_begin(stores);
	pair_open(&node, "emu0", 1);
	pair_check(dat_evd_create(node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &empty),
		   "dat_evd_create");
	if (write(reports[1], "", 1) != 1 || read(orders[0], &order, 1) != 1)
		pair_fail("the main process is gone");
	stores_phase("the RNR timer of others");
	dat_evd_dequeue(empty, &event);
	stores_phase("nothing more");
	_exit(0);
}

static int see_nothing(struct emu_world *w, void *arg)
{
	(void)w;
	(void)arg;
	return 0;
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
	ends_look(see_nothing, NULL); /* this cleans up after the dead */
	ends_go_on(ends);
	return WIFSIGNALED(status);
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
	stores->phase = -1;
	run_round(&ends, stores);
	stores->phase = 0;
	for (stores->store = 1; stores->store <= stores->counted[0]; stores->store += stride)
		killed += run_round(&ends, stores);
	ends_finish(&ends);
	printf("killed before %u of %u stores\n", killed, stores->counted[0]);
	return 0;
}
