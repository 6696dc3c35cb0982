/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that stores.c has to see, of a library that is linked statically. */
#include <pthread.h>
#include <sys/mman.h>

#include "tests/processes/die.h"

void *__real_mmap(void *at, size_t size, int right, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t size);
int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
void *__wrap_mmap(void *at, size_t size, int right, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t size);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

void *__wrap_mmap(void *at, size_t size, int right, int flags, int fd, off_t offset)
{
	void *map = __real_mmap(at, size, right, flags, fd, offset);

	stores_mapped(map, size, flags, fd);
	return map;
}

int __wrap_munmap(void *at, size_t size)
{
	stores_unmapped(at);
	return __real_munmap(at, size);
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t but;

	if (!set)
		return __real_pthread_sigmask(how, set, old);
	but = stores_mask(how, set);
	return __real_pthread_sigmask(how, &but, old);
}
