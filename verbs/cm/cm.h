/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm.h - librdmacm: its objects, and what its files share.
 *
 * An id that connects has a NIC queue pair of its own, which carries no requests: it stands for the
 * connection behind the door (nic_ops.confirm), and the program's QP is connected by number, as one
 * that exchanged its number by other means. If the peer is no verbs program, the program's QP takes
 * that place itself.
 *
 * Lock: the backend's, taken by cm_enter and released by cm_leave, covers everything here but the
 * counts of acknowledged events, which have the mutex and the condition of their id.
 */
#ifndef VERBS_CM_CM_H
#define VERBS_CM_CM_H

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "verbs/vb.h"

#define CM_DEVICES  2
#define CM_DATA_MAX 256
/* Bytes of private data that packets of InfiniBand have room for; zeros fill them up. */
#define CM_CONNECT_DATA 56
#define CM_ACCEPT_DATA  196
#define CM_REJECT_DATA  148
#define CM_ASK_DATA     180 /* the same of datagrams */
#define CM_ANSWER_DATA  136
#define CM_REJECTED     28 /* as InfiniBand numbers reasons: the program */
#define CM_NO_LISTENER  8
#define CM_BACKLOG_MOST 1024
#define CM_PACKET_LIFE  16 /* in paths: a code, of a quarter of a second */

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_RESOLVING, /* until the port comes up; resolve.c */
	CM_ADDRESS,   /* resolved */
	CM_ROUTING,   /* the same as RESOLVING, of a route */
	CM_ROUTE,
	CM_LISTENING,
	CM_CONNECTING, /* active; until the answer */
	CM_ANSWERED,   /* active; the answer came and is not confirmed */
	CM_REQUESTED,  /* passive; not answered */
	CM_ACCEPTED,   /* passive; not confirmed */
	CM_CONNECTED,
	CM_OVER,
	CM_GONE, /* destroyed; its memory is kept for a while, see vb_gone */
};

struct cm_id;
struct cm_group;

struct cm_event {
	struct rdma_cm_event event; /* first */
	TAILQ_ENTRY(cm_event) link;
	struct cm_id *of;       /* whose count of events it is in */
	struct cm_group *group; /* so is it in this one's, if it is about a multicast group */
	uint8_t data[CM_DATA_MAX];
};

struct cm_channel {
	struct rdma_event_channel base; /* first */
	TAILQ_HEAD(, cm_event) events;
	unsigned int waiters;
	bool dead;                /* the last waiter frees it */
	struct ibv_context *gone; /* see vb_gone */
};

struct cm_device {
	struct ibv_context *verbs; /* NULL: not open */
	struct ibv_pd *pd;         /* of ids; NULL: not open */
	unsigned int users;        /* ids */
	bool known;                /* an id that the program has, or had, is on it */
	bool kept;                 /* a program has the list of devices */
	bool removed;              /* by a fault; until it is closed */
};

/*
 * An id listens at each device that its address covers. Two ids may have one port, of IPv4 and of
 * IPv6. Requests have IPv4 addresses only, so one id listens for both; when it stops, the other one
 * does.
 */
struct cm_listener {
	struct vb_obj obj;
	struct nic_listener *nic; /* NULL: another id listens for this one */
	struct cm_id *id;
	struct cm_device *device; /* NULL: not in use */
};

/* A multicast group that an id has joined. */
struct cm_group {
	LIST_ENTRY(cm_group) link;
	struct sockaddr_storage addr;
	union ibv_gid gid;
	uint16_t lid;
	void *context;
	bool listens;          /* it does not only send */
	bool attached;         /* the program's QP is in the group */
	uint32_t given, acked; /* events, with the mutex of the id */
};

struct cm_id {
	struct rdma_cm_id base; /* first */
	LIST_ENTRY(cm_id) link;
	bool sync;  /* its channel is its own, and calls wait for their event */
	bool known; /* to the program; not before it has fetched the request */
	bool inner; /* of an rsocket: the program has no part in it */
	enum cm_state state;
	struct cm_device *device;
	struct cm_listener listener[CM_DEVICES];
	int backlog; /* requests that may still be queued */
	struct nic_conn *request;
	/* The connection: obj is its `ctx`; nic NULL: there is none. */
	struct vb_obj obj;
	struct nic_qp *nic;
	bool direct;  /* the program's QP took its place */
	bool passive; /* made for the request of a peer */
	/* Its end (end.c): the program disconnected it, DISCONNECTED came, it is in timewait. */
	bool disconnects, over, waits;
	struct nic_conn_end_point near, far;
	uint8_t initiator_depth, responder_resources;
	uint8_t tos, ack_timeout;
	bool reuse_address;
	bool one_family, chose_family; /* of addresses: AFONLY, and the program set it */
	struct ibv_ece ece;
	/* rdma_create_ep of a listener: what each request gets. */
	struct ibv_qp_init_attr *ep_init;
	/* rdma_create_ep: private data of the request, from ai_connect; kept as long as the id. */
	void *connect_data;
	size_t connect_size;
	struct ibv_sa_path_rec path;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t given, acked; /* events */
	LIST_HEAD(, cm_group) groups;
};

