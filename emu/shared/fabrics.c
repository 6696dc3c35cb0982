/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared fabrics by name, for tools that do not take part in them: make, list, inspect, end, stop
 * time.
 */
#include "fabrics.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared.h"
#include "shared_file.h"
#include "host/nic_process.h"
#include "emu/fabric/spare.h"
#include "emu/fabric/adapter.h"
#include "emu/fabric/trace.h"

/* Call `look` on a fabric with its lock held, without joining it. */
static int look_at(const char *name, bool tidy, int (*look)(struct emu_world *w, void *arg),
		   void *arg)
{
	struct nic_config config = { .fabric = name, .lock_ms = NIC_LOCK_MS };
	struct emu_world *w = emu_world_map_bare();
	int err = -ENOMEM, cancel;

	if (!w)
		return err;
	cancel = process_cancel_hold();
	err = emu_shared_look(w, &config, tidy, look, arg);
	process_cancel_release(cancel);
	emu_world_unmap_bare(w);
	return err;
}

/* As look_at, after what dead processes left behind is cleaned up. */
static int with_fabric(const char *name, int (*look)(struct emu_world *w, void *arg), void *arg)
{
	return look_at(name, true, look, arg);
}

int emu_fabric_make(const struct nic_config *config)
{
	struct emu_world *w = emu_world_map_bare();
	int err = -ENOMEM, cancel;

	if (!w)
		return err;
	cancel = process_cancel_hold();
	err = emu_shared_make(w, config);
	process_cancel_release(cancel);
	emu_world_unmap_bare(w);
	return err;
}

static int end_fabric(struct emu_world *w, void *arg)
{
	(void)arg;
	if (w->fab->shared.processes > 0)
		return -EBUSY;
	emu_shared_finish(w);
	return 0;
}

int emu_fabric_end(const char *name)
{
	return with_fabric(name, end_fabric, NULL);
}

int emu_fabric_next(char *name, size_t size)
{
	char folder[256], best[64] = "";
	const struct dirent *entry;
	int err = emu_file_path("x", folder, sizeof(folder));
	DIR *dir;

	if (err)
		return err;
	*strrchr(folder, '/') = '\0';
	dir = process_opendir(folder);
	while (dir && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(best) ||
		    strcmp(entry->d_name, name) <= 0)
			continue;
		if (!best[0] || strcmp(entry->d_name, best) < 0)
			memcpy(best, entry->d_name, strlen(entry->d_name) + 1);
	}
	if (dir)
		closedir(dir);
	if (!best[0] || strlen(best) >= size)
		return -ENOENT;
	memcpy(name, best, strlen(best) + 1);
	return 0;
}

/* ---- one process of a fabric ---- */

struct wanted {
	unsigned int i;
	struct nic_member *member;
};

static void count_objects(struct emu_world *w, uint16_t process, struct nic_member *member)
{
	for (uint16_t i = 1; i <= emu_adapter_high(w->fab); i++) {
		const struct emu_adapter *adapter = &w->fab->adapters[i];

		if (!adapter->open || adapter->process != process)
			continue;
		if (member->adapters++ == 0)
			emu_adapter_address(w, i, &member->addr);
		member->qps += (uint32_t)adapter->qps;
		member->listeners += (uint32_t)adapter->listeners;
	}
}

static int look_at_member(struct emu_world *w, void *arg)
{
	struct wanted *wanted = arg;
	unsigned int left = wanted->i;

	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		const struct emu_process *p = emu_process(w, i);

		if (!p->used || left-- > 0)
			continue;
		*wanted->member = (struct nic_member){
			.pid = p->pid,
			.stuck = emu_lockstep(w) && emu_lockstep_stuck(w),
			.waiting = emu_lockstep(w) ? emu_lockstep_waits(w, i) : p->sleepers > 0,
		};
		memcpy(wanted->member->node, p->node, sizeof(wanted->member->node) - 1);
		count_objects(w, i, wanted->member);
		return 0;
	}
	return -ERANGE;
}

int emu_fabric_member(const char *name, unsigned int i, struct nic_member *member)
{
	struct wanted wanted = { i, member };

	return with_fabric(name, look_at_member, &wanted);
}

static int hold_fabric(struct emu_world *w, void *held)
{
	if (!emu_lockstep(w))
		return -EINVAL;
	emu_lockstep_hold(w, *(const bool *)held);
	return 0;
}

int emu_fabric_hold(const char *name, bool held)
{
	return with_fabric(name, hold_fabric, &held);
}

/* ---- the trace, while it is written ---- */

static int add_note(struct emu_world *w, void *text)
{
	emu_trace(w, "- note %s", *(const char **)text);
	return 0;
}

int emu_fabric_note(const char *name, const char *text)
{
	return with_fabric(name, add_note, &text);
}

#define FOLLOW_MOST (1ul << 20) /* bytes at a time: the lock is held meanwhile */

struct follower {
	struct emu_trace_reader reader;
	char text[FOLLOW_MOST + EMU_TRACE_LINE];
};

struct following {
	struct follower *follower;
	size_t length;
};

static int follow_trace(struct emu_world *w, void *arg)
{
	struct following *following = arg;
	struct follower *f = following->follower;
	size_t n;

	if (!f->reader.length)
		following->length = f->reader.length = emu_trace_header(w, f->text);
	emu_reader_look(w, &f->reader);
	while (following->length < FOLLOW_MOST &&
	       emu_reader_next(w, &f->reader, f->text + following->length, &n))
		following->length += n;
	return 0;
}

/* NULL: no memory. */
static struct follower *follower_open(void)
{
	struct follower *f = malloc(sizeof(*f));

	if (f && !emu_reader_open(&f->reader, true)) {
		free(f);
		return NULL;
	}
	return f;
}

/* The dead are left alone: a look must not decide when the others hear of their end. */
int emu_fabric_trace(const char *name, void **reader, const char **text, size_t *length)
{
	struct following following = { *reader, 0 };
	int err;

	if (!name) {
		if (following.follower)
			emu_reader_close(&following.follower->reader);
		free(following.follower);
		*reader = NULL;
		return 0;
	}
	if (!following.follower)
		following.follower = follower_open();
	if (!following.follower)
		return -ENOMEM;
	*reader = following.follower;
	err = look_at(name, false, follow_trace, &following);
	if (err)
		return err;
	*text = following.follower->text;
	*length = following.length;
	return 0;
}
