/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * named_memory.h - two queue pairs of one process: the second end's memory has other names, windows
 * or regions, by which the first one writes.
 */
#ifndef TESTS_VERBS_NAMED_MEMORY_H
#define TESTS_VERBS_NAMED_MEMORY_H

#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

#define RW (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

extern struct verbs_end a, b;

/* b binds windows, and a writes through them. */
void begin(void);
struct ibv_mw *alloc_mw(enum ibv_mw_type type);
struct ibv_mw_bind_info range(uint32_t offset, uint64_t length, unsigned int access);
void expect_wc(struct verbs_end *end, enum ibv_wc_opcode opcode, enum ibv_wc_status status);
void write_to(uint64_t addr, uint32_t rkey, enum ibv_wc_status status);
int post(struct verbs_end *end, struct ibv_send_wr *wr);
/* Exchange an end's region. */
void reregister(struct verbs_end *end, struct ibv_mr *mr);

#endif /* TESTS_VERBS_NAMED_MEMORY_H */
