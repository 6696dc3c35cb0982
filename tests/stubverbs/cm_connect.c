/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_connect.c - calls of a connection, and its other ends: cm.h. */
#include <errno.h>
#include <stdlib.h>

#include "cm.h"

static void remember(struct stub_id *id, const struct rdma_conn_param *param)
{
	id->qp_num = id->v.qp ? id->v.qp->qp_num : param->qp_num;
	id->retries = param->retry_count;
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct stub_id *id = cm_id_of(base);
	bool refuses;

	if (cm_refused("rdma_connect"))
		return -1;
	remember(id, param);
	stub_lock();
	/* siw connects within the call. */
	refuses = stub_config.iwarp && !stub_config.reset && !cm_listener(id->remote_port);
	if (!refuses) {
		cm_set_asked(id, true);
		cm_send(id, STUB_REQ, param);
	}
	stub_unlock();
	if (refuses)
		errno = ECONNREFUSED;
	return refuses ? -1 : 0;
}

int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct stub_id *id = cm_id_of(base);

	if (cm_refused("rdma_accept"))
		return -1;
	if (!id->peer) {
		errno = ENOTCONN;
		return -1;
	}
	remember(id, param);
	stub_lock();
	cm_send(id, STUB_REP, param);
	stub_unlock();
	return 0;
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t size)
{
	struct rdma_conn_param param = { .private_data = data, .private_data_len = size };

	if (cm_refused("rdma_reject"))
		return -1;
	stub_lock();
	if (cm_id_of(base)->peer)
		cm_send(cm_id_of(base), STUB_REJ, &param);
	stub_unlock();
	return 0;
}

/* librdmacm moves the QP of the id to the error state: it has to exist. */
static void check_qp(const struct ibv_qp *qp)
{
	for (uint32_t i = 0; qp; i++) {
		if (i == STUB_QP)
			abort();
		if (stub_qp_by_number(i) && &stub_qp_by_number(i)->v == qp)
			return;
	}
}

/*
 * On InfiniBand the caller gets its event only after the peer has answered, and without a
 * connection nothing is sent and the call succeeds.
 */
int rdma_disconnect(struct rdma_cm_id *base)
{
	struct stub_id *id = cm_id_of(base), *peer = id->peer;

	if (cm_refused("rdma_disconnect"))
		return -1;
	stub_lock();
	check_qp(base->qp);
	if ((!id->open && !id->heard) || id->hung_up) {
		if (!stub_config.iwarp)
			cm_to_error(id);
		stub_unlock();
		errno = EINVAL;
		return stub_config.iwarp ? -1 : 0;
	}
	id->hung_up = true;
	if (stub_config.far && peer) {
		id->closes = true;
		stub_unlock();
		return 0;
	}
	cm_to_error(id);
	id->answered = id->heard;
	if (peer && !(stub_config.iwarp && id->heard))
		cm_send(id, id->heard ? STUB_DREP : STUB_DREQ, NULL);
	if (stub_config.iwarp || !peer)
		cm_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (stub_config.iwarp && peer)
		cm_to_error(peer);
	stub_unlock();
	return 0;
}

void stub_terminated(const struct stub_qp *a, const struct stub_qp *b)
{
	struct stub_id *id;

	stub_lock();
	for (id = cm_ids; id; id = id->next) {
		if (!id->connected || id->hung_up ||
		    (id->qp_num != a->v.qp_num && id->qp_num != b->v.qp_num))
			continue;
		id->hung_up = true;
		cm_to_error(id);
		cm_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	}
	stub_unlock();
}

void stub_removed(void)
{
	struct stub_id *id;

	stub_lock();
	for (id = cm_ids; id; id = id->next) {
		cm_to_error(id);
		cm_tell(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
	stub_unlock();
}

void stub_cm_event(enum rdma_cm_event_type type, int status, bool asker)
{
	struct stub_id *id;

	stub_lock();
	for (id = cm_ids; id; id = id->next) {
		if (!(asker ? id->asked : id->peer && !id->asked && !id->open))
			continue;
		if (asker)
			cm_set_asked(id, false);
		cm_tell(id, type, status);
	}
	stub_unlock();
}

static bool all_settled(void)
{
	struct stub_event_channel *channel;
	struct stub_id *id;

	for (id = cm_ids; id; id = id->next) {
		channel = (struct stub_event_channel *)id->v.channel;
		if (id->unsettled > 0 || (channel && (channel->first || channel->busy)))
			return false;
	}
	return true;
}

void stub_settle(void)
{
	stub_lock();
	while (!all_settled())
		stub_wait();
	stub_unlock();
}
