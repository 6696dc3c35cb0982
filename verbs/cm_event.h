/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm_event.h - events of librdmacm that libibverbs knows, because they come from the NIC. They are
 * numbered as enum rdma_cm_event_type, whose header is librdmacm's; cm/event.c compares them.
 */
#ifndef VERBS_CM_EVENT_H
#define VERBS_CM_EVENT_H

enum vb_cm_event {
	VB_CM_NONE, /* ADDR_RESOLVED, which does not come from there */
	VB_CM_ADDR_ERROR,
	VB_CM_ROUTE_ERROR = 3,
	VB_CM_CONNECT_REQUEST,
	VB_CM_CONNECT_RESPONSE,
	VB_CM_UNREACHABLE = 7,
	VB_CM_REJECTED,
	VB_CM_ESTABLISHED,
	VB_CM_DISCONNECTED,
	VB_CM_TIMEWAIT_EXIT = 15
};

#endif /* VERBS_CM_EVENT_H */
