/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "inbox.h"
#include "reach.h"
#include "reclaim.h"
#include "recover.h"
#include "rules.h"
#include "shared_file.h"
#include "trace.h"
#include "world.h"

#define MAGIC       0x3120636962616664ul
#define LAYOUT      ((uint64_t)sizeof(struct emu_fabric) << 16 | sizeof(struct emu_qp))
#define LOCKS_BEGIN (1l << 50) /* of the file's bytes, far behind its end: one for each process */
#define TRIES       1000

/* Bits of a futex wait. */
#define WAITERS 1u
#define IDLERS  2u

static struct emu_world *world_of(struct nic_world *world)
{
	return (struct emu_world *)world; /* its first member */
}

/* ---- who is alive: each process holds a lock on its byte of the file ---- */

static bool lock_byte(int fd, int command, uint16_t process, struct flock *lock)
{
	*lock = (struct flock){ .l_type = F_WRLCK,
				.l_whence = SEEK_SET,
				.l_start = LOCKS_BEGIN + process,
				.l_len = 1 };
	return fcntl(fd, command, lock) == 0;
}

bool emu_shared_alive(const struct emu_world *w, uint16_t process)
{
	struct flock lock;

	return process == w->process ||
	       !lock_byte(w->membership->fd, F_OFD_GETLK, process, &lock) || lock.l_type != F_UNLCK;
}

static void bury_the_dead(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (emu_process(w, i)->used && !emu_shared_alive(w, i))
			emu_shared_bury(w, i);
}

/* ---- the lock ---- */

/* Who had it died with it. */
static EMU_COLD void recover(struct emu_world *w)
{
	uint16_t holder = w->fab->shared.holder;
	struct emu_reclaim kept;

	emu_reclaim_begin(w, &kept);
	emu_recover(w);
	emu_section_end(w);
	/* Should this one die, too, the other is still to be buried. */
	w->fab->shared.holder = holder;
	/* The kernel tells of its death before it lets go of its byte of the file. */
	if (holder && emu_process(w, holder)->used)
		emu_shared_bury(w, holder);
	bury_the_dead(w);
	emu_recover_orphans(w);
	emu_reclaim_end(w, &kept);
	if (emu_lockstep(w))
		emu_lockstep_recover(w);
}

void emu_shared_take(struct emu_world *w)
{
	bool whole = emu_lock_take(&w->fab->shared.lock, w->membership->pid);

	assert(!w->membership->held);
	w->membership->held = true;
	if (!whole)
		recover(w);
	w->fab->shared.holder = w->process;
}

static void wake(struct emu_process *p, uint32_t whom)
{
	syscall(SYS_futex, &p->bell, FUTEX_WAKE_BITSET, INT32_MAX, NULL, NULL, whom);
}

void emu_shared_release(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	uint64_t waiters = 0, idlers = 0;

	if (emu_lockstep(w))
		m->ring = emu_lockstep_rung(w, m->ring);
	for (uint64_t left = m->ring; left; left &= left - 1) {
		uint16_t process = (uint16_t)__builtin_ctzl(left) + 1;
		struct emu_process *p = emu_process(w, process);

		__atomic_fetch_add(&p->bell, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&p->sleepers, __ATOMIC_RELAXED))
			waiters |= 1ul << (process - 1);
		else if (__atomic_load_n(&p->idlers, __ATOMIC_RELAXED))
			idlers |= 1ul << (process - 1);
	}
	m->ring = 0;
	m->held = false;
	emu_section_end(w);
	emu_lock_release(&w->fab->shared.lock);
	emu_lockstep_tell(w);
	for (; waiters; waiters &= waiters - 1)
		wake(emu_process(w, (uint16_t)__builtin_ctzl(waiters) + 1), WAITERS);
	for (; idlers; idlers &= idlers - 1)
		wake(emu_process(w, (uint16_t)__builtin_ctzl(idlers) + 1), IDLERS);
}

/* The lines of the section and of the rest stay in the caches of all. */
void emu_shared_let_go(struct emu_world *w)
{
	const struct emu_section *section = &w->fab->shared.section;

	if (w->membership->ring || section->sequence != w->fab->sequence ||
	    section->events != w->fab->events) {
		emu_shared_release(w);
		return;
	}
	w->membership->held = false;
	w->fab->shared.holder = 0;
	emu_lock_release(&w->fab->shared.lock);
}

bool emu_shared_back(struct emu_world *w, const void *at, uint64_t bytes)
{
	return emu_file_back(w->membership->fd,
			     (uint64_t)((const uint8_t *)at - (const uint8_t *)w->fab), bytes);
}

bool emu_shared(struct nic_world *world)
{
	return world_of(world)->process != 0;
}

bool emu_shared_lockstep(struct nic_world *world)
{
	return emu_lockstep(world_of(world));
}

