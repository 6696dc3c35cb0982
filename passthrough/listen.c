/* SPDX-License-Identifier: BSD-3-Clause */
/* The passive side of connections: listeners, connection requests, and the answers to them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "names.h"

#define PORT_MAX 65535u
#define BACKLOG  0 /* requests not read yet: as many as the system allows */

static void set_port(struct sockaddr_storage *addr, uint64_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons((uint16_t)port);
}

static int listener_start(struct hw_listener *l, struct hw_nic *n, uint64_t port)
{
	struct sockaddr_storage addr = n->place.addr;
	int err;

	if (rdma_create_id(n->world->channel, &l->cm.id, &l->cm, RDMA_PS_TCP))
		return -ENOMEM;
	set_port(&addr, port);
	err = -hw_knobs_apply(&n->world->knobs, l->cm.id);
	if (!err)
		err = rdma_bind_addr(l->cm.id, (struct sockaddr *)&addr) ? errno : 0;
	if (!err)
		err = rdma_listen(l->cm.id, BACKLOG) ? errno : 0;
	if (!err)
		return 0;
	hw_cm_drop(&l->cm);
	/* This user may not bind a privileged port. */
	return err == EACCES || err == EPERM ? -EADDRNOTAVAIL : -err;
}

int hw_listen(struct nic *nic, uint64_t *port, void *ctx, struct nic_listener **out)
{
	struct hw_nic *n = hw_nic(nic);
	struct hw_listener *l;
	int err;

	if (*port > PORT_MAX)
		return -EADDRNOTAVAIL;
	if (n->listeners >= n->attr.max_listener)
		return -ENOMEM;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->base = (struct nic_listener){ .nic = nic, .ctx = ctx };
	l->cm.kind = HW_CM_LISTENER;
	err = listener_start(l, n, *port);
	if (err) {
		free(l);
		return err;
	}
	n->listeners++;
	LIST_INSERT_HEAD(&n->all_listeners, l, link);
	l->port = ntohs(rdma_get_src_port(l->cm.id));
	*port = l->port;
	*out = &l->base;
	return 0;
}

void hw_unlisten(struct nic_listener *base)
{
	struct hw_listener *l = nic_container_of(base, struct hw_listener, base);

	hw_nic(base->nic)->listeners--;
	LIST_REMOVE(l, link);
	hw_cm_drop(&l->cm);
	free(l);
}

/* ---- requests ---- */

void hw_on_request(struct hw_listener *l, struct rdma_cm_event *event, const uint8_t *private_data)
{
	struct hw_nic *n = hw_nic(l->base.nic);
	struct hw_conn *c = calloc(1, sizeof(*c));
	struct sockaddr *peer = rdma_get_peer_addr(event->id);

	if (!c || event->id->verbs != n->verbs) {
		free(c);
		rdma_reject(event->id, hw_private_no_listener, sizeof(hw_private_no_listener));
		rdma_destroy_id(event->id);
		return;
	}
	c->cm.kind = HW_CM_REQUEST;
	c->cm.id = event->id;
	event->id->context = &c->cm;
	memcpy(c->data, private_data, sizeof(c->data));
	c->base = (struct nic_conn){
		.nic = &n->base,
		.remote_port = ntohs(rdma_get_dst_port(event->id)),
		.private_data = c->data,
		.private_data_size =
			hw_private_size(n, c->data, event->param.conn.private_data_len),
		/* librdmacm has exchanged the two already: these are the values for the answer. */
		.rd_in = event->param.conn.initiator_depth,
		.rd_out = event->param.conn.responder_resources,
	};
	c->base.remote.ss_family = peer->sa_family;
	memcpy(&c->base.remote, peer, hw_address_size(&c->base.remote));
	n->base.up->conn_request(l->base.ctx, &c->base);
}

static void free_conn(struct hw_conn *c)
{
	hw_cm_drop(&c->cm);
	free(c);
}

/* Move the QP to the next state, with the number of RDMA Reads that both sides agreed on. */
static int accept_advance(struct hw_qp *qp, struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return -1;
	if (state == IBV_QPS_INIT && qp->rd_in > 0)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
	if (state == IBV_QPS_RTR)
		attr.max_dest_rd_atomic = qp->rd_in;
	if (state == IBV_QPS_RTS)
		attr.max_rd_atomic = qp->rd_out;
	return ibv_modify_qp(qp->verbs, &attr, mask);
}

/*
 * On InfiniBand librdmacm allows remote Reads on the QP only if the request asked for some. A
 * request with the defaults of DAT asks for none, but may make as many as the answer allows.
 * Therefore the QP is moved to its states here, rather than by rdma_accept.
 */
static int accept_request(struct hw_qp *qp, struct rdma_cm_id *id)
{
	struct rdma_conn_param answer;
	bool extended;
	int err;

	hw_fill_param(qp, &answer);
	if (hw_knobs_apply(&hw_nic(qp->base.nic)->world->knobs, id))
		return -1;
	if (hw_nic(qp->base.nic)->iwarp) {
		id->qp = qp->verbs;
		return rdma_accept(id, &answer);
	}
	extended = hw_ece_take(qp, id);
	if (accept_advance(qp, id, IBV_QPS_INIT) || accept_advance(qp, id, IBV_QPS_RTR) ||
	    accept_advance(qp, id, IBV_QPS_RTS))
		return -1;
	if (extended)
		hw_ece_put(qp, id);
	answer.qp_num = qp->verbs->qp_num;
	answer.srq = qp->verbs->srq != NULL;
	err = rdma_accept(id, &answer);
	id->qp = qp->verbs;
	return err;
}

int hw_accept(struct nic_conn *base, struct nic_qp *qp_base, const struct nic_conn_param *param)
{
	struct hw_conn *c = nic_container_of(base, struct hw_conn, base);
	struct hw_qp *qp = hw_qp(qp_base);
	int err;

	if (qp->state != HW_QP_IDLE)
		return -EINVAL;
	err = hw_qp_make_verbs(qp);
	if (err)
		return err;
	qp->private_size = hw_private_pack(hw_nic(base->nic), param->private_data,
					   param->private_data_size, qp->private_data);
	qp->rd_in = (uint8_t)param->rd_in;
	qp->rd_out = (uint8_t)param->rd_out;
	qp->passive = qp->unanswered = true;
	hw_qp_set_state(qp, HW_QP_CONNECTING);
	if (c->gone) {
		free_conn(c);
		hw_end(qp, NIC_END_ACCEPT_FAILED);
		return 0;
	}
	qp->cm.id = c->cm.id;
	qp->cm.id->context = &qp->cm;
	free(c);
	qp->fed = true;
	if (accept_request(qp, qp->cm.id))
		hw_end(qp, NIC_END_ACCEPT_FAILED);
	else
		qp->replied = true;
	return 0;
}

void hw_reject(struct nic_conn *base, bool by_program)
{
	struct hw_conn *c = nic_container_of(base, struct hw_conn, base);

	if (!c->gone)
		rdma_reject(c->cm.id, by_program ? hw_private_by_program : hw_private_no_listener,
			    HW_MARK);
	free_conn(c);
}

int hw_handoff(struct nic_conn *base, uint64_t port)
{
	struct hw_nic *n = hw_nic(base->nic);
	struct hw_listener *l;

	LIST_FOREACH(l, &n->all_listeners, link)
	if (l->port == port)
		break;
	if (!l)
		return -ENOENT;
	n->base.up->conn_request(l->base.ctx, base);
	return 0;
}
