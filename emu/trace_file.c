/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared.h"
#include "trace.h"

#define GROWS_BY (64ul << 10)

static int complain(const char *path, int err)
{
	fprintf(stderr, "libdat: cannot write the trace to %s: %s\n", path, strerror(err));
	return err == ENOMEM ? -ENOMEM : -EINVAL;
}

/*
 * Pages that the file has no blocks for would end the program when they are written. What is not
 * written yet is empty lines: so a trace that nobody ended is text all the same.
 */
static int resize(struct emu_world *w, uint64_t room)
{
	int err = posix_fallocate(w->trace_fd, 0, (off_t)room);

	if (err)
		return err;
	memset(w->fab->trace + w->fab->trace_room, '\n', room - w->fab->trace_room);
	w->fab->trace_room = room;
	return 0;
}

static int open_plain(struct emu_world *w, const char *path)
{
	int err;

	if (mmap(w->fab->trace, EMU_TRACE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 w->trace_fd, 0) == MAP_FAILED)
		return complain(path, errno);
	/* A forked child has no fabric, and must not write into its parent's trace. */
	if (madvise(w->fab->trace, EMU_TRACE_BYTES, MADV_DONTFORK))
		return complain(path, errno);
	w->fab->trace_room = 0;
	err = resize(w, GROWS_BY);
	return err ? complain(path, err) : 0;
}

int emu_trace_open(struct emu_world *w, const char *path)
{
	struct stat st;
	int err = 0;

	w->trace_fd = -1;
	w->fab->trace_room = EMU_TRACE_BYTES;
	if (!path)
		return 0;
	w->trace_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
	if (w->trace_fd < 0)
		return complain(path, errno);
	if (fstat(w->trace_fd, &st) == 0 && S_ISREG(st.st_mode)) {
		err = open_plain(w, path);
		if (err)
			close(w->trace_fd);
		return err;
	}
	close(w->trace_fd);
	w->trace_fd = -1;
	w->trace_file = strdup(path);
	return w->trace_file ? 0 : -ENOMEM;
}

bool emu_trace_grow(struct emu_world *w, size_t bytes)
{
	uint64_t room = w->fab->trace_room + (bytes + GROWS_BY) / GROWS_BY * GROWS_BY;

	if (room > EMU_TRACE_BYTES)
		return false;
	if (!w->membership)
		return w->trace_fd >= 0 && resize(w, room) == 0;
	if (!emu_shared_back(w, w->fab->trace + w->fab->trace_room, room - w->fab->trace_room))
		return false;
	w->fab->trace_room = room;
	return true;
}

static void write_stream(const struct emu_world *w)
{
	FILE *file = fopen(w->trace_file, "we");
	bool good = file &&
		    fwrite(w->fab->trace, 1, w->fab->trace_length, file) == w->fab->trace_length;

	good = good && fprintf(file, "# end lines=%u\n", w->fab->trace_lines) > 0;
	if (file)
		good = fclose(file) == 0 && good;
	if (!good)
		complain(w->trace_file, errno);
}

/* The end mark fits: some room is always kept free. */
static void finish_plain(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;

	fab->trace_length += (uint64_t)sprintf(fab->trace + fab->trace_length, "# end lines=%u\n",
					       fab->trace_lines);
	if (ftruncate(w->trace_fd, (off_t)fab->trace_length))
		fprintf(stderr, "libdat: cannot end the trace: %s\n", strerror(errno));
	close(w->trace_fd);
}

void emu_trace_close(struct emu_world *w)
{
	if (w->trace_fd >= 0)
		finish_plain(w);
	else if (w->trace_file)
		write_stream(w);
	free(w->trace_file);
}
