/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process joins or makes a shared fabric, leaves it, and how others see that it is alive.
 */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/fabric/clock.h"
#include "host/nic_process.h"
#include "inbox.h"
#include "lock.h"
#include "emu/payload/reach.h"
#include "emu/wire/links.h"
#include "emu/wire/rules.h"
#include "settings.h"
#include "shared_file.h"
#include "emu/fabric/trace.h"
#include "emu/fabric/config.h"

#define MAGIC 0x3720636962616664ul
#define LAYOUT                                                                                    \
	((uint64_t)sizeof(struct emu_message) << 48 | (uint64_t)sizeof(struct emu_fabric) << 16 | \
	 sizeof(struct emu_qp))
#define LOCKS_BEGIN (1l << 50) /* byte of the file, far behind its end, that process 0 would lock */
#define TRIES       1000

/* ---- living processes: each holds a lock on its own byte of the file ---- */

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

	if (process == w->process || w->membership->apart)
		return process == w->process;
	return !lock_byte(w->membership->fd, F_OFD_GETLK, process, &lock) || lock.l_type != F_UNLCK;
}

void emu_shared_close(struct emu_membership *m)
{
	if (m->fd < 0)
		return;
	if (libdat_outside_drop)
		libdat_outside_drop(m->fd);
	close(m->fd);
	m->fd = -1;
}

/* The description may be shared with a forked child, so a close alone would not do. */
void emu_shared_unlock_byte(struct emu_world *w)
{
	struct flock lock = { .l_type = F_UNLCK,
			      .l_whence = SEEK_SET,
			      .l_start = LOCKS_BEGIN + w->process,
			      .l_len = 1 };

	fcntl(w->membership->fd, F_OFD_SETLK, &lock);
}

void emu_shared_clean_up_dead(struct emu_world *w, uint16_t holder)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (emu_process(w, i)->used && (i == holder || !emu_shared_alive(w, i)))
			emu_shared_clean_up(w, i);
}

/* ---- joining and leaving ---- */

/* Make the path absolute: the process that ends the fabric may have another working directory. */
void emu_shared_trace_path(char *out, size_t room, const char *path)
{
	size_t length = 0;

	if (path[0] != '/' && getcwd(out, room))
		length = strlen(out);
	if (length + strlen(path) + 2 > room)
		out[0] = '\0';
	else
		snprintf(out + length, room - length, "%s%s", length ? "/" : "", path);
}

static void set_up(struct emu_world *w, const struct nic_config *config)
{
	struct emu_fabric *fab = w->fab;

	emu_configure(w, config);
	emu_links_begin(w);
	fab->mem_epoch = EMU_FIRST;
	fab->trace_room = EMU_TRACE_FIRST;
	fab->trace_on = config->trace;
	if (config->trace_file)
		emu_shared_trace_path(fab->shared.trace_path, sizeof(fab->shared.trace_path),
				      config->trace_file);
	if (config->lockstep)
		emu_lockstep_begin(w, config->preempt_ns, config->turns);
	fab->shared.layout = LAYOUT;
	fab->shared.magic = MAGIC;
}

static bool layout_fits(const struct emu_fabric *fab, size_t size)
{
	const struct emu_shared *shared = &fab->shared;

	return shared->magic == MAGIC && shared->layout == LAYOUT && fab->size == size &&
	       fab->pool_end == (size - sizeof(*fab)) / EMU_POOL_UNIT;
}

static void unmap_fabric(struct emu_world *w)
{
	emu_file_unmap(w->fab, &w->membership->mapped);
	emu_shared_close(w->membership);
	w->fab = NULL;
}

/* -EEXIST: another process made it first. */
static int make_fabric(struct emu_world *w, const struct nic_config *config, bool stays)
{
	struct emu_membership *m = w->membership;
	struct emu_new_file file;
	int err = emu_file_make(m->path, &file, &w->fab, &m->mapped);

	if (err)
		return err;
	m->fd = file.fd;
	set_up(w, config);
	w->fab->shared.stays = stays;
	w->lockstep = w->fab->shared.lockstep.on;
	err = emu_file_publish(&file, m->path);
	if (err)
		unmap_fabric(w);
	return err;
}

/* Map the fabric at m->path. -ENOENT: there is none. */
static int attach_fabric(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	int err = emu_file_open(m->path, &m->fd, &w->fab, &m->mapped);

	if (err)
		return err;
	w->lockstep = w->fab->shared.lockstep.on;
	if (!layout_fits(w->fab, m->mapped.size))
		fprintf(stderr, "libdat: shared fabric %s: it is of another version of libdat\n",
			m->path);
	else if (!emu_config_adopt(w))
		fprintf(stderr,
			"libdat: shared fabric %s: it is damaged: its parameters (MTU %u, ...) are "
			"out of range; remove the file\n",
			m->path, w->config.mtu);
	else
		return 0;
	unmap_fabric(w);
	return -EINVAL;
}

