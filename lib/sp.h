/* SPDX-License-Identifier: BSD-3-Clause */
/* sp.h - service points: where an adapter listens. */
#ifndef LIB_SP_H
#define LIB_SP_H

#include "evd.h"

struct psp {
	struct obj obj;
	struct nic_listener *nic;
	struct evd *evd;
	DAT_CONN_QUAL qual;
	DAT_PSP_FLAGS flags;
};

void psp_destroy(struct psp *psp);

#endif /* LIB_SP_H */
