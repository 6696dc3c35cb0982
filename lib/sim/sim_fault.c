/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_fault.c - <dat/sim.h>: add, count and clear faults. Here they are only translated to the
 * door's terms; the backend and the decorator of faults carry them out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/api.h"
#include "lib/ep/ep.h"
#include "fault_call.h"
#include "host/fault_door.h"
#include "sim.h"

#define SAME(dat, nic) _Static_assert((int)(dat) == (int)(nic), "sim.h numbers as nic.h does")

SAME(DAT_SIM_PACKET_SEND, NIC_PACKET_SEND);
SAME(DAT_SIM_PACKET_WRITE, NIC_PACKET_WRITE);
SAME(DAT_SIM_PACKET_READ_REQUEST, NIC_PACKET_READ_REQUEST);
SAME(DAT_SIM_PACKET_READ_RESPONSE, NIC_PACKET_READ_RESPONSE);
SAME(DAT_SIM_PACKET_ACK, NIC_PACKET_ACK);
SAME(DAT_SIM_PACKET_NAK, NIC_PACKET_NAK);
SAME(DAT_SIM_PACKET_RNR_NAK, NIC_PACKET_RNR_NAK);
SAME(DAT_SIM_PACKET_CM, NIC_PACKET_CM);
SAME(DAT_SIM_PACKET_DISCONNECT, NIC_PACKET_DISCONNECT);
SAME(DAT_SIM_PART_FIRST, NIC_PART_FIRST);
SAME(DAT_SIM_PART_LAST, NIC_PART_LAST);
SAME(DAT_SIM_PASS, NIC_FAULT_PASS);
SAME(DAT_SIM_DROP, NIC_FAULT_DROP);
SAME(DAT_SIM_CORRUPT, NIC_FAULT_CORRUPT);
SAME(DAT_SIM_DELAY, NIC_FAULT_DELAY);
SAME(DAT_SIM_REORDER, NIC_FAULT_REORDER);
SAME(DAT_SIM_DUPLICATE, NIC_FAULT_DUPLICATE);
SAME(DAT_SIM_RNR, NIC_FAULT_RNR);
SAME(DAT_SIM_NAK, NIC_FAULT_NAK);
SAME(DAT_SIM_LINK_DOWN, NIC_FAULT_LINK_DOWN);
SAME(DAT_SIM_LINK_UP, NIC_FAULT_LINK_UP);
SAME(DAT_SIM_HOST_DEAD, NIC_FAULT_HOST_DEAD);
SAME(DAT_SIM_NAK_SEQUENCE, NIC_NAK_SEQUENCE);
SAME(DAT_SIM_NAK_INVALID_REQUEST, NIC_NAK_INVALID_REQUEST);
SAME(DAT_SIM_NAK_REMOTE_ACCESS, NIC_NAK_REMOTE_ACCESS);
SAME(DAT_SIM_NAK_REMOTE_OPERATION, NIC_NAK_REMOTE_OPERATION);
SAME(DAT_SIM_NAK_RESERVED, NIC_NAK_RESERVED);

