/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: the active side, and the events of a QP's id from the request to the end. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "cm.h"
#include "names.h"

#define PORT_MAX        65535u
#define RESOLVE_MS      2000
#define RESOLVE_TRIES   30 /* a minute, without a deadline: as long as DAPL */
#define STALE_TRIES     8
#define RETRIES         6  /* 7, the most, is no limit on rxe (rxe_comp.c: rxe_completer) */
#define RNR_TIMER       12 /* 0.64 ms; the kernel's default is the longest possible, 655 ms */
#define IB_REJ_CONSUMER 28
#define IB_REJ_TIMEOUT  4
#define IB_REJ_STALE    10 /* the status of iWARP is a negative errno */

/* ---- the active side ---- */

static int check_address(const struct hw_nic *n, const struct sockaddr *remote)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)remote;
	const struct sockaddr_in *in = (const struct sockaddr_in *)remote;
	uint32_t host;

	if (remote->sa_family != n->place.addr.ss_family)
		return -EAFNOSUPPORT;
	if (remote->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) ||
				       IN6_IS_ADDR_MULTICAST(&in6->sin6_addr)
			       ? -EADDRNOTAVAIL
			       : 0;
	host = ntohl(in->sin_addr.s_addr);
	return host == INADDR_ANY || host == INADDR_BROADCAST || IN_MULTICAST(host) ? -EADDRNOTAVAIL
										    : 0;
}

static int connect_resolve(struct hw_qp *qp, const struct sockaddr *remote, uint64_t port)
{
	struct hw_nic *n = hw_nic(qp->base.nic);
	struct sockaddr_storage from = n->place.addr, to = { .ss_family = remote->sa_family };

	memcpy(&to, remote, hw_address_size(&to));
	if (to.ss_family == AF_INET) {
		((struct sockaddr_in *)&to)->sin_port = htons((uint16_t)port);
		((struct sockaddr_in *)&from)->sin_port = 0;
	} else {
		((struct sockaddr_in6 *)&to)->sin6_port = htons((uint16_t)port);
		((struct sockaddr_in6 *)&from)->sin6_port = 0;
	}
	if (rdma_create_id(n->world->channel, &qp->cm.id, &qp->cm, RDMA_PS_TCP))
		return -ENOMEM;
	if (hw_knobs_apply(&n->world->knobs, qp->cm.id)) {
		hw_cm_drop(&qp->cm);
		return -EIO;
	}
	if (rdma_resolve_addr(qp->cm.id, (struct sockaddr *)&from, (struct sockaddr *)&to,
			      RESOLVE_MS))
		return 1;
	return 0;
}

int hw_connect(struct nic_qp *base, const struct sockaddr *remote, uint64_t port, uint64_t deadline,
	       const struct nic_conn_param *param)
{
	struct hw_qp *qp = hw_qp(base);
	struct hw_nic *n = hw_nic(base->nic);
	uint64_t now;
	int err = check_address(n, remote);

	if (err)
		return err;
	if (qp->state != HW_QP_IDLE || param->private_data_size > n->attr.max_private_data)
		return -EINVAL;
	err = hw_qp_make_verbs(qp);
	if (err)
		return err;
	if (port <= PORT_MAX)
		err = connect_resolve(qp, remote, port);
	if (err < 0)
		return err;
	qp->private_size =
		hw_private_pack(n, param->private_data, param->private_data_size, qp->private_data);
	qp->rd_in = (uint8_t)param->rd_in;
	qp->rd_out = (uint8_t)param->rd_out;
	qp->bounded = deadline != NIC_TIME_NEVER;
	qp->tries = qp->stale = 0;
	hw_qp_set_state(qp, HW_QP_CONNECTING);
	/* DAT has 64-bit qualifiers, the network 16-bit ports: above these there is no listener. */
	if (port > PORT_MAX) {
		hw_end(qp, NIC_END_NO_LISTENER);
	} else if (err) {
		hw_end(qp, NIC_END_UNREACHABLE);
	} else if (deadline != NIC_TIME_NEVER) {
		now = hw_host->monotonic_ns();
		hw_timer(&qp->deadline, deadline > now ? deadline - now : 0, 0);
	}
	return 0;
}

