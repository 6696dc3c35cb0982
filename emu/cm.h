/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm.h - connection management: listeners, and connection requests from connect to the reply.
 *
 *   active                         passive
 *   connect   -- CM_REQUEST -->    conn_request upcall
 *                <-- CM_REPLY --   accept or reject
 *   established -- CM_READY -->    established
 *                (CM_GONE if the active side no longer waits)
 *
 * If the fronts connect QPs by number, CM_READY waits until the active side confirms.
 *
 * A struct emu_conn lives from connect until its reply has arrived; lib holds it in between.
 */
#ifndef EMU_CM_H
#define EMU_CM_H

#include "emu/fabric/fabric.h"

#define EMU_LISTEN_BUCKET(adapter, port) (((port)*31 + (adapter)) % EMU_LISTEN_BUCKETS)

int emu_listen(struct nic *nic, uint64_t *port, void *ctx, struct nic_listener **listener);
void emu_unlisten(struct nic_listener *listener);
int emu_connect(struct nic_qp *qp, const struct sockaddr *remote, uint64_t port, uint64_t deadline,
		const struct nic_conn_param *param);
int emu_accept(struct nic_conn *conn, struct nic_qp *qp, const struct nic_conn_param *param);
int emu_confirm(struct nic_qp *qp, struct nic_qp *messages);
int emu_refuse(struct nic_conn *conn, const void *data, uint32_t size);
void emu_reject(struct nic_conn *conn, bool by_program);
int emu_handoff(struct nic_conn *conn, uint64_t port);

/* Index of the listener at a port; 0: there is none. */
uint32_t emu_cm_listener(struct emu_world *w, uint16_t adapter, uint64_t port);
/* A QP begins no more RDMA Reads than the peer serves, and serves all that the peer begins. */
void emu_cm_fit_reads(struct emu_qp *qp, uint8_t peer_in, uint8_t peer_out);
/* A process died: close its listeners, and reject the requests that it had not answered. */
void emu_cm_clean_up(struct emu_world *w, uint16_t process);
void emu_cm_set_data(struct emu_conn *conn, const void *data, uint32_t size);
/* Send the reply; `outcome` is 0 if accepted, else enum nic_conn_end plus 1. */
void emu_cm_reply(struct emu_world *w, uint32_t index, uint32_t outcome);
/* Reject a request that no process will answer any more. */
void emu_cm_turn_down(struct emu_world *w, uint32_t index);
/* The active side is ready: the connection of this passive QP is established. */
void emu_cm_ready(struct emu_world *w, struct emu_qp *qp);
/* A packet of connection management is lost for good. */
void emu_cm_lost(struct emu_world *w, const struct emu_event *event);
void emu_cm_event(struct emu_world *w, const struct emu_event *event);

/* Trace lines (cm_trace.c); outcome 0: accepted. */
void emu_cm_trace_request(struct emu_world *w, const struct emu_conn *conn);
void emu_cm_trace_reply(struct emu_world *w, const struct emu_conn *conn, uint32_t outcome);

#endif /* EMU_CM_H */
