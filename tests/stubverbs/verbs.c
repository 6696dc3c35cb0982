/* SPDX-License-Identifier: BSD-3-Clause */
/* The device, its asynchronous events, and the calls that a test makes fail. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "stub.h"

/* verbs.h has macros of these names, which hide the functions defined here. */
#undef ibv_get_device_list
#undef ibv_query_port

struct ibv_context *stub_context;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct ibv_device device, second;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int objects, contexts;
static _Atomic int lists; /* of devices */
static int held_up;       /* blocked threads */
static int unsettled;     /* asynchronous events taken and not acknowledged */
static bool holding;

static struct stub_async {
	struct ibv_async_event event;
	struct stub_async *next;
} * asyncs, **asyncs_end = &asyncs;

static struct refusal {
	const char *call;
	int nth, error, times;
	bool always;
} refusals[16];

void stub_lock(void)
{
	pthread_mutex_lock(&lock);
}

void stub_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void stub_wait(void)
{
	pthread_cond_wait(&changed, &lock);
}

void stub_changed(void)
{
	pthread_cond_broadcast(&changed);
}

void stub_hold(bool held)
{
	stub_lock();
	holding = held;
	stub_changed();
	stub_unlock();
}

void stub_held_up(const bool *asked)
{
	stub_lock();
	if (*asked) {
		held_up++;
		stub_changed();
		while (holding)
			stub_wait();
		held_up--;
	}
	stub_unlock();
}

void stub_await_held(int n)
{
	stub_lock();
	while (held_up < n)
		stub_wait();
	stub_unlock();
}

void stub_await_armed(struct ibv_cq *cq, bool solicited_only)
{
	const struct stub_cq *s = (const struct stub_cq *)cq;

	stub_lock();
	while (s->armed != (solicited_only ? STUB_ARMED_SOLICITED : STUB_ARMED))
		stub_wait();
	stub_unlock();
}

void stub_await_events_taken(struct ibv_cq *cq)
{
	const struct stub_cq *s = (const struct stub_cq *)cq;

	stub_lock();
	while (s->waiting)
		stub_wait();
	stub_unlock();
}

void stub_await_objects(int n)
{
	stub_lock();
	while (objects > n)
		stub_wait();
	stub_unlock();
}

void stub_count(int by)
{
	stub_lock();
	objects += by;
	stub_changed();
	stub_unlock();
}

int stub_objects(void)
{
	int n;

	stub_lock();
	n = objects;
	stub_unlock();
	return n;
}

int stub_lists(void)
{
	return lists;
}

void stub_signal(int fd)
{
	(void)!write(fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

void stub_unsignal(int fd)
{
	uint64_t value;

	(void)!read(fd, &value, sizeof(value));
}

/* ---- refusals ---- */

static struct refusal *refusal_of(const char *call)
{
	size_t i;

	for (i = 0; i < 16 && refusals[i].call && strcmp(refusals[i].call, call); i++)
		;
	return i < 16 ? &refusals[i] : NULL;
}

static int refused_post(const char *call)
{
	int error = stub_refuses(call);

	return stub_config.negative ? -error : error;
}

static int locked_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int error;

	stub_lock();
	*bad = wr;
	error = refused_post("ibv_post_send");
	if (!error)
		error = stub_config.far ? stub_post_send_far(qp, wr, bad)
					: stub_post_send(qp, wr, bad);
	stub_unlock();
	return error;
}

static int locked_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int error;

	stub_lock();
	*bad = wr;
	error = refused_post("ibv_post_recv");
	if (!error)
		error = stub_post_recv(qp, wr, bad);
	stub_unlock();
	return error;
}

static int locked_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int error;

	stub_lock();
	*bad = wr;
	error = refused_post("ibv_post_srq_recv");
	if (!error)
		error = stub_post_srq_recv(srq, wr, bad);
	stub_unlock();
	return error;
}

