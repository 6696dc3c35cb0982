/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management: listeners and their ports, the request, its reply, and the events by which
 * both sides learn of each other.
 */
#include <errno.h>
#include <string.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "cm.h"
#include "emu/wire/link.h"
#include "emu/wire/links.h"
#include "qp.h"
#include "emu/wire/retry.h"
#include "emu/fabric/trace.h"
#include "upcall.h"
#include "emu/wire/wire.h"
#include "emu/fabric/adapter.h"
#include "emu/fabric/config.h"

/* Ports that the backend picks lie above those that programs choose themselves. */
#define PORT_PICKED_FIRST 0x10000ul
#define PORTS_PICKED      0x10000ul
/* There is always a free port to pick, so listen never fails with -EADDRNOTAVAIL. */
_Static_assert(PORTS_PICKED > EMU_MAX_LISTENER, "listeners run out first");

/* ---- listeners ---- */

static uint32_t *listen_bucket(struct emu_world *w, uint16_t adapter, uint64_t port)
{
	return &w->fab->listen_hash[EMU_LISTEN_BUCKET(adapter, port)];
}

uint32_t emu_cm_listener(struct emu_world *w, uint16_t adapter, uint64_t port)
{
	uint32_t index = *listen_bucket(w, adapter, port);

	while (index && index <= EMU_LISTENERS && emu_go_on(w)) {
		const struct emu_listener *l = &EMU_AT(w->fab->listener, index);

		if (l->adapter == adapter && l->port == port)
			return index;
		index = l->next;
	}
	return 0;
}

/* 0: the arena is damaged. */
static uint64_t pick_port(struct emu_world *w, uint16_t adapter)
{
	uint64_t port;

	do
		port = PORT_PICKED_FIRST + emu_random(w) % PORTS_PICKED;
	while (emu_cm_listener(w, adapter, port) && emu_go_on(w));
	return port;
}

int emu_listen(struct nic *nic, uint64_t *port, void *ctx, struct nic_listener **listener)
{
	struct emu_world *w = emu_world_of(nic);
	uint16_t adapter = emu_nic(nic)->adapter;
	struct emu_listener *entry;
	uint32_t index;

	if (*port && emu_cm_listener(w, adapter, *port))
		return -EADDRINUSE;
	if (EMU_AT(w->fab->adapters, adapter).listeners >= EMU_MAX_LISTENER)
		return -ENOMEM;
	index = EMU_TAKE(w, listeners, listener, EMU_LISTENERS);
	if (!index)
		return -ENOMEM;
	EMU_AT(w->fab->adapters, adapter).listeners++;
	if (!*port)
		*port = pick_port(w, adapter);
	entry = &EMU_AT(w->fab->listener, index);
	entry->port = *port;
	entry->adapter = adapter;
	EMU_LIVE(w->fab, listeners, entry);
	entry->next = *listen_bucket(w, adapter, *port);
	*listen_bucket(w, adapter, *port) = index;
	w->listener[index] = (struct nic_listener){ .nic = nic, .ctx = ctx };
	*listener = &w->listener[index];
	return 0;
}

static void close_listener(struct emu_world *w, uint32_t index)
{
	struct emu_listener *entry = &EMU_AT(w->fab->listener, index);
	uint32_t *link;

	link = listen_bucket(w, entry->adapter, entry->port);
	while (*link && *link != index && *link <= EMU_LISTENERS && emu_go_on(w))
		link = &EMU_AT(w->fab->listener, *link).next;
	EMU_SURE(w, *link == index);
	if (*link == index)
		*link = entry->next;
	EMU_AT(w->fab->adapters, entry->adapter).listeners--;
	EMU_FREE(w->fab, listeners, listener, index);
}

void emu_unlisten(struct nic_listener *base)
{
	struct emu_world *w = emu_world_of(base->nic);

	close_listener(w, EMU_INDEX(w, listener, base));
	base->nic = NULL;
	base->ctx = NULL;
}

/* ---- requests ---- */

static void conn_free(struct emu_world *w, uint32_t index)
{
	EMU_FREE(w->fab, conns, conn, index);
}

static bool param_fits(const struct nic_conn_param *param)
{
	return param->private_data_size <= EMU_PRIVATE_DATA && param->rd_in <= EMU_MAX_RD &&
	       param->rd_out <= EMU_MAX_RD;
}

void emu_cm_set_data(struct emu_conn *conn, const void *data, uint32_t size)
{
	conn->size = (uint16_t)size;
	if (size)
		memmove(conn->data, data, size); /* a reply may echo the request: overlap */
}

static void set_param(struct emu_conn *conn, const struct nic_conn_param *param)
{
	conn->rd_in = (uint8_t)param->rd_in;
	conn->rd_out = (uint8_t)param->rd_out;
	emu_cm_set_data(conn, param->private_data, param->private_data_size);
	conn->by = param->by;
}

