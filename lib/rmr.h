/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rmr.h - remote memory regions: a window of the NIC, and the zone it belongs to.
 *
 * What an RMR is bound to is the NIC's to say: binds take effect in their turn on a request queue, and
 * may be flushed, fail or complete without an event.
 */
#ifndef LIB_RMR_H
#define LIB_RMR_H

#include "object.h"

struct pz;

struct rmr {
	struct obj obj;
	struct pz *pz;
	struct nic_mw *nic;
};

void rmr_destroy(struct rmr *rmr);

#endif /* LIB_RMR_H */
