/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_call.c - the tables that translate a fault of <dat/sim.h> (a call and its error, an event,
 * a completion and its status) to the door's terms.
 */
#include <errno.h>
#include <string.h>

#include "lib/cause.h"
#include "fault_call.h"

#define SAME(dat, nic) _Static_assert((int)(dat) == (int)(nic), "sim.h numbers as nic_fault.h does")

SAME(DAT_SIM_CALL_PASS, NIC_SPOIL_PASS);
SAME(DAT_SIM_CALL_FAIL, NIC_SPOIL_FAIL);
SAME(DAT_SIM_COMPLETE_AS, NIC_SPOIL_STATUS);
SAME(DAT_SIM_OVERFLOW, NIC_SPOIL_OVERFLOW);
SAME(DAT_SIM_EVENT_LOSE, NIC_SPOIL_LOSE);
SAME(DAT_SIM_EVENT_DELAY, NIC_SPOIL_DELAY);
SAME(DAT_SIM_ADAPTER_FATAL, NIC_SPOIL_FATAL);
SAME(DAT_SIM_ADAPTER_REMOVE, NIC_SPOIL_REMOVE);
SAME(DAT_SIM_PORT_DOWN, NIC_SPOIL_DOWN);
SAME(DAT_SIM_PROCESS_KILL, NIC_SPOIL_KILL);
SAME(DAT_SIM_NOTIFICATION, FAULT_TEXT_NOTIFICATION);
SAME(DAT_SIM_ANY_EVENT, FAULT_TEXT_ANY_EVENT);
SAME(DAT_SIM_COMPLETION_SEND, NIC_EVENT_WC << NIC_OP_SEND);
SAME(DAT_SIM_COMPLETION_WRITE, NIC_EVENT_WC << NIC_OP_WRITE);
SAME(DAT_SIM_COMPLETION_READ, NIC_EVENT_WC << NIC_OP_READ);
SAME(DAT_SIM_COMPLETION_BIND, NIC_EVENT_WC << NIC_OP_BIND);
SAME(DAT_SIM_COMPLETION_RECV, NIC_EVENT_WC << NIC_OP_RECV);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- calls ---- */

/*
 * For each call: the entries of the door it uses, the errno for lack of resources (`full`), and one
 * more error that the door can cause. Every call can also meet a failed adapter (-EIO).
 */
static const struct {
	const char *call;
	uint32_t entries;
	int full;
	uint32_t error; /* a DAT_RETURN_TYPE; 0: none */
	int err;
} calls[] = {
	{ "alloc", NIC_ENTRY_MAKERS, -ENOMEM, 0, 0 },
	{ "post", NIC_ENTRY_POSTS, -EAGAIN, 0, 0 },
	{ "dat_pz_create", NIC_ENTRY_PD_ALLOC, -ENOMEM, 0, 0 },
	{ "dat_lmr_create", NIC_ENTRY_MR_REG, -ENOMEM, 0, 0 },
	{ "dat_rmr_create", NIC_ENTRY_MW_ALLOC, -ENOMEM, 0, 0 },
	{ "dat_rmr_bind", NIC_ENTRY_POST_BIND, -EAGAIN, 0, 0 },
	{ "dat_evd_create", NIC_ENTRY_CQ_CREATE, -ENOMEM, 0, 0 },
	{ "dat_evd_resize", NIC_ENTRY_CQ_RESIZE, -ENOMEM, 0, 0 },
	{ "dat_srq_create", NIC_ENTRY_SRQ_CREATE, -ENOMEM, 0, 0 },
	{ "dat_srq_resize", NIC_ENTRY_SRQ_RESIZE, -ENOMEM, 0, 0 },
	{ "dat_srq_set_lw", NIC_ENTRY_SRQ_LIMIT, -ENOMEM, 0, 0 },
	{ "dat_srq_post_recv", NIC_ENTRY_SRQ_POST, -EAGAIN, 0, 0 },
	{ "dat_ep_create", NIC_ENTRY_QP_CREATE, -ENOMEM, 0, 0 },
	{ "dat_ep_create_with_srq", NIC_ENTRY_QP_CREATE, -ENOMEM, 0, 0 },
	{ "dat_ep_modify", NIC_ENTRY_QP_MODIFY, -ENOMEM, 0, 0 },
	{ "dat_ep_connect", NIC_ENTRY_CONNECT, -ENOMEM, DAT_INVALID_ADDRESS, -EADDRNOTAVAIL },
	{ "dat_ep_dup_connect", NIC_ENTRY_CONNECT, -ENOMEM, 0, 0 },
	{ "dat_ep_post_send", NIC_ENTRY_POST_SEND, -EAGAIN, 0, 0 },
	{ "dat_ep_post_recv", NIC_ENTRY_POST_RECV, -EAGAIN, 0, 0 },
	{ "dat_ep_post_rdma_read", NIC_ENTRY_POST_READ, -EAGAIN, 0, 0 },
	{ "dat_ep_post_rdma_write", NIC_ENTRY_POST_WRITE, -EAGAIN, 0, 0 },
	{ "dat_psp_create", NIC_ENTRY_LISTEN, -ENOMEM, DAT_CONN_QUAL_IN_USE, -EADDRINUSE },
	{ "dat_psp_create_any", NIC_ENTRY_LISTEN_ANY, -ENOMEM, DAT_CONN_QUAL_UNAVAILABLE,
	  -EADDRNOTAVAIL },
	{ "dat_rsp_create", NIC_ENTRY_LISTEN, -ENOMEM, DAT_CONN_QUAL_IN_USE, -EADDRINUSE },
	{ "dat_cr_accept", NIC_ENTRY_ACCEPT, -ENOMEM, 0, 0 },
	{ "dat_cr_handoff", NIC_ENTRY_HANDOFF, -ENOMEM, DAT_INVALID_PARAMETER, -ENOENT },
};

