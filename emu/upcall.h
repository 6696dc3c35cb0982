/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upcall.h - the upcalls of lib/nic.h about objects of the fabric: made at once where the object is this
 * process's own, else left to its owner, who makes it before it looks at anything.
 */
#ifndef EMU_UPCALL_H
#define EMU_UPCALL_H

#include "fabric.h"

void emu_up_cq_notify(struct emu_world *w, uint32_t cq);
/* cq 0: the QP has none for it. */
void emu_up_cq_lost(struct emu_world *w, uint32_t cq, uint32_t qp, enum nic_opcode opcode);
void emu_up_srq_limit(struct emu_world *w, uint32_t srq);
void emu_up_soft_limit(struct emu_world *w, const struct emu_qp *qp);
/* To the passive side. */
void emu_up_established(struct emu_world *w, const struct emu_qp *qp);
void emu_up_conn_end(struct emu_world *w, const struct emu_qp *qp, enum nic_conn_end why);

#endif /* EMU_UPCALL_H */
