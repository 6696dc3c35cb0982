/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vb.h - the front for libibverbs: its objects, and what its files share.
 *
 * Every object embeds the struct that verbs.h gives to programs, and its NIC object behind the door
 * (host/nic.h). The `ctx` of a NIC object is the `host` field of ours.
 *
 * Lock: the backend's, taken by vb_enter and released by vb_leave, covers everything here but the
 * counts of acknowledged events, which verbs.h shares with programs: those have the mutex and the
 * condition of their object. The device list is made once and never changes.
 */
#ifndef VERBS_VB_H
#define VERBS_VB_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <sys/queue.h>

#include "host/backend.h"
#include "host/front.h"

/* Wrappers of the header around the functions that this room defines. */
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* This function is what new programs link to; refused.c has its form of IBVERBS_1.0. */
#define VB_NEW(name) __asm__(".symver " #name ", " #name "@@@IBVERBS_1.1")

#define VB_PORT       1u /* the only port */
#define VB_GIDS       2  /* 0: of the link, 1: of the IPv4 address */
#define VB_PKEY       0xffffu
#define VB_INLINE_MAX 512u /* bytes of inline payload */
/* Devices round up what a program asks for, and some programs rely on that. */
#define VB_INLINE_LEAST 32u
#define VB_KEYS         256u     /* buckets */
#define VB_CLOCK_KHZ    1000000u /* of the clock of completions: virtual time */
#define VB_AHS          65536
#define VB_MEMBERS      4096 /* of all multicast groups of a fabric together */
#define VB_QPN_MASK     0xffffffu

enum vb_kind {
	VB_PD,
	VB_MR,
	VB_MW,
	VB_CHANNEL,
	VB_CQ,
	VB_SRQ,
	VB_QP,
	VB_AH,
	VB_LISTENER, /* librdmacm's: cm/ */
	VB_CONN,
	VB_KINDS
};

struct vb_context;

/* The beginning of each object; the host sees `host`. */
struct vb_obj {
	struct host_obj host; /* first: host/front.h */
	struct vb_context *context;
	TAILQ_ENTRY(vb_obj) link;
	enum vb_kind kind;
	uint32_t id;
	unsigned int users; /* objects that refer to it */
};

TAILQ_HEAD(vb_obj_list, vb_obj);
LIST_HEAD(vb_mr_list, vb_mr);

struct vb_adapter {
	struct adapter base; /* first: host/front.h */
	LIST_HEAD(, vb_context) contexts;
	bool port_down;                  /* read without the lock, too */
	struct vb_mr_list keys[VB_KEYS]; /* by lkey */
	uint32_t last_id[VB_KINDS];
};

/* An asynchronous event that waits for ibv_get_async_event. */
struct vb_async {
	TAILQ_ENTRY(vb_async) link;
	struct ibv_async_event event;
};

struct vb_device {
	struct ibv_device ibv;
	unsigned int index;
	uint32_t number; /* of its adapter in the fabric, once it was opened; else 0 */
};

struct vb_qp;
struct vb_batch;
/* Post the requests of a batch, in order; returns an errno. */
typedef int vb_post_batch_call(struct vb_qp *qp, const struct vb_batch *batch);

struct vb_context {
	struct vb_adapter *adapter;
	struct nic *nic;
	uint64_t serial; /* of its opening */
	bool inherited;  /* by a forked child, which may ask about the device, and no more */
	LIST_ENTRY(vb_context) link;
	struct vb_obj_list objects;
	TAILQ_HEAD(, vb_async) events;
	vb_post_batch_call *post_batch;
	struct verbs_context ex; /* ends with the struct ibv_context of the program */
};

struct vb_pd {
	struct ibv_pd ibv;
	struct vb_obj obj;
	struct nic_pd *nic;
};

struct vb_mr {
	struct ibv_mr ibv;
	struct vb_obj obj;
	struct nic_mr *nic;
	LIST_ENTRY(vb_mr) key_link;
	LIST_HEAD(, vb_range) ranges; /* open ones */
	unsigned int access;          /* enum ibv_access_flags */
	uint64_t iova; /* the program's name for its first byte, usually its address */
};

/*
 * The region that a queue pair last posted from, or into. Its key was looked up once; the next post
 * there needs a check of its bounds only. Closed when the region or the queue pair ends.
 */
struct vb_range {
	LIST_ENTRY(vb_range) link; /* in the region's list while open */
	uint64_t end, size;        /* as the program names its bytes; size 0: closed */
	uint64_t shift;            /* from that name to the address */
	uint32_t lkey;
};

struct vb_mw {
	struct ibv_mw ibv;
	struct vb_obj obj;
	struct nic_mw *nic;
};