bool emu_shared_enter(struct nic_world *world, bool idle)
{
	struct emu_world *w = world_of(world);

	emu_shared_take(w);
	if (!emu_lockstep(w)) {
		emu_inbox_empty(w);
		return true;
	}
	if (emu_lockstep_enter(w, idle))
		return true;
	emu_shared_release(w);
	return false;
}

void emu_shared_await(struct nic_world *world)
{
	emu_lockstep_await(world_of(world));
}

void emu_shared_exit(struct nic_world *world)
{
	emu_shared_release(world_of(world));
}

bool emu_shared_settle(struct nic_world *world)
{
	struct emu_world *w = world_of(world);

	if (emu_lockstep(w))
		return emu_lockstep_settle(w);
	emu_clock_settle(w);
	return true;
}

void emu_shared_thread_ends(struct nic_world *world)
{
	struct emu_world *w = world_of(world);

	if (emu_lockstep(w))
		emu_lockstep_exit(w);
}

void emu_shared_watch(struct nic_world *world, uint64_t now)
{
	struct emu_world *w = world_of(world);

	bury_the_dead(w);
	if (emu_lockstep(w))
		emu_lockstep_watch(w, now);
}

/* ---- sleeping ---- */

void emu_shared_sleep(struct nic_world *world, bool idle, uint64_t until,
		      const struct nic_unlocked *unlocked)
{
	struct emu_world *w = world_of(world);
	struct emu_process *p = emu_process(w, w->process);
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000ul),
			       .tv_nsec = (long)(until % 1000000000ul) };
	uint32_t *count = idle ? &p->idlers : &p->sleepers;
	uint32_t bell = __atomic_load_n(&p->bell, __ATOMIC_RELAXED);

	if (!idle && emu_lockstep(w)) {
		emu_lockstep_sleep(w, unlocked);
		return;
	}
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	unlocked->unlock(unlocked->ctx);
	syscall(SYS_futex, &p->bell, FUTEX_WAIT_BITSET, bell, until == NIC_TIME_NEVER ? NULL : &ts,
		NULL, idle ? IDLERS : WAITERS);
	unlocked->lock(unlocked->ctx);
	__atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

void emu_shared_ring(struct nic_world *world, bool idle)
{
	struct emu_world *w = world_of(world);
	struct emu_process *p = emu_process(w, w->process);

	if (!idle && emu_lockstep(w)) {
		emu_lockstep_wake(w);
		return;
	}
	__atomic_fetch_add(&p->bell, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(idle ? &p->idlers : &p->sleepers, __ATOMIC_RELAXED))
		wake(p, idle ? IDLERS : WAITERS);
}

/* ---- joining and leaving ---- */

/* Whoever ends the fabric may be in another folder. */
static void set_trace_path(struct emu_fabric *fab, const char *path)
{
	char *path_here = fab->shared.trace_path;
	size_t room = sizeof(fab->shared.trace_path), length = 0;

	if (path[0] != '/' && getcwd(path_here, room))
		length = strlen(path_here);
	if (length + strlen(path) + 2 > room)
		path_here[0] = '\0';
	else
		snprintf(path_here + length, room - length, "%s%s", length ? "/" : "", path);
}

static void set_up(struct emu_world *w, const struct nic_config *config)
{
	struct emu_fabric *fab = w->fab;

	emu_configure(fab, config);
	fab->trace_room = EMU_TRACE_FIRST;
	fab->trace_on = config->trace;
	emu_trace_begin(w);
	if (config->trace_file)
		set_trace_path(fab, config->trace_file);
	if (config->lockstep)
		emu_lockstep_begin(w, config->preempt_ns);
	fab->shared.layout = LAYOUT;
	fab->shared.magic = MAGIC;
}

static bool fits(const struct emu_fabric *fab, size_t size)
{
	const struct emu_shared *shared = &fab->shared;

	return shared->magic == MAGIC && shared->layout == LAYOUT && fab->size == size &&
	       fab->pool_end == (size - sizeof(*fab)) / EMU_POOL_UNIT;
}

static void unmap(struct emu_world *w)
{
	emu_file_unmap(w->fab, &w->membership->mapped);
	close(w->membership->fd);
	w->fab = NULL;
}

/* -EEXIST: another was quicker. */
static int make(struct emu_world *w, const struct nic_config *config, bool stays)
{
	struct emu_membership *m = w->membership;
	int err = emu_file_make(m->path, &m->fd, &w->fab, &m->mapped);

	if (err)
		return err;
	set_up(w, config);
	w->fab->shared.stays = stays;
	w->lockstep = w->fab->shared.lockstep.on;
	err = emu_file_publish(m->path);
	if (err)
		unmap(w);
	return err;
}

/* Map the fabric that has the path. -ENOENT: there is none. */
static int attach(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	int err = emu_file_open(m->path, &m->fd, &w->fab, &m->mapped);

	if (err)
		return err;
	w->lockstep = w->fab->shared.lockstep.on;
	if (fits(w->fab, m->mapped.size))
		return 0;
	fprintf(stderr, "libdat: shared fabric %s: it is of another version of libdat\n", m->path);
	unmap(w);
	return -EINVAL;
}

