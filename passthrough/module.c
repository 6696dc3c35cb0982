/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module's entry point, its nic_ops table, and the world: what all adapters of this machine
 * share.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "guard.h"
#include "host/nic_process.h"
#include "names.h"

const struct nic_host *hw_host;
struct nic_world *hw_world;

const struct nic_ops hw_ops = {
	.size = sizeof(struct nic_ops),

	.close = hw_close,
	.query = hw_query,

	.pd_alloc = hw_pd_alloc,
	.pd_free = hw_pd_free,
	.mr_reg = hw_mr_reg,
	.mr_dereg = hw_mr_dereg,
	.mr_windows = hw_mr_windows,
	.mw_alloc = hw_mw_alloc,
	.mw_free = hw_mw_free,
	.mw_query = hw_mw_query,

	.cq_create = hw_cq_create,
	.cq_resize = hw_cq_resize,
	.cq_destroy = hw_cq_destroy,
	.cq_poll = hw_cq_poll,
	.cq_spin = hw_cq_spin,
	.cq_count = hw_cq_count,
	.cq_limit = hw_cq_limit,
	.cq_arm = hw_cq_arm,

	.srq_create = hw_srq_create,
	.srq_resize = hw_srq_resize,
	.srq_destroy = hw_srq_destroy,
	.srq_post = hw_srq_post,
	.srq_limit = hw_srq_limit,
	.srq_count = hw_srq_count,

	.qp_create = hw_qp_create,
	.qp_modify = hw_qp_modify,
	.qp_reset = hw_qp_reset,
	.qp_destroy = hw_qp_destroy,
	.qp_query = hw_qp_query,
	.qp_taken_limit = hw_qp_taken_limit,
	.qp_break = hw_qp_break,

	.post_send = hw_post_send,
	.post_recv = hw_post_recv,

	.listen = hw_listen,
	.unlisten = hw_unlisten,
	.connect = hw_connect,
	.accept = hw_accept,
	.reject = hw_reject,
	.handoff = hw_handoff,
	.disconnect = hw_disconnect,

	.now = hw_now,
	.wait = hw_wait,
	.wake = hw_wake,
};

/* ---- the world ---- */

static int open_channel(struct nic_world *w)
{
	int flags, err;

	errno = 0;
	w->channel = rdma_create_event_channel();
	if (!w->channel) {
		err = errno;
		if (process_shortage(err)) {
			hw_host->say("DAT_PROVIDER=hw: no connection manager: %s", strerror(err));
			return -ENOMEM;
		}
		if (hw_device_file("rdma_cm"))
			err = hw_device_file("rdma_cm");
		if (err == EACCES || err == EPERM)
			hw_host->say(
				"DAT_PROVIDER=hw: no permission to open /dev/infiniband/rdma_cm: "
				"give this user read and write access to it");
		else
			hw_host->say("DAT_PROVIDER=hw: no connection manager (%s): is the kernel "
				     "module rdma_ucm loaded, and /dev/infiniband/rdma_cm there?",
				     strerror(err));
		return -ENODEV;
	}
	flags = fcntl(w->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(w->channel->fd, F_SETFL, flags | O_NONBLOCK)) {
		rdma_destroy_event_channel(w->channel);
		return -ENOMEM;
	}
	return 0;
}

static int world_create(const struct nic_config *config, struct nic_world **world)
{
	struct hw_knobs knobs;
	struct nic_world *w;
	int err;

	(void)config;
	err = hw_knobs_read(&knobs);
	if (!err)
		err = hw_find_devices();
	if (err)
		return err;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->control.ops = &hw_ops;
	w->knobs = knobs;
	LIST_INIT(&w->nics);
	LIST_INIT(&w->partings);
	LIST_INIT(&w->waiters);
	LIST_INIT(&w->spare_waiters);
	LIST_INIT(&w->busy_cqs);
	TAILQ_INIT(&w->ending);
	err = open_channel(w);
	if (err) {
		free(w);
		return err;
	}
	hw_cm_init(w);
	hw_end_start(w);
	hw_guard_init(w);
	hw_world = w;
	*world = w;
	return 0;
}

/* After the ids that use it. */
static void destroy_channel(struct hw_deferred *deferred)
{
	rdma_destroy_event_channel(nic_container_of(deferred, struct nic_world, deferred)->channel);
}

static void release_world(struct hw_deferred *deferred)
{
	free(nic_container_of(deferred, struct nic_world, deferred));
}

static void world_destroy(struct nic_world *w)
{
	hw_timer_stop(&w->ending_timer);
	hw_timer_stop(&w->guard_timer);
	hw_part_now(w);
	hw_unwatch(&w->channel_watch);
	hw_waiters_free(w);
	hw_world = NULL;
	w->deferred = (struct hw_deferred){ .destroy = destroy_channel, .release = release_world };
	hw_destroy_after(&w->deferred);
}

static struct nic *module_control(struct nic_world *w)
{
	return &w->control;
}

/* ---- calls in which libev, libibverbs and librdmacm open descriptors ---- */

static int module_start(void)
{
	unsigned int held = process_fds_hold();
	int err = hw_thread_start();

	process_fds_release(held);
	return err;
}

static int module_world_create(const struct nic_config *config, struct nic_world **world)
{
	unsigned int held = process_fds_hold();
	int err = world_create(config, world);

	process_fds_release(held);
	return err;
}

static void module_canonical(struct nic_world *w, const char *name, char *out, size_t size)
{
	unsigned int held = process_fds_hold();

	hw_canonical(w, name, out, size);
	process_fds_release(held);
}

static int module_open(struct nic_world *w, const char *name, const struct nic_upcalls *up,
		       void *ctx, struct nic **nic)
{
	unsigned int held = process_fds_hold();
	int err = hw_open(w, name, up, ctx, nic);

	process_fds_release(held);
	return err;
}

static const struct nic_backend backend = {
	.size = sizeof(struct nic_backend),
	.name = "hw",
	.start = module_start,
	.world_create = module_world_create,
	.world_destroy = world_destroy,
	.adapter_name = hw_adapter_name,
	.canonical = module_canonical,
	.open = module_open,
	.control = module_control,
};

const struct nic_backend *dat_nic_backend_1(const struct nic_host *host);

const struct nic_backend *dat_nic_backend_1(const struct nic_host *host)
{
	if (host->size != sizeof(*host) || host->ops_size != sizeof(struct nic_ops) ||
	    host->upcalls_size != sizeof(struct nic_upcalls) ||
	    (host->quick_size && host->quick_size != sizeof(struct nic_quick_qp))) {
		host->say("DAT_PROVIDER=hw: the passthrough belongs to another version of libdat: "
			  "install the "
			  "two together");
		return NULL;
	}
	hw_host = host;
	hw_quick_start(host->inside);
	/*
	 * It has to come before any other verbs call. It does nothing where the kernel copies
	 * pinned pages at fork.
	 */
	if (ibv_fork_init())
		host->say("DAT_PROVIDER=hw: verbs cannot be made safe against fork; a program "
			  "that forks "
			  "must not touch registered memory in the child");
	return &backend;
}
