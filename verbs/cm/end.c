/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * end.c - disconnecting, and the time that a queue pair of InfiniBand waits after that.
 *
 * A side is in timewait once it has both disconnected and heard of the end, in either order. When
 * that time is over, RDMA_CM_EVENT_TIMEWAIT_EXIT comes. RNICs have no such time.
 */
#include "cm.h"
#include "verbs/cm_event.h"
#include "verbs/wait.h"

#define LAST_MESSAGE_NS 100000 /* a device takes longer to move a queue pair to ERR */

#define NS_PER_MS 1000000ul
#define MS_CODE   8 /* 4.096 us times two to this power is about one millisecond */

/*
 * As Linux has it: a packet's life there and back, and the answerer's delay, as powers of two. Of
 * two that differ by more than one step, the greater is the sum.
 */
static uint64_t timewait_ns(const struct cm_id *id)
{
	struct ibv_device_attr device;
	int there_and_back = id->ack_timeout ? id->ack_timeout : CM_PACKET_LIFE + 1;
	int delay, code;

	vb_device_attr(id->base.verbs, &device);
	delay = device.local_ca_ack_delay;
	code = there_and_back > delay ? there_and_back : delay;
	if (there_and_back - delay <= 1 && delay - there_and_back <= 1)
		code++;
	return NS_PER_MS << (code > MS_CODE ? code - MS_CODE : 0);
}

void cm_timewait_begin(struct cm_id *id)
{
	id->over = true;
	if (!id->disconnects || !id->nic || cm_is_rnic(id))
		return;
	/* Without memory there is no event: as a kernel's. */
	id->waits = id->nic->nic->ops->qp_alarm(id->nic, timewait_ns(id)) == 0;
}

uint32_t cm_alarm_event(const struct vb_obj *obj)
{
	const struct cm_id *id = nic_container_of(obj, struct cm_id, obj);

	if (cm_is_removed(id))
		return VB_CM_NONE;
	if (id->state == CM_RESOLVING)
		return VB_CM_ADDR_ERROR;
	if (id->state == CM_ROUTING)
		return VB_CM_ROUTE_ERROR;
	return id->waits ? VB_CM_TIMEWAIT_EXIT : VB_CM_NONE;
}

void cm_on_alarm(struct vb_obj *obj)
{
	struct cm_id *id = nic_container_of(obj, struct cm_id, obj);
	uint32_t event = cm_alarm_event(obj);

	if (event == VB_CM_TIMEWAIT_EXIT) {
		id->waits = false;
		cm_event_add(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	} else if (event != VB_CM_NONE) {
		cm_resolve_end(id, -ETIMEDOUT);
	}
}

/*
 * As on Linux, an id can be disconnected before it has a connection: once it has sent or received a
 * request, or while it listens at an InfiniBand device.
 */
static bool has_begun(const struct cm_id *id)
{
	if (id->state == CM_LISTENING)
		return id->device && !cm_is_rnic(id);
	return id->state >= CM_CONNECTING && id->state != CM_GONE;
}

static bool has_connection(const struct cm_id *id)
{
	return id->state > CM_CONNECTING && id->state != CM_REQUESTED && id->state != CM_GONE &&
	       !cm_is_datagram(id);
}

/* The lock is held. */
static int begin_disconnect(struct cm_id *id)
{
	struct nic *nic = vb_context_of(id->base.verbs)->nic;
	int err = cm_fault(id, VB_CALL_DISCONNECT);

	if (err)
		return err;
	nic->ops->now(nic); /* brings the clock up to date, and runs events */
	if (!has_connection(id) || id->disconnects)
		return 0;
	id->disconnects = true;
	if (id->over)
		cm_timewait_begin(id);
	/* Programs post a last message and disconnect: it arrives, as with any device. */
	if (id->base.qp)
		vb_qp_let_arrive(VB_OF(id->base.qp, qp), LAST_MESSAGE_NS);
	return 0;
}

/* The lock is held. The program's queue pair is in ERR by now. */
static int end_connection(struct cm_id *id)
{
	if (!has_begun(id)) {
		cm_trace_refusal(id, "rdma_disconnect", -EINVAL);
		return -EINVAL;
	}
	cm_trace(id, "rdma_disconnect");
	if (id->nic && has_connection(id))
		id->nic->nic->ops->disconnect(id->nic, true);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *base)
{
	struct cm_id *id = cm_id_of(base);
	bool heard;
	int err = 0;

	cm_enter();
	if (has_begun(id))
		err = begin_disconnect(id);
	cm_trace_refusal(id, "rdma_disconnect", err);
	cm_leave();
	if (err)
		return cm_fail(err);
	cm_qp_error(id); /* even if the rest fails: programs may want its requests flushed */
	cm_enter();
	err = end_connection(id);
	heard = has_connection(id) && !TAILQ_EMPTY(&cm_channel_of(id)->events);
	cm_leave();
	if (err)
		return cm_fail(err);
	/* A second call has nothing to wait for. */
	return id->sync && heard ? cm_complete(id) : 0;
}
