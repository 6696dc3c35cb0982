/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slab.h - memory for the objects of one kind, of which a program has a few, or thousands.
 *
 * The first SLAB_FEW objects are malloc's, each by itself: valgrind watches them, and a program
 * that needs no more pays for no more. Those beyond lie side by side, each from the beginning of a
 * cache line on, in addresses that are reserved when the first one is needed, in large pages where
 * the kernel has them. A round over thousands of objects then misses fewer entries of the TLB: a
 * message between 1,024 adapters takes a third less time. When the last of them is freed, all their
 * memory but the first 2 MiB goes back to the kernel.
 *
 * An object stays where it is until it is freed. All of its bytes are zero at first.
 *
 * Lock: a lock of this module, for slab_alloc and slab_free alone. A forked child has copies of its
 * parent's objects, which it never frees, since it has no handles of them.
 */
#ifndef LIB_SLAB_H
#define LIB_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "host/nic.h"

/* With AddressSanitizer all objects are malloc's: its checks are worth more than large pages. */
#if defined(__SANITIZE_ADDRESS__)
#define SLAB_APART
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_APART
#endif
#endif

#if defined(SLAB_FEW)
/* a test's */
#elif defined(SLAB_APART)
#define SLAB_FEW UINT32_MAX
#else
#define SLAB_FEW 256u
#endif

/* The addresses of one kind. Beyond them, objects are malloc's again. */
#define SLAB_RANGE_BYTES (256ul << 20)

struct slab {
	const char *where; /* what a rule about memory calls these objects */
	uint32_t bytes;    /* of an object */
	uint32_t stride;   /* the same, in whole cache lines */
	uint32_t apart;    /* live objects that are malloc's */
	uint32_t together; /* live objects in the range */
	uint8_t *base;     /* of the range; NULL: not reserved */
	uint8_t *fresh;    /* from here on nothing was used */
	void *free;        /* the object that was freed last; its first word is the next one */
};

#define SLAB_LINE 64u
#define SLAB_OF(t, what)                                                      \
	{                                                                     \
		.where = (what), .bytes = sizeof(t),                          \
		.stride = (sizeof(t) + SLAB_LINE - 1) / SLAB_LINE * SLAB_LINE \
	}

/* NULL: no memory, or a rule says so (host/fault_door.h). */
void *slab_alloc(struct slab *slab, struct nic *nic);
/* NULL is permitted. */
void slab_free(struct slab *slab, void *object);

#endif /* LIB_SLAB_H */
