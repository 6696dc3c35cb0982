/* SPDX-License-Identifier: BSD-3-Clause */
/* context_memory.h - the address and size of the memory of a context in the library. */
#ifndef TESTS_GONE_CONTEXT_MEMORY_H
#define TESTS_GONE_CONTEXT_MEMORY_H

#include <stddef.h>

struct ibv_context;

void *context_memory(struct ibv_context *context, size_t *size);

#endif