struct vb_cq;
struct vb_cursor;
struct vb_channel {
	struct ibv_comp_channel ibv;
	struct vb_obj obj; /* its users are the threads that wait */
	bool left; /* destroyed meanwhile: freed with the last of them, or with the device */
	STAILQ_HEAD(, vb_cq) ready; /* one entry for each event: see vb_cq.events */
};

struct vb_cq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ex;
	};
	struct vb_obj obj;
	struct nic_cq *nic;
	STAILQ_ENTRY(vb_cq) ready_link; /* while events > 0 */
	unsigned int events;            /* not fetched yet */
	uint32_t given, given_async;    /* events handed out; both wrap, as those of verbs.h do */
	/* Completions taken from the NIC before the program polled them: kept[first .. kept_end) */
	struct nic_wc *kept;
	uint32_t kept_first, kept_end, kept_room;
	struct vb_cursor *cursor; /* of a CQ that was made for ibv_start_poll, else NULL: cq_ex.c */
};

struct vb_srq {
	struct ibv_srq ibv;
	struct vb_obj obj;
	struct nic_srq *nic;
	struct ibv_srq_attr attr;
	uint32_t given_async;
};

/* A request that waits for ibv_wr_complete. */
struct vb_wr {
	struct ibv_send_wr ibv;
	struct ibv_sge slot; /* inline payload in its slot */
	bool in_slot;
};

struct vb_batch {
	pthread_mutex_t mutex;
	bool locked;
	int err;       /* of the first request that cannot be; a negative errno */
	uint32_t n;    /* requests */
	uint32_t room; /* requests that the send queue had room for */
	struct ibv_sge *sge;
	struct vb_wr wrs[];
};

struct vb_qp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
	};
	struct vb_obj obj;
	struct nic_qp *nic;
	struct ibv_qp_attr attr; /* what ibv_modify_qp has set */
	struct ibv_qp_init_attr init;
	struct vb_range send_range, recv_range; /* quick.c */
	unsigned int signaled, quick; /* IBV_SEND_SIGNALED if every request is; enum vb_quick */
	uint32_t given_async;
	bool draining;                  /* in SQD, and requests that had begun have not completed */
	bool tells_drained, told_fatal; /* SQ_DRAINED is asked for; QP_FATAL has come since RESET */
	struct vb_obj *conn; /* the QP itself is this connection's: its peer is no verbs QP */
	/* Inline payload: a slot for each request that can be in flight, and one more. */
	uint8_t *inline_room;
	struct nic_mr *inline_mr;
	uint32_t inline_slot;
	struct vb_batch *batch; /* of a QP that was made for ibv_wr_xxx, else NULL: qp_ex.c */
};

struct vb_ah {
	struct ibv_ah ibv;
	struct vb_obj obj;
	struct ibv_ah_attr attr;
};

#define VB_OF(ptr, type) nic_container_of(ptr, struct vb_##type, ibv)

static inline struct vb_context *vb_context_of(struct ibv_context *context)
{
	return nic_container_of(context, struct vb_context, ex.context);
}

static inline struct backend *vb_backend(const struct vb_context *context)
{
	return context->adapter->base.backend;
}

static inline struct vb_context *vb_enter(struct ibv_context *ibv)
{
	struct vb_context *context = vb_context_of(ibv);

	backend_enter(vb_backend(context));
	return context;
}

static inline void vb_leave(struct vb_context *context)
{
	backend_leave(vb_backend(context));
}

/* Leave, and return what a call of verbs returns: 0 or an errno. */
static inline int vb_result(struct vb_context *context, int err)
{
	vb_leave(context);
	return -err;
}

/* For a call that returns a pointer. */
static inline void *vb_failed(int err)
{
	errno = -err;
	return NULL;
}

/* ---- front.c ---- */

extern const struct front_ops vb_front_ops;
/* -ENODEV: DAT_PROVIDER names none; the reason is on stderr. */
int vb_chosen(struct backend **b);
void vb_obj_add(struct vb_context *context, struct vb_obj *obj, enum vb_kind kind);
void vb_obj_remove(struct vb_obj *obj);

/* ---- fault.c ---- */

/* Calls, but for posts, that faults by name can make fail. */
enum vb_call {
	VB_CALL_ALLOC_PD = 1,
	VB_CALL_REG_MR,
	VB_CALL_REREG_MR,
	VB_CALL_ALLOC_MW,
	VB_CALL_BIND_MW,
	VB_CALL_CREATE_CHANNEL,
	VB_CALL_CREATE_CQ,
	VB_CALL_RESIZE_CQ,
	VB_CALL_NOTIFY_CQ,
	VB_CALL_CREATE_SRQ,
	VB_CALL_MODIFY_SRQ,
	VB_CALL_CREATE_QP,
	VB_CALL_MODIFY_QP,
	VB_CALL_CREATE_AH,
	VB_CALL_ATTACH_MCAST,
	/* librdmacm's: cm/ */
	VB_CALL_BIND_ADDR,
	VB_CALL_RESOLVE_ADDR,
	VB_CALL_RESOLVE_ROUTE,
	VB_CALL_CM_CREATE_QP,
	VB_CALL_LISTEN,
	VB_CALL_CONNECT,
	VB_CALL_ACCEPT,
	VB_CALL_REJECT,
	VB_CALL_DISCONNECT,
	VB_CALLS
};

