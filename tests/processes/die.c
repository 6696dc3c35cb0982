/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SERVER is examples/pair/server. Program die_verbs has its own, and ignores the word.
 *
 * die SERVER stores [COUNT [SEED]] - a victim is killed before each store it makes into the arena,
 * or before
 *     COUNT of them, taken by chance
 * die SERVER random COUNT [SEED] - at COUNT moments
 * die SERVER notice ROUNDS - the server itself is killed, and a connected client notices in time
 * die SERVER at PHASE STORE - before one store, as the line that says what went wrong names it
 *
 * After each death the witness still gets right answers, and every resource of the victim is free
 * again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/sim.h>

#include "die.h"

#define LIVES  5
#define ROUNDS 3 /* that the witness asks after a death */

struct run {
	char fabric[DAT_SIM_FABRIC_NAME];
	const char *server;
	pid_t serves, witness;
	int order[2], report[2]; /* pipes to and from the witness */
	struct usage before;     /* without a victim */
	struct stores *stores;   /* shared with victims */
	uint64_t random;
	unsigned int deaths;
};

static char what[160]; /* is going on */

static bool fail(const char *why)
{
	printf("# %s: %s\n", what, why);
	return false;
}

static uint64_t chance(struct run *run, uint64_t below)
{
	run->random ^= run->random << 13;
	run->random ^= run->random >> 7;
	run->random ^= run->random << 17;
	return run->random % below;
}

/* ---- the server and the witness ---- */

pid_t start_process(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	return pid;
}

static void witness(struct run *run)
{
	unsigned char rounds;

	setenv("DATSIM_NODE", "witness", 1);
	witness_open();
	do {
		if (write(run->report[1], "", 1) != 1 || read(run->order[0], &rounds, 1) != 1)
			_exit(1);
		for (int i = 0; i < rounds; i++)
			witness_ask();
	} while (rounds);
	witness_close();
	_exit(0);
}

static bool order(struct run *run, unsigned char rounds)
{
	return write(run->order[1], &rounds, 1) == 1;
}

/* Every request made so far is answered, and right. */
static bool reported(struct run *run)
{
	char done;

	return read(run->report[0], &done, 1) == 1 || fail("the witness is gone");
}

static bool begin(struct run *run)
{
	snprintf(what, sizeof(what), "the beginning");
	hang_begin(what);
	snprintf(run->fabric, sizeof(run->fabric), "die-%d", getpid());
	if (pipe(run->order) || pipe(run->report) ||
	    dat_sim_fabric_create(run->fabric, NULL) != DAT_SUCCESS)
		return fail("there can be no fabric");
	setenv("DATSIM_FABRIC", run->fabric, 1);
	run->serves = start_process();
	if (run->serves == 0) {
		close(run->report[1]); /* so that the end of the witness is noticed */
		serve(run->server);
	}
	run->witness = start_process();
	if (run->witness == 0)
		witness(run);
	close(run->report[1]);
	return reported(run) && order(run, ROUNDS) && reported(run) &&
	       usage_of(run->fabric, &run->before);
}

static bool end(struct run *run)
{
	struct usage left, none = { 0 };
	int status;

	snprintf(what, sizeof(what), "the end");
	hang_begin(what);
	order(run, 0);
	if (waitpid(run->witness, &status, 0) != run->witness || status)
		return fail("the witness does not end as it should");
	kill(run->serves, SIGKILL);
	if (waitpid(run->serves, &status, 0) != run->serves || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL)
		return fail("the server has ended before");
	if (!usage_of(run->fabric, &left) || !usage_same(&left, &none)) {
		usage_say("left", &left);
		return fail("something is left");
	}
	return dat_sim_fabric_destroy(run->fabric) == DAT_SUCCESS || fail("it cannot be ended");
}

/* ---- victims ---- */

static void no_phase(const char *name)
{
	(void)name;
}

static pid_t start_victim(struct run *run, bool steps)
{
	pid_t pid = start_process();

	if (pid)
		return pid;
	setenv("DATSIM_NODE", "victim", 1);
	if (steps)
		stores_begin(run->stores);
	victim_live(steps ? stores_phase : no_phase);
	_exit(0);
}

static bool all_is_back(struct run *run)
{
	return usage_returns(run->fabric, &run->before) || fail("the fabric cannot be looked at");
}

static bool died(struct run *run, pid_t pid, bool *killed)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return fail("the victim is lost");
	*killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	run->deaths += *killed;
	if (!*killed && status)
		return fail("the victim ends otherwise");
	return true;
}

/* *killed: the victim died before the phase ended. */
static bool kill_at(struct run *run, int phase, uint32_t store, bool *killed)
{
	pid_t pid;

	snprintf(what, sizeof(what), "store %u of phase %d, %s", store, phase,
		 run->stores->names[phase]);
	hang_begin(what);
	run->stores->phase = phase;
	run->stores->store = store;
	pid = start_victim(run, true);
	return died(run, pid, killed) && order(run, ROUNDS) && reported(run) && all_is_back(run);
}

static bool count_stores(struct run *run, uint32_t *sum)
{
	bool killed;

	snprintf(what, sizeof(what), "a whole life");
	hang_begin(what);
	run->stores->phase = -1;
	if (!died(run, start_victim(run, true), &killed) || killed || !all_is_back(run))
		return fail("it does not end well");
	*sum = 0;
	for (int i = 0; i < run->stores->phases; i++) {
		printf("# phase %d, %s: %u stores\n", i, run->stores->names[i],
		       run->stores->counted[i]);
		*sum += run->stores->counted[i];
	}
	return true;
}

