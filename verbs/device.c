/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.c - the list of devices, opening one, and closing it.
 *
 * A device is an adapter of the emulator that can be opened. To list them needs no fabric. Until a
 * device is opened, its GUID is made of what a process knows before: the device's index and the
 * process's name. From then on it is made of the adapter's number, which no other has.
 */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gone.h"
#include "host/nic_process.h"
#include "trace.h"
#include "vb.h"

#define DEVICES 2

/* Locally administered. */
#define GUID_LISTED 0x0200000000000000ul
#define GUID_OPEN   0x0201000000000000ul

static struct vb_device devices[DEVICES];
static const char *const adapter_names[DEVICES] = { "emu0", "emu1" };
static pthread_once_t devices_once = PTHREAD_ONCE_INIT;

static void make_devices(void)
{
	for (unsigned int i = 0; i < DEVICES; i++) {
		struct ibv_device *ibv = &devices[i].ibv;

		devices[i].index = i;
		ibv->node_type = vb_setting_iwarp() ? IBV_NODE_RNIC : IBV_NODE_CA;
		ibv->transport_type = vb_setting_iwarp() ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		snprintf(ibv->name, sizeof(ibv->name), "%s%u", vb_setting_name(), i);
		snprintf(ibv->dev_name, sizeof(ibv->dev_name), "uverbs%u", i);
		snprintf(ibv->dev_path, sizeof(ibv->dev_path),
			 "/sys/class/infiniband_verbs/uverbs%u", i);
		snprintf(ibv->ibdev_path, sizeof(ibv->ibdev_path), "/sys/class/infiniband/%s%u",
			 vb_setting_name(), i);
	}
}

/* ---- the list ---- */

VB_NEW(ibv_get_device_list);
struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list;
	struct backend *b;
	int n = vb_chosen(&b) ? 0 : DEVICES;

	pthread_once(&devices_once, make_devices);
	if (num_devices)
		*num_devices = 0;
	list = calloc((size_t)n + 1, sizeof(struct ibv_device *));
	if (!list)
		return NULL;
	for (int i = 0; i < n; i++)
		list[i] = &devices[i].ibv;
	if (num_devices)
		*num_devices = n;
	return list;
}

VB_NEW(ibv_free_device_list);
void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

VB_NEW(ibv_get_device_name);
const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)VB_OF(device, device)->index;
}

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

uint64_t vb_device_guid(const struct vb_device *device)
{
	uint32_t number = __atomic_load_n(&device->number, __ATOMIC_RELAXED);
	const char *node = process_env("DATSIM_NODE");
	uint32_t who = 0;

	if (number)
		return GUID_OPEN | number;
	if (node)
		who = hash_of(node);
	else if (process_env("DATSIM_FABRIC"))
		who = (uint32_t)getpid();
	return GUID_LISTED | (uint64_t)who << 16 | (device->index + 1);
}

VB_NEW(ibv_get_device_guid);
__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(vb_device_guid(VB_OF(device, device)));
}

/* ---- open and close ---- */

static int open_adapter(struct backend *b, struct vb_context *context, const char *name)
{
	static uint64_t openings;
	struct adapter *base;
	bool made_world, first;
	int err;

	if (!backend_await_end(b))
		return -EBUSY;
	made_world = !b->world;
	if (made_world) {
		err = backend_make_world(b, NULL);
		if (err)
			return err;
	}
	/* Not before: in lockstep, other threads may have had their turns. */
	first = TAILQ_EMPTY(&b->adapters);
	err = backend_open_adapter(backend_front(b, &vb_front_ops), name, &base);
	if (!err && !(base->nic->caps & NIC_CAP_NUMBERS)) {
		backend_close_adapter(base);
		err = -ENODEV;
	}
	if (err) {
		if (made_world)
			backend_end_world(b);
		return err;
	}
	if (first)
		vb_world_began(b);
	context->adapter = (struct vb_adapter *)base;
	context->nic = base->nic;
	context->serial = ++openings;
	LIST_INSERT_HEAD(&context->adapter->contexts, context, link);
	vb_use_path(context, path_choose(b));
	__atomic_store_n(&VB_OF(context->ex.context.device, device)->number, base->attr.number,
			 __ATOMIC_RELAXED);
	return 0;
}

