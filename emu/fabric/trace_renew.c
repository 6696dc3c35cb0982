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

/* The new file, until it has the name. */
struct successor {
	char *path;
	int fd; /* -1: there is none */
	uint64_t length, room;
	uint32_t lines;
};

/* The line in which the second half begins, from its beginning on. */
static const char *second_half(const struct emu_world *w)
{
	const char *text = w->fab->trace;
	size_t from = w->fab->trace_length - w->config.trace_ring / 2;

	return (const char *)memrchr(text, '\n', from) + 1;
}

/* As far as that is permitted. Bits for a group that the file does not get are left out. */
static void copy_owner(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;
	struct stat st;

	if (fchown(fd, (uid_t)-1, old->st_gid) || fchown(fd, old->st_uid, (gid_t)-1))
		errno = 0; /* emu_trace_renew gives the program its errno back */
	if (fstat(fd, &st) || st.st_gid != old->st_gid)
		mode &= (mode_t)~0070;
	if (fchmod(fd, mode))
		errno = 0;
}

/* Beside the old one. */
static int open_successor(struct emu_world *w, struct successor *next)
{
	struct stat st;

	if (asprintf(&next->path, "%s.XXXXXX", w->trace_file) < 0) {
		next->path = NULL;
		return ENOMEM;
	}
	next->fd = process_fd(mkostemp(next->path, O_CLOEXEC));
	if (next->fd < 0)
		return errno;
	emu_trace_claim(next->fd, true);
	if (fstat(w->trace_fd, &st) == 0)
		copy_owner(next->fd, &st);
	return 0;
}

/* The header, the note and those lines, and newlines behind them as in trace_file.c. */
static int fill_successor(struct emu_world *w, struct successor *next, const char *kept,
			  size_t length)
{
	static const size_t head_most = 2ul * EMU_TRACE_LINE;
	char *head = malloc(head_most);
	size_t n;
	int err = 0;

	if (!head)
		return ENOMEM;
	n = emu_trace_header(w, head);
	n += (size_t)snprintf(head + n, head_most - n, "%.*s - note " EMU_RING_DROPPED "\n",
			      (int)strcspn(kept, " "), kept);
	next->length = n + length;
	next->room = next->length + 2ul * EMU_TRACE_LINE + EMU_TRACE_ROOM;
	if (!emu_output_write(next->fd, head, n) || !emu_output_write(next->fd, kept, length))
		err = errno;
	else
		err = emu_output_fill(next->fd, next->length, next->room - next->length);
	free(head);
	next->lines = 1;
	for (const char *end = kept + length; (kept = memchr(kept, '\n', (size_t)(end - kept)));
	     kept++)
		next->lines++;
	return err;
}

/* No file is mapped any more: the trace ends, and what it left is in the file that has its name. */
static void lose_file(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;

	mmap(fab->trace, EMU_TRACE_BYTES, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	close(w->trace_fd);
	w->trace_fd = -1;
	free(w->trace_file);
	w->trace_file = NULL;
	fab->trace_length = 0;
	fab->trace_full = true;
	fab->trace_on = false;
}

/*
 * From here on it is the trace: it is mapped in place of the old one, and then has the name. A
 * program that is killed in between leaves the old file, complete up to that point, and the new one
 * beside it.
 */
static int install_successor(struct emu_world *w, struct successor *next)
{
	int err = emu_trace_map(w, next->fd);
	bool mapped = err == 0;

	if (!err && rename(next->path, w->trace_file))
		err = errno;
	if (err) {
		/* If neither can be mapped, the old one may still be. */
		if (emu_trace_map(w, w->trace_fd) &&
		    (mapped || msync(w->fab->trace, EMU_PAGE, MS_ASYNC)))
			lose_file(w);
		return err;
	}
	close(w->trace_fd);
	w->trace_fd = next->fd;
	next->fd = -1;
	w->fab->trace_length = next->length;
	w->fab->trace_room = next->room;
	w->fab->trace[next->length] = '\0';
	w->trace_lines = next->lines;
	return 0;
}

int emu_trace_renew(struct emu_world *w)
{
	const char *kept = second_half(w);
	size_t length = (size_t)(w->fab->trace + w->fab->trace_length - kept);
	struct successor next = { .fd = -1 };
	int cancel = process_cancel_hold(), before = errno;
	int err = open_successor(w, &next);

	if (!err)
		err = fill_successor(w, &next, kept, length);
	if (!err)
		err = install_successor(w, &next);
	if (next.fd >= 0) {
		close(next.fd);
		unlink(next.path);
	}
	free(next.path);
	process_cancel_release(cancel);
	errno = before;
	return err;
}
