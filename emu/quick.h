/* SPDX-License-Identifier: BSD-3-Clause */
/* quick.h - the ordinary message, from its posts to its completions, in a private fabric. */
#ifndef EMU_QUICK_H
#define EMU_QUICK_H

#include "emu/fabric/fabric.h"

/* Behind the door: the functions of nic_ops with these names. */
int emu_send_one(struct nic_qp *qp, uint64_t addr, void *request, uint64_t wr_id, uint32_t length,
		 uint32_t lkey);
int emu_recv_one(struct nic_qp *qp, uint64_t addr, void *request, uint64_t wr_id, uint32_t length,
		 uint32_t lkey);
bool emu_cq_spin(struct nic_cq *cq, struct nic_wc *wc);
int emu_spin_one(struct nic_cq *cq, void *out);
int emu_spin_one_traced(struct nic_cq *cq, void *out);

/* Run that event, which is the next of the queue. */
void emu_run_event(struct emu_world *w, const struct emu_event *event);

/* The lines PACKET, TAKE and COMPLETE of request `index`, one packet, which took a Receive. */
void emu_trace_arrival(struct emu_world *w, const struct emu_qp *qp, const struct emu_qp *sender,
		       uint32_t index, uint32_t length);
/* The lines ACK and COMPLETE of request `index`. */
void emu_trace_acked(struct emu_world *w, const struct emu_qp *qp, uint32_t index, uint32_t psn,
		     uint32_t length, enum nic_opcode opcode);

#endif /* EMU_QUICK_H */
