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

/*
 * The low bits of a QP's number are its index plus EMU_NUMBER_FIRST (0 and 1 are the management
 * QPs, and a few more are kept free); the bits above count the QPs that had the index before. So a
 * new QP does not get the number of one that was just destroyed: programs remember peers by their
 * number, and a packet in flight to the old QP must not reach the new one. Few fabrics have many
 * QPs, so a number comes in two forms:
 *
 *	bit 23 clear   11 bits of the count, 12 of the index
 *	bit 23 set     4 bits of the count, 19 of the index
 */
#define EMU_NUMBER_FIRST 16u
#define EMU_NUMBER_LARGE 0x800000u
#define EMU_NUMBER_FEW   0xfffu
#define EMU_NUMBER_MANY  0x7ffffu
_Static_assert(EMU_QPS + EMU_NUMBER_FIRST < EMU_NUMBER_MANY,
	       "a QP's number must not be all ones, that of multicast groups");

/* `peer_epoch` of a QP without a peer, different for each. */
#define EMU_NUMBER_NOBODY 0x80000000u

int emu_number_connect(struct nic_qp *qp, const struct nic_qp_path *path);
/* The index in a QP's number, which another QP may have by now; 0: no QP can have the number. */
uint32_t emu_number_index(uint32_t number);
/* The number of the QP that has this index now, or had it last. */
uint32_t emu_number_of(struct emu_world *w, uint32_t index);
/* A QP begins to have this index. */
void emu_number_begin(struct emu_world *w, uint32_t index);
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
