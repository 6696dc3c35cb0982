/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: threads of this process that have been created and have not come yet.
 *
 * When they come depends on the machine, so the turn does not leave the process before they have. A thread that
 * sleeps, or runs for long, does not come; if it comes later after all, that is said.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockstep.h"
#include "shared.h"
#include "trace.h"

#define TASKS       "/proc/self/task"
#define ASLEEP_NAPS 20u /* so often in a row: it has something else to do */

static struct emu_thread *find_thread(struct emu_world *w, int32_t tid)
{
	struct emu_lockstep *ls = &w->fab->shared.lockstep;

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		if (ls->thread[i].process == w->process && ls->thread[i].tid == tid &&
		    ls->thread[i].state != EMU_THREAD_NONE)
			return &ls->thread[i];
	return NULL;
}

static int32_t *find_stranger(struct emu_membership *m, int32_t tid)
{
	for (uint32_t i = 0; i < m->strangers; i++)
		if (m->stranger[i] == tid)
			return &m->stranger[i];
	return NULL;
}

static void forget_stranger(struct emu_membership *m, int32_t *stranger)
{
	*stranger = m->stranger[--m->strangers];
}

static void add_stranger(struct emu_membership *m, int32_t tid)
{
	if (m->strangers < EMU_STRANGERS)
		m->stranger[m->strangers++] = tid;
}

static bool is_task(int32_t tid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), TASKS "/%d", tid);
	return stat(path, &st) == 0;
}

/* How many threads of this process are accounted for. */
static uint32_t count_known(struct emu_world *w)
{
	const struct emu_lockstep *ls = &w->fab->shared.lockstep;
	const struct emu_membership *m = w->membership;
	uint32_t n = m->strangers + (m->helper != 0);

	for (uint32_t i = 1; i <= emu_thread_high(ls); i++)
		n += ls->thread[i].process == w->process && ls->thread[i].state != EMU_THREAD_NONE;
	return n;
}

static void forget_dead_strangers(struct emu_membership *m)
{
	for (uint32_t i = m->strangers; i > 0; i--)
		if (!is_task(m->stranger[i - 1]))
			forget_stranger(m, &m->stranger[i - 1]);
}

/* It is not accounted for: is it worth waiting for? */
static bool is_on_its_way(struct emu_world *w, int32_t tid)
{
	struct emu_membership *m = w->membership;
	struct emu_newborn *born = &m->newborn[(uint32_t)tid % EMU_NEWBORN];
	char state = emu_lockstep_task_state(getpid(), tid);

	if (born->tid != tid)
		*born = (struct emu_newborn){ .tid = tid };
	born->naps++;
	born->asleep = state == 'R' || state == 'D' ? 0 : born->asleep + 1;
	if (!state) /* it is gone */
		return false;
	if ((uint64_t)born->naps * EMU_NAP_NS >= m->bound_ns) {
		emu_trace(w, "- note preempted: a thread of %s is long in coming",
			  emu_process(w, w->process)->node);
		add_stranger(m, tid);
		return false;
	}
	if (born->asleep < ASLEEP_NAPS)
		return true;
	add_stranger(m, tid);
	return false;
}

bool emu_lockstep_expects(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	const struct dirent *entry;
	bool expects = false;
	struct stat st;
	DIR *dir;

	/* A folder has a link for itself, one for its entry, and one for each folder in it. */
	if (stat(TASKS, &st) || st.st_nlink < 3 || (uint32_t)st.st_nlink - 2 == count_known(w))
		return false;
	forget_dead_strangers(m);
	dir = opendir(TASKS);
	while (dir && (entry = readdir(dir)) != NULL) {
		int32_t tid = atoi(entry->d_name);

		if (tid > 0 && tid != m->helper && !find_thread(w, tid) && !find_stranger(m, tid))
			expects |= is_on_its_way(w, tid);
	}
	if (dir)
		closedir(dir);
	return expects;
}

uint32_t emu_lockstep_outside(struct emu_world *w)
{
	struct stat st;

	/* Where they cannot be counted there may be some. */
	return stat(TASKS, &st) || st.st_nlink < 3 ? 1 : w->membership->strangers;
}

void emu_lockstep_welcome(struct emu_world *w, int32_t tid, bool late)
{
	int32_t *stranger = find_stranger(w->membership, tid);

	if (stranger)
		forget_stranger(w->membership, stranger);
	if (stranger || late)
		emu_trace(w, "- note preempted: a thread of %s comes late",
			  emu_process(w, w->process)->node);
}

/* In the order of their creation, which their numbers show until these begin again. */
static uint32_t age(int32_t tid)
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
			if (!t->number && (!first || age(t->tid) < age(first->tid)))
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
	const struct emu_thread *t = &ls->thread[emu_turn(ls)];

	return !is_task(t->tid) && !emu_lockstep_expects(w);
}
