/* SPDX-License-Identifier: BSD-3-Clause */
/* id.c - ids: creation, destruction, migration between channels, options. */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "verbs/gone.h"
#include "verbs/rsocket/rsocket.h"

static LIST_HEAD(, cm_id) ids = LIST_HEAD_INITIALIZER(ids);
static uint32_t last_psn; /* ids begin with different ones */

/* ---- creation ---- */

/* The lock is held. */
int cm_id_make(struct cm_channel *channel, void *context, enum rdma_port_space ps,
	       enum ibv_qp_type type, struct cm_id **out)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return -ENOMEM;
	id->base.context = context;
	id->base.channel = &channel->base;
	id->base.ps = ps;
	id->base.qp_type = type;
	id->near.psn = ++last_psn * 2654435769u >> 8;
	pthread_mutex_init(&id->mutex, NULL);
	pthread_cond_init(&id->cond, NULL);
	LIST_INSERT_HEAD(&ids, id, link);
	*out = id;
	return 0;
}

static void id_end(struct cm_id *id)
{
	id->state = CM_GONE;
	id->device = NULL;
	id->sync = false;
	id->obj.context = NULL;
	id->base.qp = NULL;
	id->base.srq = NULL;
}

void cm_id_free(struct cm_id *id)
{
	LIST_REMOVE(id, link);
	pthread_mutex_destroy(&id->mutex);
	pthread_cond_destroy(&id->cond);
	free(id->ep_init);
	free(id->connect_data);
	id->ep_init = NULL;
	id->connect_data = NULL;
	id_end(id);
	vb_gone(id, &id->base.verbs);
}

static bool knows_space(enum rdma_port_space ps)
{
	return ps == RDMA_PS_TCP || ps == RDMA_PS_UDP || ps == RDMA_PS_IB || ps == RDMA_PS_IPOIB;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
		   enum rdma_port_space ps)
{
	bool datagrams = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct cm_channel *own = NULL;
	struct cm_id *id;
	int err = cm_begin();

	if (!err && !knows_space(ps))
		err = -EINVAL;
	if (!err && channel && ((struct cm_channel *)channel)->dead)
		err = -EINVAL;
	if (err)
		return cm_fail(err);
	if (!channel) {
		own = cm_channel_make();
		if (!own)
			return -1;
	}
	cm_enter();
	err = cm_id_make(own ? own : (struct cm_channel *)channel, context, ps,
			 datagrams ? IBV_QPT_UD : IBV_QPT_RC, &id);
	if (!err) {
		id->sync = own != NULL;
		id->known = true;
		*out = &id->base;
	}
	cm_leave();
	if (err && own)
		rdma_destroy_event_channel(&own->base);
	return cm_result(err);
}

/* ---- destruction ---- */

int rdma_destroy_id(struct rdma_cm_id *base)
{
	struct cm_id *id = cm_id_of(base);
	struct rdma_event_channel *own;
	struct cm_device *device;

	cm_enter();
	if (id->state == CM_GONE)
		return cm_leave_with(-EINVAL);
	own = id->sync ? base->channel : NULL;
	device = id->device;
	cm_trace(id, "rdma_destroy_id");
	cm_listen_stop(id, true);
	cm_drop(id);
	cm_event_move(id, cm_channel_of(id), NULL);
	cm_leave();
	if (base->event) {
		cm_event_acknowledge(base->event);
		base->event = NULL;
	}
	cm_groups_leave(id);
	cm_event_wait_acked(id);
	cm_enter();
	cm_id_free(id);
	cm_leave();
	cm_device_put(device);
	if (own)
		rdma_destroy_event_channel(own);
	return 0;
}

/* ---- channels ---- */

/*
 * The lock is held. A synchronous id's own channel is destroyed by the migration, so the id cannot
 * migrate to that channel, nor to another of its own.
 */
static bool may_migrate(const struct cm_id *id, const struct rdma_event_channel *to, bool own)
{
	return id->state != CM_GONE && !((const struct cm_channel *)to)->dead &&
	       !(id->sync && (own || to == id->base.channel));
}

/* *old: the channel that the id had, if it was a synchronous id's own, else NULL. */
static int change_channel(struct cm_id *id, struct rdma_event_channel *to, bool own,
			  struct rdma_event_channel **old)
{
	int err = -EINVAL;

	cm_enter();
	if (may_migrate(id, to, own)) {
		err = 0;
		*old = id->sync ? id->base.channel : NULL;
		if (to != id->base.channel)
			cm_event_move(id, cm_channel_of(id), (struct cm_channel *)to);
		id->base.channel = to;
		id->sync = own;
	}
	cm_leave();
	return err;
}