void hw_fill_param(struct hw_qp *qp, struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param){
		.private_data = qp->private_size ? qp->private_data : NULL,
		.private_data_len = qp->private_size,
		.responder_resources = qp->rd_in,
		.initiator_depth = qp->rd_out,
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = hw_nic(qp->base.nic)->world->knobs.rnr_retry,
	};
}

/* ---- attempts that are repeated ---- */

/* The peer's name was asked for and no answer came; that the address is wrong is final. */
static bool resolve_again(struct hw_qp *qp, const struct rdma_cm_event *event)
{
	struct hw_nic *n = hw_nic(qp->base.nic);
	struct rdma_cm_id *id = qp->cm.id;
	struct sockaddr_storage from, to;

	if (qp->state != HW_QP_CONNECTING || qp->passive || event->status != -ETIMEDOUT)
		return false;
	if (!qp->bounded && ++qp->tries >= RESOLVE_TRIES)
		return false;
	if (event->event == RDMA_CM_EVENT_ROUTE_ERROR)
		return rdma_resolve_route(id, RESOLVE_MS) == 0;
	from = n->place.addr;
	to = (struct sockaddr_storage){ .ss_family = from.ss_family };
	memcpy(&to, rdma_get_peer_addr(id), hw_address_size(&to));
	return rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&to,
				 RESOLVE_MS) == 0;
}

/*
 * The peer still has a connection with a QP of this number, of an earlier process: it ends that
 * one, and rejects this one. Another QP has another number.
 */
static bool connect_again(struct hw_qp *qp, const struct rdma_cm_event *event)
{
	struct sockaddr_storage remote = { .ss_family = AF_UNSPEC };
	const struct hw_nic *n = hw_nic(qp->base.nic);
	uint64_t port;

	if (qp->passive || qp->state != HW_QP_CONNECTING || event->status != IB_REJ_STALE ||
	    ++qp->stale > STALE_TRIES)
		return false;
	remote.ss_family = n->place.addr.ss_family;
	memcpy(&remote, rdma_get_peer_addr(qp->cm.id), hw_address_size(&remote));
	port = ntohs(rdma_get_dst_port(qp->cm.id));
	hw_cm_drop(&qp->cm);
	return hw_qp_modify(&qp->base, &qp->init) == 0 &&
	       connect_resolve(qp, (struct sockaddr *)&remote, port) == 0;
}

/* ---- events of the QP's id ---- */

static void on_address(struct hw_qp *qp)
{
	if (qp->cm.id->verbs != hw_nic(qp->base.nic)->verbs ||
	    rdma_resolve_route(qp->cm.id, RESOLVE_MS))
		hw_end(qp, NIC_END_UNREACHABLE);
}

static void on_route(struct hw_qp *qp)
{
	struct rdma_conn_param param;

	hw_fill_param(qp, &param);
	hw_ece_put(qp, qp->cm.id);
	/* With a QP librdmacm takes the answer's extensions, too, and moves it to its states. */
	qp->cm.id->qp = qp->verbs;
	qp->unanswered = rdma_connect(qp->cm.id, &param) == 0;
	if (qp->unanswered)
		return;
	/* An iWARP driver may have connected within the call, so errno is the peer's answer. */
	if (errno == ECONNREFUSED || errno == ECONNRESET)
		hw_end(qp, NIC_END_NO_LISTENER);
	else
		hw_end(qp, errno == ETIMEDOUT ? NIC_END_TIMED_OUT : NIC_END_UNREACHABLE);
}

/*
 * The marks of libdat decide. A peer of another kind is judged by InfiniBand's reason. On iWARP the
 * status does not tell: of a rejection and a TCP reset, siw calls one ECONNRESET and the other
 * ECONNREFUSED, irdma and cxgb4 the reverse. A reset carries no private data.
 */
