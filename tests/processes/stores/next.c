/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that stores.c has to see, of shared libraries: they find these functions of the program
 * before those of libc.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/processes/die.h"

/* dlsym returns a pointer to an object. */
#define NEXT(call)                                               \
	do {                                                     \
		void *next = dlsym(RTLD_NEXT, #call);            \
		if (!next)                                       \
			stores_fail("there is no other " #call); \
		memcpy(&next_##call, &next, sizeof(next));       \
	} while (0)

void *mmap(void *at, size_t size, int right, int flags, int fd, off_t offset)
{
	static void *(*next_mmap)(void *, size_t, int, int, int, off_t);
	void *map;

	if (!next_mmap)
		NEXT(mmap);
	map = next_mmap(at, size, right, flags, fd, offset);
	stores_mapped(map, size, flags, fd);
	return map;
}

int munmap(void *at, size_t size)
{
	static int (*next_munmap)(void *, size_t);

	if (!next_munmap)
		NEXT(munmap);
	stores_unmapped(at);
	return next_munmap(at, size);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*next_pthread_sigmask)(int, const sigset_t *, sigset_t *);
	sigset_t but;

	if (!next_pthread_sigmask)
		NEXT(pthread_sigmask);
	if (!set)
		return next_pthread_sigmask(how, set, old);
	but = stores_mask(how, set);
	return next_pthread_sigmask(how, &but, old);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);

	if (stores_keep_action(number, action, old))
		return 0;
	if (!next_sigaction)
		NEXT(sigaction);
	return next_sigaction(number, action, old);
}