static bool kill_at_every_store(struct run *run)
{
	for (int phase = 0; phase < run->stores->phases; phase++) {
		bool killed = true;

		for (uint32_t store = 1; killed; store++)
			if (!kill_at(run, phase, store, &killed))
				return false;
	}
	return true;
}

static bool kill_at_some_stores(struct run *run, unsigned int count, uint32_t sum)
{
	for (unsigned int i = 0; i < count; i++) {
		uint32_t store = (uint32_t)chance(run, sum);
		bool killed;
		int phase = 0;

		while (store >= run->stores->counted[phase])
			store -= run->stores->counted[phase++];
		if (!kill_at(run, phase, store + 1, &killed))
			return false;
	}
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The time that a victim's run takes while the witness asks. */
static bool measure(struct run *run, uint64_t *ns)
{
	uint64_t begun = now_ns();
	bool killed;

	snprintf(what, sizeof(what), "whole lives");
	hang_begin(what);
	for (int i = 0; i < LIVES; i++)
		if (!order(run, ROUNDS) || !died(run, start_victim(run, false), &killed) ||
		    killed || !reported(run))
			return fail("they do not end well");
	*ns = (now_ns() - begun) / LIVES;
	return true;
}

static bool kill_at_random(struct run *run, unsigned int count, uint64_t life_ns)
{
	for (unsigned int i = 0; run->deaths < count; i++) {
		uint64_t ns = chance(run, life_ns);
		struct timespec pause = { .tv_sec = (time_t)(ns / 1000000000u),
					  .tv_nsec = (long)(ns % 1000000000u) };
		bool killed;
		pid_t pid;

		snprintf(what, sizeof(what), "life %u, killed after %lu us", i, ns / 1000);
		hang_begin(what);
		if (!order(run, ROUNDS * 10))
			return fail("no witness");
		pid = start_victim(run, false);
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		if (!died(run, pid, &killed) || !reported(run) || !all_is_back(run))
			return false;
	}
	return true;
}

/* ---- the command line ---- */

static int result(bool good, const char *title)
{
	printf("%s 1 - %s\n1..1\n", good ? "ok" : "not ok", title);
	fflush(stdout);
	return good ? 0 : 1;
}

static int stores(struct run *run, unsigned int count)
{
	const char *refused = stores_refused();
	uint32_t sum = 0;
	char title[160];
	bool good;

	if (refused) {
		printf("ok 1 # SKIP %s\n1..1\n", refused);
		return 0;
	}
	good = begin(run) && count_stores(run, &sum) &&
	       (count ? kill_at_some_stores(run, count, sum) : kill_at_every_store(run)) &&
	       end(run);
	snprintf(title, sizeof(title),
		 "killed before %u of some %u stores, and nothing else suffers", run->deaths, sum);
	return result(good, title);
}

static int at_one(struct run *run, unsigned int phase, unsigned int store)
{
	uint32_t sum;
	bool killed = false;
	bool good = begin(run) && count_stores(run, &sum) &&
		    kill_at(run, (int)phase, store, &killed) && end(run);

	return result(good, killed ? "killed, and nothing else suffers" : "not killed");
}

static int in_time(struct run *run, unsigned int rounds)
{
	bool good;

	snprintf(what, sizeof(what), "a server that is killed");
	hang_begin(what);
	snprintf(run->fabric, sizeof(run->fabric), "die-%d", getpid());
	setenv("DATSIM_FABRIC", run->fabric, 1);
	good = dat_sim_fabric_create(run->fabric, NULL) == DAT_SUCCESS &&
	       notice(run->server, (int)rounds) &&
	       dat_sim_fabric_destroy(run->fabric) == DAT_SUCCESS;
	return result(good, "a death is seen within 100 ms");
}

static int at_random(struct run *run, unsigned int count)
{
	uint64_t ns = 0;
	char title[160];
	bool good = begin(run) && measure(run, &ns) && kill_at_random(run, count, ns) && end(run);

	snprintf(title, sizeof(title), "killed at %u moments, and nothing else suffers",
		 run->deaths);
	return result(good, title);
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 0;
	struct run run = { .random = argc > 4 ? strtoul(argv[4], NULL, 10) | 1 : 1 };

	if (argc < 3 || argc > 5 ||
	    (!count && strcmp(argv[2], "stores") && strcmp(argv[2], "at")) ||
	    (!notice && !strcmp(argv[2], "notice"))) {
		fputs("usage: die SERVER stores [COUNT [SEED]] | random COUNT [SEED] | "
		      "notice ROUNDS | at PHASE STORE\n",
		      stderr);
		return 2;
	}
	run.server = argv[1];
	run.random *= 0x9e3779b97f4a7c15u;
	run.stores = mmap(NULL, sizeof(*run.stores), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[2], "at"))
		return at_one(&run, count, argc > 4 ? (unsigned int)strtoul(argv[4], NULL, 10) : 1);
	if (!strcmp(argv[2], "notice"))
		return in_time(&run, count);
	return strcmp(argv[2], "stores") ? at_random(&run, count) : stores(&run, count);
}