static int open_descriptors(struct ibv_context *ibv)
{
	ibv->cmd_fd = process_open("/dev/null", O_RDWR, 0);
	if (ibv->cmd_fd < 0)
		return -errno;
	ibv->async_fd = vb_event_fd();
	if (ibv->async_fd >= 0)
		return 0;
	process_close(ibv->cmd_fd);
	return -errno;
}

static void close_descriptors(struct ibv_context *ibv)
{
	process_close(ibv->cmd_fd);
	process_close(ibv->async_fd);
}

struct ibv_context *vb_device_open(struct ibv_device *device)
{
	struct vb_context *context = calloc(1, sizeof(*context));
	struct ibv_context *ibv;
	struct backend *b;
	int err;

	if (!context)
		return vb_failed(-ENOMEM);
	ibv = &context->ex.context;
	TAILQ_INIT(&context->objects);
	TAILQ_INIT(&context->events);
	context->ex.sz = sizeof(context->ex);
	ibv->device = device;
	ibv->num_comp_vectors = 1;
	ibv->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ibv->mutex, NULL);
	vb_context_fill_ops(ibv, &context->ex);
	err = open_descriptors(ibv);
	if (err)
		goto free_context;
	err = vb_chosen(&b);
	if (err)
		goto close_files;
	backend_enter(b);
	err = open_adapter(b, context, adapter_names[VB_OF(device, device)->index]);
	backend_leave(b);
	if (err)
		goto close_files;
	return ibv;

close_files:
	close_descriptors(ibv);
free_context:
	free(context);
	return vb_failed(err);
}

VB_NEW(ibv_open_device);
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *ibv = vb_device_open(device);

	if (ibv)
		vb_asked(ibv, "ibv_open_device", 0);
	return ibv;
}

/* What the program left goes the way the kernel would take: those that refer to others first. */
static void discard_object(struct vb_obj *obj)
{
	switch (obj->kind) {
	case VB_AH:
		vb_ah_discard(nic_container_of(obj, struct vb_ah, obj));
		break;
	case VB_QP:
		vb_qp_discard(nic_container_of(obj, struct vb_qp, obj));
		break;
	case VB_SRQ:
		vb_srq_discard(nic_container_of(obj, struct vb_srq, obj));
		break;
	case VB_CQ:
		vb_cq_discard(nic_container_of(obj, struct vb_cq, obj));
		break;
	case VB_CHANNEL:
		vb_channel_discard(nic_container_of(obj, struct vb_channel, obj));
		break;
	case VB_MR:
		vb_mr_discard(nic_container_of(obj, struct vb_mr, obj));
		break;
	case VB_MW:
		vb_mw_discard(nic_container_of(obj, struct vb_mw, obj));
		break;
	case VB_PD:
		vb_pd_discard(nic_container_of(obj, struct vb_pd, obj));
		break;
	case VB_LISTENER:
	case VB_CONN:
		vb_cm->discard(obj);
		break;
	case VB_KINDS:
		break;
	}
}

static void discard_all(struct vb_context *context)
{
	struct vb_obj *obj, *next;

	for (int kind = VB_KINDS - 1; kind >= 0; kind--)
		for (obj = TAILQ_FIRST(&context->objects); obj; obj = next) {
			next = TAILQ_NEXT(obj, link);
			if ((int)obj->kind == kind)
				discard_object(obj);
		}
}

void vb_device_close(struct ibv_context *ibv)
{
	struct vb_context *context = vb_enter(ibv);
	struct backend *b = vb_backend(context);
	struct vb_async *event;

	discard_all(context);
	while ((event = TAILQ_FIRST(&context->events)) != NULL) {
		TAILQ_REMOVE(&context->events, event, link);
		free(event);
	}
	LIST_REMOVE(context, link);
	backend_close_adapter(&context->adapter->base);
	if (TAILQ_EMPTY(&b->adapters))
		vb_world_ends();
	if (TAILQ_EMPTY(&b->adapters) && !b->kept)
		backend_end_world(b);
	backend_leave(b);
	close_descriptors(ibv);
	pthread_mutex_destroy(&ibv->mutex);
	vb_gone_context(context);
}

/* The line comes first; then what the program has not freed is freed. */
VB_NEW(ibv_close_device);
int ibv_close_device(struct ibv_context *ibv)
{
	if (vb_is_gone(ibv)) {
		errno = EINVAL;
		return -1;
	}
	vb_asked(ibv, "ibv_close_device", 0);
	vb_device_close(ibv);
	return 0;
}