static int locked_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int error;

	stub_lock();
	error = refused_post("ibv_bind_mw");
	if (!error)
		error = stub_bind_mw(qp, mw, bind);
	stub_unlock();
	return error;
}

static int locked_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int found;

	stub_lock();
	found = stub_poll_cq(cq, n, wc);
	stub_unlock();
	return found;
}

/*
 * Posts that may fail, or arrive late; and a QP that flushes late is destroyed, by another thread,
 * while its CQs are polled. Otherwise a post and a poll cost nothing extra.
 */
static void lock_data_path(void)
{
	if (stub_context->ops.poll_cq == locked_poll)
		return; /* other threads may be reading it */
	stub_context->ops.poll_cq = locked_poll;
	stub_context->ops.post_send = locked_send;
	stub_context->ops.post_recv = locked_recv;
	stub_context->ops.post_srq_recv = locked_srq_recv;
	stub_context->ops.bind_mw = locked_bind;
}

void stub_fail(const char *call, int nth, int error, bool always)
{
	struct refusal *refusal;

	stub_lock();
	refusal = refusal_of(call);
	*refusal = (struct refusal){ .call = call, .nth = nth, .error = error, .always = always };
	if (stub_context)
		lock_data_path();
	stub_unlock();
}

int stub_failed(const char *call)
{
	return refusal_of(call)->times;
}

int stub_refuses(const char *call)
{
	struct refusal *refusal;
	int error = 0;

	stub_lock();
	refusal = refusal_of(call);
	if (refusal && refusal->error &&
	    (--refusal->nth == 0 || (refusal->nth < 0 && refusal->always))) {
		refusal->times++;
		error = refusal->error;
	}
	stub_unlock();
	if (error)
		errno = error;
	return error;
}

/* ---- devices ---- */

int ibv_fork_init(void)
{
	return stub_refuses("ibv_fork_init");
}

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **list = calloc(3, sizeof(struct ibv_device *));
	int error = stub_refuses("ibv_get_device_list");

	lists += list && !error;
	if (error || !list) {
		free(list);
		errno = error ? error : ENOMEM;
		return NULL;
	}
	strcpy(device.name, "stub0");
	strcpy(device.dev_name, "uverbs-stub0");
	device.node_type = stub_config.iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
	device.transport_type = stub_config.iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	second = device;
	strcpy(second.name, "stub1");
	if (!stub_config.none)
		list[0] = &device;
	if (stub_config.second)
		list[1] = &second;
	if (n)
		*n = !stub_config.none + stub_config.second;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	lists--;
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

__be64 ibv_get_device_guid(struct ibv_device *dev)
{
	(void)dev;
	return 0x0102030405060708u;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	if (stub_refuses("ibv_open_device"))
		return NULL;
	stub_lock();
	if (!stub_context) {
		stub_context = calloc(1, sizeof(*stub_context));
		stub_context->device = dev;
		stub_context->async_fd = eventfd(0, EFD_SEMAPHORE);
		stub_context->num_comp_vectors = stub_config.vectors ? stub_config.vectors : 4;
		stub_context->ops.poll_cq = stub_poll_cq;
		stub_context->ops.req_notify_cq = stub_req_notify_cq;
		stub_context->ops.post_send = stub_config.places_late ? stub_post_send_behind
								      : stub_post_send;
		stub_context->ops.post_recv = stub_post_recv;
		stub_context->ops.post_srq_recv = stub_post_srq_recv;
		stub_context->ops.bind_mw = stub_bind_mw;
		stub_context->ops.alloc_mw = stub_alloc_mw;
		stub_context->ops.dealloc_mw = stub_dealloc_mw;
		if (refusals[0].call || stub_config.flush_polls || stub_config.far)
			lock_data_path();
	}
	contexts++;
	stub_unlock();
	stub_count(1);
	return stub_context;
}

int ibv_close_device(struct ibv_context *context)
{
	(void)context;
	stub_count(-1);
	contexts--;
	return 0;
}

