/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of emu/fabric/sharing.h, as a fabric of several processes fills them in. */
#include "shared.h"

#include <stdio.h>

#include "direct.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/world.h"
#include "hosts.h"
#include "inbox.h"
#include "emu/payload/inline.h"
#include "emu/payload/reach.h"
#include "runner.h"
#include "shared.h"

/*
 * The model's table, except for the calls of every message, which avoid the fabric's lock where
 * they can (direct.h).
 */
static void fill_ops(struct nic_ops *ops)
{
	*ops = emu_ops;
	ops->cq_count = emu_direct_count;
	ops->cq_poll = emu_direct_poll;
	ops->cq_spin = emu_direct_spin;
	ops->post_send = emu_direct_send;
	ops->post_recv = emu_direct_recv;
	ops->srq_post = emu_direct_srq_post;
	/* Only direct.h posts and polls without the fabric's lock. */
	ops->spin_one = nic_unsupported.spin_one;
	ops->spin_one_traced = nic_unsupported.spin_one_traced;
	ops->send_one = nic_unsupported.send_one;
	ops->recv_one = nic_unsupported.recv_one;
}

/*
 * Virtual time follows the monotonic clock from the first adapter on. The arena has the time of the
 * initial time namespace.
 */
static void follow_clock(struct emu_world *w, const struct nic *nic)
{
	struct emu_shared *shared = &w->fab->shared;
	uint64_t offset = w->membership->clock_offset;

	if (!shared->clock_runs)
		shared->mono_base = nic->up->monotonic_ns(nic->ctx) - offset - w->fab->now;
	shared->clock_runs = true;
	w->following = true;
	w->mono_base = shared->mono_base + offset;
}

static void open_nic(struct emu_world *w, struct nic *nic)
{
	if (!nic->up) /* the control nic, which is made first */
		fill_ops(&w->membership->ops);
	nic->ops = &w->membership->ops;
	if (!nic->up)
		return;
	nic->poll_quantum_ns = w->nics[0].base.poll_quantum_ns = 0;
	if (!emu_lockstep(w))
		follow_clock(w, nic);
}

static void name_adapter(struct emu_world *w, const char *name, char *in_fabric, size_t size)
{
	emu_shared_name(w);
	snprintf(in_fabric, size, "%.22s-%.8s", w->membership->node, name);
}

static uint16_t find_host(struct emu_world *w, const struct sockaddr *addr, uint64_t port,
			  uint16_t from)
{
	return emu_hosts_is_here(addr) ? emu_hosts_listener(w, port, from) : 0;
}

static void post_upcall(struct emu_world *w, uint16_t adapter, const struct emu_upcall *up)
{
	emu_inbox_tell(w, emu_process_of(w, adapter), up);
}

static enum nic_wait wait_in_mode(struct emu_world *w, struct nic *nic, uint32_t cq,
				  uint64_t deadline)
{
	if (emu_lockstep(w))
		return emu_lockstep_wait(w, nic, cq, deadline);
	return emu_clock_wait(w, nic, deadline);
}

static bool is_gone(struct emu_world *w, uint16_t process)
{
	return process == 0 || process > EMU_PROCESSES || !emu_shared_alive(w, process);
}

static void note_damage(struct emu_world *w)
{
	emu_process(w, w->process)->overrun = true;
}

const struct emu_sharing emu_shared_hooks = {
	.open_nic = open_nic,
	.name_adapter = name_adapter,
	.find_host = find_host,
	.back = emu_shared_back,
	.cq_init = emu_inline_init,
	.cq_fini = emu_inline_fini,
	.damaged = note_damage,
	.copy = emu_reach_copy,
	.reaches = emu_reach_has,
	.gone = is_gone,
	.load = emu_reach_load,
	.store = emu_reach_store,
	.pass_on = emu_run_at,
	.place_payloads = emu_inline_place_all,
	.post_upcall = post_upcall,
	.run_first = emu_run_first,
	.wait = wait_in_mode,
};
