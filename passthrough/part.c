/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of connections that have ended here, whose peer has not answered yet. The kernel repeats the
 * message that tells the peer, but only while the id exists: if it is lost, a peer that only
 * receives would never hear of the end. So an id outlives its QP until the peer's answer, or until
 * the kernel has given up.
 */
#include <stdlib.h>

#include "cm.h"

#define PART_NS 70000000000u /* the kernel repeats it 15 times, every 4.3 s */

struct hw_parting {
	struct hw_cm cm;
	struct nic_world *world;
	ev_timer deadline;
	LIST_ENTRY(hw_parting) link;
};

static void part_end(struct hw_parting *parting)
{
	hw_timer_stop(&parting->deadline);
	LIST_REMOVE(parting, link);
	hw_cm_drop(&parting->cm);
	free(parting);
}

static void part_on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	part_end(nic_container_of(timer, struct hw_parting, deadline));
}

bool hw_part(struct hw_qp *qp)
{
	struct hw_parting *parting = calloc(1, sizeof(*parting));

	if (!parting)
		return false;
	parting->world = hw_nic(qp->base.nic)->world;
	parting->cm = (struct hw_cm){ .kind = HW_CM_PARTING, .id = qp->cm.id };
	qp->cm.id = NULL;
	parting->cm.id->qp = NULL;
	parting->cm.id->context = &parting->cm;
	LIST_INSERT_HEAD(&parting->world->partings, parting, link);
	ev_timer_init(&parting->deadline, part_on_deadline, 0, 0);
	hw_timer(&parting->deadline, PART_NS, 0);
	return true;
}

void hw_on_parting_event(struct hw_cm *cm, enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		/* Before, there was no connection that the kernel could have ended. */
		rdma_disconnect(cm->id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		part_end(nic_container_of(cm, struct hw_parting, cm));
		break;
	default:
		break;
	}
}

void hw_part_now(struct nic_world *w)
{
	while (!LIST_EMPTY(&w->partings))
		part_end(LIST_FIRST(&w->partings));
}