int cm_id_migrate(struct cm_id *id, struct rdma_event_channel *channel)
{
	struct cm_channel *own = channel ? NULL : cm_channel_make();
	struct rdma_event_channel *old;
	int err;

	if (!channel && !own)
		return -errno;
	err = change_channel(id, own ? &own->base : channel, own != NULL, &old);
	if (err) {
		if (own)
			rdma_destroy_event_channel(&own->base);
		return err;
	}
	if (old && id->base.event) {
		cm_event_acknowledge(id->base.event);
		id->base.event = NULL;
	}
	if (old)
		rdma_destroy_event_channel(old);
	cm_event_wait_acked(id);
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *base, struct rdma_event_channel *channel)
{
	struct cm_id *id = cm_id_of(base);

	return cm_told(id, "rdma_migrate_id", cm_id_migrate(id, channel));
}

struct cm_id *cm_id_next(const struct cm_id *id)
{
	return id ? LIST_NEXT(id, link) : LIST_FIRST(&ids);
}

/* ---- queries and options ---- */

/* `other` has the port of this address. 0: `id` may have it, too; else why not. */
static int port_conflict(const struct cm_id *id, const struct cm_id *other,
			 const struct sockaddr *addr, bool reuse)
{
	const struct sockaddr *theirs = &other->base.route.addr.src_addr;

	if (reuse && other->reuse_address)
		return 0;
	if (id->one_family && other->one_family && theirs->sa_family != addr->sa_family)
		return 0;
	if (cm_is_any(theirs) || cm_is_any(addr))
		return -EADDRNOTAVAIL;
	return cm_is_same_host(theirs, addr) ? -EADDRINUSE : 0;
}

/* Until it is destroyed, or its channel is; the id of a request has the port of its listener. */
static bool holds_port(const struct cm_id *id)
{
	return !id->passive && !((const struct cm_channel *)id->base.channel)->dead;
}

int cm_id_check_port(const struct cm_id *id, const struct sockaddr *addr, bool reuse)
{
	const struct cm_id *other;
	int err;

	LIST_FOREACH(other, &ids, link)
	{
		if (other == id || other->base.ps != id->base.ps || !holds_port(other) ||
		    cm_port(&other->base.route.addr.src_addr) != cm_port(addr))
			continue;
		err = port_conflict(id, other, addr, reuse);
		if (err)
			return err;
	}
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return htons(cm_port(&id->route.addr.src_addr));
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return htons(cm_port(&id->route.addr.dst_addr));
}

/* As the kernel reads what a program points to, which may be nothing: -EFAULT. */
static int copy_value(void *to, const void *from, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)from, size };
	int err = errno, why;

	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size)
		return 0;
	why = errno;
	errno = err;
	if (why == EFAULT)
		return -EFAULT;
	memcpy(to, from, size); /* the call is forbidden here */
	return 0;
}

static int set_one_family(struct cm_id *id, bool on)
{
	if (id->state > CM_BOUND)
		return -EINVAL;
	id->one_family = on;
	id->chose_family = true;
	return 0;
}

/* *taken: the value. */
static int set_id_option(struct cm_id *id, int name, const void *value, size_t size, int *taken)
{
	uint8_t code = 0;
	int flag = 0, err;

	switch (name) {
	case RDMA_OPTION_ID_TOS:
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (size != sizeof(code))
			return -EINVAL;
		err = copy_value(&code, value, size);
		if (err)
			return err;
		*taken = code;
		if (name == RDMA_OPTION_ID_TOS)
			id->tos = code;
		else if (code > 31)
			return -EINVAL;
		else
			id->ack_timeout = code;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
	case RDMA_OPTION_ID_AFONLY:
		if (size != sizeof(flag))
			return -EINVAL;
		err = copy_value(&flag, value, size);
		if (err)
			return err;
		*taken = flag;
		if (name == RDMA_OPTION_ID_AFONLY)
			return set_one_family(id, flag != 0);
		if (flag ? id->state == CM_LISTENING : id->state != CM_IDLE)
			return -EINVAL;
		id->reuse_address = flag != 0;
		return 0;
	default:
		return -ENOSYS;
	}
}

/*
 * Path records of a path service. The fabric has one path, so only their form counts: as with
 * Linux, one is for both directions, and for all packets.
 */
