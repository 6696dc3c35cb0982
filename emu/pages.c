/* SPDX-License-Identifier: BSD-3-Clause */
/* pages.c - ask the kernel for a range of memory: pages.h. */
#include "pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "emu/fabric/limits.h"
#include "host/nic_process.h"

#define POPULATED_PAGES 64u

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* PROCMAP_QUERY, since Linux 6.11; the headers of an older one do not have it. */
struct mapping {
	uint64_t size; /* of this structure */
	uint64_t flags;
	uint64_t at; /* the address that is asked for */
	uint64_t from, to;
	uint64_t rights;
	uint64_t page_size, offset, inode;
	uint32_t major, minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};

#define MAPPING_QUERY    _IOWR('f', 17, struct mapping)
#define MAPPING_READABLE 1u
#define MAPPING_WRITABLE 2u

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

/* Each mapping of the range, found by the kernel. UNKNOWN: it has no such call. */
static enum answer pages_query(int maps, uint64_t first, uint64_t end, bool write)
{
	uint64_t needed = MAPPING_READABLE | (write ? MAPPING_WRITABLE : 0);
	struct mapping mapping = { .size = sizeof(mapping), .at = first };

	for (; mapping.at < end; mapping.at = mapping.to) {
		if (ioctl(maps, MAPPING_QUERY, &mapping) != 0)
			return errno == ENOENT ? NO : UNKNOWN;
		if ((mapping.rights & needed) != needed || mapping.to <= mapping.at)
			return NO;
	}
	return YES;
}

/* All mappings up to the end of the range, as text, by address. */
static enum answer pages_read(FILE *maps, uint64_t first, uint64_t end, bool write)
{
	uint64_t at = first, from, to;
	size_t size = 0;
	const char *perms;
	char *line = NULL;

	while (at < end && getline(&line, &size, maps) > 0) {
		perms = pages_parse(line, &from, &to);
		if (!perms || to <= at)
			continue;
		if (from > at || perms[0] != 'r' || (write && perms[1] != 'w'))
			break;
		at = to;
	}
	free(line);
	return at >= end ? YES : NO;
}

static enum answer pages_look_up(uint64_t first, uint64_t end, bool write)
{
	int error = errno, cancel = process_cancel_hold();
	int fd = process_open("/proc/self/maps", O_RDONLY, 0);
	enum answer answer = fd < 0 ? UNKNOWN : pages_query(fd, first, end, write);
	FILE *maps;

	if (fd >= 0)
		close(fd);
	maps = answer == UNKNOWN ? process_fopen("/proc/self/maps") : NULL;
	if (maps) {
		answer = pages_read(maps, first, end, write);
		fclose(maps);
	}
	process_cancel_release(cancel);
	errno = error;
	return answer;
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
