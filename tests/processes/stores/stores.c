/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts stores into the arena: its pages are made read-only, so each store faults. The handler
 * counts it, makes the page writable, and lets the processor do this one instruction (single step).
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/processes/die.h"
#include "emu/fabric/layout.h"

#define TRAP_FLAG      0x100
#define ARENA_AT_LEAST (16u << 20)

static struct {
	struct stores *to;
	uint8_t *arena;
	size_t size;
	volatile uint32_t count;
	int phase;
	volatile bool armed;
	int stepping;             /* a thread single-steps; the pages are writable */
	struct sigaction library; /* what the library does about a SIGSEGV elsewhere */
} state = { .phase = -1 };

static __thread bool counts; /* only the calling thread counts */
static __thread bool steps;  /* this is the one that is stepping */

static void protect(int right)
{
	int kept = errno;

	if (state.arena)
		mprotect(state.arena, state.size, right);
	errno = kept;
}

static void arm(bool armed)
{
	state.armed = armed;
	state.count = 0;
	protect(armed ? PROT_READ : PROT_READ | PROT_WRITE);
}

static greg_t *flags_of(void *context)
{
	return &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
}

/* To be stopped, it has to hold the fabric's lock. */
static bool is_counted(void)
{
	const struct emu_fabric *fab = (const struct emu_fabric *)state.arena;

	return !state.to->stop ||
	       (fab->lock.word & FUTEX_TID_MASK) == (uint32_t)syscall(SYS_gettid);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	const uint8_t *at = info->si_addr;

	if (!state.arena || at < state.arena || at >= state.arena + state.size) {
		if (state.library.sa_flags & SA_SIGINFO)
			state.library.sa_sigaction(signal_number, info, context);
		else
			signal(signal_number, SIG_DFL);
		return;
	}
	/* Another thread may have made the page read-only again meanwhile. */
	while (!steps && __atomic_exchange_n(&state.stepping, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	/* Writable for the death, too: the kernel marks the robust lock of a dead holder. */
	protect(PROT_READ | PROT_WRITE);
	if (state.armed && counts && !steps && is_counted() && ++state.count == state.to->store &&
	    state.to->phase >= 0)
		raise(state.to->stop ? SIGSTOP : SIGKILL);
	steps = true;
	*flags_of(context) |= TRAP_FLAG;
}

static void on_step(int signal_number, siginfo_t *info, void *context)
{
	(void)signal_number;
	(void)info;
	*flags_of(context) &= ~(greg_t)TRAP_FLAG;
	if (state.armed)
		protect(PROT_READ);
	steps = false;
	__atomic_store_n(&state.stepping, 0, __ATOMIC_RELEASE);
}

static void catch (void)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGTRAP, &step, NULL);
}

/* ---- calls that the library makes ---- */

void stores_mapped(void *map, size_t size, int flags, int fd)
{
	if (map == MAP_FAILED || fd < 0 || !(flags & MAP_SHARED) || size <= ARENA_AT_LEAST)
		return;
	state.arena = map;
	state.size = size;
	if (state.armed)
		protect(PROT_READ);
}

void stores_unmapped(const void *at)
{
	if (at == state.arena)
		state.arena = NULL;
}

/* No thread of the library may block the signals that count stores. */
sigset_t stores_mask(int how, const sigset_t *set)
{
	sigset_t but = *set;

	if (how != SIG_UNBLOCK) {
		sigdelset(&but, SIGSEGV);
		sigdelset(&but, SIGTRAP);
	}
	return but;
}

bool stores_keep_action(int number, const struct sigaction *action, struct sigaction *old)
{
	if (number != SIGSEGV || !state.to)
		return false;
	if (old)
		*old = state.library;
	if (action)
		state.library = *action;
	return true;
}

/* ---- the interface ---- */

void stores_fail(const char *what)
{
	fprintf(stderr, "stores: %s\n", what);
	_exit(1);
}

void stores_begin(struct stores *stores)
{
	catch ();
	state.to = stores;
	counts = true;
}

void stores_phase(const char *name)
{
	struct stores *to = state.to;

	if (to->phase < 0) {
		if (state.phase >= 0)
			to->counted[state.phase] = state.count;
		if (++state.phase == PHASES)
			stores_fail("too many phases");
		to->names[state.phase] = name;
		to->phases = state.phase;
		arm(true);
	} else if (++state.phase == to->phase) {
		arm(true);
	} else if (state.armed) {
		arm(false);
	}
}

/* In a process of its own: does a store count? */
static int try_one(void)
{
	static struct stores none = { .phase = -1 };
	int fd = memfd_create("arena", 0);
	volatile uint8_t *at;

	if (fd < 0 || ftruncate(fd, ARENA_AT_LEAST * 2))
		return 1;
	stores_begin(&none);
	at = mmap(NULL, ARENA_AT_LEAST * 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return 1;
	stores_phase("");
	at[1] = 1;
	at[5000] = 2;
	return state.count == 2 && at[1] == 1 && at[5000] == 2 ? 0 : 1;
}

const char *stores_refused(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(try_one());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return "stores cannot be stepped over here";
	return NULL;
}
