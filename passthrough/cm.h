/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm.h - connections by librdmacm: events (cm.c), the passive side (listen.c), the active side
 * (connect.c), private data (private.c), the end of a connection (end.c, part.c), and the
 * destruction of objects that the kernel may take long to destroy (deferred.c). All functions are
 * called with the lock held.
 */
#ifndef PASSTHROUGH_CM_H
#define PASSTHROUGH_CM_H

#include "hw.h"

void hw_cm_init(struct nic_world *w);
/* There is an adapter, so events may come. */
void hw_cm_start(struct nic_world *w);
int hw_listen(struct nic *nic, uint64_t *port, void *ctx, struct nic_listener **listener);
void hw_unlisten(struct nic_listener *listener);
int hw_connect(struct nic_qp *qp, const struct sockaddr *remote, uint64_t port, uint64_t deadline,
	       const struct nic_conn_param *param);
int hw_accept(struct nic_conn *conn, struct nic_qp *qp, const struct nic_conn_param *param);
void hw_reject(struct nic_conn *conn, bool by_program);
int hw_handoff(struct nic_conn *conn, uint64_t port);
void hw_on_request(struct hw_listener *listener, struct rdma_cm_event *event,
		   const uint8_t *private_data);
void hw_on_qp_event(struct hw_qp *qp, struct rdma_cm_event *event, const uint8_t *private_data);
void hw_fill_param(struct hw_qp *qp, struct rdma_conn_param *param);
/*
 * A message arrived at the passive side before librdmacm reported the connection: the peer may send
 * as soon as it has our answer. Report the connection to lib, which has to hear of it before the
 * message.
 */
void hw_established_early(struct hw_qp *qp);

/* ---- ece.c: before the id has the QP ---- */

/* Put the QP's extensions into the request or answer that the id sends. */
void hw_ece_put(const struct hw_qp *qp, struct rdma_cm_id *id);
/* Give the QP the request's, before it is moved to RTR. False: there are none, or it has none. */
bool hw_ece_take(const struct hw_qp *qp, struct rdma_cm_id *id);

/* ---- private.c ---- */

/* Private data as it goes over the wire; its size there. */
uint8_t hw_private_pack(const struct hw_nic *n, const void *data, uint32_t size, uint8_t *wire);
/* The size of the program's part of what came over the wire. */
uint32_t hw_private_size(const struct hw_nic *n, const uint8_t *wire, uint32_t size);
/* The private data of a rejection: no program listens there, or the program rejected. */
#define HW_MARK 4
extern const uint8_t hw_private_no_listener[HW_MARK], hw_private_by_program[HW_MARK];
bool hw_private_is(const uint8_t mark[HW_MARK], const uint8_t *private_data, uint32_t size);

/* ---- end.c ---- */

void hw_disconnect(struct nic_qp *qp, bool abrupt);
void hw_qp_break(struct nic_qp *qp);
/* The connection ended or failed; lib hears of it when all work is flushed. */
void hw_end(struct hw_qp *qp, enum nic_conn_end why);
/* Work was flushed, and the cause is not known yet. */
void hw_end_unexplained(struct hw_qp *qp);
/* Tell the peer of the end, once. */
void hw_hang_up(struct hw_qp *qp);
/* The QP is reset: cancel the end in progress, if there is one. */
void hw_end_forget(struct hw_qp *qp);
void hw_end_start(struct nic_world *w);

/* ---- part.c ---- */

/* Keep the QP's id until the peer has heard of the end. False: no memory. */
bool hw_part(struct hw_qp *qp);
void hw_on_parting_event(struct hw_cm *cm, enum rdma_cm_event_type event);
/* Destroy all ids that are kept. */
void hw_part_now(struct nic_world *w);

/* ---- deferred.c ---- */

/* Destroy an id, if there is one. */
void hw_cm_drop(struct hw_cm *cm);
/*
 * Destroy the id of a QP: if the peer has not answered the connection request, through the destroy
 * queue; if it has not answered the disconnect, later.
 */
void hw_cm_drop_qp(struct hw_qp *qp);
/* Put an object at the end of the destroy queue. */
void hw_defer(struct hw_deferred *deferred);
/*
 * Destroy a CQ, SRQ, PD ...: now if the destroy queue is empty, else after the QPs in it that use
 * it.
 */
void hw_destroy_after(struct hw_deferred *deferred);
bool hw_deferred_pending(void);
/* False: no memory for an entry of the destroy queue. */
bool hw_defer_id(struct rdma_cm_id *id);
bool hw_defer_qp(struct hw_qp *qp);

#endif /* PASSTHROUGH_CM_H */
