/* SPDX-License-Identifier: BSD-3-Clause */
/* entry.h - references, flags, and what the entry of a table begins with, a part of layout.h. */
#ifndef EMU_FABRIC_ENTRY_H
#define EMU_FABRIC_ENTRY_H

#include <stdint.h>

typedef uint32_t emu_ref; /* a block of the pool; 0: none */

/*
 * A flag in the arena: 0 is false. Not a bool, for another process may have written any byte there,
 * and to load anything but 0 and 1 as a bool is undefined.
 */
typedef uint8_t emu_flag;

/* First member of every table entry. */
struct emu_head {
	uint32_t next_free; /* while free: the next free index */
	uint32_t live;      /* 0 or 1 */
};

struct emu_table {
	uint32_t high; /* highest index ever used */
	uint32_t free; /* first of the free list */
	uint32_t live; /* number in use */
};

#endif /* EMU_FABRIC_ENTRY_H */