int emu_connect(struct nic_qp *base, const struct sockaddr *remote, uint64_t port,
		uint64_t deadline, const struct nic_conn_param *param)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_conn *conn;
	uint32_t index, link;
	uint64_t when;
	uint16_t to;
	int err;

	if (qp->state != EMU_QP_IDLE || !param_fits(param))
		return -EINVAL;
	to = emu_adapter_by_address(w, remote, port, qp->adapter, &err);
	if (err)
		return err;
	if (!emu_clock_has_room(w))
		return -ENOMEM;
	link = emu_link_get(w, qp->adapter, to ? to : qp->adapter);
	index = link ? EMU_TAKE(w, conns, conn, EMU_CONNS) : 0;
	if (!index)
		return -ENOMEM;
	conn = &EMU_AT(w->fab->conn, index);
	qp->state = EMU_QP_CONNECTING;
	emu_qp_assess(qp);
	qp->epoch++;
	qp->peer = 0;
	qp->conn = index;
	qp->peer_adapter = to ? to : qp->adapter;
	qp->link = link;
	*conn = (struct emu_conn){ .head = conn->head,
				   .qp = emu_qp_index(w, qp),
				   .epoch = qp->epoch,
				   .name = qp->name,
				   .port = port,
				   .from = qp->adapter,
				   .to = qp->peer_adapter,
				   .to_generation =
					   EMU_AT(w->fab->adapters, qp->peer_adapter).generation };
	set_param(conn, param);
	conn->by.adapter = conn->from;
	conn->by_number = param->by.qp != 0;
	EMU_LIVE(w->fab, conns, conn);
	when = emu_link_answer(w->fab, link);
	if (to)
		emu_schedule(w, when, EMU_EV_CM_REQUEST, conn->qp, conn->epoch, index, 0);
	else
		emu_schedule(w, when, EMU_EV_CM_REPLY, conn->qp, conn->epoch, index,
			     NIC_END_UNREACHABLE + 1);
	if (deadline != NIC_TIME_NEVER)
		emu_timer_start(w, qp, deadline > w->fab->now ? deadline : w->fab->now,
				EMU_EV_CM_TIMEOUT);
	emu_sent(w, base->nic);
	return 0;
}

void emu_cm_reply(struct emu_world *w, uint32_t index, uint32_t outcome)
{
	struct emu_conn *conn = &EMU_AT(w->fab->conn, index);

	conn->answered = true;
	emu_schedule(w, emu_link_answer(w->fab, emu_link_find(w, conn->to, conn->from)),
		     EMU_EV_CM_REPLY, conn->qp, conn->epoch, index, outcome);
}

int emu_accept(struct nic_conn *base, struct nic_qp *qp_base, const struct nic_conn_param *param)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = emu_local_qp(qp_base)->entry;
	uint32_t index = EMU_INDEX(w, conn, base), link;
	struct emu_conn *conn = &EMU_AT(w->fab->conn, index);

	if (qp->state != EMU_QP_IDLE || !param_fits(param))
		return -EINVAL;
	link = emu_clock_has_room(w) ? emu_link_get(w, qp->adapter, conn->from) : 0;
	if (!link)
		return -ENOMEM;
	qp->state = EMU_QP_CONNECTING;
	emu_qp_assess(qp);
	qp->epoch++;
	qp->peer = conn->qp;
	qp->peer_epoch = conn->epoch;
	qp->peer_adapter = conn->from;
	qp->link = link;
	conn->passive_qp = emu_qp_index(w, qp);
	conn->passive_epoch = qp->epoch;
	qp->max_rd_in = (uint8_t)param->rd_in;
	qp->max_rd_out = (uint8_t)param->rd_out;
	set_param(conn, param);
	conn->by.adapter = conn->to;
	emu_cm_reply(w, index, 0);
	emu_sent(w, base->nic);
	return 0;
}

void emu_reject(struct nic_conn *base, bool by_program)
{
	struct emu_world *w = emu_world_of(base->nic);

	emu_cm_reply(w, EMU_INDEX(w, conn, base),
		     (by_program ? NIC_END_REJECTED : NIC_END_NO_LISTENER) + 1u);
	emu_sent(w, base->nic);
}

/* False: another process wrote garbage into the arena. */
static bool is_ours(struct emu_world *w, uint16_t adapter, uint32_t listener)
{
	return adapter <= EMU_ADAPTERS && w->nics[adapter].base.up && listener <= EMU_LISTENERS &&
	       w->listener[listener].nic == &w->nics[adapter].base;
}

