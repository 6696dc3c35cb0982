/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a trace: mapped into the arena in place of its trace memory, so that nothing is lost
 * if the program dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "sharing.h"
#include "trace.h"
#include "host/nic_process.h"

#define GROWS_BY   (64ul << 10)
#define GROWS_MOST (4ul << 20)

static int report_error(const char *path, int err)
{
	fprintf(stderr, "libdat: cannot write the trace to %s: %s%s\n", path, strerror(err),
		emu_output_hint(err));
	return process_shortage(err) || err == EFBIG ? -ENOMEM : -EINVAL;
}

/*
 * Fill the file with newlines up to `room` bytes, so that the trace of a program that died is text
 * to its end. They are written, not stored: each has its block then, without which a store to its
 * page would be a SIGBUS; and at no time are there zero bytes at the end of the file, which would
 * tell who follows the trace that text precedes them.
 */
static int resize_file(struct emu_world *w, uint64_t room)
{
	int err = emu_output_fill(w->trace_fd, w->fab->trace_room, room - w->fab->trace_room);

	if (err)
		return err;
	w->fab->trace_room = room;
	return 0;
}

/*
 * The text is `length` longer, with a NUL behind it, and perhaps more of the last piece that was
 * copied. Without a NUL, and with newlines of the rest of the file behind it, a line was being
 * written when the program was killed.
 */
static void file_add(struct emu_fabric *fab, size_t length)
{
	fab->trace_length += length;
	fab->trace[fab->trace_length] = '\0';
}

/* A forked child has no fabric, and must not write to its parent's trace. */
int emu_trace_map(struct emu_world *w, int fd)
{
	if (mmap(w->fab->trace, EMU_TRACE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED)
		return errno;
	return madvise(w->fab->trace, EMU_TRACE_BYTES, MADV_DONTFORK) ? errno : 0;
}

static int map_regular(struct emu_world *w, const char *path)
{
	int err = emu_trace_map(w, w->trace_fd);

	if (err)
		return report_error(path, err);
	w->fab->trace_room = 0;
	err = resize_file(w, GROWS_BY);
	return err ? report_error(path, err) : 0;
}

/*
 * Open for writing what is open as `fd` and no regular file, or one that is not to be replaced. It
 * stays open: a process which reads a FIFO sees its end when the trace ends, and not before. The
 * text goes to the end of a file, which may be the program's output. The other descriptor was open
 * for reading, too: a FIFO is then not refused because its reader is yet to come.
 */
static int open_stream(struct emu_world *w, const char *path, int fd)
{
	int stream = process_open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY, 0),
	    err = errno;

	close(fd);
	if (stream < 0)
		return report_error(path, err);
	w->trace_file = strdup(path);
	if (!w->trace_file) {
		close(stream);
		return -ENOMEM;
	}
	fcntl(stream, F_SETFL, O_APPEND);
	w->trace_stream = stream;
	return 0;
}

bool emu_trace_claim(int fd, bool claim)
{
	struct flock lock = { .l_type = claim ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET };

	/* A file system that has no locks is no reason to write no trace. */
	return !fcntl(fd, F_OFD_SETLK, &lock) || (errno != EAGAIN && errno != EACCES);
}

/* Truncating it would take the pages away from the other one, whose next line would be a SIGBUS. */
static int leave_to_other(struct emu_world *w, const char *path, int fd)
{
	fprintf(stderr, "libdat: another fabric writes its trace to %s: this one has none\n", path);
	free(w->trace_file);
	w->trace_file = NULL;
	close(fd);
	return 0;
}

static int open_regular(struct emu_world *w, const char *path, int fd)
{
	int err;

	if (!emu_trace_claim(fd, true))
		return leave_to_other(w, path, fd);
	w->trace_fd = fd;
	err = ftruncate(fd, 0) ? report_error(path, errno) : map_regular(w, path);
	if (!err) {
		file_add(w->fab, emu_trace_header(w, w->fab->trace));
		return 0;
	}
	free(w->trace_file);
	w->trace_file = NULL;
	close(fd);
	return err;
}

