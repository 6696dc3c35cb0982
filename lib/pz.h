/* SPDX-License-Identifier: BSD-3-Clause */
/* pz.h - protection zones: a PD and who uses it. */
#ifndef LIB_PZ_H
#define LIB_PZ_H

#include "object.h"

struct pz {
	struct obj obj;
	struct nic_pd *nic;
	unsigned int users; /* EPs, SRQs, LMRs, RMRs */
};

void pz_destroy(struct pz *pz);

#endif /* LIB_PZ_H */