/* `to` is an adapter of this process, and the listener is its. */
static void hand_up(struct emu_world *w, uint32_t index, uint16_t to, uint32_t listener)
{
	struct emu_conn *conn = &EMU_AT(w->fab->conn, index);
	struct nic_conn *base = &w->conn[index];
	const uint16_t size = conn->size;

	*base = (struct nic_conn){ .nic = emu_nic_at(w, to),
				   .remote_port = conn->name,
				   .private_data = conn->data,
				   .private_data_size = size <= EMU_PRIVATE_DATA ? size : 0,
				   .rd_in = conn->rd_in,
				   .rd_out = conn->rd_out,
				   .by = conn->by };
	emu_adapter_address(w, conn->from, &base->remote);
	base->nic->up->conn_request(w->listener[listener].ctx, base);
}

int emu_handoff(struct nic_conn *base, uint64_t port)
{
	struct emu_world *w = emu_world_of(base->nic);
	uint32_t index = EMU_INDEX(w, conn, base), listener;
	uint16_t to = emu_nic(base->nic)->adapter;

	listener = emu_cm_listener(w, to, port);
	if (!listener || !is_ours(w, to, listener))
		return -ENOENT;
	hand_up(w, index, to, listener);
	return 0;
}

/* ---- packets ---- */

/* Is the event stale: a duplicate of a request or reply that was processed already? */
static bool is_copy(const struct emu_conn *conn, const struct emu_event *event)
{
	return !conn->head.live || conn->qp != event->qp || conn->epoch != event->epoch;
}

static void on_request(struct emu_world *w, const struct emu_event *event)
{
	struct emu_conn *conn = &EMU_AT(w->fab->conn, event->index);
	uint32_t listener;
	uint16_t to;

	if (event->index > EMU_CONNS || is_copy(conn, event) || conn->arrived)
		return;
	to = conn->to <= EMU_ADAPTERS ? conn->to : 0;
	conn->arrived = true;
	if (w->fab->trace_on)
		emu_cm_trace_request(w, conn);
	/* The adapter may have been closed, and its entry reused, since the request was sent. */
	if (!EMU_AT(w->fab->adapters, to).open ||
	    EMU_AT(w->fab->adapters, to).generation != conn->to_generation) {
		emu_cm_reply(w, event->index, NIC_END_UNREACHABLE + 1u);
		return;
	}
	listener = emu_cm_listener(w, to, conn->port);
	if (listener && is_ours(w, to, listener))
		hand_up(w, event->index, to, listener);
	else
		emu_cm_reply(w, event->index, NIC_END_NO_LISTENER + 1u);
}

static struct nic_conn_param param_of(const struct emu_conn *conn)
{
	const uint16_t size = conn->size;

	return (struct nic_conn_param){ .private_data = conn->data,
					.private_data_size = size <= EMU_PRIVATE_DATA ? size : 0,
					.rd_in = conn->rd_in,
					.rd_out = conn->rd_out,
					.by = conn->by };
}

static void establish_active(struct emu_world *w, struct emu_qp *qp, struct emu_conn *conn)
{
	struct nic_qp *base = &w->qp[emu_qp_index(w, qp)].base;
	struct nic_conn_param peer = param_of(conn);

	emu_timer_stop(w, qp);
	qp->state = EMU_QP_CONNECTED;
	emu_cm_fit_reads(qp, conn->rd_in, conn->rd_out);
	emu_qp_assess(qp);
	qp->peer = conn->passive_qp;
	qp->peer_epoch = conn->passive_epoch;
	if (!conn->by_number)
		emu_qp_tell_peer(w, qp, EMU_EV_CM_READY, 0, 0);
	base->nic->up->established(base->ctx, &peer);
}

/* A refusal: the peer answered with it, or there was no peer to answer. */
static void end_active(struct emu_world *w, struct emu_qp *qp, const struct emu_conn *conn,
		       enum nic_conn_end why)
{
	struct nic *nic = w->qp[emu_qp_index(w, qp)].base.nic;
	struct nic_conn_param refusal = param_of(conn);

	assert(!nic->refusal); /* a refusal lives only during its upcall */
	nic->refusal = why == NIC_END_REJECTED && conn->by_number ? &refusal : NULL;
	emu_qp_end(w, qp, why, EMU_EV_NONE);
	nic->refusal = NULL;
}

static void on_reply(struct emu_world *w, const struct emu_event *event)
{
	struct emu_conn *conn = &EMU_AT(w->fab->conn, event->index);
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	bool waiting = !emu_qp_stale(qp, event) && qp->state == EMU_QP_CONNECTING &&
		       event->qp <= EMU_QPS && w->qp[event->qp].base.nic;

	if (event->index > EMU_CONNS || is_copy(conn, event) || event->packet > NIC_END_COUNT)
		return;
	if (w->fab->trace_on)
		emu_cm_trace_reply(w, conn, event->packet);
	if (waiting && event->packet == 0)
		establish_active(w, qp, conn);
	else if (waiting)
		end_active(w, qp, conn, (enum nic_conn_end)(event->packet - 1));
	else if (event->packet == 0)
		emu_schedule(w, emu_link_answer(w->fab, emu_link_find(w, conn->from, conn->to)),
			     EMU_EV_CM_GONE, conn->passive_qp, conn->passive_epoch, 0, 0);
	conn_free(w, event->index);
}

