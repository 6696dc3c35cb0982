/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: threads that have been created and have not called into the library yet.
 *
 * The moment of a new thread's first call depends on the machine. If the turn left the process
 * before, the order of the threads would, too. So before the turn leaves a process, all of its
 * threads, counted in /proc, have registered or are known not to call: a new thread that only
 * sleeps, or runs for long without a call, is an outsider. If an outsider calls after all, the
 * trace says that it comes late. Sleep does not count while another new thread runs, because it may
 * hold the lock that the sleeper waits for: one of the program, of malloc or of the library.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lockstep.h"
#include "emu/shared/shared.h"
#include "emu/fabric/trace.h"
#include "host/nic_process.h"

#define TASKS       "/proc/self/task"
#define ASLEEP_NAPS 20u /* asleep in so many checks in a row: an outsider */

static struct emu_thread *find_thread(struct emu_world *w, int32_t tid)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == w->process && ls->thread[i].tid == tid &&
		    ls->thread[i].state != EMU_THREAD_NONE)
			return &ls->thread[i];
	return NULL;
}

static int32_t *find_outsider(struct emu_membership *m, int32_t tid)
{
	for (uint32_t i = 0; i < m->outsiders; i++)
		if (m->outsider[i] == tid)
			return &m->outsider[i];
	return NULL;
}

static void forget_outsider(struct emu_membership *m, int32_t *outsider)
{
	*outsider = m->outsider[--m->outsiders];
}

static void add_outsider(struct emu_membership *m, int32_t tid)
{
	if (m->outsiders < EMU_OUTSIDERS)
		m->outsider[m->outsiders++] = tid;
}

/* The kernel keeps the first thread, as a zombie, until the process has ended. */
static bool is_task(struct emu_membership *m, int32_t tid)
{
	char path[64], state;
	struct stat st;

	if (tid == m->pid) {
		state = m->first_ended ? 'Z' : emu_lockstep_task_state(tid, tid);
		m->first_ended = state == 'Z' || state == 'X';
		return !m->first_ended;
	}
	snprintf(path, sizeof(path), TASKS "/%d", tid);
	return stat(path, &st) == 0;
}

/* Open the directory of threads. The program may have closed the descriptor that it had. */
static bool open_tasks(struct emu_membership *m, struct stat *st)
{
	int cancel = process_cancel_hold();

	m->tasks = process_open(TASKS, O_PATH | O_DIRECTORY, 0);
	process_cancel_release(cancel);
	if (m->tasks < 0)
		m->tasks = 0;
	if (!m->tasks || fstat(m->tasks, st))
		return stat(TASKS, st) == 0;
	m->tasks_dev = st->st_dev;
	m->tasks_ino = st->st_ino;
	return true;
}

static bool are_tasks(const struct emu_membership *m, const struct stat *st)
{
	return st->st_dev == m->tasks_dev && st->st_ino == m->tasks_ino;
}

/* Since 2.33 glibc's fstat calls newfstatat with an empty path, which takes longer than fstat. */
static int stat_open(int fd, struct stat *st)
{
#ifdef __x86_64__
	if (syscall(SYS_fstat, fd, st) == 0)
		return 0;
#endif
	return fstat(fd, st); /* also where a filter of system calls knows only the newer one */
}

/*
 * How many threads of this process live; 0: /proc cannot be read. A directory has two links and one
 * more for each subdirectory (thread). This is asked at each turn, and an open directory answers in
 * a third of the time.
 */
static uint32_t count_tasks(struct emu_membership *m)
{
	struct stat st;
	bool good = m->tasks > 0 && stat_open(m->tasks, &st) == 0 && are_tasks(m, &st);

	if (!good)
		good = open_tasks(m, &st);
	m->task_count = good && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 0;
	if (m->task_count)
		m->task_count -= m->first_ended;
	return m->task_count;
}

void emu_lockstep_forget_tasks(struct emu_membership *m)
{
	struct stat st;

	if (m->tasks > 0 && fstat(m->tasks, &st) == 0 && are_tasks(m, &st))
		close(m->tasks);
	m->tasks = 0;
}

/* A thread that ends is asked about when the kernel has removed it, and would hide a new one. */
static bool is_registered(const struct emu_thread *t, uint16_t process)
{
	return t->process == process && t->state != EMU_THREAD_NONE &&
	       t->state != EMU_THREAD_ENDING;
}

/* Threads of this process that are registered, outsiders, or the helper. */
static uint32_t count_known(struct emu_world *w)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;
	const struct emu_membership *m = w->membership;
	uint32_t n = m->outsiders + (m->helper != 0);

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		n += is_registered(&ls->thread[i], w->process);
	return n;
}

static void forget_dead_outsiders(struct emu_membership *m)
{
	for (uint32_t i = m->outsiders; i > 0; i--)
		if (!is_task(m, m->outsider[i - 1]))
			forget_outsider(m, &m->outsider[i - 1]);
}

