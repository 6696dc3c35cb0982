/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_popen.c - popen and pclose of a program in lockstep. libc starts the shell inside itself,
 * so the shell would join late; here it is started as by posix_spawn. As with libc, a thread is not
 * cancelled in either call, as its shell would then be left as a zombie.
 *
 * Lock: none; only the thread that has the turn uses the table.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <paths.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"

#define STREAMS 64

static struct {
	FILE *file; /* NULL: the entry is free */
	pid_t pid;  /* of the stream's shell, as the program sees it */
} streams[STREAMS];

static int stream_of(const FILE *file)
{
	int i = 0;

	while (i < STREAMS && streams[i].file != file)
		i++;
	return i;
}

/* 'r' or 'w', and whether an exec closes the stream. False: libc refuses the mode. */
static bool read_mode(const char *mode, bool *reads, bool *closes)
{
	int ways = 0;

	*reads = *closes = false;
	for (; *mode; mode++) {
		ways += *mode == 'r' || *mode == 'w';
		*reads |= *mode == 'r';
		*closes |= *mode == 'e';
		if (*mode != 'r' && *mode != 'w' && *mode != 'e')
			return false;
	}
	return ways == 1;
}

/* As POSIX requires, the child inherits no stream of an earlier popen. */
static int start_shell(const char *line, int end, int as, pid_t *pid)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t) "--", (char *)(uintptr_t)line, NULL };
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	err = posix_spawn_file_actions_adddup2(&actions, end, as);
	for (int i = 0; i < STREAMS && !err; i++) {
		int fd = streams[i].file ? fileno(streams[i].file) : -1;

		if (fd >= 0 && fd != as)
			err = posix_spawn_file_actions_addclose(&actions, fd);
	}
	if (!err)
		err = turns_spawn(_PATH_BSHELL, &actions, argv, pid);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

static FILE *fail_with(int err, const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
	errno = err;
	return NULL;
}

static FILE *popen_in_turn(const char *line, bool reads, bool closes, int i)
{
	int ends[2], own, err;
	FILE *file;

	if (REAL(pipe2)(ends, O_CLOEXEC))
		return NULL;
	own = ends[reads ? 0 : 1];
	file = REAL(fdopen)(own, reads ? "r" : "w");
	if (!file)
		return fail_with(errno, ends);
	err = start_shell(line, ends[reads ? 1 : 0], reads ? STDOUT_FILENO : STDIN_FILENO,
			  &streams[i].pid);
	close(ends[reads ? 1 : 0]);
	if (err) {
		fclose(file);
		errno = err;
		return NULL;
	}
	streams[i].file = file;
	if (!closes)
		fcntl(own, F_SETFD, 0);
	turns_tell(true);
	return file;
}

FILE *turns_popen(const char *line, const char *mode) __asm__("popen");
FILE *turns_popen(const char *line, const char *mode)
{
	bool ours = PROGRAM, reads, closes;
	int i = stream_of(NULL), cancel;
	FILE *file;

	if (!ours || i == STREAMS || !read_mode(mode, &reads, &closes))
		return REAL(popen)(line, mode);
	cancel = process_cancel_hold();
	file = popen_in_turn(line, reads, closes, i);
	process_cancel_release(cancel);
	return file;
}

bool turns_is_popened(const FILE *file)
{
	return file && stream_of(file) < STREAMS;
}

int turns_end_popened(FILE *file)
{
	int i = stream_of(file), status = -1, cancel = process_cancel_hold();
	pid_t pid = streams[i].pid, ended;

	streams[i].file = NULL;
	fclose(file);
	turns_tell(true);
	do
		ended = turns_await_child(pid, &status);
	while (ended < 0 && errno == EINTR);
	process_cancel_release(cancel);
	return ended < 0 ? -1 : status;
}

int turns_pclose(FILE *file) __asm__("pclose");
int turns_pclose(FILE *file)
{
	return turns_is_popened(file) ? turns_end_popened(file) : REAL(pclose)(file);
}