static bool node_taken(struct emu_world *w, const char *node)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (i != w->process && emu_process(w, i)->used &&
		    strcmp(emu_process(w, i)->node, node) == 0)
			return true;
	return false;
}

static void introduce(struct emu_world *w, const struct nic_config *config)
{
	struct emu_membership *m = w->membership;
	struct emu_process *p = emu_process(w, w->process);
	uint32_t births = p->births + 1;

	*p = (struct emu_process){ .births = births, .pid = getpid() };
	snprintf(p->node, sizeof(p->node), "%.20s", config->node ? config->node : "");
	if (!p->node[0] || node_taken(w, p->node))
		snprintf(p->node, sizeof(p->node), "%.14s%u", config->node ? config->node : "n",
			 w->process);
	memcpy(m->node, p->node, sizeof(m->node));
	m->nonce = emu_random(w) | 1;
	p->nonce = m->nonce;
	p->probe = (uintptr_t)&m->nonce;
	p->used = true;
	if (emu_lockstep(w))
		emu_lockstep_join(w);
	w->fab->shared.processes++;
}

/* With the lock held. */
static int take_place(struct emu_world *w, const struct nic_config *config)
{
	struct flock lock;

	bury_the_dead(w);
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		if (emu_process(w, i)->used || !lock_byte(w->membership->fd, F_OFD_SETLK, i, &lock))
			continue;
		w->process = i;
		introduce(w, config);
		return 0;
	}
	return -ENOMEM;
}

static int try_join(struct emu_world *w, const struct nic_config *config)
{
	int err = attach(w);

	if (err == -ENOENT)
		err = make(w, config, false);
	if (err)
		return err == -EEXIST ? -EAGAIN : err;
	emu_shared_take(w);
	err = w->fab->shared.gone ? -EAGAIN : take_place(w, config);
	emu_shared_release(w);
	if (err)
		unmap(w);
	return err;
}

/* What there is before the fabric is mapped; NULL: *err says why. */
static struct emu_membership *begin(struct emu_world *w, const struct nic_config *config, int *err)
{
	/* No heap: a program that exits without a close has leaked nothing of its own. */
	struct emu_membership *m =
		mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*err = -ENOMEM;
	if (m == MAP_FAILED)
		return NULL;
	w->membership = m;
	w->trace_fd = -1;
	m->bounce = config->bounce;
	m->pid = getpid();
	*err = emu_file_path(config->fabric, m->path, sizeof(m->path));
	if (!*err)
		return m;
	munmap(m, sizeof(*m));
	return NULL;
}

int emu_shared_join(struct emu_world *w, const struct nic_config *config)
{
	struct emu_membership *m;
	int err;

	m = begin(w, config, &err);
	if (!m)
		return err;
	err = -EAGAIN;
	for (int i = 0; err == -EAGAIN && i < TRIES; i++)
		err = try_join(w, config);
	if (err)
		munmap(m, sizeof(*m));
	return err;
}

int emu_shared_make(struct emu_world *w, const struct nic_config *config)
{
	struct emu_membership *m;
	int err;

	m = begin(w, config, &err);
	if (!m)
		return err;
	err = make(w, config, true);
	if (!err)
		unmap(w);
	munmap(m, sizeof(*m));
	return err;
}

int emu_shared_look(struct emu_world *w, const struct nic_config *config,
		    int (*look)(struct emu_world *w, void *arg), void *arg)
{
	struct emu_membership *m;
	int err;

	m = begin(w, config, &err);
	if (!m)
		return err;
	err = attach(w);
	if (!err) {
		emu_shared_take(w);
		bury_the_dead(w);
		err = w->fab->shared.gone ? -ENOENT : look(w, arg);
		emu_shared_release(w);
		unmap(w);
	}
	munmap(m, sizeof(*m));
	return err;
}

void emu_shared_finish(struct emu_world *w)
{
	struct emu_shared *shared = &w->fab->shared;

	shared->gone = true;
	emu_rules_trace(w);
	unlink(w->membership->path);
	if (!shared->trace_path[0])
		return;
	w->trace_file = strdup(shared->trace_path);
	emu_trace_close(w);
	w->trace_file = NULL;
}

void emu_shared_leave(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	struct emu_shared *shared = &w->fab->shared;

	emu_shared_take(w);
	emu_inbox_discard(w, w->process);
	emu_process(w, w->process)->used = false;
	shared->processes--;
	if (emu_lockstep(w))
		emu_lockstep_bury(w, w->process);
	bury_the_dead(w);
	if (shared->processes == 0 && !shared->stays)
		emu_shared_finish(w);
	emu_shared_release(w);
	emu_lockstep_leave(w);
	unmap(w);
	munmap(m, sizeof(*m));
	w->membership = NULL;
}
