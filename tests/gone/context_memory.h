/* SPDX-License-Identifier: BSD-3-Clause */
/* context_memory.h - the library's memory of a context: its beginning, and its size. */
#ifndef TESTS_GONE_CONTEXT_MEMORY_H
#define TESTS_GONE_CONTEXT_MEMORY_H

#include <stddef.h>

struct ibv_context;

void *context_memory(struct ibv_context *context, size_t *size);

#endif
