/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.c - faults of this API: which calls a rule can make fail, and the translation of rules that
 * are given as text (host/fault_text.h) to the door's terms.
 *
 * Posts fail behind the door, request by request. Every other call asks first of all, by its number
 * here, whether it is to fail.
 */
#include <string.h>

#include "cm_event.h"
#include "vb.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The entries of the door in which a call posts; none: it is one of enum vb_call. */
static const struct {
	const char *name;
	uint32_t entries;
} posts[] = {
	{ "post", NIC_ENTRY_POSTS },
	{ "ibv_post_send",
	  NIC_ENTRY_POST_SEND | NIC_ENTRY_POST_WRITE | NIC_ENTRY_POST_READ | NIC_ENTRY_POST_BIND },
	{ "ibv_post_recv", NIC_ENTRY_POST_RECV },
	{ "ibv_post_srq_recv", NIC_ENTRY_SRQ_POST },
	{ "alloc", NIC_ENTRY_MAKERS },
};

static const char *const calls[] = {
	[VB_CALL_ALLOC_PD] = "ibv_alloc_pd",
	[VB_CALL_REG_MR] = "ibv_reg_mr",
	[VB_CALL_REREG_MR] = "ibv_rereg_mr",
	[VB_CALL_ALLOC_MW] = "ibv_alloc_mw",
	[VB_CALL_BIND_MW] = "ibv_bind_mw",
	[VB_CALL_CREATE_CHANNEL] = "ibv_create_comp_channel",
	[VB_CALL_CREATE_CQ] = "ibv_create_cq",
	[VB_CALL_RESIZE_CQ] = "ibv_resize_cq",
	[VB_CALL_NOTIFY_CQ] = "ibv_req_notify_cq",
	[VB_CALL_CREATE_SRQ] = "ibv_create_srq",
	[VB_CALL_MODIFY_SRQ] = "ibv_modify_srq",
	[VB_CALL_CREATE_QP] = "ibv_create_qp",
	[VB_CALL_MODIFY_QP] = "ibv_modify_qp",
	[VB_CALL_CREATE_AH] = "ibv_create_ah",
	[VB_CALL_ATTACH_MCAST] = "ibv_attach_mcast",
	[VB_CALL_BIND_ADDR] = "rdma_bind_addr",
	[VB_CALL_RESOLVE_ADDR] = "rdma_resolve_addr",
	[VB_CALL_RESOLVE_ROUTE] = "rdma_resolve_route",
	[VB_CALL_CM_CREATE_QP] = "rdma_create_qp",
	[VB_CALL_LISTEN] = "rdma_listen",
	[VB_CALL_CONNECT] = "rdma_connect",
	[VB_CALL_ACCEPT] = "rdma_accept",
	[VB_CALL_REJECT] = "rdma_reject",
	[VB_CALL_DISCONNECT] = "rdma_disconnect",
};
_Static_assert(COUNT(calls) == VB_CALLS, "a name for each call");

int vb_call_error(struct vb_context *context, const struct vb_obj *qp, enum vb_call call)
{
	return nic_fault_call(vb_backend(context)->fault, context->nic, qp, call, calls[call]);
}

/* ---- rules ---- */

static bool set_call(const char *name, struct nic_fault_rule *rule)
{
	for (size_t i = 0; i < COUNT(posts); i++) {
		if (!strcmp(posts[i].name, name)) {
			rule->entries = posts[i].entries;
			return true;
		}
	}
	for (uint32_t i = 1; i < VB_CALLS; i++) {
		if (!strcmp(calls[i], name)) {
			rule->entries = NIC_ENTRY_CALL;
			rule->call = i;
			return true;
		}
	}
	return false;
}

/* What an alarm brings, in the order of its meanings at the door. */
static const enum vb_cm_event alarms[] = { VB_CM_ADDR_ERROR, VB_CM_ROUTE_ERROR,
					   VB_CM_TIMEWAIT_EXIT };
_Static_assert(COUNT(alarms) == NIC_ALARMS, "an event for each");

uint32_t vb_alarm(const void *ctx)
{
	const struct vb_obj *obj = ctx;
	uint32_t i = 0, event = obj->kind == VB_CONN ? vb_cm->alarm_event(obj) : VB_CM_NONE;

	while (i < COUNT(alarms) && alarms[i] != event)
		i++;
	return i;
}

static uint32_t alarm_bits(uint32_t type)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < COUNT(alarms); i++)
		if (alarms[i] == type)
			bits |= (uint32_t)NIC_EVENT_ALARM << i;
	return bits;
}

