/* SPDX-License-Identifier: BSD-3-Clause */
/* context_memory.c - what test_verbs_gone.c has to know of the memory of a context. */
#include "context_memory.h"

#include "verbs/vb.h"

void *context_memory(struct ibv_context *context, size_t *size)
{
	*size = sizeof(struct vb_context);
	return vb_context_of(context);
}
