/* SPDX-License-Identifier: BSD-3-Clause */
/* cq.h - completion queues: a ring of completions with an exact limit. */
#ifndef EMU_CQ_H
#define EMU_CQ_H

#include "fabric.h"

int emu_cq_create(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq);
int emu_cq_resize(struct nic_cq *cq, uint32_t depth);
void emu_cq_destroy(struct nic_cq *cq);
int emu_cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
uint32_t emu_cq_count(struct nic_cq *cq);
void emu_cq_limit(struct nic_cq *cq, uint32_t n);
void emu_cq_arm(struct nic_cq *cq);

/* Add a completion of qp to cq (0: nobody wants it). A full CQ overflows and breaks the QP. */
void emu_cq_push(struct emu_world *w, uint32_t cq, const struct emu_cqe *cqe);

#endif /* EMU_CQ_H */