static inline struct cm_id *cm_id_of(struct rdma_cm_id *base)
{
	return (struct cm_id *)base;
}

static inline struct cm_channel *cm_channel_of(struct cm_id *id)
{
	return (struct cm_channel *)id->base.channel;
}

/* Its device is gone: it hears no more, and can only be destroyed. */
static inline bool cm_is_removed(const struct cm_id *id)
{
	return id->device && id->device->removed;
}

/* The program's queue pair is the connection's: librdmacm alone can connect those of an RNIC. */
static inline bool cm_is_rnic(const struct cm_id *id)
{
	return id->base.verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

static inline bool cm_is_datagram(const struct cm_id *id)
{
	return id->base.qp_type == IBV_QPT_UD;
}

/* As every call of librdmacm fails: -1 and errno. */
static inline int cm_fail(int err)
{
	errno = err < 0 ? -err : err;
	return -1;
}

static inline int cm_result(int err)
{
	return err ? cm_fail(err) : 0;
}

/* As vb_fault; 0 too while the id has no device. */
static inline int cm_fault(const struct cm_id *id, enum vb_call call)
{
	return id->device ? vb_fault(vb_context_of(id->device->verbs), NULL, call) : 0;
}

/* ---- device.c ---- */

/* -ENODEV: there is no backend. */
int cm_begin(void);
struct backend *cm_backend(void);
void cm_enter(void);
void cm_leave(void);
/* cm_leave and cm_result. */
int cm_leave_with(int err);
/* Open device i, and make its PD, unless it is open; for one more user; without the lock. */
int cm_device_get(unsigned int i, struct cm_device **device);
/* One user less (NULL: none); close the devices without users; without the lock. */
void cm_device_put(struct cm_device *device);
/* The program has an id on it: it stays open. */
void cm_device_know(struct cm_device *device);
const struct nic_attr *cm_device_attr(const struct cm_device *device);
void cm_device_forget(void);
/* The one of this context; NULL: the program opened it. */
struct cm_device *cm_device_of(const struct ibv_context *verbs);

/* ---- channel.c, event.c ---- */

struct cm_channel *cm_channel_make(void);
/* Queue an event; NULL: no memory, or no channel, and it is lost. The lock is held. */
struct cm_event *cm_event_add(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Of a request or an answer. */
void cm_event_set_data(struct cm_event *event, const struct nic_conn_param *param);
/* The private data alone, of a packet with that room; returns its length. */
uint8_t cm_event_copy_data(struct cm_event *event, const struct nic_conn_param *param,
			   uint32_t room);
/* A line of the trace, of the id's connection or, if it has none, of its device. */
void cm_trace(const struct cm_id *id, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void cm_trace_refusal(const struct cm_id *id, const char *call, int err); /* if err */
/* If err; NULL: of no device. */
void cm_device_refuse(const struct cm_device *device, const char *call, int err);
/* The same without the lock; see vb_note_begin. An id without a device writes no line. */
void cm_note(const struct cm_id *id, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Without the lock: the call's line, or that it was refused; returns what the call does. */
int cm_told(const struct cm_id *id, const char *call, int err);
void cm_trace_event(const struct cm_event *event, const char *verb);
/* Free an event that left its queue and will not be fetched; the lock is held. */
void cm_event_drop(struct cm_event *event);
/* Move, or if `to` is NULL drop, the queued events of an id. */
void cm_event_move(struct cm_id *id, struct cm_channel *from, struct cm_channel *to);
void cm_event_drop_group(struct cm_id *id, const struct cm_group *group);
/* A synchronous id waits for the outcome; without the lock. */
int cm_complete(struct cm_id *id);
/* As rdma_ack_cm_event, which writes a line before. */
void cm_event_acknowledge(struct rdma_cm_event *event);
/* Wait until the program has acknowledged all events of the id; without the lock. */
void cm_event_wait_acked(struct cm_id *id);
/* The same for the events of a group of the id. */
void cm_await_acked(struct cm_id *id, const uint32_t *acked, const uint32_t *given);

/* ---- id.c ---- */

extern const struct vb_cm_ops cm_ops;
int cm_id_make(struct cm_channel *channel, void *context, enum rdma_port_space ps,
	       enum ibv_qp_type type, struct cm_id **out);
/* As the call of that name, which writes a line. */
int cm_id_migrate(struct cm_id *id, struct rdma_event_channel *channel);
/* Without the lock, for one that no program knows. */
void cm_id_free(struct cm_id *id);
/* Does an id with this address and port exist, beside this one? */
/* The ids of this process, one after the other; NULL: the first, or there is no other. */
struct cm_id *cm_id_next(const struct cm_id *id);
/*
 * 0 if the id may have the port of this address, as far as other ids go, else -EADDRINUSE or
 * -EADDRNOTAVAIL. reuse: ids with REUSEADDR do not count.
 */
int cm_id_check_port(const struct cm_id *id, const struct sockaddr *addr, bool reuse);

/* ---- address.c ---- */

uint16_t cm_port(const struct sockaddr *addr);
void cm_set_port(struct sockaddr *addr, uint16_t port);
bool cm_is_any(const struct sockaddr *addr);
/* The addresses are of one family, and are equal; the ports may differ. */
bool cm_is_same_host(const struct sockaddr *a, const struct sockaddr *b);
size_t cm_address_size(const struct sockaddr *addr);
/* The id belongs to a device from now on. */
void cm_join_device(struct cm_id *id, struct cm_device *device);
void cm_leave_device(struct cm_id *id);
/* As rdma_bind_addr, for a call that is named if it is refused. */
int cm_bind(struct cm_id *id, const struct sockaddr *addr, const char *call);
/* Where the id's port lies among those of the fabric. */
uint64_t cm_service(const struct cm_id *id, uint16_t port);

/* ---- resolve.c ---- */

/* Of an id that waits for its port: resolved, or a negative errno. The lock is held. */
void cm_resolve_end(struct cm_id *id, int status);
/*
 * The program names the path (RDMA_OPTION_IB_PATH). -EINVAL: the id has no address yet, or has a
 * path already.
 */
int cm_path_set(struct cm_id *id);

/* ---- listen.c ---- */

/* pass_on: an id that has the same port listens from now on. Not while the device is closed. */
void cm_listen_stop(struct cm_id *id, bool pass_on);
void cm_on_request(struct vb_obj *listener, struct nic_conn *conn);

/* ---- connect.c, reply.c ---- */

/* The NIC's connection, in place of an earlier one. The lock is held. */
int cm_conn_make(struct cm_id *id);
void cm_conn_free(struct cm_id *id);
/* Give up whatever there is of a connection. The lock is held. */
void cm_drop(struct cm_id *id);
void cm_on_established(struct vb_obj *obj, const struct nic_conn_param *peer);
void cm_on_end(struct vb_obj *obj, enum nic_conn_end why);
/* The answer is an event of its own, and not the end of the connection's set-up. */
bool cm_answer_stays(const struct cm_id *id);
/*
 * The answer came: finish the connection, and say what the event is. False: the program is not to
 * see the event, which is freed. Without the lock.
 */
bool cm_finish(struct cm_id *id, struct cm_event *event);

/* ---- end.c ---- */

/* The connection is over, as its program is told. The lock is held. */
void cm_timewait_begin(struct cm_id *id);
void cm_on_alarm(struct vb_obj *obj);
uint32_t cm_alarm_event(const struct vb_obj *obj);

/* ---- datagram.c: of ids for QPs of type UD ---- */

uint32_t cm_datagram_qkey(const struct cm_id *id);
/* As rdma_init_qp_attr: the mask without IBV_QP_STATE, or a negative errno. */
int cm_datagram_attr(const struct cm_id *id, struct ibv_qp_attr *attr);
/* What a request, its answer and the end of the connection that carried them mean. */
void cm_datagram_asked(struct cm_event *event, const struct nic_conn_param *param);
void cm_datagram_answered(struct cm_id *id, const struct nic_conn_param *peer);
void cm_datagram_ended(struct cm_id *id, enum nic_conn_end why);

/* ---- group.c ---- */

/* The event of a join is fetched; without the lock, as the next one. */
int cm_group_attach(struct cm_id *id, struct cm_group *group);
void cm_groups_leave(struct cm_id *id);

/* ---- qp.c ---- */

int cm_qp_ready(struct cm_id *id);
void cm_qp_error(struct cm_id *id);
void cm_free_cqs(struct cm_id *id);

#endif /* VERBS_CM_CM_H */
