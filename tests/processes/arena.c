/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena TRIALS [SEED [FIRST]] - words of a fabric's arena are set to other values while two
 * processes use it. They may get errors. They must not die of a signal, not stay in a call, and not
 * write into memory that is not registered, nor into a third process. TRIALS 0: every word, every
 * value.
 */
#include "arena.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#define SANITIZER 99  /* exit status of a sanitizer's report */
#define POLL_US   200 /* until the server listens */
#define IDLE_MOST 10  /* pairs in a row that meet an error before a word is set */

static uint64_t pairs;

static pid_t start(void (*life)(void))
{
	pid_t pid = fork();
	int quiet;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (!getenv("ARENA_LOUD"))
		dup2(quiet, STDERR_FILENO);
	life();
	_exit(0);
}

/* A client may kill itself. */
static bool ends_well(pid_t pid, const char *who, bool may_be_killed)
{
	int status, sig;

	waitpid(pid, &status, 0);
	sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if ((sig == 0 && WEXITSTATUS(status) != SANITIZER) || (sig == SIGKILL && may_be_killed))
		return true;
	printf("# the %s: %s\n", who,
	       sig == SIGALRM ? "it stays in a call"
	       : sig          ? strsignal(sig)
			      : "a sanitizer's report");
	return false;
}

static bool is_running(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/* One pair, until an error ends it. */
static bool run_pair(void)
{
	char name[64], path[300];
	uint64_t first = arena_control->next;
	pid_t server, client;
	bool good;

	snprintf(name, sizeof(name), "arena-%d-%lu", getpid(), pairs++);
	setenv("DATSIM_FABRIC", name, 1);
	arena_control->ready = arena_control->ended = 0;
	server = start(arena_serve);
	while (!__atomic_load_n(&arena_control->ready, __ATOMIC_SEQ_CST) && is_running(server))
		usleep(POLL_US);
	client = start(arena_ask);
	good = ends_well(client, "client", true);
	__atomic_store_n(&arena_control->ended, 1, __ATOMIC_SEQ_CST);
	good = ends_well(server, "server", false) && good;
	if (!arena_pair_untouched()) {
		printf("# a process that takes no part was written to\n");
		good = false;
	}
	if (!good)
		printf("# trials %lu to %lu; the last: %s\n", first, arena_control->next - 1,
		       arena_control->what);
	snprintf(path, sizeof(path), "%s/datsim/%s", getenv("XDG_RUNTIME_DIR"), name);
	unlink(path);
	return good;
}

int main(int argc, char **argv)
{
	uint64_t trials = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, bad = 0;

	if (argc < 2 || !getenv("XDG_RUNTIME_DIR")) {
		fputs("usage: XDG_RUNTIME_DIR=FOLDER arena TRIALS [SEED [FIRST]]\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	arena_control = mmap(NULL, sizeof(*arena_control), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (arena_control == MAP_FAILED)
		return 2;
	arena_pair_begin();
	arena_control->next = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	arena_control->seed = trials ? (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) : 0;
	arena_control->trials = trials ? arena_control->next + trials : UINT64_MAX;
	for (uint64_t idle = 0; arena_control->next < arena_control->trials && idle < IDLE_MOST;) {
		uint64_t first = arena_control->next;

		bad += !run_pair();
		idle = arena_control->next == first ? idle + 1 : 0;
	}
	if (arena_control->next < arena_control->trials)
		bad += printf("# no pair gets to its first word\n") > 0;
	printf("# %lu words set, %lu without effect; %lu pairs\n", arena_control->next,
	       arena_control->harmless, pairs);
	printf("%s 1 - processes survive any word of their arena\n1..1\n", bad ? "not ok" : "ok");
	return bad > 0;
}