static bool node_taken(struct emu_world *w, const char *node)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		if (i != w->process && emu_process(w, i)->used && emu_process(w, i)->named &&
		    strcmp(emu_process(w, i)->node, node) == 0)
			return true;
	return false;
}

static void number_node(struct emu_process *p, const char *node, uint16_t process)
{
	snprintf(p->node, sizeof(p->node), "%.14s%u", node, process);
}

/*
 * In lockstep a process may have joined, a shell for instance, in which programs run that open the
 * adapters: the first process that opens one keeps the name that both have.
 */
void emu_shared_name(struct emu_world *w)
{
	struct emu_process *p = emu_process(w, w->process);

	if (p->named)
		return;
	if (node_taken(w, w->membership->node))
		number_node(p, w->membership->node, w->process);
	p->named = true;
	memcpy(w->membership->node, p->node, sizeof(p->node));
}

/*
 * Field by field, and the generation in one store: a process that is killed in here leaves the
 * entry free, and must not take its generation back. Others tell by it whether they still reach the
 * process that has the entry (peer.h).
 */
static void register_process(struct emu_world *w, const struct nic_config *config)
{
	struct emu_membership *m = w->membership;
	struct emu_process *p = emu_process(w, w->process);

	__atomic_store_n(&p->generation, p->generation + 1, __ATOMIC_RELAXED);
	p->overrun = false;
	p->pid = getpid();
	p->futex = p->sleepers = p->idlers = p->lockers = 0;
	p->inbox = p->inbox_tail = 0;
	p->delivery = (struct emu_delivery){ 0 };
	p->helps = false;
	__atomic_store_n(&p->exits, false, __ATOMIC_RELAXED);
	snprintf(p->node, sizeof(p->node), "%.20s", config->node ? config->node : "");
	if (!p->node[0] || node_taken(w, p->node))
		number_node(p, config->node ? config->node : "n", w->process);
	p->named = !emu_lockstep(w);
	memcpy(m->node, p->node, sizeof(m->node));
	m->nonce = emu_random(w) | 1;
	p->nonce = m->nonce;
	p->probe = (uintptr_t)&m->nonce;
	__atomic_store_n(&p->used, true, __ATOMIC_RELAXED);
	if (emu_lockstep(w)) {
		emu_lockstep_join(w);
		m->back_ns = config->back_ns;
		emu_lockstep_load_turns(w, config->turns);
	}
	w->fab->shared.processes++;
}

/* With the lock held: register this process in a free entry. */
static int take_place(struct emu_world *w, const struct nic_config *config)
{
	struct flock lock;

	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		if (emu_process(w, i)->used || !lock_byte(w->membership->fd, F_OFD_SETLK, i, &lock))
			continue;
		w->process = i;
		w->own = emu_process(w, i);
		if (w->lockstep && libdat_outside_keep)
			libdat_outside_keep(&w->membership->fd);
		register_process(w, config);
		return 0;
	}
	return -ENOMEM;
}

/*
 * All processes of a fabric have ended, and none of them closed it: end it in their place. A new
 * fabric, which its maker has not joined yet, has had no process.
 */
static void end_if_left(struct emu_world *w)
{
	struct emu_shared *shared = &w->fab->shared;
	bool had_process = false;

	emu_shared_clean_up_dead(w, 0);
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		had_process |= emu_process(w, i)->generation > 0;
	if (had_process && shared->processes == 0 && !shared->stays && !shared->gone)
		emu_shared_finish(w);
}