static int set_path(struct cm_id *id, const void *value, size_t size)
{
	const uint32_t all = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
			     IBV_PATH_FLAG_BIDIRECTIONAL;
	const struct ibv_path_data *next = value;
	struct ibv_path_data path;
	int err;

	if (size % sizeof(path) != 0)
		return -EINVAL;
	for (size_t n = size / sizeof(path); n > 0; n--) {
		err = copy_value(&path, next++, sizeof(path));
		if (err)
			return err;
		if (path.flags == all)
			return cm_path_set(id);
	}
	return -EINVAL;
}

static void trace_option(const struct cm_id *id, int level, int name, int taken)
{
	static const char *const names[] = { [RDMA_OPTION_ID_TOS] = "TOS",
					     [RDMA_OPTION_ID_REUSEADDR] = "REUSEADDR",
					     [RDMA_OPTION_ID_AFONLY] = "AFONLY",
					     [RDMA_OPTION_ID_ACK_TIMEOUT] = "ACK_TIMEOUT" };

	if (level == RDMA_OPTION_ID)
		cm_trace(id, "rdma_set_option option=RDMA_OPTION_ID_%s value=%d", names[name],
			 taken);
	else
		cm_trace(id, "rdma_set_option option=RDMA_OPTION_IB_PATH");
}

int rdma_set_option(struct rdma_cm_id *base, int level, int name, void *value, size_t size)
{
	struct cm_id *id = cm_id_of(base);
	int err = -ENOSYS, taken = 0;

	cm_enter();
	if (!value || id->state == CM_GONE)
		err = -EINVAL;
	else if (level == RDMA_OPTION_ID)
		err = set_id_option(id, name, value, size, &taken);
	else if (level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH)
		err = set_path(id, value, size);
	cm_trace_refusal(id, "rdma_set_option", err);
	if (!err)
		trace_option(id, level, name, taken);
	if (!err && level == RDMA_OPTION_IB)
		cm_resolve_end(id, 0);
	return cm_leave_with(err);
}

/* ECE is chosen before the id has a queue pair. */
static bool may_have_ece(const struct cm_id *id)
{
	bool may;

	cm_enter();
	may = id->state != CM_GONE && !id->base.qp;
	cm_leave();
	return may;
}

int rdma_set_local_ece(struct rdma_cm_id *base, struct ibv_ece *ece)
{
	struct cm_id *id = cm_id_of(base);

	if (!base)
		return cm_fail(EINVAL);
	if (!ece || !ece->vendor_id || ece->comp_mask || !may_have_ece(id))
		return cm_told(id, "rdma_set_local_ece", -EINVAL);
	id->ece = *ece;
	return cm_told(id, "rdma_set_local_ece", 0);
}

/* No peer has any: nothing is carried. */
int rdma_get_remote_ece(struct rdma_cm_id *base, struct ibv_ece *ece)
{
	struct cm_id *id = cm_id_of(base);

	if (!base)
		return cm_fail(EINVAL);
	if (!ece || !may_have_ece(id))
		return cm_told(id, "rdma_get_remote_ece", -EINVAL);
	*ece = (struct ibv_ece){ .vendor_id = 0 };
	return cm_told(id, "rdma_get_remote_ece", 0);
}

/* ---- for libibverbs ---- */

static void id_discard(struct vb_obj *obj)
{
	struct cm_listener *listener = nic_container_of(obj, struct cm_listener, obj);

	if (obj->kind == VB_LISTENER)
		cm_listen_stop(listener->id, false);
	else
		cm_drop(nic_container_of(obj, struct cm_id, obj));
}

static void ids_adapter(struct ibv_context *verbs, enum nic_adapter_event what)
{
	struct cm_device *device = cm_device_of(verbs);
	struct cm_id *id;

	if (!device)
		return;
	device->removed |= what == NIC_ADAPTER_REMOVED;
	LIST_FOREACH(id, &ids, link)
	{
		if (id->device != device)
			continue;
		if (what == NIC_ADAPTER_REMOVED && id->known)
			cm_event_add(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
		if (what == NIC_ADAPTER_PORT_UP && !device->removed &&
		    (id->state == CM_RESOLVING || id->state == CM_ROUTING))
			cm_resolve_end(id, 0);
	}
}

static void ids_forget(void)
{
	struct cm_id *id;

	LIST_FOREACH(id, &ids, link)
	{
		id_end(id);
		vb_gone_alone(&id->base.verbs);
	}
	LIST_INIT(&ids);
	cm_device_forget();
	rs_forget();
}

const struct vb_cm_ops cm_ops = {
	.request = cm_on_request,
	.established = cm_on_established,
	.end = cm_on_end,
	.alarm = cm_on_alarm,
	.alarm_event = cm_alarm_event,
	.adapter = ids_adapter,
	.discard = id_discard,
	.forget = ids_forget,
};
