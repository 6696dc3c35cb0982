/* SPDX-License-Identifier: BSD-3-Clause */
/* The table behind the door, and the entries too small for a file of their own. */
#include <errno.h>
#include <stdio.h>

#include "clock.h"
#include "cm.h"
#include "cq.h"
#include "direct.h"
#include "link.h"
#include "mem.h"
#include "mw.h"
#include "qp.h"
#include "rules.h"
#include "rx.h"
#include "srq.h"
#include "trace.h"
#include "tx.h"
#include "world.h"

static void close_adapter(struct nic *nic)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(nic)->adapter];

	EMU_SURE(w, adapter->qps == 0 && adapter->cqs == 0 && adapter->srqs == 0 &&
			    adapter->mrs == 0 && adapter->mws == 0 && adapter->pds == 0 &&
			    adapter->listeners == 0);
	emu_link_forget(emu_world_of(nic), emu_nic(nic)->adapter);
	adapter->open = false;
	adapter->process = 0;
	if (w->process)
		nic->up = NULL;
}

static void query_adapter(struct nic *nic, struct nic_attr *attr)
{
	*attr = (struct nic_attr){
		.hw_major = 1,
		.fw_major = 1,
		.max_qp = EMU_MAX_QP,
		.max_qp_wr = EMU_MAX_QP_WR,
		.max_sge = EMU_MAX_SGE,
		.max_sge_rd = EMU_MAX_SGE,
		.max_rd_atomic_in = EMU_MAX_RD,
		.max_rd_atomic_out = EMU_MAX_RD,
		.max_cq = EMU_MAX_CQ,
		.max_cqe = EMU_MAX_CQE,
		.max_srq = EMU_MAX_SRQ,
		.max_srq_wr = EMU_MAX_SRQ_WR,
		.max_qp_per_srq = EMU_MAX_QP,
		.max_mr = EMU_MAX_MR,
		.max_mw = EMU_MAX_MW,
		.max_pd = EMU_MAX_PD,
		.max_listener = EMU_MAX_LISTENER,
		.max_mr_size = EMU_MAX_MR_SIZE,
		.max_msg_size = EMU_MAX_MSG,
		.max_private_data = EMU_PRIVATE_DATA,
	};
	snprintf(attr->vendor, sizeof(attr->vendor), "libdat emulator");
	emu_adapter_address(emu_world_of(nic), emu_nic(nic)->adapter, &attr->addr);
}

/* All but those of every message. */
#define ENTRIES                                                                                    \
	.size = sizeof(struct nic_ops), .close = close_adapter, .query = query_adapter,            \
	.pd_alloc = emu_pd_alloc, .pd_free = emu_pd_free, .mr_reg = emu_mr_reg,                    \
	.mr_dereg = emu_mr_dereg, .mr_windows = emu_mr_windows, .mw_alloc = emu_mw_alloc,          \
	.mw_free = emu_mw_free, .mw_query = emu_mw_query, .cq_create = emu_cq_create,              \
	.cq_resize = emu_cq_resize, .cq_destroy = emu_cq_destroy, .cq_count = emu_cq_count,        \
	.cq_limit = emu_cq_limit, .cq_arm = emu_cq_arm, .srq_create = emu_srq_create,              \
	.srq_resize = emu_srq_resize, .srq_destroy = emu_srq_destroy, .srq_post = emu_srq_post,    \
	.srq_limit = emu_srq_limit, .srq_count = emu_srq_count, .qp_create = emu_qp_create,        \
	.qp_modify = emu_qp_modify, .qp_reset = emu_qp_reset, .qp_destroy = emu_qp_destroy,        \
	.qp_query = emu_qp_query, .qp_taken_limit = emu_qp_taken_limit,                            \
	.qp_break = emu_qp_ask_break, .listen = emu_listen, .unlisten = emu_unlisten,              \
	.connect = emu_connect, .accept = emu_accept, .reject = emu_reject,                        \
	.handoff = emu_handoff, .disconnect = emu_qp_disconnect, .now = emu_now, .wait = emu_wait, \
	.sim_step = emu_step, .sim_pending = emu_pending, .sim_set_link = emu_set_link,            \
	.sim_hold_link = emu_hold_link, .sim_release_link = emu_release_link,                      \
	.sim_hold_message = emu_hold_message, .sim_release_message = emu_release_message,          \
	.sim_trace = emu_trace_switch, .sim_trace_read = emu_trace_read, .trace = emu_trace_vline, \
	.packet_rule_add = emu_rule_add, .packet_rule_fired = emu_rule_fired,                      \
	.packet_rules_clear = emu_rules_clear

const struct nic_ops emu_ops = {
	ENTRIES,
	.cq_poll = emu_cq_poll,
	.cq_spin = emu_cq_spin,
	.post_send = emu_post_send,
	.post_recv = emu_post_recv,
};

const struct nic_ops emu_shared_ops = {
	ENTRIES,
	.cq_poll = emu_direct_poll,
	.cq_spin = emu_direct_spin,
	.post_send = emu_direct_send,
	.post_recv = emu_direct_recv,
};
