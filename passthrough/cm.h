/* SPDX-License-Identifier: BSD-3-Clause */
/* cm.h - connections by librdmacm (cm.c, listen.c, connect.c), and how they and what they stood on go. With the lock. */
#ifndef PASSTHROUGH_CM_H
#define PASSTHROUGH_CM_H

#include "hw.h"

void hw_cm_start(struct nic_world *w);
/* Destroy an id, if there is one. */
void hw_cm_drop(struct hw_cm *cm);
/* That of a QP, which may be long in going. */
void hw_cm_drop_qp(struct hw_qp *qp);
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
/* Private data as it goes over the wire, and back; the size. */
uint8_t hw_private_pack(const struct hw_nic *n, const void *data, uint32_t size, uint8_t *wire);
uint32_t hw_private_size(const struct hw_nic *n, const uint8_t *wire, uint32_t size);
void hw_fill_param(struct hw_qp *qp, struct rdma_conn_param *param);
/*
 * A message is here and librdmacm has not said that the connection is: the peer sends once it has our answer. lib has to
 * hear of the connection first.
 */
void hw_heard(struct hw_qp *qp);
/* What a rejection carries that is not the program's. */
bool hw_is_no_listener(const uint8_t *private_data, uint32_t size);

/* ---- end.c: how they end ---- */

void hw_disconnect(struct nic_qp *qp, bool abrupt);
void hw_qp_break(struct nic_qp *qp);
/* The connection is over, or never came to be; lib hears of it when the work is flushed. */
void hw_end(struct hw_qp *qp, enum nic_conn_end why);
/* Work was flushed, and why is not known yet. */
void hw_end_open(struct hw_qp *qp);
/* It is wiped: nothing of an end is on its way. */
void hw_end_forget(struct hw_qp *qp);
void hw_end_start(struct nic_world *w);

/* ---- grave.c: what the kernel is long in destroying ---- */

/* Destroy it in a thread that may wait, after what is there already. */
void hw_bury(struct hw_grave *grave);
/* Destroy what QPs stand on: now, if none waits to be destroyed. */
void hw_bury_after(struct hw_grave *grave);
bool hw_graves_open(void);
/* False: there is no memory to do so. */
bool hw_bury_id(struct rdma_cm_id *id);
bool hw_bury_verbs(struct hw_qp *qp);

#endif /* PASSTHROUGH_CM_H */