int vb_call_error(struct vb_context *context, const struct vb_obj *qp, enum vb_call call);

/*
 * A negative errno: a rule makes this call fail, or its device has failed. A call asks before it
 * does anything, with the lock held. qp: the one that it is about, or NULL.
 */
static inline int vb_fault(struct vb_context *context, const struct vb_obj *qp, enum vb_call call)
{
	if (__builtin_expect(!vb_backend(context)->fault, 1))
		return 0;
	return vb_call_error(context, qp, call);
}

/* front_ops.alarm, front_ops.call_fault */
uint32_t vb_alarm(const void *ctx);
bool vb_call_fault(const struct fault_text_rule *text, struct nic_fault_rule *rule);

/* ---- context.c ---- */

void vb_context_fill_ops(struct ibv_context *context, struct verbs_context *ex);
/* The attributes of the device and of its port. Without the lock, or with it. */
void vb_device_attr(struct ibv_context *ibv, struct ibv_device_attr *attr);
void vb_port(struct ibv_context *ibv, struct ibv_port_attr *port);
/* Virtual time. */
uint64_t vb_now(struct ibv_context *ibv);
union ibv_gid vb_gid(const struct vb_context *context, int index);

/* Where packets with this address go: the number of an adapter, or 0 for none. */
uint16_t vb_adapter_of(const struct vb_context *context, const struct ibv_ah_attr *attr);
/* How a packet gets to that adapter. */
void vb_address_of(struct ibv_context *ibv, uint16_t number, struct ibv_ah_attr *attr);
/* Can packets of this device have such an address? */
bool vb_address_fits(const struct ibv_ah_attr *attr);

/* ---- setting.c ---- */

/* -EINVAL: one is wrong, as was said. */
int vb_setting_check(void);
const char *vb_setting_name(void); /* of devices, without their index */
bool vb_setting_for_hw(void);   /* the hardware of DAT_PROVIDER=hw, with addresses of their own */
bool vb_setting_ethernet(void); /* the link layer: no LIDs, and every address has a GID */
bool vb_setting_iwarp(void);

/* ---- device.c ---- */

uint64_t vb_device_guid(const struct vb_device *device); /* host order */
/* As the calls of libibverbs, without their lines in a trace. */
struct ibv_context *vb_device_open(struct ibv_device *device);
void vb_device_close(struct ibv_context *ibv);

/* ---- what a closing context does with an object that is left ---- */

void vb_pd_discard(struct vb_pd *pd);
void vb_mr_discard(struct vb_mr *mr);
void vb_mw_discard(struct vb_mw *mw);
void vb_channel_discard(struct vb_channel *channel);
void vb_cq_discard(struct vb_cq *cq);
void vb_srq_discard(struct vb_srq *srq);
void vb_qp_discard(struct vb_qp *qp);
void vb_ah_discard(struct vb_ah *ah);

/* ---- mr.c ---- */

uint32_t vb_access(unsigned int access); /* enum nic_access */
/* The region that these bytes are in; NULL: the key does not permit it. */
struct vb_mr *vb_region_of(struct vb_context *context, const struct vb_pd *pd,
			   const struct nic_sge *sge, bool write);
/*
 * Do the keys allow a request to use these segments now? If so, each gets the address of its memory
 * for that by which the program named it; otherwise one gets a key that is no good. `write`: the
 * NIC stores into them.
 */
bool vb_keys_allow(struct vb_context *context, const struct vb_pd *pd, struct nic_sge *sge, int n,
		   bool write);

/* ---- mw.c ---- */

/* nic_send_wr.length of a bind, which comes back: 0, or that it is an invalidation. */
#define VB_BIND_INVALIDATES 1u

struct ibv_mw *vb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vb_dealloc_mw(struct ibv_mw *mw);
int vb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* For IBV_WR_BIND_MW. -EINVAL: its form is wrong. */
int vb_mw_bind_wr(struct nic_send_wr *out, const struct vb_qp *qp, const struct ibv_send_wr *wr);

/* ---- quick.c ---- */

/* Before a region or a queue pair goes: forget what was found out about its keys. */
void vb_ranges_close(struct vb_mr *mr);
void vb_range_close(struct vb_range *range);
/* Fill in the calls of every message. */
void vb_use_path(struct vb_context *context, enum path path);

/* ---- cq.c ---- */

