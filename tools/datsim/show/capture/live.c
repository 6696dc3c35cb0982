/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the packets of programs while they run (live.h). */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dat/sim.h>

#include "tools/datsim/files.h"
#include "pcapng.h"
#include "tools/datsim/show/trace.h"

#define BLOCK       65536u
#define PIPE_ROOM   4096u /* as much as a pipe that can be written takes without waiting */
#define TRIES       8     /* to look while no line is being written */
#define QUIET_LOOKS 5     /* looks without a new line, after which none concerns the last packet */
#define DRAIN_MS    50
#define DRAINS_LATE 20 /* after the tool was asked to end */

struct live {
	const char *path, *trace;
	const struct programs *programs;
	int out, file; /* file: of the trace; -1: it is not open */
	void *reader;  /* of a shared fabric's trace */
	char *text;    /* TRACE_BYTES_MAX, of which `length` are there: whole lines */
	size_t length;
	struct trace_reader lines;
	struct capture *capture;
	bool begun;    /* the trace has an event, and the capture its settings */
	int quiet;     /* looks without a new line */
	FILE *packets; /* to `bytes`, of which `written` are out */
	char *bytes;
	size_t size, written;
	int failed;        /* errno of a write */
	struct text error; /* of the trace */
};

/* ---- out ---- */

/* A reader that has gone away must not end the tool: SIGPIPE is blocked, and taken here. */
static void write_failed(struct live *live)
{
	const struct timespec at_once = { .tv_nsec = 0 };
	sigset_t pipe;

	live->failed = errno;
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	if (live->failed != EPIPE)
		return;
	sigtimedwait(&pipe, NULL, &at_once);
	fprintf(stderr, "datsim run: the capture ends here: its reader has gone away; "
			"the programs go on\n");
}

/* Write what the reader takes, which may wait for `ms` to begin. True: everything is written. */
static bool put_out(struct live *live, int ms)
{
	struct pollfd ready = { .fd = live->out, .events = POLLOUT };
	size_t left;
	ssize_t n;

	fflush(live->packets);
	while (!live->failed && live->written < live->size && poll(&ready, 1, ms) > 0) {
		left = live->size - live->written;
		n = write(live->out, live->bytes + live->written,
			  left < PIPE_ROOM ? left : PIPE_ROOM);
		if (n > 0)
			live->written += (size_t)n;
		else if (errno != EINTR && errno != EAGAIN)
			write_failed(live);
	}
	if (!live->failed && live->written < live->size)
		return false;
	rewind(live->packets);
	live->written = live->size = 0;
	return true;
}

/* ---- the trace ---- */

static void take_text(struct live *live, const char *text, size_t length)
{
	if (length > TRACE_BYTES_MAX - live->length)
		length = 0; /* longer than any trace */
	memcpy(live->text + live->length, text, length);
	live->length += length;
}

static void begin_anew(struct live *live)
{
	if (live->begun && !live->error.length)
		capture_settle(live->capture);
	capture_free(live->capture);
	trace_close(&live->lines);
	live->capture = capture_begin(live->packets, NULL);
	live->begun = false;
	live->length = 0;
	live->quiet = 0;
}

/*
 * Does the file still begin as before? One that a second program of the same command has begun anew
 * does not: its text ends earlier, or where it was read last is another line, or the trace had
 * ended and goes on.
 */
static bool is_continued(const struct live *live)
{
	char last[256];
	size_t length = live->length < sizeof(last) ? live->length : sizeof(last);
	struct stat st;

	if (live->lines.ended && !fstat(live->file, &st) && (size_t)st.st_size != live->length)
		return false;
	return pread(live->file, last, length, (off_t)(live->length - length)) == (ssize_t)length &&
	       !memcmp(last, live->text + live->length - length, length);
}

/* Is the last line of the text, as far as it was read, the end mark of a trace that has ended? */
static bool ends_with_mark(const struct live *live, size_t until)
{
	static const char mark[] = "# end lines=";
	const char *before = memrchr(live->text, '\n', until - 1);
	size_t line = before ? (size_t)(before - live->text) + 1 : 0;

	return until - line >= sizeof(mark) && !memcmp(live->text + line, mark, sizeof(mark) - 1);
}

/*
 * The end of what the file has. Its writer puts a zero byte behind what it has written, and
 * newlines fill the rest: without the zero byte, something is being written, and newlines may be
 * left within it.
 */
static size_t find_zero(const struct live *live, bool *found)
{
	char block[BLOCK];
	size_t at = live->length;
	ssize_t n;

	while ((n = pread(live->file, block, sizeof(block), (off_t)at)) > 0) {
		const char *zero = memchr(block, '\0', (size_t)n);

		*found = zero != NULL;
		if (zero)
			return at + (size_t)(zero - block);
		at += (size_t)n;
	}
	return at;
}

/*
 * Read the lines that are whole; returns how far they reach. The zero byte says that all text
 * before it is complete. That text is read only afterwards: the writer goes on while the file is
 * searched, and the search may have passed half a line and the newlines behind it.
 */
static size_t read_lines(struct live *live, bool at_end)
{
	bool zero = false;
	size_t until = find_zero(live, &zero), at = live->length;
	const char *newline;
	ssize_t n;

	if (until > TRACE_BYTES_MAX)
		return live->length;
	while (at < until && (n = pread(live->file, live->text + at, until - at, (off_t)at)) > 0)
		at += (size_t)n;
	newline = memrchr(live->text + live->length, '\n', at - live->length);
	if (!newline)
		return live->length;
	until = (size_t)(newline - live->text) + 1;
	return zero || at_end || ends_with_mark(live, until) ? until : live->length;
}