/* Does the program read or print there? */
static bool is_standard_stream(const struct stat *file)
{
	struct stat st;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino)
			return true;
	return false;
}

/*
 * Can another file take the place of this one? Not if it has no name, or one of the system's for
 * what a program has open, or is the program's output. Its absolute name is kept, for the working
 * directory may be another one then.
 */
static bool is_replaceable(struct emu_world *w, const char *path, const struct stat *file)
{
	struct stat st;

	if ((strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0) ||
	    strncmp(path, "/proc/", 6) == 0 || is_standard_stream(file))
		return false;
	w->trace_file = realpath(path, NULL);
	if (w->trace_file && stat(w->trace_file, &st) == 0 && st.st_dev == file->st_dev &&
	    st.st_ino == file->st_ino)
		return true;
	free(w->trace_file);
	w->trace_file = NULL;
	return false;
}

int emu_trace_open(struct emu_world *w, const char *path)
{
	struct stat st;
	int fd;

	w->trace_fd = -1;
	w->fab->trace_room = w->config.trace_bytes;
	if (!path)
		return 0;
	/* Not truncated yet: a file that is not ours to replace keeps its content. */
	fd = process_open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY, 0666);
	if (fd < 0)
		return report_error(path, errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (w->config.trace_ring && !is_replaceable(w, path, &st)))
		return open_stream(w, path, fd);
	return open_regular(w, path, fd);
}

/*
 * A trace that keeps its end goes on in a new file when this one has its size. While that cannot be
 * made, which is reported once, this one grows as another would.
 */
static bool renew_file(struct emu_world *w)
{
	int err = emu_trace_renew(w);

	if (w->trace_fd < 0)
		fprintf(stderr, "libdat: the trace ends, no file can be mapped for it: %s%s\n",
			strerror(err), emu_output_hint(err));
	else if (err && !w->trace_told)
		fprintf(stderr,
			"libdat: the trace keeps more than its end, no file can take the place of "
			"%s: %s%s\n",
			w->trace_file, strerror(err), emu_output_hint(err));
	w->trace_told |= err != 0;
	return err == 0;
}

static bool grow_file(struct emu_world *w, uint64_t room)
{
	uint64_t ring = w->config.trace_ring;
	int err;

	if (w->trace_fd < 0)
		return false;
	if (ring && room > ring && renew_file(w))
		return true;
	if (w->trace_fd < 0)
		return false;
	err = resize_file(w, room);
	if (err)
		fprintf(stderr, "libdat: the trace ends early, its file cannot grow: %s%s\n",
			strerror(err), emu_output_hint(err));
	return err == 0;
}

bool emu_trace_grow(struct emu_world *w, size_t bytes)
{
	uint64_t old = w->fab->trace_room, most = w->config.trace_bytes;
	/* A quarter of its length, so that a long trace rarely grows. */
	uint64_t step = old / 4 < GROWS_MOST ? old / 4 : GROWS_MOST, room;

	if (step < bytes + EMU_TRACE_ROOM)
		step = bytes + EMU_TRACE_ROOM;
	room = old + (step + GROWS_BY - 1) / GROWS_BY * GROWS_BY;
	if (room > most)
		room = most;
	if (room < old + bytes + EMU_TRACE_ROOM)
		return w->trace_fd >= 0 && w->config.trace_ring && renew_file(w);
	if (!emu_is_shared(w))
		return grow_file(w, room);
	if (!emu_back(w, w->fab->trace + w->fab->trace_room, room - w->fab->trace_room))
		return false;
	w->fab->trace_room = room;
	return true;
}

/* ---- text in the mapped file ---- */

/* In place of the line for which there was no room. */
static void note_full(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;
	char *line = fab->trace + fab->trace_length;
	uint64_t left = w->config.trace_bytes - fab->trace_room;
	const char *why = left < EMU_TRACE_LINE + EMU_TRACE_ROOM ? EMU_TRACE_FULL : EMU_TRACE_STUCK;

	fab->trace_full = true;
	fab->trace_on = false;
	if (w->trace_fd < 0)
		return;
	file_add(fab, (size_t)sprintf(line, "%lu - note %s\n", fab->now, why));
}