/* Does this fabric's name still lead to it? */
static bool has_name(const struct emu_membership *m)
{
	struct stat file, named;

	return fstat(m->fd, &file) == 0 && lstat(m->path, &named) == 0 &&
	       file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

/*
 * With the lock held: has the fabric ended? The process that ended it may have died before it had
 * removed the name, and then no process could make a fabric of that name: remove it now.
 */
static bool is_gone(struct emu_world *w)
{
	bool gone = w->fab->shared.gone;

	if (gone && has_name(w->membership))
		emu_shared_finish(w);
	return gone;
}

static int try_join(struct emu_world *w, const struct nic_config *config)
{
	int err = attach_fabric(w);
	bool made = err == -ENOENT;

	if (made)
		err = make_fabric(w, config, false);
	if (err)
		return err == -EEXIST ? -EAGAIN : err;
	err = -EBUSY;
	if (emu_shared_take_as_guest(w)) {
		end_if_left(w);
		err = is_gone(w) ? -EAGAIN : take_place(w, config);
		emu_shared_release(w);
	}
	if (err)
		unmap_fabric(w);
	else if (!made)
		emu_settings_tell(w, config);
	return err;
}

static bool same_link(const char *path, const char *other)
{
	char a[64], b[64];
	ssize_t length = readlink(path, a, sizeof(a));

	return length > 0 && readlink(other, b, sizeof(b)) == length &&
	       memcmp(a, b, (size_t)length) == 0;
}

/*
 * What the monotonic clock of this process is ahead of that of the initial time namespace. The file
 * tells it of the namespace that children get, which may be another one after an unshare.
 */
static uint64_t own_clock_offset(void)
{
	FILE *offsets = process_fopen("/proc/self/timens_offsets");
	long seconds = 0, ns = 0;

	if (!offsets)
		return 0;
	if (fscanf(offsets, "monotonic %ld %ld", &seconds, &ns) != 2 ||
	    !same_link("/proc/self/ns/time", "/proc/self/ns/time_for_children"))
		seconds = ns = 0;
	fclose(offsets);
	return (uint64_t)seconds * 1000000000u + (uint64_t)ns;
}

/*
 * The lock on the parent's byte belongs to a description that the child has, too: with the child's
 * descriptor open the parent would live for the others until the child has ended. The arena is not
 * mapped in the child.
 */
void emu_shared_forked(struct nic_world *world)
{
	struct emu_world *w = (struct emu_world *)world;
	struct emu_membership *m = w->membership;
	int cancel = process_cancel_hold();

	emu_peer_forget_all(w);
	emu_lockstep_forget_tasks(m);
	emu_shared_close(m);
	process_cancel_release(cancel);
}

/* Allocate the membership, before the fabric is mapped; NULL: *err says why. */
static struct emu_membership *begin_membership(struct emu_world *w, const struct nic_config *config,
					       int *err)
{
	/* Not from the heap: a program that exits without a close would be reported to leak it. */
	struct emu_membership *m =
		mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*err = -ENOMEM;
	if (m == MAP_FAILED)
		return NULL;
	w->membership = m;
	w->sharing = &emu_shared_hooks;
	w->steps_most = EMU_STEPS_MOST;
	w->trace_fd = -1;
	m->bounce = config->bounce;
	m->lock_ms = config->lock_ms;
	m->clock_offset = own_clock_offset();
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

	if (config->lockstep && !emu_turns_are_valid(config->turns))
		return -EINVAL;
	m = begin_membership(w, config, &err);
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

	if (config->lockstep && !emu_turns_are_valid(config->turns))
		return -EINVAL;
	m = begin_membership(w, config, &err);
	if (!m)
		return err;
	err = make_fabric(w, config, true);
	if (!err)
		unmap_fabric(w);
	munmap(m, sizeof(*m));
	return err;
}

int emu_shared_look(struct emu_world *w, const struct nic_config *config, bool tidy,
		    int (*look)(struct emu_world *w, void *arg), void *arg)
{
	struct emu_membership *m;
	int err;

	m = begin_membership(w, config, &err);
	if (!m)
		return err;
	err = attach_fabric(w);
	if (err)
		goto end;
	err = -EBUSY;
	if (emu_shared_take_as_guest(w)) {
		if (tidy)
			emu_shared_clean_up_dead(w, 0);
		err = is_gone(w) ? -ENOENT : look(w, arg);
		emu_shared_release(w);
	}
	unmap_fabric(w);
end:
	munmap(m, sizeof(*m));
	return err;
}

void emu_shared_finish(struct emu_world *w)
{
	struct emu_shared *shared = &w->fab->shared;

	shared->gone = true;
	unlink(w->membership->path);
	emu_rules_trace(w);
	if (!shared->trace_path[0])
		return;
	emu_trace_write(w, shared->trace_path);
}

void emu_shared_leave(struct emu_world *w)
{
	struct emu_membership *m = w->membership;
	struct emu_shared *shared = &w->fab->shared;

	emu_shared_take(w);
	emu_inbox_discard(w, w->process);
	__atomic_store_n(&emu_process(w, w->process)->used, false, __ATOMIC_RELAXED);
	shared->processes--;
	if (emu_lockstep(w)) {
		emu_lockstep_tell_all_calls(w);
		emu_lockstep_drop_process(w, w->process);
	}
	emu_shared_clean_up_dead(w, 0);
	/* It is gone if this process closes it after emu_shared_process_exits. */
	if (shared->processes == 0 && !shared->stays && !shared->gone)
		emu_shared_finish(w);
	emu_shared_release(w);
	emu_lockstep_leave(w);
	emu_peer_forget_all(w);
	emu_lockstep_forget_tasks(m);
	emu_trace_forget(w);
	unmap_fabric(w);
	munmap(m, sizeof(*m));
	w->membership = NULL;
}
