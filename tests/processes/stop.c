/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stop SERVER COUNT SEED - a victim is stopped before COUNT of the stores that it makes into the
 *     arena while it holds the fabric's lock, taken by chance
 * stop SERVER part N OF - before each N-th of OF: so many, side by side, do all of them
 * stop SERVER at PHASE STORE - before one of them, as the line that says what went wrong names it
 *
 * Each time a witness, which is connected to the server and waits for a short time only, loses its
 * connection and its adapter, and both are there again after the stop. The server waits without a
 * bound and loses nothing. The victim is killed, or continues and lives on to its end: all calls
 * that it makes succeed.
 */
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

#define CLIENTS    "2000000000" /* more than ever come, so the server stays */
#define PATIENCE   "400"        /* DATSIM_LOCK_MS of the witness: longer than a wait for a disk */
#define TITLE_MOST 160

struct run {
	char fabric[DAT_SIM_FABRIC_NAME];
	pid_t serves;
	struct usage before;   /* without a victim and a witness */
	struct stores *stores; /* shared with victims */
	uint64_t random;
	unsigned int stops;
};

static char what[TITLE_MOST]; /* is going on */

static bool fail(const char *why)
{
	printf("# %s: %s\n", what, why);
	return false;
}

static pid_t start_as(const char *node, const char *patience)
{
	pid_t pid = fork();

	if (pid < 0)
		pair_fail("no process");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("DATSIM_NODE", node, 1);
	setenv("DATSIM_LOCK_MS", patience, 1);
	return 0;
}

/* ---- the witness ---- */

struct witness {
	pid_t pid;
	int order[2], report[2];
};

static void say_done(struct witness *w)
{
	if (write(w->report[1], "", 1) != 1)
		_exit(1);
}

static void be_told(struct witness *w)
{
	char byte;

	if (read(w->order[0], &byte, 1) != 1)
		_exit(1);
}

