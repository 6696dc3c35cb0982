/* SPDX-License-Identifier: BSD-3-Clause */
/* pz.h - protection zones: a PD of the NIC and the number of objects in it. */
#ifndef LIB_MEMORY_PZ_H
#define LIB_MEMORY_PZ_H

#include "lib/object.h"

struct pz {
	struct obj obj;
	struct nic_pd *nic;
	unsigned int users; /* EPs, SRQs, LMRs, RMRs */
};

void pz_destroy(struct pz *pz);

#endif /* LIB_MEMORY_PZ_H */
