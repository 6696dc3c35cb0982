/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper.c - the helper thread: sleep until the next event or message from another process, run
 * the events that are due, watch over the processes of a shared world.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "helper.h"
#include "nic_process.h"
#include "outside/outside.h"

#define WATCH_NS   40000000ul /* longest time between two checks for dead processes */
#define TASKS      "/proc/self/task"
#define PF_EXITING 4u /* among the kernel's flags of a thread */

struct helper {
	struct backend *backend;
	pthread_t thread;
	pthread_cond_t wake;
	uint64_t until; /* virtual time when its sleep ends; 0: it is awake */
	bool idle;      /* it waits as the helper, not inside an agent that it runs */
	bool stop;
	uint64_t watched; /* monotonic time of the last check for dead processes */
	uint64_t looked;  /* monotonic time of the last count of this process's threads */
	bool orphan;      /* no thread joins it: see helper_detach */
	sigset_t signals; /* signals that the program has blocked */
};

/* Set in the helper's thread only. */
static __thread struct helper *self __attribute__((tls_model("initial-exec")));

/* Virtual time of the next event; NIC_TIME_NEVER: none is pending. */
static uint64_t helper_next_event(struct backend *b)
{
	struct nic *nic = b->kind->control(b->world);
	uint64_t next = NIC_TIME_NEVER;

	return nic->ops->sim_pending(nic, &next) > 0 ? next : NIC_TIME_NEVER;
}

bool helper_is_this(void)
{
	return self != NULL;
}

/* In lockstep the program's threads run all events, each in its turn. */
static bool helper_in_lockstep(struct backend *b)
{
	return b->shared && b->kind->lockstep(b->shared);
}

/* ---- sleeping ---- */

static void helper_cond_wait(pthread_cond_t *wake, pthread_mutex_t *lock, uint64_t until)
{
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000ul),
			       .tv_nsec = (long)(until % 1000000000ul) };
	int cancel;

	/* A thread cancelled during the wait would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (until == NIC_TIME_NEVER)
		pthread_cond_wait(wake, lock);
	else
		pthread_cond_timedwait(wake, lock, &ts);
	pthread_setcancelstate(cancel, &cancel);
}

struct shared_sleep {
	struct backend *backend;
	const struct nic_world *world;
};

static void helper_unlock(void *sleep)
{
	backend_release(((struct shared_sleep *)sleep)->backend);
}

/* Another thread may have ended the world, and a third one may have made the next. */
static bool helper_lock(void *sleep)
{
	const struct shared_sleep *s = sleep;

	backend_lock(s->backend);
	return s->backend->shared == s->world;
}

void helper_sleep_shared(struct backend *b, bool idle, uint64_t until)
{
	struct shared_sleep sleep = { b, b->shared };
	const struct nic_unlocked unlocked = { helper_unlock, helper_lock, &sleep };

	b->kind->sleep(b->shared, idle, until, &unlocked);
}

/* Set in the first thread, unless another one has loaded the library: see "the last thread". */
static pthread_key_t first_thread;
static bool first_thread_known;

static bool helper_first_may_end(const struct backend *b)
{
	return b->first_ended || !first_thread_known;
}

/* The sleep of the helper while it has nothing to do. */
static void helper_doze(struct helper *h, uint64_t until)
{
	struct backend *b = h->backend;
	uint64_t watch;

	if (b->shared || helper_first_may_end(b)) {
		watch = backend_monotonic_ns() + WATCH_NS;
		until = until < watch ? until : watch;
	}
	if (b->shared)
		helper_sleep_shared(b, true, until);
	else
		helper_cond_wait(&h->wake, &b->lock, until);
	h->until = 0;
}

/* On hardware the helper sleeps in the backend, so wake it there too. */
static void helper_rouse(struct helper *h)
{
	struct backend *b = h->backend;

	if (b->shared)
		b->kind->ring(b->shared, true);
	else
		pthread_cond_signal(&h->wake);
	if (b->world && !b->kind->simulated)
		b->ops.wake(b->kind->control(b->world));
}

void helper_sleep(struct backend *b, uint64_t until)
{
	if (self && self->idle) {
		self->until = helper_next_event(b);
		helper_doze(self, until);
		return;
	}
	b->sleepers++;
	b->sleepers_until = helper_next_event(b);
	if (b->shared)
		helper_sleep_shared(b, false, until);
	else
		helper_cond_wait(&b->wake, &b->lock, until);
	b->sleepers--;
	/* The wake-up times of the remaining sleepers are not known. */
	b->sleepers_until = NIC_TIME_NEVER;
}

/* ---- the last thread ---- */

