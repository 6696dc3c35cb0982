/* SPDX-License-Identifier: BSD-3-Clause */
/* connect.c - the calls that begin and answer a connection. */
#include <string.h>

#include "cm.h"

#define RETRIES     7
#define DEADLINE_NS 65000000000ul
#define NO_QP       1 /* no QP has this number */

/* ---- the NIC's object ---- */

void cm_conn_free(struct cm_id *id)
{
	if (id->nic) {
		id->nic->nic->ops->qp_reset(id->nic);
		id->nic->nic->ops->qp_destroy(id->nic);
		id->nic = NULL;
	}
	if (id->obj.context)
		vb_obj_remove(&id->obj);
	id->obj.context = NULL;
}

int cm_conn_make(struct cm_id *id)
{
	struct vb_context *context = vb_context_of(id->base.verbs);
	const struct nic_qp_init init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.noun = NIC_NOUN_ID,
		.name = context->adapter->last_id[VB_CONN] + 1,
	};
	int err;

	cm_conn_free(id);
	err = context->nic->ops->qp_create(context->nic, &init, &id->obj, &id->nic);
	if (err)
		return err;
	vb_obj_add(context, &id->obj, VB_CONN);
	return 0;
}

void cm_drop(struct cm_id *id)
{
	struct vb_qp *qp = id->direct ? VB_OF(id->base.qp, qp) : NULL;

	if (id->request)
		id->request->nic->ops->reject(id->request, true);
	id->request = NULL;
	if (qp) {
		id->direct = false;
		qp->conn = NULL;
		qp->nic->nic->ops->disconnect(qp->nic, true);
	}
	cm_conn_free(id);
	if (id->state > CM_LISTENING)
		id->state = CM_OVER;
}

/* ---- parameters ---- */

/* A length of private data without a pointer is ignored. */
static uint32_t data_size(const struct rdma_conn_param *param)
{
	return param && param->private_data ? param->private_data_len : 0;
}

/* Only RDMA_PS_TCP has limits for the Reads and needs a parameter. */
static bool param_fits(const struct cm_id *id, const struct rdma_conn_param *param)
{
	struct ibv_device_attr device;

	if (id->base.ps != RDMA_PS_TCP)
		return true;
	if (!param)
		return id->base.qp != NULL;
	vb_device_attr(id->base.verbs, &device);
	return (param->responder_resources == RDMA_MAX_RESP_RES ||
		param->responder_resources <= device.max_qp_rd_atom) &&
	       (param->initiator_depth == RDMA_MAX_INIT_DEPTH ||
		param->initiator_depth <= device.max_qp_init_rd_atom);
}

static uint8_t least_of(int a, int b)
{
	return (uint8_t)(a < b ? a : b);
}

/* RDMA Reads at a time: what the program wants, or as many as the device and the peer can. */
static void set_depths(struct cm_id *id, const struct rdma_conn_param *param, bool answers)
{
	int in = RDMA_MAX_RESP_RES, out = RDMA_MAX_INIT_DEPTH;
	struct ibv_device_attr device;

	vb_device_attr(id->base.verbs, &device);
	if (param) {
		in = param->responder_resources;
		out = param->initiator_depth;
	}
	/* A request had the peer's own numbers. */
	if (answers && in == RDMA_MAX_RESP_RES)
		in = id->responder_resources;
	if (answers && out == RDMA_MAX_INIT_DEPTH)
		out = id->initiator_depth;
	id->responder_resources = least_of(device.max_qp_rd_atom, in);
	id->initiator_depth = least_of(device.max_qp_init_rd_atom, out);
}

/* The peer is told the address that the id is bound to, even if it is one of this machine's. */
static uint32_t bound_host(const struct cm_id *id)
{
	const struct sockaddr_in *own = &id->base.route.addr.src_sin;

	return own->sin_family == AF_INET ? own->sin_addr.s_addr : 0;
}

