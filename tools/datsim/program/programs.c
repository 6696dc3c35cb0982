/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs several programs on one fabric, in real time or in lockstep: starts them in order, waits for
 * them, detects a deadlock in lockstep, and reports.
 */
#include "group.h"
#include "orphans.h"
#include "program_script.h"
#include "programs.h"
#include "startup.h"
#include "verbs_path.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/sim.h>

#include "tools/datsim/commands.h"

#define EXIT_SIGNAL_ABOVE 128

#define PREEMPT_MS   "50"
#define LONG_LOOK_NS 50000000

void program_exec(char **argv)
{
	execvp(argv[0], argv);
	fprintf(stderr, "datsim run: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN);
}

int program_status(int status)
{
	return WIFSIGNALED(status) ? EXIT_SIGNAL_ABOVE + WTERMSIG(status) : WEXITSTATUS(status);
}

static void program_ended(struct programs *programs, pid_t pid, int status)
{
	for (int i = 0; i < programs->count; i++) {
		if (programs->one[i].pid != pid)
			continue;
		programs->one[i].pid = 0;
		programs->one[i].cut = programs->late;
		programs->one[i].killed = !programs->one[i].stuck && !programs->late &&
					  WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
					  programs_is_killed(programs, i);
		programs->one[i].code = programs->one[i].stuck    ? EXIT_FAILED
					: programs->one[i].killed ? EXIT_PASS
								  : program_status(status);
		programs->one[i].by_signal = WIFSIGNALED(status) && !programs->one[i].stuck &&
					     !programs->one[i].killed;
		if (programs->one[i].killed)
			programs->one[i].back_ns = programs_back_at(programs, i);
	}
}

static double seconds_of(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0 : (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool programs_are_late(struct programs *programs)
{
	double real = seconds_of(CLOCK_MONOTONIC) - programs->began, spent = 0;
	clockid_t clock;

	if (programs->late || real < programs->limit)
		return false;
	for (int i = 0; i < programs->count; i++)
		if (programs->one[i].pid && !clock_getcpuclockid(programs->one[i].pid, &clock))
			spent += seconds_of(clock);
	programs->late = spent > programs->limit || real > 10 * programs->limit;
	return programs->late;
}

/*
 * Programs send each other addresses of their memory, so make these the same in each run. Where
 * that is not permitted, traces differ.
 */
static void settle_addresses(void)
{
	int now = personality(0xffffffff);

	if (now >= 0)
		personality((unsigned long)now | ADDR_NO_RANDOMIZE);
}

/* Of a program that starts again. */
static void set_return(const struct programs *programs, int i)
{
	char text[32];

	if (!programs->one[i].back_ns)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)programs->one[i].back_ns);
	setenv("DATSIM_BACK_NS", text, 1);
	setenv(FAULTS_VARIABLE, programs->one[i].faults, 1);
}

bool programs_start(struct programs *programs, int i)
{
	pid_t pid = programs->fork_fd[i] > 0 ? group_fork(programs, i) : fork();

	if (pid == 0) {
		ended_child(programs->ended);
		setenv("DATSIM_NODE", programs->one[i].name, 1);
		set_return(programs, i);
		if (programs->lockstep)
			settle_addresses();
		if (programs->limit > 0)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (programs->over_verbs)
			verbs_path_over_child();
		program_exec(programs->one[i].argv);
	}
	programs->one[i].pid = pid > 0 ? pid : 0;
	if (pid < 0)
		usage_error("run", "cannot start another process: %s", strerror(errno));
	return pid > 0;
}

bool programs_has_ended(struct programs *programs, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG) != pid)
		return false;
	program_ended(programs, pid, status);
	return true;
}

void programs_pause(struct programs *programs, long ns)
{
	int sig = ended_pause(programs->ended, ns);

	hang_look(programs->look);
	if (programs->limit > 0 && ((sig && !programs->patient) || programs_are_late(programs)))
		sig = SIGKILL;
	for (int i = 0; sig && i < programs->count; i++)
		if (programs->one[i].pid)
			kill(programs->one[i].pid, sig);
}

/*
 * Looking at a fabric removes members that have died without leaving, so that the others go on at
 * once.
 */
static void fabric_look(const struct programs *programs)
{
	DAT_SIM_MEMBER member;

	dat_sim_fabric_member(programs->fabric, 0, &member);
}

static int count_left(const struct programs *programs)
{
	int left = 0;

	for (int i = 0; i < programs->count; i++)
		left += programs->one[i].pid != 0;
	return left;
}

/*
 * In lockstep: are all remaining programs on the fabric, and each waits for an event that cannot
 * come?
 */
static bool are_stuck(const struct programs *programs)
{
	int members = 0, stuck = 0, left = 0;
	DAT_SIM_MEMBER member;

	for (; dat_sim_fabric_member(programs->fabric, members, &member) == DAT_SUCCESS;
	     members++) {
		stuck += member.stuck == DAT_TRUE;
		for (int i = 0; i < programs->count; i++)
			left += programs->one[i].pid == (pid_t)member.pid;
	}
	return stuck > 0 && stuck == members && left == count_left(programs);
}