/*
 * If the first thread of a process calls pthread_exit, the process ends with its last thread: glibc
 * calls exit(0) there. The libraries' threads must not keep the process alive. So once the first
 * thread has ended, each helper checks now and then whether the process has other threads than
 * those, and otherwise the helper with the lowest id ends it. The key's destructor tells when.
 */
static void helper_first_ends(void *unused)
{
	(void)unused;
	for (struct backend *b = backend_next(NULL); b; b = backend_next(b)) {
		pthread_mutex_lock(&b->lock);
		b->first_ended = true;
		/* In a shared world the helper wakes often enough by itself. */
		if (b->helper && !b->shared)
			pthread_cond_signal(&b->helper->wake);
		pthread_mutex_unlock(&b->lock);
	}
}

void helper_first_thread(void)
{
	if (first_thread_known)
		pthread_setspecific(first_thread, &first_thread);
}

static void __attribute__((constructor)) helper_note_first_thread(void)
{
	if (gettid() != getpid() || pthread_key_create(&first_thread, helper_first_ends))
		return;
	first_thread_known = true;
	helper_first_thread();
}

/* False: it cannot be read. */
static bool helper_read(const char *path, char *text, size_t size)
{
	int cancel = process_cancel_hold(), fd = process_open(path, O_RDONLY, 0);
	ssize_t n = 0;

	if (fd >= 0) {
		n = read(fd, text, size - 1);
		process_close(fd);
	}
	process_cancel_release(cancel);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

enum helper_kind {
	HELPER_ENDED,
	HELPER_PROGRAM,
	HELPER_OTHER, /* a library's, but no helper */
	HELPER_THREAD,
};

/*
 * Each library of this project in the process may have a helper and other threads: go by names. For
 * a moment the kernel still lists threads that have ended, and the first one until the process has.
 */
static enum helper_kind helper_kind_of(pid_t tid)
{
	char path[64], text[128], *name, *rest; /* TID (NAME) STATE, five numbers, flags, more */
	unsigned int flags = 0;

	snprintf(path, sizeof(path), TASKS "/%d/stat", (int)tid);
	if (!helper_read(path, text, sizeof(text)))
		return HELPER_ENDED;
	name = strchr(text, '(');
	rest = strrchr(text, ')');
	if (!name || !rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		return HELPER_PROGRAM;
	name++;
	*rest = '\0';
	if (flags & PF_EXITING)
		return HELPER_ENDED;
	if (process_is_named(name, PROCESS_HELPER, tid))
		return HELPER_THREAD;
	return process_is_named(name, PROCESS_TIMERS, tid) || !strcmp(name, PROCESS_HW) ||
			       !strcmp(name, PROCESS_HW_END)
		       ? HELPER_OTHER
		       : HELPER_PROGRAM;
}

int helper_leaves_alone(bool *lowest)
{
	pid_t own = gettid(), tid;
	struct dirent *entry;
	enum helper_kind kind;
	int others = 0;
	DIR *dir;

	*lowest = true;
	dir = process_opendir(TASKS);
	if (!dir)
		return -1;
	while (others >= 0 && (entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid == 0 || tid == own)
			continue;
		kind = helper_kind_of(tid);
		others = kind == HELPER_PROGRAM ? -1 : others + (kind != HELPER_ENDED);
		*lowest &= kind != HELPER_THREAD || tid > own;
	}
	closedir(dir);
	return others;
}

/* No thread joins the helper: an agent that it ran ended the world. */
static void helper_detach(struct helper *h)
{
	h->backend->helper = NULL;
	h->stop = h->orphan = true;
	pthread_detach(h->thread);
}

static bool helper_is_last(struct helper *h)
{
	uint64_t now = backend_monotonic_ns();
	bool lowest;

	if (now - h->looked < WATCH_NS)
		return false;
	h->looked = now;
	process_name_thread(PROCESS_HELPER); /* a function of the program may have named it */
	return helper_leaves_alone(&lowest) >= 0 && lowest;
}

static sigset_t exit_signals; /* those that the program blocks: what follows is its own */
static void *helper_exit(void *unused)
{
	pthread_sigmask(SIG_SETMASK, &exit_signals, NULL);
	exit(0);
	return unused;
}

/*
 * Handlers of exit may wait for the turn, which needs a helper. So another thread ends the process.
 * Its name has the helper's id, so it counts as a thread of the program: no helper ends it again.
 */
static void helper_end_process(const struct helper *h)
{
	pthread_t thread;

	exit_signals = h->signals;
	if (pthread_create(&thread, NULL, helper_exit, NULL) == 0)
		pthread_detach(thread);
}

/* ---- the thread ---- */

/* Check at intervals whether other processes have died. */
static void helper_watch(struct helper *h)
{
	struct backend *b = h->backend;
	uint64_t now = backend_monotonic_ns();

	if (now - h->watched < WATCH_NS)
		return;
	h->watched = now;
	b->kind->watch(b->shared, now);
}

static void helper_step(struct helper *h)
{
	struct backend *b = h->backend;
	struct nic *nic;

	if (helper_first_may_end(b) && helper_is_last(h))
		helper_end_process(h);
	if (b->shared)
		helper_watch(h);
	if (agent_calls_due(b)) {
		agents_run_now(b);
		return;
	}
	/* Without an open adapter, no event concerns this process. */
	if (helper_in_lockstep(b) || TAILQ_EMPTY(&b->adapters)) {
		h->until = NIC_TIME_NEVER;
		helper_doze(h, NIC_TIME_NEVER);
		return;
	}
	nic = b->kind->control(b->world);
	h->idle = true;
	if (!b->kind->simulated)
		h->until = helper_next_event(b);
	nic->ops->wait(nic, NULL, NIC_TIME_NEVER);
	h->idle = false;
}

/* Of AddressSanitizer, if the process has it. */
void __asan_unpoison_memory_region(const volatile void *from, size_t size) __attribute__((weak));

/*
 * The stack may be one that a thread of the parent process had before fork, and AddressSanitizer's
 * marks of the frames that were on it then are still there. It takes them away in each thread that
 * it sees beginning. It sees none in a program built without it, a shell for instance, which loads
 * a library built with it: pthread_create is libc's there.
 */
static void helper_clear_stack(void)
{
	char *lowest, *here = __builtin_frame_address(0);
	pthread_attr_t attr;
	void *stack;
	size_t size;

	if (!__asan_unpoison_memory_region || pthread_getattr_np(pthread_self(), &attr))
		return;
	if (pthread_attr_getstack(&attr, &stack, &size) == 0) {
		lowest = stack;
		__asan_unpoison_memory_region(lowest, (size_t)(here - lowest));
	}
	pthread_attr_destroy(&attr);
}

/* Calls of the helper, and those that create and join it, are not the program's. */
static void helper_calls(bool begin)
{
	if (libdat_outside_mine)
		libdat_outside_mine(begin);
}

static void *helper_main(void *arg)
{
	struct helper *h = arg;
	struct backend *b = h->backend;

	process_name_thread(PROCESS_HELPER);
	helper_calls(true);
	helper_clear_stack();
	self = h;
	backend_lock(b);
	while (!h->stop)
		helper_step(h);
	backend_release(b);
	if (h->orphan) {
		pthread_cond_destroy(&h->wake);
		free(h);
	}
	return NULL;
}

/*
 * The program's signals are handled in the program's threads: block all in the helper, except those
 * of a fault, which kill if they are blocked (emu/guard.h).
 */
static int helper_start_thread(struct helper *h)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	h->signals = before;
	helper_calls(true);
	err = pthread_create(&h->thread, NULL, helper_main, h);
	helper_calls(false);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

bool helper_start(struct backend *b)
{
	struct helper *h = calloc(1, sizeof(*h));

	if (!h)
		return false;
	h->backend = b;
	backend_cond_init(&h->wake);
	if (helper_start_thread(h)) {
		pthread_cond_destroy(&h->wake);
		free(h);
		return false;
	}
	b->helper = h;
	return true;
}

void helper_end(struct backend *b, struct nic_world *shared)
{
	struct helper *h = b->helper;

	b->shared = NULL;
	if (!h)
		return;
	if (h == self) {
		helper_detach(h);
		return;
	}
	b->helper = NULL;
	h->stop = true;
	if (shared)
		b->kind->ring(shared, true);
	else
		pthread_cond_signal(&h->wake);
	backend_unlock(b);
	helper_calls(true);
	pthread_join(h->thread, NULL);
	helper_calls(false);
	backend_enter(b);
	pthread_cond_destroy(&h->wake);
	free(h);
}

void helper_forget(struct backend *b)
{
	b->helper = self = NULL;
	b->first_ended = false;
	b->sleepers = 0;
}

/*
 * The end of a call, in a process of several threads. A thread that sleeps until the next event has
 * to look again if an earlier event is pending now; if no thread sleeps, the helper has to.
 */
void helper_look(struct backend *b)
{
	uint64_t next;

	if (!b->world || TAILQ_EMPTY(&b->adapters) || helper_in_lockstep(b))
		return;
	next = helper_next_event(b);
	if (next == NIC_TIME_NEVER)
		return;
	if (b->sleepers > 0) {
		if (next >= b->sleepers_until)
			return;
		b->sleepers_until = next;
		backend_wake(b);
	} else if (!b->helper) {
		/* If no thread can be created, events run during the program's calls only. */
		if (b->threaded || !b->departed)
			helper_start(b);
	} else if (next < b->helper->until) {
		b->helper->until = next;
		helper_rouse(b->helper);
	}
}