/* One end of a link: an adapter by name, an Endpoint, or both if they agree. */
static bool fault_end(struct backend *b, const char *name, DAT_EP_HANDLE handle,
		      char to[NIC_ADAPTER_NAME], uint32_t *qp)
{
	size_t length = name ? strnlen(name, NIC_ADAPTER_NAME) : 0;
	struct obj *obj;

	if (length >= NIC_ADAPTER_NAME)
		return false;
	if (length)
		memcpy(to, name, length);
	to[length] = '\0';
	*qp = 0;
	if (handle == DAT_HANDLE_NULL)
		return true;
	obj = obj_find(b, handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return false;
	if (name && strcmp(name, obj->nic->label) != 0)
		return false;
	*qp = obj->id;
	return snprintf(to, NIC_ADAPTER_NAME, "%s", obj->ia->adapter->base.name) < NIC_ADAPTER_NAME;
}

static bool fault_packet_rule(struct backend *b, const DAT_SIM_FAULT *fault,
			      struct nic_packet_rule *rule)
{
	*rule = (struct nic_packet_rule){
		.packets = fault->packets,
		.part = (uint32_t)fault->part,
		.since_ns = fault->since_ns,
		.until_ns = fault->until_ns,
		.after = fault->after,
		.nth = fault->nth,
		.every = fault->every,
		.probability = fault->probability,
		.fault = (uint32_t)fault->verdict,
		.nak = (uint32_t)fault->nak,
		.delay_ns = fault->delay_ns,
		.jitter_ns = fault->jitter_ns,
		.times = fault->times,
	};
	return fault_end(b, fault->from, fault->from_ep, rule->from, &rule->from_qp) &&
	       fault_end(b, fault->to, fault->to_ep, rule->to, &rule->to_qp);
}

DAT_RETURN dat_sim_fault_add(DAT_SIM_HANDLE sim, const DAT_SIM_FAULT *fault, DAT_COUNT *id)
{
	struct nic_packet_rule rule;
	struct backend *b;
	struct nic *nic;
	uint32_t number;
	DAT_RETURN ret;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (!fault || !fault_packet_rule(b, fault, &rule))
		ret = BAD_ARG(2);
	else if (!id)
		ret = BAD_ARG(3);
	else
		ret = sim_result(nic->ops->packet_rule_add(nic, &rule, &number), 2);
	if (ret == DAT_SUCCESS)
		*id = (DAT_COUNT)number;
	backend_leave(b);
	return ret;
}

/*
 * The adapter, and the QP if an EP is given. A fault of an allocation names the adapter only,
 * because the EP does not exist yet.
 */
static bool fault_place(struct backend *b, const DAT_SIM_CALL_FAULT *fault,
			struct nic_fault_rule *rule)
{
	return fault_end(b, fault->adapter, fault->ep, rule->adapter, &rule->qp);
}

DAT_RETURN dat_sim_call_fault_add(DAT_SIM_HANDLE sim, const DAT_SIM_CALL_FAULT *fault,
				  DAT_COUNT *id)
{
	struct nic_fault_rule rule;
	struct nic_faults *faults;
	struct backend *b;
	uint32_t number;
	DAT_RETURN ret;

	if (!sim_enter_any(sim, &b))
		return BAD_SIM;
	if (b->shared) { /* calls of other processes cannot be made to fail from here */
		ret = DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	} else if (!fault || !fault_call_rule(fault, &rule) || !fault_place(b, fault, &rule)) {
		ret = BAD_ARG(2);
	} else if (!id) {
		ret = BAD_ARG(3);
	} else {
		faults = fault_door(b);
		ret = sim_result(faults ? nic_fault_add(faults, &rule, &number) : -ENOMEM, 2);
	}
	if (ret == DAT_SUCCESS)
		*id = (DAT_COUNT)number;
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_fault_fired(DAT_SIM_HANDLE sim, DAT_COUNT id, DAT_UINT64 *fired)
{
	struct backend *b;
	uint64_t count;
	DAT_RETURN ret;

	if (!sim_enter_any(sim, &b))
		return BAD_SIM;
	if (id < 1)
		ret = BAD_ARG(2);
	else if (!fired)
		ret = BAD_ARG(3);
	else
		ret = sim_result(faults_fired(b, (uint32_t)id, &count), 2);
	if (ret == DAT_SUCCESS)
		*fired = count;
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_fault_clear(DAT_SIM_HANDLE sim)
{
	struct backend *b;
	struct nic *nic;

	nic = sim_enter_any(sim, &b);
	if (!nic)
		return BAD_SIM;
	fault_text_end(b);
	nic->ops->packet_rules_clear(nic);
	if (b->fault)
		nic_fault_clear(b->fault);
	backend_leave(b);
	return DAT_SUCCESS;
}
