/* SPDX-License-Identifier: BSD-3-Clause */
/* A private fabric as a backend of lib, and opening adapters on any fabric. */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "adapter.h"
#include "config.h"
#include "emu/guard.h"
#include "emu/wire/link.h"
#include "emu/wire/links.h"
#include "queue.h"
#include "sharing.h"
#include "spare.h"
#include "trace.h"

#define EMU_LISTED 2u /* adapters that are listed without being open */

#define EMU_CAPS                                                                                \
	(NIC_CAP_SRQ | NIC_CAP_SRQ_RESIZE | NIC_CAP_SRQ_LIMIT | NIC_CAP_SRQ_COUNT |             \
	 NIC_CAP_TAKEN_LIMIT | NIC_CAP_MW | NIC_CAP_CQ_RESIZE | NIC_CAP_HANDOFF | NIC_CAP_SIM | \
	 NIC_CAP_PACKET_RULES | NIC_CAP_SRQ_ANY_PD | NIC_CAP_NUMBERS)

void emu_nic_init(struct emu_world *w, uint16_t adapter, const struct nic_upcalls *up, void *ctx)
{
	if (adapter > w->nic_high)
		w->nic_high = adapter;
	w->nics[adapter] = (struct emu_nic){
		.base = {
			.ops = &emu_ops,
			.up = up,
			.ctx = ctx,
			.caps = EMU_CAPS,
			.poll_quantum_ns = w->config.poll_quantum_ns,
			.tracing = w->fab->trace_on,
		},
		.world = w,
		.adapter = adapter,
	};
	if (emu_is_shared(w))
		w->sharing->open_nic(w, &w->nics[adapter].base);
}

int emu_world_create(const struct nic_config *config, struct nic_world **world)
{
	struct emu_world *w;
	int err = -ENOMEM;

	w = emu_world_map();
	if (!w)
		goto fail;
	emu_configure(w, config);
	emu_links_begin(w);
	emu_fifo_open(&w->fifo);
	/* Entry 0 means none. quick.c looks at it without asking, and finds nothing that fits. */
	w->qp[0].entry = w->fab->qp;
	w->cq[0].entry = w->fab->cq;
	w->fab->mem_epoch = EMU_FIRST;
	err = emu_trace_open(w, config->trace_file);
	if (err)
		goto unmap_world;
	w->fab->trace_on = config->trace;
	emu_nic_init(w, 0, NULL, NULL);
	*world = (struct nic_world *)w;
	return 0;

unmap_world:
	emu_world_unmap(w);
fail:
	return err;
}

void emu_world_destroy(struct emu_world *w)
{
	for (uint32_t i = 1; i <= emu_adapter_high(w->fab); i++)
		assert(!w->fab->adapters[i].open);
	if (w->guarded)
		emu_guard_end();
	emu_trace_close(w);
	emu_world_unmap(w);
}

bool emu_adapter_listed(unsigned int i, char *name, size_t size)
{
	if (i >= EMU_LISTED)
		return false;
	snprintf(name, size, "emu%u", i);
	return true;
}

int emu_adapter_open(struct nic_world *world, const char *name, const struct nic_upcalls *up,
		     void *ctx, struct nic **nic)
{
	struct emu_world *w = (struct emu_world *)world;
	struct emu_adapter *adapter;
	uint16_t index;
	int err = emu_adapter_number(w, name, &index);

	if (err)
		return err;
	adapter = &w->fab->adapters[index];
	if (adapter->open || !emu_back(w, adapter, sizeof(*adapter)))
		return -ENOMEM;
	if (index > w->fab->adapter_high)
		w->fab->adapter_high = index;
	/* Field by field: a process that is killed in here must not take the generation back. */
	__atomic_store_n(&adapter->generation, adapter->generation + 1, __ATOMIC_RELAXED);
	adapter->dead = false;
	adapter->process = w->process;
	adapter->qps = adapter->cqs = adapter->srqs = 0;
	adapter->mrs = adapter->mws = adapter->pds = adapter->listeners = adapter->front_mrs = 0;
	if (emu_is_shared(w))
		w->sharing->name_adapter(w, name, adapter->name, sizeof(adapter->name));
	else
		snprintf(adapter->name, sizeof(adapter->name), "%s", name);
	adapter->open = true;
	emu_nic_init(w, index, up, ctx);
	memcpy(w->nics[index].base.label, adapter->name, sizeof(adapter->name) - 1);
	emu_trace_adapter(w, index);
	*nic = &w->nics[index].base;
	return 0;
}

void emu_adapter_close(struct nic *nic)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_adapter *adapter = &w->fab->adapters[emu_nic(nic)->adapter];

	EMU_SURE(w, adapter->qps == 0 && adapter->cqs == 0 && adapter->srqs == 0 &&
			    adapter->mrs == 0 && adapter->mws == 0 && adapter->pds == 0 &&
			    adapter->listeners == 0 && adapter->front_mrs == 0);
	emu_trace_adapter(w, emu_nic(nic)->adapter);
	emu_link_forget(w, emu_nic(nic)->adapter);
	adapter->open = false;
	adapter->process = 0;
	if (emu_is_shared(w))
		nic->up = NULL;
}

void emu_adapter_query(struct nic *nic, struct nic_attr *attr)
{
	*attr = (struct nic_attr){
		.hw_major = 1,
		.fw_major = 1,
		.max_qp = (int)emu_qps_most(emu_world_of(nic)),
		.max_qp_wr = EMU_MAX_QP_WR,
		.max_sge = EMU_MAX_SGE,
		.max_sge_rd = EMU_MAX_SGE,
		.max_rd_atomic_in = EMU_MAX_RD,
		.max_rd_atomic_out = EMU_MAX_RD,
		.max_cq = EMU_MAX_CQ,
		.max_cqe = EMU_MAX_CQE,
		.max_srq = EMU_MAX_SRQ,
		.max_srq_wr = EMU_MAX_SRQ_WR,
		.max_qp_per_srq = (int)emu_qps_most(emu_world_of(nic)),
		.max_mr = EMU_MAX_MR,
		.max_mw = EMU_MAX_MW,
		.max_pd = EMU_MAX_PD,
		.max_listener = EMU_MAX_LISTENER,
		.max_mr_size = EMU_MAX_MR_SIZE,
		.max_msg_size = EMU_MAX_MSG,
		.max_private_data = EMU_PRIVATE_DATA,
		.number = emu_nic(nic)->adapter,
		.mtu = emu_world_of(nic)->config.mtu,
	};
	snprintf(attr->vendor, sizeof(attr->vendor), "libdat emulator");
	emu_adapter_address(emu_world_of(nic), emu_nic(nic)->adapter, &attr->addr);
}
