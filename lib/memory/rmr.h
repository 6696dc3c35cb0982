/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rmr.h - remote memory regions: a memory window of the NIC and its protection zone.
 *
 * Only the NIC knows what an RMR is bound to: a bind takes effect in its order on a request queue,
 * and may be flushed, fail, or complete without an event.
 */
#ifndef LIB_MEMORY_RMR_H
#define LIB_MEMORY_RMR_H

#include "lib/object.h"

struct pz;

struct rmr {
	struct obj obj;
	struct pz *pz;
	struct nic_mw *nic;
};

void rmr_destroy(struct rmr *rmr);

#endif /* LIB_MEMORY_RMR_H */
