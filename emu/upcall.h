/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upcall.h - the upcalls of host/nic.h about objects of the fabric. If this process owns the
 * object, the upcall is made at once; otherwise it becomes a message in the owner's inbox, and the
 * owner makes it the next time it takes the fabric's lock.
 */
#ifndef EMU_UPCALL_H
#define EMU_UPCALL_H

#include "emu/fabric/sharing.h"

/* patient: another process need not be woken for it, unless a thread of its waits. */
void emu_up_cq_notify(struct emu_world *w, uint32_t cq, bool patient);
/* cq 0: the QP has no CQ for this completion. */
void emu_up_cq_lost(struct emu_world *w, uint32_t cq, uint32_t qp, enum nic_opcode opcode);
void emu_up_srq_limit(struct emu_world *w, uint32_t srq);
void emu_up_soft_limit(struct emu_world *w, const struct emu_qp *qp);
/* For the passive side of a connection. */
void emu_up_established(struct emu_world *w, const struct emu_qp *qp);
void emu_up_conn_end(struct emu_world *w, const struct emu_qp *qp, enum nic_conn_end why);
void emu_up_qp_event(struct emu_world *w, const struct emu_qp *qp, enum nic_qp_event what);

/* Make an upcall that another process left to this one. */
void emu_upcall(struct emu_world *w, const struct emu_upcall *up);

#endif /* EMU_UPCALL_H */
