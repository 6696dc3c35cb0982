/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * number.h - queue pairs that are connected by number (nic_ops.qp_to), as verbs does it.
 *
 * Two QPs whose paths name each other and agree about sequence numbers are joined: each has the
 * other as its `peer`, and messages go the same ways as on any other connection. Of any other pair,
 * and after one of the two has ended, neither hears of the other. The packets of such a QP have an
 * epoch that no QP has (EMU_NUMBER_NOBODY), so no QP takes them, and it counts as half open: its
 * retry timer runs, and a retransmission finds the peer if there is one by then.
 */
#ifndef EMU_NUMBER_H
#define EMU_NUMBER_H

#include "emu/fabric/fabric.h"

/* A QP's number is its index plus this: 0 and 1 are QPs of management, and a few more are odd. */
#define EMU_NUMBER_FIRST 16u
_Static_assert(EMU_QPS + EMU_NUMBER_FIRST < 1u << 24, "a number has 24 bits");

/* `peer_epoch` of a QP without a peer, different for each. */
#define EMU_NUMBER_NOBODY 0x80000000u

int emu_number_connect(struct nic_qp *qp, const struct nic_qp_path *path);
/* The index of a number's QP; 0: no QP can have it. */
uint32_t emu_number_index(uint32_t number);
/* The QP ends: its peer is alone from now on. */
void emu_number_end(struct emu_world *w, struct emu_qp *qp);

/* The settings of the QP's own path, or of the fabric. */
uint32_t emu_number_retry(struct emu_world *w, const struct emu_qp *qp);
uint64_t emu_number_retry_timer(struct emu_world *w, const struct emu_qp *qp); /* 0: none */
#define EMU_RNR_RETRY_FOREVER 7u
uint32_t emu_number_rnr_retry(struct emu_world *w, const struct emu_qp *qp);
/* The peer's RNR NAK says how long to wait. */
uint64_t emu_number_rnr_pause(struct emu_world *w, const struct emu_qp *qp);

#endif /* EMU_NUMBER_H */
