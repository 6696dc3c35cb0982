/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.c - ask the kernel for a range of memory: pages.h. */
#include "pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu/fabric/limits.h"
#include "host/nic_process.h"

#define POPULATED_PAGES 64u

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

enum answer {
	YES,
	NO,
	UNKNOWN
};

/*
 * EINVAL: no access, a mapping of a device, or an older kernel. ENOMEM: not mapped, or no memory.
 */
static enum answer pages_populate(uint64_t first, uint64_t end, bool write)
{
	int err = errno;
	enum answer answer = YES;

	if (madvise((void *)(uintptr_t)first, end - first,
		    write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0)
		answer = errno == EFAULT ? NO : UNKNOWN;
	errno = err;
	return answer;
}

/* "FROM-TO PERMISSIONS ...". sscanf was a quarter of a short schedule of datsim explore. */
static const char *pages_parse(const char *line, uint64_t *from, uint64_t *to)
{
	char *end;

	*from = strtoull(line, &end, 16);
	if (*end != '-')
		return NULL;
	*to = strtoull(end + 1, &end, 16);
	return *end == ' ' ? end + 1 : NULL;
}

/* The kernel lists mappings by address. */
static enum answer pages_look_up(uint64_t first, uint64_t end, bool write)
{
	int cancel = process_cancel_hold();
	FILE *maps = process_fopen("/proc/self/maps");
	uint64_t at = first, from, to;
	size_t size = 0;
	const char *perms;
	char *line = NULL;

	if (!maps) {
		process_cancel_release(cancel);
		return UNKNOWN;
	}
	while (at < end && getline(&line, &size, maps) > 0) {
		perms = pages_parse(line, &from, &to);
		if (!perms || to <= at)
			continue;
		if (from > at || perms[0] != 'r' || (write && perms[1] != 'w'))
			break;
		at = to;
	}
	free(line);
	fclose(maps);
	process_cancel_release(cancel);
	return at >= end ? YES : NO;
}

bool emu_pages_allow(uint64_t addr, uint64_t length, bool write)
{
	uint64_t mask = EMU_PAGE - 1, first = addr & ~mask;
	uint64_t end = addr + length > UINT64_MAX - mask ? UINT64_MAX & ~mask
							 : (addr + length + mask) & ~mask;
	enum answer answer = UNKNOWN;

	if (end - first <= POPULATED_PAGES * EMU_PAGE)
		answer = pages_populate(first, end, write);
	if (answer == UNKNOWN)
		answer = pages_look_up(first, end, write);
	return answer != NO;
}
