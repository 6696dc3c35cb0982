/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_qp.c - QPs of ids, their options and extensions: cm.h. */
#include <errno.h>

#include "cm.h"

int rdma_set_option(struct rdma_cm_id *base, int level, int name, void *value, size_t length)
{
	struct stub_id *id = cm_id_of(base);

	if (cm_refused("rdma_set_option"))
		return -1;
	if (level != RDMA_OPTION_ID || length != sizeof(uint8_t) ||
	    (name != RDMA_OPTION_ID_TOS && name != RDMA_OPTION_ID_ACK_TIMEOUT)) {
		errno = ENOSYS;
		return -1;
	}
	if (name == RDMA_OPTION_ID_TOS)
		id->service_type = *(uint8_t *)value;
	else
		id->ack_timeout = *(uint8_t *)value;
	return 0;
}

int stub_service_type(bool listens)
{
	int service_type = -1;
	struct stub_id *id;

	stub_lock();
	for (id = cm_ids; id; id = id->next)
		if (id->listens == listens && (listens || id->connected))
			service_type = id->service_type;
	stub_unlock();
	return service_type;
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (cm_refused("rdma_set_local_ece"))
		return -1;
	if (id->qp || !ece->vendor_id || ece->comp_mask) {
		errno = EINVAL;
		return -1;
	}
	cm_id_of(id)->local_ece = *ece;
	return 0;
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (cm_refused("rdma_get_remote_ece"))
		return -1;
	if (id->qp) {
		errno = EINVAL;
		return -1;
	}
	*ece = cm_id_of(id)->remote_ece;
	return 0;
}

void cm_hear_request(struct stub_id *child, const struct stub_id *from)
{
	if (stub_config.ece_unheard)
		return;
	child->remote_ece = from->local_ece;
	if (stub_config.ece_foreign)
		child->remote_ece.vendor_id = stub_config.ece_foreign;
}

bool cm_hear_answer(struct stub_id *id, const struct stub_id *from)
{
	struct ibv_ece ece = { .vendor_id = from->remote_ece.vendor_id,
			       .options = from->local_ece.options };
	int error;

	if (stub_config.ece_foreign && ece.vendor_id == stub_config.ece_foreign)
		ece.vendor_id = id->local_ece.vendor_id;
	if (!ece.vendor_id || stub_config.ece_unheard)
		ece = (struct ibv_ece){ .vendor_id = id->local_ece.vendor_id };
	else if (ece.vendor_id != id->local_ece.vendor_id)
		return false;
	id->remote_ece = ece;
	error = id->v.qp ? ibv_set_ece(id->v.qp, &ece) : 0;
	return error == 0 || error == EOPNOTSUPP;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	if (cm_refused("rdma_create_qp"))
		return -1;
	id->qp = ibv_create_qp(pd, init);
	if (id->qp)
		id->qp->state = IBV_QPS_INIT;
	return id->qp ? 0 : -1;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (cm_refused("rdma_init_qp_attr"))
		return -1;
	/* As the kernel: qp_state says for which state the attributes are. */
	if (attr->qp_state < IBV_QPS_INIT || attr->qp_state > IBV_QPS_RTS) {
		errno = EINVAL;
		return -1;
	}
	*mask = IBV_QP_STATE;
	if (attr->qp_state == IBV_QPS_RTS && cm_id_of(id)->ack_timeout >= 0) {
		attr->timeout = (uint8_t)cm_id_of(id)->ack_timeout;
		*mask |= IBV_QP_TIMEOUT;
	}
	return 0;
}

static int notified;

int stub_notified(void)
{
	return notified;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	if (cm_refused("rdma_notify"))
		return -1;
	stub_lock();
	notified += event == IBV_EVENT_COMM_EST;
	cm_id_of(id)->open |= cm_id_of(id)->connected;
	if (stub_config.quiet_accept && event == IBV_EVENT_COMM_EST)
		cm_tell(cm_id_of(id), RDMA_CM_EVENT_ESTABLISHED, 0);
	stub_unlock();
	return 0;
}

void cm_set_asked(struct stub_id *id, bool asked)
{
	struct stub_qp *qp = stub_qp_by_number(id->qp_num);

	id->asked = asked;
	if (qp && id->qp_num)
		qp->asked = asked;
}

void cm_to_error(struct stub_id *id)
{
	struct stub_qp *qp = stub_qp_by_number(id->qp_num);

	if (qp && id->qp_num)
		stub_to_error(qp);
}

/* Its number is soon that of another one. */
void stub_forget_number(const struct stub_qp *qp)
{
	struct stub_id *id;

	for (id = cm_ids; id; id = id->next)
		if (id->qp_num == qp->v.qp_num)
			id->qp_num = 0;
}