static void part(struct peer *peer)
{
	pair_check(dat_ia_close(peer->node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

/* The fabric is blocked: every call comes back, and all says that it is lost. */
static void lose_all(struct peer *peer)
{
	DAT_LMR_TRIPLET segment = pair_segment(&peer->node, 0);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	dat_ep_post_send(peer->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	expect_event(peer->node.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_event(peer->connect, DAT_CONNECTION_EVENT_BROKEN);
	part(peer);
}

static void witness(struct witness *w)
{
	struct peer peer = { 0 };

	close(w->order[1]);
	peer_open(&peer);
	peer_connect(&peer);
	peer_ask(&peer);
	say_done(w);
	be_told(w);
	lose_all(&peer);
	say_done(w);
	be_told(w);
	peer = (struct peer){ 0 };
	peer_open(&peer);
	peer_connect(&peer);
	peer_ask(&peer);
	part(&peer);
	_exit(0);
}

static bool witness_done(struct witness *w)
{
	char byte;

	return read(w->report[0], &byte, 1) == 1 || fail("the witness is gone");
}

static bool witness_goes_on(struct witness *w)
{
	return write(w->order[1], "", 1) == 1;
}

static bool begin_witness(struct witness *w)
{
	if (pipe(w->order) || pipe(w->report))
		return fail("no pipe");
	w->pid = start_as("witness", PATIENCE);
	if (w->pid == 0)
		witness(w);
	close(w->report[1]);
	return witness_done(w);
}

static bool end_witness(struct witness *w)
{
	int status;

	close(w->order[0]);
	close(w->order[1]);
	close(w->report[0]);
	if (waitpid(w->pid, &status, 0) != w->pid || status)
		return fail("the witness does not end as it should");
	return true;
}

/* ---- the victim ---- */

static pid_t start_victim(struct run *run)
{
	pid_t pid = start_as("victim", "0");

	if (pid)
		return pid;
	/* The kernel lets a stopped process go on when the shell of its group ends. */
	setpgid(0, 0);
	stores_begin(run->stores);
	victim_live(stores_phase);
	_exit(0);
}

static bool end_victim(pid_t pid, int with)
{
	int status;

	kill(pid, with);
	if (waitpid(pid, &status, 0) != pid)
		return fail("the victim is lost");
	if (with == SIGKILL)
		return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
		       fail("the victim ends otherwise");
	return status == 0 || fail("the victim does not live on well");
}

static bool all_is_back(struct run *run)
{
	return usage_returns(run->fabric, &run->before) || fail("the fabric cannot be looked at");
}

/* ---- stops ---- */

static bool while_stopped(struct witness *w, pid_t victim, int with)
{
	return witness_goes_on(w) && witness_done(w) && end_victim(victim, with) &&
	       witness_goes_on(w);
}

/* *stopped: the phase has so many stores. */
static bool stop_at(struct run *run, int phase, uint32_t store, bool *stopped)
{
	struct witness w;
	int status;
	pid_t pid;

	snprintf(what, sizeof(what), "store %u of phase %d, %s", store, phase,
		 run->stores->names[phase]);
	hang_begin(what);
	if (!begin_witness(&w))
		return false;
	run->stores->phase = phase;
	run->stores->store = store;
	pid = start_victim(run);
	if (waitpid(pid, &status, WUNTRACED) != pid)
		return fail("the victim is lost");
	*stopped = WIFSTOPPED(status);
	if (!*stopped) {
		kill(w.pid, SIGKILL);
		waitpid(w.pid, NULL, 0);
		return status == 0 || fail("the victim ends otherwise");
	}
	run->stops++;
	return while_stopped(&w, pid, run->stops % 2 ? SIGKILL : SIGCONT) && end_witness(&w) &&
	       all_is_back(run);
}

static bool count_stores(struct run *run, uint32_t *sum)
{
	pid_t pid;

	snprintf(what, sizeof(what), "a whole life");
	hang_begin(what);
	run->stores->phase = -1;
	pid = start_victim(run);
	if (!end_victim(pid, 0) || !all_is_back(run))
		return false;
	*sum = 0;
	for (int i = 0; i < run->stores->phases; i++)
		*sum += run->stores->counted[i];
	return true;
}

/* Stores first, first + step ... of each phase, until the phase ends without a stop. */
static bool stop_at_every(struct run *run, uint32_t first, uint32_t step)
{
	for (int phase = 0; phase < run->stores->phases; phase++) {
		bool stopped = true;

		for (uint32_t store = first; stopped; store += step)
			if (!stop_at(run, phase, store, &stopped))
				return false;
	}
	return true;
}

static uint64_t chance(struct run *run, uint64_t below)
{
	run->random ^= run->random << 13;
	run->random ^= run->random >> 7;
	run->random ^= run->random << 17;
	return run->random % below;
}

static bool stop_at_some_stores(struct run *run, unsigned int count, uint32_t sum)
{
	for (unsigned int i = 0; i < count; i++) {
		uint32_t store = (uint32_t)chance(run, sum);
		bool stopped;
		int phase = 0;

		while (store >= run->stores->counted[phase])
			store -= run->stores->counted[phase++];
		if (!stop_at(run, phase, store + 1, &stopped))
			return false;
	}
	return true;
}

/* ---- the server, the command line ---- */

static bool begin(struct run *run, const char *server)
{
	struct witness w;

	snprintf(what, sizeof(what), "the beginning");
	hang_begin(what);
	snprintf(run->fabric, sizeof(run->fabric), "stop-%d", getpid());
	if (dat_sim_fabric_create(run->fabric, NULL) != DAT_SUCCESS)
		return fail("there can be no fabric");
	setenv("DATSIM_FABRIC", run->fabric, 1);
	run->serves = start_as("server", "0");
	if (run->serves == 0) {
		execl(server, server, CLIENTS, (char *)NULL);
		perror(server);
		_exit(127);
	}
	/* A witness comes and is killed, after which the server is all there is. */
	if (!begin_witness(&w))
		return false;
	kill(w.pid, SIGKILL);
	waitpid(w.pid, NULL, 0);
	while (usage_of(run->fabric, &run->before))
		if (run->before.processes == 1 && run->before.qps == 0)
			return true;
	return fail("the fabric cannot be looked at");
}

static bool end(struct run *run)
{
	int status;

	snprintf(what, sizeof(what), "the end");
	hang_begin(what);
	kill(run->serves, SIGKILL);
	if (waitpid(run->serves, &status, 0) != run->serves || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL)
		return fail("the server has ended before");
	return dat_sim_fabric_destroy(run->fabric) == DAT_SUCCESS || fail("it cannot be ended");
}

static bool stop_all(struct run *run, int argc, char **argv, uint32_t sum)
{
	bool stopped;

	if (argc == 4)
		return stop_at_some_stores(run, (unsigned int)atoi(argv[2]), sum);
	if (strcmp(argv[2], "at") == 0)
		return stop_at(run, atoi(argv[3]), (uint32_t)atoi(argv[4]), &stopped);
	return stop_at_every(run, (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]));
}

static bool is_known(int argc, char **argv)
{
	if (argc == 4)
		return true;
	if (argc != 5)
		return false;
	return strcmp(argv[2], "at") == 0 ||
	       (strcmp(argv[2], "part") == 0 && atoi(argv[3]) >= 1 && atoi(argv[4]) >= 1);
}

int main(int argc, char **argv)
{
	struct run run = { .random = argc == 4 ? strtoul(argv[3], NULL, 10) | 1 : 1 };
	const char *refused = stores_refused();
	uint32_t sum = 0;
	bool good;

	if (!is_known(argc, argv)) {
		fputs("usage: stop SERVER COUNT SEED | part N OF | at PHASE STORE\n", stderr);
		return 2;
	}
	if (refused) {
		printf("ok 1 # SKIP %s\n1..1\n", refused);
		return 0;
	}
	run.random *= 0x9e3779b97f4a7c15u;
	run.stores = mmap(NULL, sizeof(*run.stores), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	run.stores->stop = true;
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	good = begin(&run, argv[1]) && count_stores(&run, &sum) &&
	       stop_all(&run, argc, argv, sum) && end(&run);
	printf("%sok 1 - stopped before %u of some %u stores with the lock: others are not\n1..1\n",
	       good ? "" : "not ", run.stops, sum);
	return good ? 0 : 1;
}