uint32_t stub_max_qp_wr(void)
{
	return stub_config.max_qp_wr ? (uint32_t)stub_config.max_qp_wr : 4096;
}

static unsigned int device_caps(void)
{
	return (stub_config.no_windows ? 0u : IBV_DEVICE_MEM_WINDOW) |
	       (stub_config.srq_resizes ? IBV_DEVICE_SRQ_RESIZE : 0u);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int error = stub_refuses("ibv_query_device");

	(void)context;
	if (error)
		return error;
	*attr = (struct ibv_device_attr){
		.fw_ver = "1.2.3",
		.max_mr_size = UINT64_MAX,
		.max_qp = stub_config.max_qp ? stub_config.max_qp : STUB_QP - 1,
		.max_qp_wr = (int)stub_max_qp_wr(),
		.device_cap_flags = device_caps(),
		.max_sge = STUB_SGE,
		.max_sge_rd = stub_config.iwarp ? 1 : STUB_SGE,
		.max_cq = 4096,
		.max_cqe = STUB_CQE,
		.max_mr = STUB_MR - 1 - 1024, /* windows are in the same table */
		.max_pd = 256,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_mw = stub_config.no_windows ? 0 : 1024,
		.max_srq = 256,
		.max_srq_wr = STUB_SRQ_WR,
		.max_srq_sge = stub_config.max_srq_sge ? stub_config.max_srq_sge : STUB_SGE,
		.phys_port_cnt = 1,
	};
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;
	int error = stub_refuses("ibv_query_port");

	(void)context;
	(void)port;
	if (error)
		return error;
	/* Every field written here is also in the structure of older programs. */
	attr->state = stub_config.port_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	attr->max_mtu = attr->active_mtu = IBV_MTU_4096;
	attr->max_msg_sz = 1u << 30;
	attr->gid_tbl_len = stub_config.by_gid ? 2 : 1;
	attr->pkey_tbl_len = 1;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint32_t address = htonl(STUB_ADDRESS);

	(void)context;
	(void)port;
	memset(gid, 1, sizeof(*gid));
	if (index == 1) {
		memcpy(gid->raw, mapped, sizeof(mapped));
		memcpy(gid->raw + sizeof(mapped), &address, sizeof(address));
	}
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	(void)port;
	(void)index;
	*pkey = 0xffff;
	return 0;
}

/* ---- asynchronous events ---- */

void stub_async(enum ibv_event_type type, void *element)
{
	struct stub_async *async = calloc(1, sizeof(*async));

	async->event.event_type = type;
	async->event.element.qp = element;
	stub_lock();
	*asyncs_end = async;
	asyncs_end = &async->next;
	stub_signal(stub_context->async_fd);
	stub_unlock();
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int error = stub_refuses("ibv_get_async_event");
	struct stub_async *async;
	uint64_t value;

	if (error) {
		errno = error;
		return -1;
	}
	if (read(context->async_fd, &value, sizeof(value)) < 0)
		return -1;
	stub_lock();
	async = asyncs;
	if (async) {
		asyncs = async->next;
		if (!asyncs)
			asyncs_end = &asyncs;
		*event = async->event;
		unsettled++;
	}
	stub_unlock();
	free(async);
	if (!async)
		errno = EAGAIN;
	return async ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
	stub_lock();
	unsettled--;
	stub_changed();
	stub_unlock();
}

/* A destroyed object has no events. */
void stub_forget_events(const void *element)
{
	struct stub_async **at = &asyncs, *async;

	stub_lock();
	while (unsettled > 0)
		stub_wait();
	while ((async = *at)) {
		if (async->event.element.qp != element) {
			at = &async->next;
			continue;
		}
		*at = async->next;
		free(async);
		stub_unsignal(stub_context->async_fd);
	}
	asyncs_end = at;
	stub_unlock();
}

void stub_remove_device(void)
{
	stub_async(IBV_EVENT_DEVICE_FATAL, NULL);
	stub_removed();
}
