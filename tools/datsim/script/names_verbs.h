/* SPDX-License-Identifier: BSD-3-Clause */
/* names_verbs.h - the names of libibverbs and librdmacm in fault lines for a program. */
#ifndef DATSIM_NAMES_VERBS_H
#define DATSIM_NAMES_VERBS_H

#include "values.h"

enum verbs_kind {
	VERBS_ERROR,  /* errno */
	VERBS_STATUS, /* IBV_WC_... */
	VERBS_EVENT   /* IBV_EVENT_..., RDMA_CM_EVENT_... */
};

/* A call that a fault can make fail. */
bool verbs_is_call(const char *name);
void verbs_suggest_call(struct suggest *suggest);
bool verbs_find(enum verbs_kind kind, const char *name, uint64_t *number);
void verbs_suggest(enum verbs_kind kind, struct suggest *suggest);
/* Does it begin as names of these libraries do? */
bool verbs_looks_like(const char *name);

#endif