static void set_near(struct cm_id *id, const struct rdma_conn_param *param)
{
	uint32_t qp = param ? param->qp_num : 0;

	if (id->base.qp)
		qp = id->base.qp->qp_num;
	id->near = (struct nic_conn_end_point){
		.qp = qp & 0xffffff ? qp & 0xffffff : NO_QP,
		/*
		 * An answer of datagrams has the Q_Key in that place. The program may have set its
		 * QP to the PSN already.
		 */
		.psn = cm_is_datagram(id) ? cm_datagram_qkey(id) : id->near.psn,
		.port = cm_port(&id->base.route.addr.src_addr),
		.host = bound_host(id),
		/* Programs ask for more than a QP can: that is as many as it can. */
		.retry = param ? least_of(param->retry_count, RETRIES) : RETRIES,
		.rnr_retry = param ? least_of(param->rnr_retry_count, RETRIES) : RETRIES,
	};
}

static struct nic_conn_param nic_param(const struct cm_id *id, const void *data, uint32_t size)
{
	return (struct nic_conn_param){
		.private_data = size ? data : NULL,
		.private_data_size = size,
		.rd_in = id->responder_resources,
		.rd_out = id->initiator_depth,
		.by = id->near,
	};
}

/* ---- connect ---- */

/* Private data: what rdma_create_ep was given, and behind it that of the call. */
static int join_data(const struct cm_id *id, const struct rdma_conn_param *param, uint8_t *to)
{
	uint32_t most = cm_is_datagram(id) ? CM_ASK_DATA : CM_CONNECT_DATA, size = data_size(param);

	if (id->connect_size > most || size > most - id->connect_size)
		return -EINVAL;
	if (id->connect_size)
		memcpy(to, id->connect_data, id->connect_size);
	if (size)
		memcpy(to + id->connect_size, param->private_data, size);
	return (int)(id->connect_size + size);
}

static int connect_id(struct cm_id *id, const struct rdma_conn_param *param)
{
	const struct sockaddr *to = &id->base.route.addr.dst_addr;
	struct nic_conn_param nic;
	uint8_t data[CM_ASK_DATA];
	int err, size;

	if (id->state != CM_ROUTE)
		return -EINVAL;
	if (id->base.qp_type != IBV_QPT_RC && !cm_is_datagram(id))
		return -EOPNOTSUPP;
	size = param_fits(id, param) ? join_data(id, param, data) : -EINVAL;
	if (size < 0)
		return size;
	err = cm_fault(id, VB_CALL_CONNECT);
	if (err)
		return err;
	set_depths(id, param, false);
	set_near(id, param);
	nic = nic_param(id, data, (uint32_t)size);
	err = cm_conn_make(id);
	if (err)
		return err;
	err = id->nic->nic->ops->connect(id->nic, to, cm_service(id, cm_port(to)),
					 id->nic->nic->ops->now(id->nic->nic) + DEADLINE_NS, &nic);
	if (err) {
		cm_drop(id);
		return err;
	}
	id->state = CM_CONNECTING;
	cm_trace(id, "rdma_connect port=%u qpn=%u", cm_port(to), id->near.qp);
	return 0;
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct cm_id *id = cm_id_of(base);
	int err;

	cm_enter();
	err = connect_id(id, param);
	cm_trace_refusal(id, "rdma_connect", err);
	cm_leave();
	return err ? cm_fail(err) : cm_complete(id);
}

int rdma_establish(struct rdma_cm_id *base)
{
	struct cm_id *id = cm_id_of(base);
	int err = -EINVAL;

	cm_enter();
	if (!base->qp && id->state == CM_ANSWERED)
		err = id->nic->nic->ops->confirm(id->nic, NULL);
	if (!err) {
		id->state = CM_CONNECTED;
		cm_trace(id, "rdma_establish");
	}
	cm_trace_refusal(id, "rdma_establish", err);
	return cm_leave_with(err);
}

/* ---- answer ---- */

/* By number: the program's QP is ready already. */
static int accept_by_number(struct cm_id *id, const struct nic_conn_param *param)
{
	int err = cm_conn_make(id);

	return err ? err : id->request->nic->ops->accept(id->request, id->nic, param);
}

/*
 * The peer is no verbs program: it gets the program's QP itself, and may start as many Reads as the
 * program permits, at least what it asked for: uDAPL asks for none if its attributes say nothing.
 */
static int accept_directly(struct cm_id *id, struct nic_conn_param *param)
{
	const struct nic_conn *request = id->request;
	struct vb_qp *qp;
	int err;

	qp = VB_OF(id->base.qp, qp);
	param->by = (struct nic_conn_end_point){ .qp = 0 };
	if (param->rd_in < request->rd_out)
		param->rd_in = request->rd_out;
	if (param->rd_out > request->rd_in)
		param->rd_out = request->rd_in;
	err = cm_conn_make(id);
	if (err)
		return err;
	err = request->nic->ops->accept(id->request, qp->nic, param);
	if (err)
		return err;
	vb_qp_become(id->base.qp, IBV_QPS_RTR, &id->obj);
	id->direct = true;
	return 0;
}