/*
 * The programs have printed what they wait for. The hold on the fabric keeps the end of one from
 * waking another.
 */
static void end_stuck(struct programs *programs)
{
	fprintf(stderr, "datsim run: deadlock: every thread of every program waits, and nothing "
			"is in flight: the programs are ended\n");
	dat_sim_fabric_hold(programs->fabric, DAT_TRUE);
	for (int i = 0; i < programs->count; i++) {
		programs->one[i].stuck = programs->one[i].pid != 0;
		if (programs->one[i].stuck)
			kill(programs->one[i].pid, SIGSTOP);
	}
	for (int i = 0; i < programs->count; i++)
		if (programs->one[i].stuck)
			kill(programs->one[i].pid, SIGKILL);
}

bool programs_are_ending(const struct programs *programs)
{
	if (programs->late)
		return true;
	for (int i = 0; i < programs->count; i++)
		if (programs->one[i].stuck && programs->one[i].pid)
			return true;
	return false;
}

/*
 * Wait for a program to end; in lockstep, check for a deadlock now and then. Not while programs are
 * being killed: a look at the fabric removes those that have died, and the order must not show.
 */
static pid_t wait_for_one(struct programs *programs, int *status)
{
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, status, WNOHANG);
		if (pid != 0)
			return pid;
		programs_pause(programs, LONG_LOOK_NS);
		if (programs->lockstep && !programs->ended->by && !programs_are_ending(programs) &&
		    are_stuck(programs))
			end_stuck(programs);
	}
}

static int run_all(struct programs *programs)
{
	int code = EXIT_PASS, status;
	pid_t pid;

	for (int i = 0; i < programs->count; i++) {
		if (programs->ended->by || programs->late)
			programs->one[i].code = EXIT_SIGNAL_ABOVE + programs->ended->by;
		else if (!programs_start(programs, i))
			code = EXIT_INTERNAL;
		else if (i + 1 < programs->count || programs->lockstep)
			programs_settle(programs, i);
	}
	if (programs->lockstep)
		dat_sim_fabric_hold(programs->fabric, DAT_FALSE);
	while (count_left(programs) > 0) {
		pid = wait_for_one(programs, &status);
		if (pid > 0)
			program_ended(programs, pid, status);
		else if (errno != EINTR)
			break;
		if (!programs_are_ending(programs))
			fabric_look(programs);
		programs_restart(programs);
	}
	for (int i = programs->count - 1; i >= 0; i--) {
		if (programs->one[i].code)
			code = programs->one[i].code;
		free(programs->one[i].faults);
		programs->one[i].faults = NULL;
	}
	return ended_code(programs->ended, code);
}

void programs_end_left(const struct programs *programs, const char *fabric)
{
	orphans_ask(programs->kept, ARRAY_SIZE(programs->kept), fabric);
	orphans_end(programs->kept, ARRAY_SIZE(programs->kept));
}

/* When a process began, in ticks of the kernel: the 20th word behind the name in its stat. */
static unsigned long long began_at(pid_t pid)
{
	char text[STARTUP_STAT];
	const char *at = startup_stat(pid, text, sizeof(text));

	for (int word = 0; at && word < 20; word++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

void programs_name_fabric(pid_t pid, char name[FABRIC_NAME])
{
	snprintf(name, FABRIC_NAME, "run-%d-%llx", (int)pid, began_at(pid) & 0xffffffffffff);
}

int programs_run(struct programs *programs)
{
	DAT_RETURN ret;
	int code;

	programs_name_fabric(getpid(), programs->fabric);
	if (programs->lockstep)
		setenv("DATSIM_LOCKSTEP", PREEMPT_MS, 0);
	else
		unsetenv("DATSIM_LOCKSTEP");
	ret = dat_sim_fabric_create(programs->fabric, NULL);
	if (ret != DAT_SUCCESS) {
		usage_error("run", "cannot make a fabric for several programs");
		return DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ? EXIT_USAGE : EXIT_INTERNAL;
	}
	if (programs->lockstep)
		dat_sim_fabric_hold(programs->fabric, DAT_TRUE);
	setenv("DATSIM_FABRIC", programs->fabric, 1);
	fflush(NULL);
	programs->began = seconds_of(CLOCK_MONOTONIC);
	code = run_all(programs);
	unsetenv("DATSIM_FABRIC");
	if (programs->patient && programs->ended->by)
		programs_end_left(programs, programs->fabric);
	/* With a limit, nothing of a run may continue after it. */
	if (DAT_GET_TYPE(dat_sim_fabric_destroy(programs->fabric)) != DAT_INVALID_STATE)
		return code;
	if (programs->limit > 0)
		orphans_end(programs->kept, ARRAY_SIZE(programs->kept));
	/* In lockstep each process that a program has left takes part, and most end with it. */
	if ((programs->limit <= 0 && !programs->ended->by && !programs->lockstep) ||
	    !orphans_leave_fabric(programs->fabric))
		fprintf(stderr, "datsim run: a process still takes part in fabric %s\n",
			programs->fabric);
	return code;
}