/* The upcalls that become an event of librdmacm; 0: none. */
static uint32_t cm_event_bits(uint32_t type)
{
	switch (type) {
	case VB_CM_CONNECT_REQUEST:
		return NIC_EVENT_CONN_REQUEST;
	case VB_CM_CONNECT_RESPONSE:
	case VB_CM_ESTABLISHED:
		return NIC_EVENT_ESTABLISHED;
	case VB_CM_REJECTED:
		return (uint32_t)NIC_EVENT_END << NIC_END_REJECTED | (uint32_t)NIC_EVENT_END
									     << NIC_END_NO_LISTENER;
	case VB_CM_UNREACHABLE:
		return (uint32_t)NIC_EVENT_END << NIC_END_UNREACHABLE |
		       (uint32_t)NIC_EVENT_END << NIC_END_TIMED_OUT;
	case VB_CM_DISCONNECTED:
		return (uint32_t)NIC_EVENT_END << NIC_END_DISCONNECTED | (uint32_t)NIC_EVENT_END
										 << NIC_END_BROKEN;
	default:
		return alarm_bits(type);
	}
}

static uint32_t event_bits(const struct fault_text_rule *text)
{
	if (text->event == FAULT_TEXT_NOTIFICATION)
		return NIC_EVENT_NOTIFY;
	if (text->event == FAULT_TEXT_ANY_EVENT)
		return NIC_EVENT_UPCALLS & ~(uint32_t)NIC_EVENT_NOTIFY;
	if (text->api != FAULT_TEXT_VERBS)
		return 0;
	if (text->event == IBV_EVENT_SRQ_LIMIT_REACHED)
		return NIC_EVENT_SRQ_LIMIT;
	return text->event >= FAULT_TEXT_CM_EVENT ? cm_event_bits(text->event - FAULT_TEXT_CM_EVENT)
						  : 0;
}

static bool set_events(const struct fault_text_rule *text, struct nic_fault_rule *rule)
{
	uint32_t events = text->completions;

	if (events & ~(uint32_t)NIC_EVENT_WC_ALL)
		return false;
	if (!events && !text->event && !text->call[0])
		events = NIC_EVENT_WC_ALL & ~((uint32_t)NIC_EVENT_WC << NIC_OP_BIND);
	rule->events = events;
	if (!text->event)
		return true;
	rule->events |= event_bits(text);
	return event_bits(text) != 0;
}

/* Only names of DAT have numbers of DAT's. */
static bool is_of_verbs(const struct fault_text_rule *text)
{
	return text->api == FAULT_TEXT_VERBS || (!text->error && !text->status);
}

/* The error is an errno. What every API has, a full queue or no memory, is ENOMEM here. */
static bool set_error(const struct fault_text_rule *text, struct nic_fault_rule *rule)
{
	if (text->error > 4095) /* no errno */
		return false;
	rule->error = text->error ? -(int32_t)text->error : -ENOMEM;
	return text->call[0] && !text->completions && !text->event;
}

static bool set_status(const struct fault_text_rule *text, struct nic_fault_rule *rule)
{
	if (text->status == IBV_WC_SUCCESS || text->status > NIC_WC_OWN_MOST - NIC_WC_OWN)
		return false;
	rule->status = NIC_WC_OWN + text->status;
	return set_events(text, rule);
}

bool vb_call_fault(const struct fault_text_rule *text, struct nic_fault_rule *rule)
{
	const struct nic_packet_rule *p = &text->packet;

	*rule = (struct nic_fault_rule){
		.spoil = text->spoil,
		.since_ns = p->since_ns,
		.until_ns = p->until_ns,
		.after = p->after,
		.nth = p->nth,
		.every = p->every,
		.probability = p->probability,
		.times = p->times,
		.delay_ns = p->delay_ns,
	};
	if (!is_of_verbs(text) || (text->call[0] && !set_call(text->call, rule)))
		return false;
	switch (text->spoil) {
	case NIC_SPOIL_FAIL:
		return !text->status && set_error(text, rule);
	case NIC_SPOIL_STATUS:
		return !text->error && set_status(text, rule);
	case NIC_SPOIL_FATAL:
	case NIC_SPOIL_REMOVE:
	case NIC_SPOIL_DOWN:
	case NIC_SPOIL_KILL:
		return !text->error && !text->status && !text->completions && !text->event;
	default:
		return !text->error && !text->status && set_events(text, rule);
	}
}
