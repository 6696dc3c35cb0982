/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pause.h - what a QP that is connected by number tells its front: that a first packet has come
 * while it does not send yet, and that a paused send queue has drained.
 *
 * A paused QP (nic_qp_path.waits; verbs: state SQD) goes on with the requests that have begun,
 * those before emu_path.pause_at, retransmits them, and answers its peer. Later ones are posted and
 * wait. The state of a RELIABLE QP is EMU_QP_PAUSED meanwhile, so that the fast ways stand back.
 */
#ifndef EMU_NUMBER_PAUSE_H
#define EMU_NUMBER_PAUSE_H

#include "emu/fabric/fabric.h"

/* Pause the send queue or resume it; nothing if it is so already. */
void emu_pause_set(struct emu_world *w, struct emu_qp *qp, bool waits);
void emu_pause_drained(struct emu_world *w, struct emu_qp *qp);
void emu_pause_heard(struct emu_world *w, struct emu_qp *qp);

/* The first request that may not begin; usually the next one to be posted. */
static inline uint32_t emu_pause_end(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->paused ? EMU_AT(w->fab->path, emu_qp_index(w, qp)).pause_at : qp->sq.put;
}

/* A request has left the send queue. */
static inline void emu_pause_retired(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->undrained && qp->sq.get == emu_pause_end(w, qp))
		emu_pause_drained(w, qp);
}

/* A packet arrives. */
static inline void emu_pause_hear(struct emu_world *w, struct emu_qp *qp)
{
	if (qp->unheard)
		emu_pause_heard(w, qp);
}

/* The QP has a path: one that sends is not waiting to hear. */
static inline void emu_pause_expect(struct emu_qp *qp, bool sends)
{
	qp->unheard = !sends && qp->kind != NIC_QP_DATAGRAM;
}

#endif /* EMU_NUMBER_PAUSE_H */
