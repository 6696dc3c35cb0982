/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qp.h - queue pairs: their life, their end, their limits. Transmitting is tx.h, receiving rx.h,
 * finding a peer cm.h.
 */
#ifndef EMU_QP_H
#define EMU_QP_H

#include "fabric.h"

int emu_qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **qp);
int emu_qp_modify(struct nic_qp *qp, const struct nic_qp_init *init);
uint32_t emu_qp_reset(struct nic_qp *qp);
void emu_qp_destroy(struct nic_qp *qp);
void emu_qp_query(struct nic_qp *qp, struct nic_qp_counts *counts);
void emu_qp_taken_limit(struct nic_qp *qp, int32_t soft, int32_t hard);
void emu_qp_reaped(struct nic_qp *qp, uint32_t n);
void emu_qp_ask_break(struct nic_qp *qp);
void emu_qp_disconnect(struct nic_qp *qp, bool abrupt);

/* A connection of which both ends may move data. */
static inline bool emu_qp_running(const struct emu_qp *qp)
{
	return qp->state == EMU_QP_CONNECTED || qp->state == EMU_QP_DRAINING;
}

/* An event of an earlier life of this QP. */
static inline bool emu_qp_stale(const struct emu_qp *qp, const struct emu_event *event)
{
	return !qp->head.live || qp->epoch != event->epoch;
}

/* The connection is over: flush everything, then tell lib why. The peer is not told. */
void emu_qp_end(struct emu_world *w, struct emu_qp *qp, enum nic_conn_end why);
/* Break it from this side: the peer learns by TERMINATE. */
void emu_qp_break(struct emu_world *w, struct emu_qp *qp);
/* TERMINATE, BREAK and DISCONNECT. */
void emu_qp_end_event(struct emu_world *w, const struct emu_event *event);
/* The last request of a draining QP was acknowledged. */
void emu_qp_drained(struct emu_world *w, struct emu_qp *qp);
/* One packet without payload to the peer, if there is one. */
void emu_qp_tell_peer(struct emu_world *w, struct emu_qp *qp, enum emu_event_kind kind,
		      uint32_t index, uint32_t packet);

/* Queue the completion of a send work request, unless it is suppressed. */
void emu_complete_send(struct emu_world *w, struct emu_qp *qp, const struct emu_swqe *wqe,
		       enum nic_wc_status status);
/* Queue the completion of a receive. */
void emu_complete_recv(struct emu_world *w, struct emu_qp *qp, const struct emu_rwqe *wqe,
		       enum nic_wc_status status, uint32_t length, uint8_t solicited);

const char *emu_status_name(enum nic_wc_status status);

#endif /* EMU_QP_H */