struct vb_cq *vb_cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr);
int vb_cq_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int vb_cq_request_notify(struct ibv_cq *cq, int solicited_only);
/* Remove the completions of a QP, which is about to be destroyed or was reset. */
void vb_cq_forget(struct vb_cq *cq, const struct nic_qp *qp);
void vb_cq_limit(struct vb_cq *cq);
void vb_cq_on_notify(void *obj);
void vb_cq_on_lost(void *cq_obj, void *qp_obj, enum nic_opcode lost);

/* ---- cq_ex.c ---- */

struct ibv_cq_ex *vb_create_cq_ex(struct ibv_context *ibv, struct ibv_cq_init_attr_ex *attr);
void vb_cq_free_cursor(struct vb_cq *cq);

/* ---- qp_ex.c ---- */

struct ibv_qp *vb_create_qp_ex(struct ibv_context *ibv, struct ibv_qp_init_attr_ex *attr);
void vb_qp_free_batch(struct vb_qp *qp);

/* ---- qp.c, qp_state.c, post.c, srq.c ---- */

void vb_qp_on_end(void *obj, enum nic_conn_end why);
void vb_qp_on_event(struct vb_qp *qp, enum nic_qp_event what);
void vb_qp_tell(struct vb_qp *qp, enum ibv_event_type what);
void vb_qp_fail(struct vb_qp *qp, const char *by);
/* The QP was itself that of a connection, which is over: tell librdmacm. */
void vb_qp_part(struct vb_qp *qp, enum nic_conn_end why);
/* -EINVAL: that state cannot follow, or a needed attribute is missing, or one does not belong. */
int vb_state_check(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask);
int vb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
vb_post_batch_call vb_post_batch;
/* Does such a request bring data back? */
bool vb_post_fetches(enum ibv_wr_opcode opcode);
int vb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int vb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_srq *vb_create_srq_ex(struct ibv_context *ibv, struct ibv_srq_init_attr_ex *init);
void vb_srq_on_limit(void *obj);

/* ---- ah.c ---- */

/* Where a request of a QP of type UD goes. -EINVAL: its address handle is not of the QP's PD. */
int vb_ah_resolve(const struct vb_qp *qp, const struct ibv_send_wr *wr, uint32_t length,
		  struct nic_to *to);

/* ---- transitions.c ---- */

struct vb_transition {
	bool valid;
	int must, may; /* enum ibv_qp_attr_mask, without IBV_QP_STATE */
};

/* For QPs of type UC and UD; NULL: another type. */
const struct vb_transition *vb_transition_unreliable(enum ibv_qp_type type, enum ibv_qp_state from,
						     enum ibv_qp_state to);

/* ---- event_fd.c ---- */

/* A descriptor that counts events; -1: errno. */
int vb_event_fd(void);
/* One event less. */
void vb_event_taken(int fd);

/* ---- async.c ---- */

void vb_async_add(struct vb_context *context, const struct ibv_async_event *event);
/* Drop those about an object that is destroyed. */
void vb_async_forget(struct vb_context *context, const void *element);
void vb_event_tell(struct backend *b, int fd);
/* There is an open device; the last one is about to be closed; in a forked child. */
int vb_world_fd(void);
void vb_world_began(struct backend *b);
void vb_world_ends(void);
void vb_world_forget(void);
/*
 * A program that waits for a descriptor by itself makes no call, so another thread has to let time
 * pass. A shared fabric has that thread already.
 */
void vb_event_helper(struct backend *b);

/* ---- librdmacm.c ---- */

/* What librdmacm.so.1, if it is loaded, hears of its objects; the lock is held. */
struct vb_cm_ops {
	void (*request)(struct vb_obj *listener, struct nic_conn *conn);
	void (*established)(struct vb_obj *conn, const struct nic_conn_param *peer);
	void (*end)(struct vb_obj *conn, enum nic_conn_end why);
	/* Of nic_ops.qp_alarm; and what it would bring now: an enum vb_cm_event, or 0. */
	void (*alarm)(struct vb_obj *conn);
	uint32_t (*alarm_event)(const struct vb_obj *conn);
	/* What happens to the adapter of an open device. */
	void (*adapter)(struct ibv_context *verbs, enum nic_adapter_event what);
	/* The device of this listener or connection is closed. */
	void (*discard)(struct vb_obj *obj);
	/* In a forked child, which has none of its parent's objects. */
	void (*forget)(void);
};
extern const struct vb_cm_ops *vb_cm;
/* -ENODEV: DAT_PROVIDER names no backend for these. */
int vb_cm_begin(const struct vb_cm_ops *ops, struct backend **b);
void vb_cm_enter(struct backend *b);
void vb_cm_leave(struct backend *b);
/* For a QP that is itself the one of a connection: its state changes, by no packet of its own. */
void vb_qp_become(struct ibv_qp *qp, enum ibv_qp_state state, struct vb_obj *conn);

#endif /* VERBS_VB_H */
