/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - hold back SIGXFSZ and SIGPIPE; write a text whole. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "host/nic_process.h"

static const int held_back[] = { SIGXFSZ, SIGPIPE };

#define HELD_BACK (sizeof(held_back) / sizeof(held_back[0]))

void emu_signals_hold(struct emu_signals *held)
{
	sigset_t both;

	held->cancel = process_cancel_hold();
	sigemptyset(&both);
	for (size_t i = 0; i < HELD_BACK; i++)
		sigaddset(&both, held_back[i]);
	pthread_sigmask(SIG_BLOCK, &both, &held->mask);
	sigpending(&held->pending);
}

void emu_signals_release(const struct emu_signals *held)
{
	static const struct timespec at_once = { 0 };
	int err = errno;
	sigset_t one;

	for (size_t i = 0; i < HELD_BACK; i++) {
		if (sigismember(&held->pending, held_back[i]))
			continue;
		sigemptyset(&one);
		sigaddset(&one, held_back[i]);
		while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
	process_cancel_release(held->cancel);
	errno = err;
}

int emu_output_resize(int fd, uint64_t size)
{
	struct emu_signals held;
	int err;

	emu_signals_hold(&held);
	err = ftruncate(fd, (off_t)size) ? errno : 0;
	emu_signals_release(&held);
	return err;
}

int emu_output_allocate(int fd, uint64_t offset, uint64_t bytes)
{
	struct emu_signals held;
	int err;

	emu_signals_hold(&held);
	/* Older kernels end it on a tmpfs when a signal comes, which says nothing about room. */
	do
		err = fallocate(fd, 0, (off_t)offset, (off_t)bytes) ? errno : 0;
	while (err == EINTR);
	emu_signals_release(&held);
	return err;
}

#define FILL_PARTS 16

/* Fill in parts, each of them the same text, for at most `bytes`. Returns their number. */
static int fill_parts(struct iovec *parts, char *text, size_t length, uint64_t bytes)
{
	int n = 0;

	while (n < FILL_PARTS && bytes > 0) {
		parts[n] = (struct iovec){ text, bytes < length ? bytes : length };
		bytes -= parts[n++].iov_len;
	}
	return n;
}

int emu_output_fill(int fd, uint64_t offset, uint64_t bytes)
{
	struct emu_signals held;
	struct iovec parts[FILL_PARTS];
	char newlines[4096];
	ssize_t n = 0;

	memset(newlines, '\n', sizeof(newlines));
	emu_signals_hold(&held);
	while (bytes > 0 && (n >= 0 || errno == EINTR)) {
		n = pwritev(fd, parts, fill_parts(parts, newlines, sizeof(newlines), bytes),
			    (off_t)offset);
		if (n > 0) {
			offset += (uint64_t)n;
			bytes -= (uint64_t)n;
		}
	}
	emu_signals_release(&held);
	return bytes > 0 ? errno : 0;
}

const char *emu_output_hint(int err)
{
	switch (err) {
	case EFBIG:
		return " (see ulimit -f)";
	case EMFILE:
		return " (see ulimit -n)";
	case ENXIO:
	case EPIPE:
		return " (no process reads this pipe)";
	default:
		return "";
	}
}

bool emu_output_write(int fd, const char *text, size_t length)
{
	struct emu_signals held;
	ssize_t n = 0;

	emu_signals_hold(&held);
	while (length > 0) {
		n = write(fd, text, length);
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
	}
	emu_signals_release(&held);
	return length == 0;
}
