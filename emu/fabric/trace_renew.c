/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a trace that keeps its end (DATSIM_TRACE_LAST): text of one process. When it has
 * reached the size of the ring that other traces have, a new file with its second half takes its
 * place and its name. So a reader that opens the name gets a readable trace at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/nic_process.h"
#include "output.h"
#include "ring.h"
#include "trace.h"

#define SUFFIX ".new"

/* The new file, until it has the name. */
struct successor {
	char *path;
	int fd; /* -1: there is none */
	char *text;
	uint64_t length, room;
	uint32_t lines;
};

/* The first whole line of the second half. */
static const char *second_half(const struct emu_world *w)
{
	const struct emu_fabric *fab = w->fab;
	const char *line = fab->trace + fab->trace_length - w->config.trace_ring / 2;
	const char *newline = memchr(line, '\n', w->config.trace_ring / 2 - 1);

	return newline ? newline + 1 : line;
}

static int open_successor(struct emu_world *w, struct successor *next, uint64_t room)
{
	struct stat st;
	int err;

	if (asprintf(&next->path, "%s" SUFFIX, w->trace_file) < 0) {
		next->path = NULL;
		return ENOMEM;
	}
	unlink(next->path); /* of a process that was killed in here */
	next->fd = process_open(next->path, O_RDWR | O_CREAT | O_EXCL | O_NOCTTY, 0600);
	if (next->fd < 0)
		return errno;
	if (fstat(w->trace_fd, &st) || fchmod(next->fd, st.st_mode & 0777))
		return errno;
	err = emu_output_fill(next->fd, 0, room);
	if (err)
		return err;
	next->text = mmap(NULL, EMU_TRACE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, next->fd, 0);
	next->room = room;
	if (next->text == MAP_FAILED || madvise(next->text, EMU_TRACE_BYTES, MADV_DONTFORK))
		return errno;
	return 0;
}

/* The header, the note and those lines; the room is for one line more than they need. */
static void write_successor(struct emu_world *w, struct successor *next, const char *kept,
			    size_t length)
{
	char *to = next->text + emu_trace_header(w, next->text);

	to += sprintf(to, "%.*s - note " EMU_RING_DROPPED "\n", (int)strcspn(kept, " "), kept);
	memcpy(to, kept, length);
	to[length] = '\0';
	next->length = (uint64_t)(to - next->text) + length;
	next->lines = 1;
	for (const char *at = to; (at = memchr(at, '\n', (size_t)(to + length - at))) != NULL; at++)
		next->lines++;
}

/* From here on it is the trace. */
static int install_successor(struct emu_world *w, struct successor *next)
{
	if (rename(next->path, w->trace_file))
		return errno;
	if (mremap(next->text, EMU_TRACE_BYTES, EMU_TRACE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
		   w->fab->trace) == MAP_FAILED)
		return errno;
	next->text = MAP_FAILED;
	close(w->trace_fd);
	w->trace_fd = next->fd;
	next->fd = -1;
	w->fab->trace_length = next->length;
	w->fab->trace_room = next->room;
	w->trace_lines = next->lines;
	return 0;
}

int emu_trace_renew(struct emu_world *w)
{
	struct successor next = { .fd = -1, .text = MAP_FAILED };
	const char *kept = second_half(w);
	size_t length = (size_t)(w->fab->trace + w->fab->trace_length - kept);
	int cancel = process_cancel_hold(), err;

	err = open_successor(w, &next, length + 2ul * EMU_TRACE_LINE + EMU_TRACE_ROOM);
	if (!err) {
		write_successor(w, &next, kept, length);
		err = install_successor(w, &next);
	}
	if (next.text != MAP_FAILED)
		munmap(next.text, EMU_TRACE_BYTES);
	if (next.fd >= 0) {
		close(next.fd);
		unlink(next.path);
	}
	free(next.path);
	process_cancel_release(cancel);
	return err;
}
