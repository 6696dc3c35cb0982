/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_random.c - random numbers of the kernel, for a program in lockstep: of the fabric's seed
 * and the process id that the program sees.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"
#include "host/random.h"

#define MEMORY_DEVICES 1 /* the major number of /dev/random and /dev/urandom */
#define DEV_RANDOM     8
#define DEV_URANDOM    9
#define ENTROPY_MOST   256 /* of getentropy */
#define INSECURE       4u  /* GRND_INSECURE, which an older libc does not name */

#define NAMES 0x6e616d65 /* distinguishes their sequence */

static uint64_t state, names;
static pid_t owner; /* a forked child begins a sequence of its own */

static void begin_sequence(void)
{
	const char *seed = process_env("DATSIM_SEED");
	pid_t pid = REAL(getpid)();

	if (owner == pid)
		return;
	owner = pid;
	state = (seed ? strtoull(seed, NULL, 0) : 1) << 20 ^ (uint64_t)turns_pid_shown(pid);
	names = state ^ (uint64_t)NAMES << 32;
}

/* Two threads never draw at the same time: one of them has the turn. */
void turns_random(void *to, size_t n)
{
	uint64_t word = 0;

	begin_sequence();
	for (size_t i = 0; i < n; i++, word >>= 8) {
		if (i % sizeof(word) == 0)
			word = random_next(&state);
		((uint8_t *)to)[i] = (uint8_t)word;
	}
}

uint64_t turns_random_name(void)
{
	begin_sequence();
	return random_next(&names);
}

bool turns_is_random(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == MEMORY_DEVICES &&
	       (minor(st.st_rdev) == DEV_RANDOM || minor(st.st_rdev) == DEV_URANDOM);
}

bool turns_random_flags(unsigned int flags)
{
	return !(flags & ~(GRND_NONBLOCK | GRND_RANDOM | INSECURE)) &&
	       (flags & (GRND_RANDOM | INSECURE)) != (GRND_RANDOM | INSECURE);
}

ssize_t turns_getrandom(void *to, size_t n, unsigned int flags) __asm__("getrandom");
ssize_t turns_getrandom(void *to, size_t n, unsigned int flags)
{
	if (!PROGRAM || !turns_random_flags(flags))
		return REAL(getrandom)(to, n, flags);
	turns_random(to, n);
	return (ssize_t)n;
}

int turns_getentropy(void *to, size_t n) __asm__("getentropy");
int turns_getentropy(void *to, size_t n)
{
	if (!PROGRAM || n > ENTROPY_MOST)
		return REAL(getentropy)(to, n);
	turns_random(to, n);
	return 0;
}

/* Newer than the oldest libc that this library is built with, so it may not have a real one. */

void turns_arc4random_buf(void *to, size_t n) __asm__("arc4random_buf");
void turns_arc4random_buf(void *to, size_t n)
{
	if (PROGRAM)
		turns_random(to, n);
	else if (REAL(getrandom)(to, n, 0) != (ssize_t)n)
		abort();
}

static uint32_t random_word(bool ours)
{
	uint32_t word;

	if (ours)
		turns_random(&word, sizeof(word));
	else if (REAL(getrandom)(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
		abort();
	return word;
}

uint32_t turns_arc4random(void) __asm__("arc4random");
uint32_t turns_arc4random(void)
{
	return random_word(PROGRAM);
}

uint32_t turns_arc4random_uniform(uint32_t below) __asm__("arc4random_uniform");
uint32_t turns_arc4random_uniform(uint32_t below)
{
	uint32_t word, rest = below ? -below % below : 0;
	bool ours = PROGRAM;

	do
		word = random_word(ours);
	while (word < rest);
	return below ? word % below : 0;
}
