/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_door.h - install the decorator of faults (nic_fault.h) between a front and its world, and
 * allocate memory that a rule may refuse.
 *
 * All with the backend's lock held.
 */
#ifndef HOST_FAULT_DOOR_H
#define HOST_FAULT_DOOR_H

#include "backend.h"

/* The decorator of b's world, installed if there is none yet. NULL: out of memory. */
struct nic_faults *fault_door(struct backend *b);
/*
 * The world ends and every adapter is closed: detach its decorator, NULL if there is none.
 * fault_door_end frees it once no thread is inside.
 */
struct nic_faults *fault_door_take(struct backend *b);
void fault_door_end(struct nic_faults *fault);

/* The table of upcalls for an adapter that the front opens now. */
const struct nic_upcalls *fault_door_upcalls(const struct front *front);

/* How many times a rule of either kind acted. -ENOENT: no such rule. */
int faults_fired(struct backend *b, uint32_t id, uint64_t *fired);

/*
 * calloc for an object of the nic's adapter, unless a rule makes it fail. `where` names the
 * allocation in the trace.
 */
void *nic_calloc(struct nic *nic, size_t n, size_t size, const char *where);
/* malloc in the same way; `size` is that of all, which the caller knows not to overflow. */
void *nic_malloc(struct nic *nic, size_t size, const char *where);
/* The same as realloc. */
void *nic_realloc(struct nic *nic, void *old, size_t size, const char *where);
/* False: a rule makes this allocation fail. */
bool nic_has_memory(struct nic *nic, const char *where);

#endif /* HOST_FAULT_DOOR_H */
