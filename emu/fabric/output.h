/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - writes that fail with an error where the kernel would end the program by a signal:
 * SIGXFSZ for a file larger than RLIMIT_FSIZE (ulimit -f), SIGPIPE for a pipe without a reader.
 */
#ifndef EMU_FABRIC_OUTPUT_H
#define EMU_FABRIC_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's mask, and those of the two signals that were pending already. */
struct emu_signals {
	sigset_t mask, pending;
	int cancel; /* its cancelability */
};

/* Between the two, system calls of this thread return EFBIG or EPIPE and no signal comes. */
void emu_signals_hold(struct emu_signals *held);
void emu_signals_release(const struct emu_signals *held); /* errno stays */

/* ftruncate and fallocate without these signals: 0 or a positive errno. */
int emu_output_resize(int fd, uint64_t size);
int emu_output_allocate(int fd, uint64_t offset, uint64_t bytes);
/* Write newlines there, which may make the file longer: 0 or a positive errno. */
int emu_output_fill(int fd, uint64_t offset, uint64_t bytes);
/* Write all of it; blocks while a pipe is full and has a reader. False: errno says why. */
bool emu_output_write(int fd, const char *text, size_t length);

/* What to do about an errno of these, to follow its text. */
const char *emu_output_hint(int err);

#endif /* EMU_FABRIC_OUTPUT_H */
