/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_wire.c - <dat/sim.h>: latency and bandwidth of links, and holding packets on them. */
#include "lib/api.h"
#include "lib/ep/ep.h"
#include "host/knob.h"
#include "sim.h"

DAT_RETURN dat_sim_set_link(DAT_SIM_HANDLE sim, const char *from, const char *to,
			    DAT_UINT64 latency_ns, DAT_UINT64 bandwidth_bps)
{
	struct backend *b;
	struct nic *nic;
	DAT_RETURN ret;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (!from)
		ret = BAD_ARG(2);
	else if (!to)
		ret = BAD_ARG(3);
	else if (!knob_in_range(latency_ns, bandwidth_bps))
		ret = BAD_ARG(4);
	else
		ret = sim_result(nic->ops->sim_set_link(nic, from, to, latency_ns, bandwidth_bps),
				 2);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_hold_link(DAT_SIM_HANDLE sim, const char *from, const char *to,
			     DAT_COUNT packets)
{
	struct backend *b;
	struct nic *nic;
	DAT_RETURN ret;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (!from)
		ret = BAD_ARG(2);
	else if (!to)
		ret = BAD_ARG(3);
	else if (packets < 0)
		ret = BAD_ARG(4);
	else
		ret = sim_result(nic->ops->sim_hold_link(nic, from, to, (uint32_t)packets), 2);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_release_link(DAT_SIM_HANDLE sim, const char *from, const char *to)
{
	struct backend *b;
	struct nic *nic;
	DAT_RETURN ret;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (!from)
		ret = BAD_ARG(2);
	else if (!to)
		ret = BAD_ARG(3);
	else
		ret = sim_result(nic->ops->sim_release_link(nic, from, to), 2);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_hold_message(DAT_EP_HANDLE handle, DAT_COUNT message, DAT_COUNT packets)
{
	struct backend *b;
	struct obj *obj = sim_enter_object(handle, DAT_HANDLE_TYPE_EP, &b);
	struct ep *ep = obj_as(struct ep, obj);
	DAT_RETURN ret;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (message < 1)
		ret = BAD_ARG(2);
	else if (packets < 0)
		ret = BAD_ARG(3);
	else
		ret = sim_result(obj_nic(obj)->ops->sim_hold_message(ep->nic, (uint64_t)message,
								     (uint32_t)packets),
				 2);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_release_message(DAT_EP_HANDLE handle, DAT_COUNT message)
{
	struct backend *b;
	struct obj *obj = sim_enter_object(handle, DAT_HANDLE_TYPE_EP, &b);
	struct ep *ep = obj_as(struct ep, obj);
	DAT_RETURN ret;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (message < 1)
		ret = BAD_ARG(2);
	else
		ret = sim_result(obj_nic(obj)->ops->sim_release_message(ep->nic, (uint64_t)message),
				 2);
	backend_leave(b);
	return ret;
}