static size_t fault_call_find(const char *call)
{
	size_t i = 0;

	while (i < COUNT(calls) && strcmp(calls[i].call, call) != 0)
		i++;
	return i;
}

bool fault_call_entries(const char *call, uint32_t *entries)
{
	size_t i = fault_call_find(call);

	if (i == COUNT(calls))
		return false;
	*entries = calls[i].entries;
	return true;
}

int fault_call_errno(const char *call, DAT_RETURN error)
{
	uint32_t type = DAT_GET_TYPE(error);
	size_t i = fault_call_find(call);

	if (i == COUNT(calls) || DAT_GET_SUBTYPE(error) != 0)
		return 0;
	if (type == DAT_INSUFFICIENT_RESOURCES || error == 0)
		return calls[i].full;
	if (type == DAT_INTERNAL_ERROR && calls[i].entries != NIC_ENTRY_MAKERS)
		return -EIO;
	return type == calls[i].error ? calls[i].err : 0;
}

/* ---- events ---- */

uint32_t fault_event_bits(DAT_EVENT_NUMBER event)
{
	switch ((int)event) {
	case (int)DAT_SIM_ANY_EVENT:
		return NIC_EVENT_UPCALLS & ~(uint32_t)NIC_EVENT_NOTIFY;
	case (int)DAT_SIM_NOTIFICATION:
		return NIC_EVENT_NOTIFY;
	case DAT_CONNECTION_REQUEST_EVENT:
		return NIC_EVENT_CONN_REQUEST;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return NIC_EVENT_ESTABLISHED;
	case DAT_ASYNC_SRQ_LOW_WATERMARK:
		return NIC_EVENT_SRQ_LIMIT;
	case DAT_ASYNC_EP_SOFT_HIGH_WATERMARK:
		return NIC_EVENT_SOFT_LIMIT;
	default:
		break;
	}
	for (int i = 0; i < NIC_END_COUNT; i++)
		if (cause_ends[i].event == event)
			return (uint32_t)NIC_EVENT_END << i;
	return 0;
}

/*
 * True if these completions can have the status. A bind fails or is flushed; its other statuses are
 * a DTO's.
 */
static bool fault_status_fits(uint32_t completions, DAT_DTO_COMPLETION_STATUS status)
{
	if ((unsigned int)status >= NIC_WC_DAT_COUNT || status == DAT_DTO_SUCCESS)
		return false;
	if (completions & DAT_SIM_COMPLETION_BIND)
		return completions == DAT_SIM_COMPLETION_BIND &&
		       (status == DAT_RMR_OPERATION_FAILED || status == DAT_DTO_ERR_FLUSHED);
	return status != DAT_RMR_OPERATION_FAILED;
}

static bool fault_events(const DAT_SIM_CALL_FAULT *fault, struct nic_fault_rule *rule)
{
	uint32_t completions = fault->completions;

	if (completions & ~(uint32_t)NIC_EVENT_WC_DAT)
		return false;
	if (!completions && !fault->event && !fault->call)
		completions = NIC_EVENT_WC_DAT & ~(uint32_t)DAT_SIM_COMPLETION_BIND;
	if (fault->verdict == DAT_SIM_COMPLETE_AS && !fault_status_fits(completions, fault->status))
		return false;
	rule->events = completions;
	if (fault->event) {
		uint32_t bits = fault_event_bits(fault->event);

		rule->events |= bits;
		return bits != 0;
	}
	return true;
}

/* The decorator checks what each verdict requires; this function translates terms. */
bool fault_call_rule(const DAT_SIM_CALL_FAULT *fault, struct nic_fault_rule *rule)
{
	*rule = (struct nic_fault_rule){
		.spoil = (uint32_t)fault->verdict,
		.since_ns = fault->since_ns,
		.until_ns = fault->until_ns,
		.after = fault->after,
		.nth = fault->nth,
		.every = fault->every,
		.probability = fault->probability,
		.times = fault->times,
		.delay_ns = fault->delay_ns,
	};
	if (fault->call && !fault_call_entries(fault->call, &rule->entries))
		return false;
	if (fault->verdict == DAT_SIM_CALL_FAIL) {
		rule->error = fault->call ? fault_call_errno(fault->call, fault->error) : 0;
		return rule->error != 0 && !fault->completions && !fault->event;
	}
	if (fault->error || (fault->status && fault->verdict != DAT_SIM_COMPLETE_AS))
		return false;
	if (fault->verdict == DAT_SIM_COMPLETE_AS)
		rule->status = (uint32_t)fault->status;
	if (fault->verdict >= DAT_SIM_ADAPTER_FATAL)
		return !fault->completions && !fault->event;
	return fault_events(fault, rule);
}

bool fault_call_text_rule(const struct fault_text_rule *text, struct nic_fault_rule *rule)
{
	const struct nic_packet_rule *p = &text->packet;
	DAT_SIM_CALL_FAULT fault = {
		.verdict = (DAT_SIM_CALL_VERDICT)text->spoil,
		.call = text->call[0] ? text->call : NULL,
		.error = (DAT_RETURN)text->error,
		.completions = text->completions,
		.status = (DAT_DTO_COMPLETION_STATUS)text->status,
		.event = (DAT_EVENT_NUMBER)text->event,
		.since_ns = p->since_ns,
		.until_ns = p->until_ns,
		.after = p->after,
		.nth = p->nth,
		.every = p->every,
		.probability = p->probability,
		.delay_ns = p->delay_ns,
		.times = p->times,
	};

	return text->api == FAULT_TEXT_DAT && fault_call_rule(&fault, rule);
}