static bool is_new(struct emu_world *w, int32_t tid)
{
	return tid != w->membership->helper && !find_thread(w, tid) &&
	       !find_outsider(w->membership, tid);
}

/* The checks of a new thread so far. NULL: the table is full; this thread is checked later. */
static struct emu_new_thread *record_of(struct emu_world *w, int32_t tid)
{
	struct emu_new_thread *record = w->membership->new_thread, *spare = NULL;

	for (uint32_t i = 0; i < EMU_NEW_THREADS; i++)
		if (record[i].tid == tid)
			return &record[i];
	for (uint32_t i = 0; i < EMU_NEW_THREADS && !spare; i++)
		if (!record[i].tid || !is_new(w, record[i].tid) ||
		    !is_task(w->membership, record[i].tid))
			spare = &record[i];
	if (spare)
		*spare = (struct emu_new_thread){ .tid = tid };
	return spare;
}

/* The thread is new: is its first call still expected? If not, it becomes an outsider. */
static bool is_on_its_way(struct emu_world *w, int32_t tid, bool one_runs)
{
	struct emu_membership *m = w->membership;
	struct emu_new_thread *born = record_of(w, tid);

	if (!born)
		return true;
	born->naps++;
	born->asleep = one_runs ? 0 : born->asleep + 1;
	if (!is_task(m, tid))
		return false;
	if ((uint64_t)born->naps * EMU_NAP_NS >= m->bound_ns) {
		emu_trace(w, "- note preempted: a thread of %s is long in coming",
			  emu_process(w, w->process)->node);
		add_outsider(m, tid);
		return false;
	}
	if (born->asleep < ASLEEP_NAPS)
		return true;
	add_outsider(m, tid);
	return false;
}

/* The next task in the directory that is new; 0: there are no more. */
static int32_t next_new_task(struct emu_world *w, DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		int32_t tid = atoi(entry->d_name);

		if (tid > 0 && is_new(w, tid))
			return tid;
	}
	return 0;
}

bool emu_lockstep_expects(struct emu_world *w)
{
	bool expects = false, one_runs = false;
	struct emu_membership *m = w->membership;
	int32_t tid;
	uint32_t tasks;
	int cancel;
	DIR *dir;

	/* One that was called is waited for even if it sleeps: the lock that it needs is ours. */
	if (m->called && (uint64_t)m->called_naps++ * EMU_NAP_NS < m->bound_ns)
		return true;
	tasks = count_tasks(m);
	if (!tasks || tasks == count_known(w))
		return false;
	forget_dead_outsiders(m);
	cancel = process_cancel_hold();
	dir = process_opendir(TASKS);
	if (dir) {
		while ((tid = next_new_task(w, dir)) != 0)
			one_runs |= emu_lockstep_thread_busy(getpid(), tid);
		rewinddir(dir);
		while ((tid = next_new_task(w, dir)) != 0)
			expects |= is_on_its_way(w, tid, one_runs);
		closedir(dir);
	}
	process_cancel_release(cancel);
	return expects;
}

uint32_t emu_lockstep_outside(struct emu_world *w)
{
	/* If /proc cannot be read, there may be some. */
	return w->membership->task_count ? w->membership->outsiders : 1;
}

void emu_lockstep_note_arrival(struct emu_world *w, int32_t tid, bool late)
{
	int32_t *outsider = find_outsider(w->membership, tid);

	if (outsider)
		forget_outsider(w->membership, outsider);
	if (w->membership->called)
		w->membership->called--;
	if (outsider || late)
		emu_trace(w, "- note preempted: a thread of %s comes late",
			  emu_process(w, w->process)->node);
}

void emu_lockstep_note_helper(struct emu_world *w, int32_t tid)
{
	int32_t *outsider = find_outsider(w->membership, tid);

	if (outsider)
		forget_outsider(w->membership, outsider);
	w->membership->helper = tid;
}

/* Thread ids grow with each creation; those below the process id have wrapped around. */
static uint32_t creation_order(int32_t tid)
{
	return tid >= getpid() ? (uint32_t)tid : (uint32_t)tid | 1u << 31;
}

void emu_lockstep_number(struct emu_world *w)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	for (;;) {
		struct emu_thread *first = NULL;
		uint32_t number = 1;

		for (uint32_t i = 1; i <= emu_thread_high(ls); i++) {
			struct emu_thread *t = &ls->thread[i];

			if (t->process != w->process || t->state == EMU_THREAD_NONE)
				continue;
			if (t->number >= number && t->number < UINT32_MAX)
				number = t->number + 1;
			if (!t->number &&
			    (!first || creation_order(t->tid) < creation_order(first->tid)))
				first = t;
		}
		if (!first)
			return;
		first->number = number;
	}
}

bool emu_lockstep_has_ended(struct emu_world *w)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;
	const struct emu_thread *t = &ls->thread[emu_lockstep_turn(ls)];

	return !is_task(w->membership, t->tid) && !emu_lockstep_expects(w);
}
