/* SPDX-License-Identifier: BSD-3-Clause */
/* gone.h - objects that the program has destroyed, and may still name by mistake. */
#ifndef VERBS_GONE_H
#define VERBS_GONE_H

#include "vb.h"

/* The object whose context this is was destroyed, or the context itself was closed. */
static inline bool vb_is_gone(struct ibv_context *ibv)
{
	return !vb_context_of(ibv)->nic;
}

/* Takes the memory of an object that ends; `context` is a field of it. With any lock, or none. */
void vb_gone(void *object, struct ibv_context **context);
void vb_gone_context(struct vb_context *context);

#endif