/* Where the next line is written; the room for it in *room. NULL: there is none for that much. */
static char *line_room(struct emu_world *w, size_t bytes, size_t *room)
{
	struct emu_fabric *fab = w->fab;

	while (fab->trace_room - fab->trace_length < bytes + EMU_TRACE_ROOM)
		if (!emu_trace_grow(w, bytes))
			return NULL;
	*room = fab->trace_room - fab->trace_length - EMU_TRACE_ROOM;
	return fab->trace + fab->trace_length;
}

void emu_trace_file_vline(struct emu_world *w, const char *format, va_list args)
{
	struct emu_fabric *fab = w->fab;
	size_t room;
	char *line = line_room(w, EMU_TRACE_LINE, &room);
	int n;

	w->trace_lines++;
	if (!line) {
		note_full(w);
		return;
	}
	n = (int)(emu_put_number(line, fab->now) - line);
	line[n++] = ' ';
	n += vsnprintf(line + n, EMU_TRACE_LINE - 64, format, args);
	if (n > (int)EMU_TRACE_LINE - 64)
		n = EMU_TRACE_LINE - 64;
	line[n++] = '\n';
	file_add(fab, (size_t)n);
}

void emu_trace_file_record(struct emu_world *w, const struct emu_record *record)
{
	struct emu_trace_reader reader = { .names = NULL };
	size_t room;
	char *line = line_room(w, EMU_TRACE_LINE, &room);

	if (!line) {
		w->trace_lines++;
		note_full(w);
		return;
	}
	file_add(w->fab, emu_record_text(w, &reader, record, line));
	w->trace_lines += (uint32_t)reader.lines;
}

/* ---- the end ---- */

/* As much text as is written at a time. */
#define CHUNK (64ul << 10)

/* Header, lines and end mark. False: errno says why. */
static bool write_text(struct emu_world *w, int fd, struct emu_trace_reader *reader, char *chunk)
{
	size_t length = reader->length = emu_trace_header(w, chunk), n;

	emu_reader_look(w, reader);
	while (emu_reader_next(w, reader, chunk + length, &n)) {
		length += n;
		if (length + EMU_TRACE_LINE <= CHUNK)
			continue;
		if (!emu_output_write(fd, chunk, length))
			return false;
		length = 0;
	}
	length += (size_t)sprintf(chunk + length, "# end lines=%lu\n", reader->lines);
	return emu_output_write(fd, chunk, length);
}

static void write_stream(struct emu_world *w, int fd, const char *path)
{
	struct emu_trace_reader reader = { .names = NULL };
	char *chunk = malloc(CHUNK);

	if (!chunk || !emu_reader_open(&reader, emu_is_shared(w)))
		report_error(path, ENOMEM);
	else if (!write_text(w, fd, &reader, chunk))
		report_error(path, errno);
	emu_reader_close(&reader);
	free(chunk);
	close(fd);
}

void emu_trace_write(struct emu_world *w, const char *path)
{
	int fd = process_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY, 0666);

	if (fd < 0) {
		report_error(path, errno);
		return;
	}
	fcntl(fd, F_SETFL, 0);
	write_stream(w, fd, path);
}

/* EMU_TRACE_ROOM bytes are always free, so the end mark fits. */
static void end_regular(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;

	fab->trace_length += (uint64_t)sprintf(fab->trace + fab->trace_length, "# end lines=%u\n",
					       w->trace_lines);
	if (ftruncate(w->trace_fd, (off_t)fab->trace_length))
		fprintf(stderr, "libdat: cannot end the trace: %s\n", strerror(errno));
	/* A forked child may have it open still. */
	emu_trace_claim(w->trace_fd, false);
	close(w->trace_fd);
}

void emu_trace_close(struct emu_world *w)
{
	if (w->trace_fd >= 0)
		end_regular(w);
	else if (w->trace_file)
		write_stream(w, w->trace_stream, w->trace_file);
	free(w->trace_file);
	emu_trace_forget(w);
}
