/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_door.h - the decorator of nic_fault.h put into the door of a world, and memory that it may refuse.
 *
 * All with the backend's lock held.
 */
#ifndef LIB_FAULT_DOOR_H
#define LIB_FAULT_DOOR_H

#include "backend.h"

/* The decorator of b's world, put in if there is none yet. NULL: no memory. */
struct nic_faults *fault_door(struct backend *b);
/*
 * The world ends, every adapter is closed: its decorator is not b's any more, and goes itself once nobody
 * is in it. NULL: there is none.
 */
struct nic_faults *fault_door_take(struct backend *b);
void fault_door_end(struct nic_faults *fault);

/* How often a rule of either kind acted. -ENOENT: no such rule. */
int faults_fired(struct backend *b, uint32_t id, uint64_t *fired);

/*
 * calloc for an object of the adapter behind nic, unless a rule says that there is no memory. `where` is
 * what the trace calls the place.
 */
void *nic_calloc(struct nic *nic, size_t n, size_t size, const char *where);
/* The same for what is there already, as realloc. */
void *nic_realloc(struct nic *nic, void *old, size_t size, const char *where);
/* May the adapter's objects have memory? */
bool nic_has_memory(struct nic *nic, const char *where);

#endif /* LIB_FAULT_DOOR_H */