void emu_cm_ready(struct emu_world *w, struct emu_qp *qp)
{
	qp->state = EMU_QP_CONNECTED;
	emu_qp_assess(qp);
	emu_up_established(w, qp);
}

static void on_ready(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_qp_stale(qp, event) || qp->state != EMU_QP_CONNECTING)
		return;
	emu_trace(w, "%s packet to=" EMU_QP " op=CM_RTU", emu_adapter_name(w, qp->peer_adapter),
		  EMU_QP_OF(w, qp));
	emu_cm_ready(w, qp);
}

static void on_gone(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_qp_stale(qp, event) || qp->state != EMU_QP_CONNECTING)
		return;
	emu_trace(w, "%s packet to=" EMU_QP " op=CM_GONE", emu_adapter_name(w, qp->peer_adapter),
		  EMU_QP_OF(w, qp));
	emu_qp_end(w, qp, NIC_END_ACCEPT_FAILED, EMU_EV_NONE);
}

static void on_timeout(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_qp_stale(qp, event) || qp->state != EMU_QP_CONNECTING)
		return;
	qp->timer = false;
	emu_qp_end(w, qp, NIC_END_TIMED_OUT, EMU_EV_NONE);
}

/* ---- packets that are lost for good ---- */

/* The active side times out: at its deadline, or now if it has none. */
static void lost_answer(struct emu_world *w, const struct emu_conn *conn)
{
	struct emu_qp *qp = emu_qp_at(w, conn->qp);

	if (qp->epoch == conn->epoch && qp->state == EMU_QP_CONNECTING && !qp->timer)
		emu_qp_end(w, qp, NIC_END_TIMED_OUT, EMU_EV_NONE);
}

static void lost_acceptance(struct emu_world *w, uint32_t index, uint32_t epoch)
{
	struct emu_qp *qp = emu_qp_at(w, index);
	struct emu_qp *active = emu_qp_at(w, qp->peer);

	if (!index || qp->epoch != epoch || qp->state != EMU_QP_CONNECTING)
		return;
	if (active->epoch == qp->peer_epoch)
		emu_retry_half_open(w, active);
	emu_qp_end(w, qp, NIC_END_ACCEPT_FAILED, EMU_EV_NONE);
}

void emu_cm_lost(struct emu_world *w, const struct emu_event *event)
{
	struct emu_conn *conn = &EMU_AT(w->fab->conn, event->index);
	enum emu_event_kind kind = emu_event_kind(event);

	if (kind == EMU_EV_CM_READY || kind == EMU_EV_CM_GONE) {
		lost_acceptance(w, event->qp, event->epoch);
		return;
	}
	if (event->index > EMU_CONNS)
		return;
	if (is_copy(conn, event) || (kind == EMU_EV_CM_REQUEST && conn->arrived))
		return;
	lost_answer(w, conn);
	lost_acceptance(w, conn->passive_qp, conn->passive_epoch);
	conn_free(w, event->index);
}

void emu_cm_turn_down(struct emu_world *w, uint32_t index)
{
	emu_cm_reply(w, index, NIC_END_NO_LISTENER + 1u);
}

void emu_cm_clean_up(struct emu_world *w, uint16_t process)
{
	struct emu_fabric *fab = w->fab;

	for (uint32_t i = 1; i <= EMU_HIGH(fab, listeners, listener); i++)
		if (fab->listener[i].head.live &&
		    EMU_AT(fab->adapters, fab->listener[i].adapter).process == process)
			close_listener(w, i);
	for (uint32_t i = 1; i <= EMU_HIGH(fab, conns, conn); i++) {
		const struct emu_conn *conn = &fab->conn[i];

		/* A request that has not arrived, or is answered, is in flight as an event. */
		if (conn->head.live && conn->arrived && !conn->answered &&
		    EMU_AT(fab->adapters, conn->to).process == process)
			emu_cm_turn_down(w, i);
	}
}

void emu_cm_event(struct emu_world *w, const struct emu_event *event)
{
	switch (emu_event_kind(event)) {
	case EMU_EV_CM_REQUEST:
		on_request(w, event);
		break;
	case EMU_EV_CM_REPLY:
		on_reply(w, event);
		break;
	case EMU_EV_CM_READY:
		on_ready(w, event);
		break;
	case EMU_EV_CM_GONE:
		on_gone(w, event);
		break;
	case EMU_EV_CM_TIMEOUT:
		on_timeout(w, event);
		break;
	default:
		EMU_SURE(w, false);
	}
}