static bool by_number(const struct cm_id *id)
{
	return id->far.qp && !cm_is_rnic(id);
}

static int check_accept(const struct cm_id *id, const struct rdma_conn_param *param)
{
	if (id->state != CM_REQUESTED)
		return -EINVAL;
	if (data_size(param) > (cm_is_datagram(id) ? CM_ANSWER_DATA : CM_ACCEPT_DATA))
		return -EINVAL;
	if (!param_fits(id, param) || (!id->base.qp && !by_number(id)))
		return -EINVAL;
	return cm_fault(id, VB_CALL_ACCEPT);
}

/*
 * A failure has no effect while the QP is in INIT, and the call may be repeated. After that, the QP
 * enters ERR, and the request is rejected, as with a kernel.
 */
int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct cm_id *id = cm_id_of(base);
	struct nic_conn_param nic;
	int err;

	cm_enter();
	err = check_accept(id, param);
	if (!err) {
		set_depths(id, param, true);
		set_near(id, param);
	}
	cm_leave();
	if (!err && base->qp && by_number(id) && !cm_is_datagram(id))
		err = cm_qp_ready(id);
	if (err)
		return cm_told(id, "rdma_accept", err);
	nic = nic_param(id, param ? param->private_data : NULL, data_size(param));
	cm_enter();
	if (id->state != CM_REQUESTED) /* another thread has rejected it meanwhile */
		err = -EINVAL;
	else
		err = by_number(id) ? accept_by_number(id, &nic) : accept_directly(id, &nic);
	if (!err) {
		id->request = NULL;
		id->state = CM_ACCEPTED;
		cm_trace(id, "rdma_accept qpn=%u", id->near.qp);
	} else {
		cm_trace_refusal(id, "rdma_accept", err);
		cm_drop(id);
	}
	cm_leave();
	if (err) {
		cm_qp_error(id);
		return cm_fail(err);
	}
	/* The passive side of datagrams hears no more. */
	return cm_is_datagram(id) ? 0 : cm_complete(id);
}

static int reject_id(struct cm_id *id, const void *data, uint8_t size, const char *call)
{
	uint8_t most = cm_is_datagram(id) ? CM_ANSWER_DATA : CM_REJECT_DATA;
	struct nic_conn *request = id->request;
	int err = cm_fault(id, VB_CALL_REJECT);

	if (err)
		return err;
	if ((id->state != CM_REQUESTED && id->state != CM_ANSWERED) || (data && size > most))
		return -EINVAL;
	if (id->state == CM_ANSWERED) {
		cm_trace(id, "%s", call);
		cm_drop(id);
		return 0;
	}
	if (request->nic->ops->refuse(request, data, data ? size : 0))
		request->nic->ops->reject(request, true);
	id->request = NULL;
	id->state = CM_OVER;
	cm_trace(id, "%s", call);
	return 0;
}

static int reject_by(struct cm_id *id, const void *data, uint8_t size, const char *call)
{
	int err;

	cm_enter();
	err = reject_id(id, data, size, call);
	cm_trace_refusal(id, call, err);
	return cm_leave_with(err);
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t size)
{
	return reject_by(cm_id_of(base), data, size, "rdma_reject");
}

int rdma_reject_ece(struct rdma_cm_id *base, const void *data, uint8_t size)
{
	return reject_by(cm_id_of(base), data, size, "rdma_reject_ece");
}

/* The program knows from its QP that the connection is there. */
int rdma_notify(struct rdma_cm_id *base, enum ibv_event_type event)
{
	struct cm_id *id = cm_id_of(base);
	int err = 0;

	cm_enter();
	if (!id->obj.context || event != IBV_EVENT_COMM_EST)
		err = -EINVAL;
	cm_trace_refusal(id, "rdma_notify", err);
	if (!err)
		cm_trace(id, "rdma_notify event=IBV_EVENT_COMM_EST");
	if (!err && id->state == CM_ACCEPTED)
		cm_on_established(&id->obj, NULL);
	return cm_leave_with(err);
}