static enum nic_conn_end why_rejected(const struct hw_nic *n, const struct rdma_cm_event *event,
				      const uint8_t *private_data)
{
	uint32_t size = event->param.conn.private_data_len;

	if (hw_private_is(hw_private_by_program, private_data, size))
		return NIC_END_REJECTED;
	if (hw_private_is(hw_private_no_listener, private_data, size))
		return NIC_END_NO_LISTENER;
	if (n->iwarp)
		return size ? NIC_END_REJECTED : NIC_END_NO_LISTENER;
	if (event->status == IB_REJ_TIMEOUT)
		return NIC_END_TIMED_OUT;
	return event->status == IB_REJ_CONSUMER ? NIC_END_REJECTED : NIC_END_NO_LISTENER;
}

static void set_rnr_timer(struct hw_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .min_rnr_timer = RNR_TIMER };

	if (!hw_nic(qp->base.nic)->iwarp)
		ibv_modify_qp(qp->verbs, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
}

static void become_connected(struct hw_qp *qp, const struct nic_conn_param *peer)
{
	hw_timer_stop(&qp->deadline);
	qp->unanswered = false;
	qp->fed = true;
	hw_qp_set_state(qp, HW_QP_CONNECTED);
	set_rnr_timer(qp);
	qp->base.nic->up->established(qp->base.ctx, peer);
	hw_complete_early(qp);
}

static void on_established(struct hw_qp *qp, const struct rdma_cm_event *event,
			   const uint8_t *private_data)
{
	const struct hw_nic *n = hw_nic(qp->base.nic);
	struct nic_conn_param peer = {
		.private_data = private_data,
		.private_data_size =
			hw_private_size(n, private_data, event->param.conn.private_data_len),
		.rd_in = event->param.conn.initiator_depth,
		.rd_out = event->param.conn.responder_resources,
	};

	if (qp->state == HW_QP_CONNECTING)
		become_connected(qp, qp->passive ? NULL : &peer);
	else if (qp->hung_up)
		hw_hang_up(qp); /* when it was tried there was no connection yet */
}

void hw_established_early(struct hw_qp *qp)
{
	/* librdmacm's own event comes later, and is ignored. */
	if (!hw_nic(qp->base.nic)->iwarp)
		rdma_notify(qp->cm.id, IBV_EVENT_COMM_EST);
	become_connected(qp, NULL);
}

static void peer_is_gone(struct hw_qp *qp)
{
	qp->parted = true;
	qp->hung_up = false;
}

/*
 * The attempt to connect failed. It may be a connection here already, because the peer sends or has
 * answered: then this is the end of that, and no event of an attempt may follow.
 */
static void end_attempt(struct hw_qp *qp, enum nic_conn_end why)
{
	bool silent = why == NIC_END_UNREACHABLE || why == NIC_END_TIMED_OUT;

	peer_is_gone(qp);
	if (qp->state == HW_QP_CONNECTED || qp->state == HW_QP_DRAINING || qp->why_unknown) {
		hw_qp_drain(qp); /* an error completion may tell a better cause */
		why = silent ? NIC_END_BROKEN : NIC_END_DISCONNECTED;
	} else if (qp->passive) {
		why = NIC_END_ACCEPT_FAILED;
	}
	hw_end(qp, why);
}

void hw_on_qp_event(struct hw_qp *qp, struct rdma_cm_event *event, const uint8_t *private_data)
{
	enum nic_conn_end why;

	qp->unanswered = false;
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (qp->state == HW_QP_CONNECTING)
			on_address(qp);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (qp->state == HW_QP_CONNECTING)
			on_route(qp);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(qp, event, private_data);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (connect_again(qp, event))
			break;
		end_attempt(qp, why_rejected(hw_nic(qp->base.nic), event, private_data));
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		if (!resolve_again(qp, event))
			hw_end(qp, NIC_END_UNREACHABLE);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		why = event->event == RDMA_CM_EVENT_UNREACHABLE && event->status == -ETIMEDOUT
			      ? NIC_END_TIMED_OUT
			      : NIC_END_UNREACHABLE;
		end_attempt(qp, why);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		peer_is_gone(qp);
		hw_qp_drain(qp); /* an error completion may tell a better cause */
		hw_end(qp, qp->state == HW_QP_CONNECTING && qp->passive ? NIC_END_ACCEPT_FAILED
									: NIC_END_DISCONNECTED);
		break;
	default:
		break;
	}
}