/* A pipe must not be opened: its text is for another reader. */
static bool open_trace(struct live *live)
{
	struct stat st;

	if (stat(live->trace, &st))
		return false;
	if (S_ISREG(st.st_mode))
		live->file = open(live->trace, O_RDONLY | O_CLOEXEC);
	else if (!live->programs->count && !live->error.length)
		text_add(&live->error,
			 "datsim run: --capture follows a trace in a regular file only: %s\n",
			 live->trace);
	return live->file >= 0;
}

static void follow_file(struct live *live, bool at_end)
{
	size_t until;

	if (live->file < 0 && !open_trace(live))
		return;
	if (!is_continued(live) && live->programs->count)
		return; /* the fabric has one trace */
	if (!is_continued(live))
		begin_anew(live);
	until = live->length;
	for (int i = 0; i < TRIES && until == live->length; i++)
		until = read_lines(live, at_end);
	/* If the file was begun anew meanwhile, these lines are another program's. */
	if (at_end || is_continued(live))
		live->length = until;
}

static void follow_fabric(struct live *live)
{
	const char *text;
	size_t length;

	while (dat_sim_fabric_trace(live->programs->fabric, &live->reader, &text, &length) ==
		       DAT_SUCCESS &&
	       length > 0)
		take_text(live, text, length);
}

/* ---- packets ---- */

/* Is there a line that is no setting? */
static bool has_event(const struct live *live)
{
	const char *line = live->text, *end = line + live->length;

	while (line < end) {
		line = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		if (line < end && *line != '#')
			return true;
	}
	return false;
}

static bool begin_packets(struct live *live)
{
	if (!trace_open(&live->lines, live->trace, live->text, live->length)) {
		text_append(&live->error, text_of(&live->lines.error), live->lines.error.length);
		return false;
	}
	live->begun =
		capture_header(live->capture, live->trace, live->text, live->length, &live->error);
	return live->begun;
}

static void take_packets(struct live *live)
{
	const char *end = live->text + live->length;

	if (live->error.length || live->failed || !(live->begun || has_event(live)))
		return;
	if (!live->begun && !begin_packets(live))
		return;
	live->quiet = live->lines.at < end ? 0 : live->quiet + 1;
	live->lines.end = end;
	if (!capture_lines(live->capture, &live->lines))
		text_append(&live->error, text_of(&live->lines.error), live->lines.error.length);
	else if (live->quiet == QUIET_LOOKS)
		capture_settle(live->capture);
}

void live_look(void *arg)
{
	struct live *live = arg;

	if (live->failed)
		return;
	if (!live->programs->count)
		follow_file(live, false);
	else if (!programs_are_ending(live->programs))
		follow_fabric(live);
	take_packets(live);
	put_out(live, 0);
}

/* ---- from the beginning to the end ---- */

static void block_sigpipe(void)
{
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, NULL); /* ended_child and ended_unwatch undo it */
}

/* Memory that stays where it is, and that only its used part takes. */
static void reserve_text(struct live *live)
{
	live->text = mmap(NULL, TRACE_BYTES_MAX, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	live->packets = open_memstream(&live->bytes, &live->size);
	if (live->text != MAP_FAILED && live->packets)
		return;
	fprintf(stderr, "datsim run: no memory for the capture\n");
	exit(EXIT_INTERNAL);
}

/* Where packets go: the standard output, or a file. Below 0: errno says why not. */
static int open_output(const char *path, int out)
{
	return strcmp(path, "-") ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : out;
}

bool live_begin(struct live **begun, const char *path, int out, const char *trace,
		struct programs *programs)
{
	struct live *live;

	*begun = NULL;
	if (!path)
		return true;
	out = open_output(path, out);
	if (out < 0) {
		fprintf(stderr, "datsim: cannot write %s: %s\n", path, strerror(errno));
		return false;
	}
	*begun = live = mem_zero(1, sizeof(*live));
	*live = (struct live){ .path = path,
			       .trace = trace,
			       .programs = programs,
			       .out = out,
			       .file = -1 };
	reserve_text(live);
	block_sigpipe();
	live->capture = capture_begin(live->packets, NULL);
	put_out(live, 0);
	programs->ended->look = live_look;
	programs->ended->look_arg = live;
	return true;
}

static void live_free(struct live *live)
{
	capture_free(live->capture);
	trace_close(&live->lines);
	fclose(live->packets);
	free(live->bytes);
	munmap(live->text, TRACE_BYTES_MAX);
	dat_sim_fabric_trace(NULL, &live->reader, NULL, NULL);
	if (live->file >= 0)
		close(live->file);
	text_free(&live->error);
	free(live);
}

/* A reader may take nothing more: a signal ends the wait. */
static void live_drain(struct live *live, struct ended *ended)
{
	int late = 0;

	while (!put_out(live, DRAIN_MS))
		if (ended_asked(ended) && ++late > DRAINS_LATE)
			return;
}

bool live_finish(struct live *live, struct ended *ended)
{
	struct text error = { 0 };
	bool good;

	if (!live)
		return true;
	ended->look = NULL;
	follow_file(live, true);
	take_packets(live);
	if (live->begun && !live->error.length)
		capture_settle(live->capture);
	live_drain(live, ended);
	if (live->written < live->size)
		text_add(&error, "datsim run: the capture is cut off: its reader took no more\n");
	if (strcmp(live->path, "-") != 0 && close(live->out) && !live->failed)
		live->failed = errno;
	if (live->failed && live->failed != EPIPE)
		text_add(&error, "datsim: cannot write %s: %s\n", live->path,
			 strerror(live->failed));
	text_append(&error, text_of(&live->error), live->error.length);
	good = !error.length;
	fputs(text_of(&error), stderr);
	text_free(&error);
	live_free(live);
	return good;
}
