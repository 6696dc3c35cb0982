/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.h - the only door between a front, such as lib/, and a network adapter.
 *
 * The door is shaped like verbs and knows nothing of DAT: queue pairs, completion queues, shared
 * receive queues, memory keys, connections, time. Behind it is the emulator (emu/) or real hardware
 * (passthrough/). A decorator (fault/) may be in between: a table that wraps a table.
 *
 * Objects. A backend's object embeds the small base struct below as its first member, and gets from
 * it to its own by container_of; `ctx` is lib's own, no backend touches it. The creator of an
 * object destroys it, through the same table. A parent (PD, CQ, SRQ) outlives its children; the
 * backend may assert so.
 *
 * Return values. 0 or a negative errno, everywhere:
 *
 *   -ENOMEM      out of memory, table space or a limit reported in nic_attr
 *   -EINVAL      a value that the backend does not accept (lib checks DAT's rules before)
 *   -EAGAIN      a work queue is full
 *   -EOPNOTSUPP  this backend cannot do it at all (a capability bit says so beforehand)
 *   -EIO         the adapter has failed
 *
 * A failing call changes nothing and writes no output.
 *
 * Lock. The host holds the one lock of the backend instance (backend.h) around every call, and
 * every upcall runs under it. Exceptions: the calls that nic_backend.quick permits, and those of
 * nic_quick.h, run under the biased lock alone. `wait` is the one entry that may block; meanwhile
 * it releases the lock by upcalls. A backend with threads of its own takes the lock by `lock` of
 * struct nic_host before any upcall. While the process has a single thread
 * (__libc_single_threaded), the lock is a no-op.
 *
 * Upcalls may come from inside any call. They may poll, arm, count and limit completion queues,
 * query, and call qp_break or reject; conn_request may also create a QP, conn_end may set an
 * alarm. Nothing else.
 */
#ifndef HOST_NIC_H
#define HOST_NIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nic_packet.h"
#include "nic_work.h"

#define nic_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define NIC_TIME_NEVER UINT64_MAX /* a deadline that never comes */
#define NIC_LIMIT_NONE (-1)       /* an unarmed qp_taken_limit */

struct nic_ops;
struct nic_upcalls;
struct nic_quick_front;

struct nic {
	const struct nic_ops *ops;
	const struct nic_upcalls *up;
	void *ctx;
	uint64_t caps; /* enum nic_cap; fixed at open */
	/* virtual time that passes in a poll without result; 0: none, as while `threaded` is set */
	uint64_t poll_quantum_ns;
	bool tracing;      /* checked before every line: one load if tracing is off */
	bool threaded;     /* NIC_CAP_SIM: set by the host once the process has several threads */
	unsigned int idle; /* the host's: polls and queries in a row without a change */
	bool attention;    /* set by a front or the host in an upcall, to end a wait */
	char label[NIC_ADAPTER_NAME]; /* its name in traces: that of the open, or a longer one */
	/*
	 * In a conn_end upcall of NIC_END_REJECTED the private data of `refuse`; in one of
	 * NIC_END_ACCEPT_FAILED not NULL if the peer's program brought it about; else NULL.
	 */
	const struct nic_conn_param *refusal;
};

struct nic_pd {
	struct nic *nic;
};

struct nic_mr {
	struct nic *nic;
	void *ctx;
	uint32_t lkey;
	uint32_t rkey;
};

struct nic_mw {
	struct nic *nic;
	uint32_t rkey; /* of the latest bind, from its post on; 0: none, or an unbind */
	uint32_t key;  /* NIC_CAP_NUMBERS: all its keys, but for their lowest 8 bits */
};

struct nic_cq {
	struct nic *nic;
	void *ctx;
	bool waited; /* lib's: a thread waits for its completions, or is about to */
	/* lib's: of successful completions, only solicited ones are notifications */
	bool solicited_only;
	/*
	 * lib's: cq_notify may come as late as in this process's next call, unless a thread waits.
	 * Takes effect at the next cq_arm.
	 */
	bool patient;
	/*
	 * The backend's: cq_notify comes for notifications only, and nic_wc does not say which
	 * completion was one.
	 */
	bool picks;
};

struct nic_srq {
	struct nic *nic;
	void *ctx;
};

struct nic_qp {
	struct nic *nic;
	void *ctx;
	uint32_t *reaped; /* lib's counter of receive completions handed out or discarded */
	uint32_t number;  /* NIC_CAP_NUMBERS: unique on its adapter, at most 24 bits, not 0 or 1 */
	uint32_t index;   /* of the object in a table of the backend */
};

struct nic_listener {
	struct nic *nic;
	void *ctx;
};

/* A connection request waiting for an answer. Private data lives as long as the object. */
struct nic_conn {
	struct nic *nic;
	void *ctx;
	struct sockaddr_storage remote;
	uint64_t remote_port;
	const void *private_data;
	uint32_t private_data_size;
	uint32_t rd_in, rd_out; /* of the active side: nic_conn_param */
	struct nic_conn_end_point by;
};

/*
 * The capabilities of a backend. At open they are checked against its table, so that no bit is an
 * empty promise.
 */
enum nic_cap {
	NIC_CAP_SRQ = 1u << 0,
	NIC_CAP_SRQ_RESIZE = 1u << 1,
	NIC_CAP_SRQ_LIMIT = 1u << 2,
	NIC_CAP_SRQ_COUNT = 1u << 3, /* srq_count is exact at any moment */
	/* qp_taken_limit acts when a message takes a buffer, not when its completion is polled */
	NIC_CAP_TAKEN_LIMIT = 1u << 4,
	NIC_CAP_MW = 1u << 5,
	NIC_CAP_CQ_RESIZE = 1u << 6,
	NIC_CAP_HANDOFF = 1u << 7,
	NIC_CAP_SIM = 1u << 8, /* virtual time: the sim_* group works */
	NIC_CAP_PACKET_RULES = 1u << 9,
	NIC_CAP_SRQ_ANY_PD = 1u << 10, /* a QP and its SRQ may be of different PDs */
	/* the local memory of an RDMA Read needs remote write access */
	NIC_CAP_READ_BY_WRITE = 1u << 11,
	NIC_CAP_NUMBERS = 1u << 12, /* qp_to works, and what only such QPs can do */
};

/* Limits, finite, enforced by the backend over all users of the adapter. */
struct nic_attr {
	char vendor[64];
	uint32_t hw_major, hw_minor, fw_major, fw_minor;
	struct sockaddr_storage addr;
	int max_qp, max_qp_wr, max_sge, max_sge_rd, max_rd_atomic_in, max_rd_atomic_out;
	int max_cq, max_cqe;
	int max_srq, max_srq_wr, max_qp_per_srq;
	int max_mr, max_mw, max_pd, max_listener;
	uint64_t max_mr_size, max_msg_size;
	uint32_t max_private_data;
	/* NIC_CAP_NUMBERS: of the adapter, among those that it can reach; not 0. Longest packet. */
	uint16_t number;
	uint32_t mtu;
};

struct nic_qp_cap {
	uint32_t max_send_wr, max_recv_wr; /* exact: one more request is -EAGAIN */
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_rdma_sge; /* of WRITE and READ, if larger than max_send_sge */
	/*
	 * Reads in flight. max_rd_in: from the peer; one more breaks the connection. max_rd_out:
	 * from here; further ones wait on the send queue.
	 */
	uint32_t max_rd_in, max_rd_out;
};

struct nic_qp_init {
	struct nic_pd *pd; /* NULL: qp_modify sets it before the QP connects */
	struct nic_cq *send_cq,
		*recv_cq;    /* NULL: each completion of that side is a cq_lost upcall */
	struct nic_srq *srq; /* NULL: its own receive queue */
	struct nic_qp_cap cap;
	enum nic_qp_kind kind;
	enum nic_qp_noun noun; /* what traces call it: emu0.<noun><name> */
	uint32_t name;
};

/*
 * What each side sends to the other: the RDMA Reads that it serves at a time, and those that it has
 * in flight. lib checks that the numbers of an accept fit those of the request; they are then in
 * force. From then on the active side starts no more than the other side serves, and serves what
 * the other side starts, whatever its own QP was created with.
 */
struct nic_conn_param {
	const void *private_data;
	uint32_t private_data_size;
	uint32_t rd_in, rd_out;
	struct nic_conn_end_point by; /* NIC_CAP_NUMBERS */
};

/* Why a connection ended or never came to be. */
enum nic_conn_end {
	NIC_END_REJECTED,      /* rejected by the peer's program */
	NIC_END_NO_LISTENER,   /* no listener at that port, or its queue was full */
	NIC_END_UNREACHABLE,   /* no such adapter */
	NIC_END_TIMED_OUT,     /* no answer within the caller's time */
	NIC_END_DISCONNECTED,  /* requested by either side */
	NIC_END_BROKEN,        /* an error on the connection */
	NIC_END_ACCEPT_FAILED, /* accepted, but the active side was gone */
	NIC_END_COUNT
};

/* What happens to an adapter, by a fault. */
enum nic_adapter_event {
	NIC_ADAPTER_PORT_DOWN,
	NIC_ADAPTER_PORT_UP,
	NIC_ADAPTER_REMOVED, /* after the upcall adapter_failed */
};

/* Result of wait. */
enum nic_wait {
	NIC_WAIT_RAN,         /* something happened: check again */
	NIC_WAIT_DEADLINE,    /* the clock has reached the deadline */
	NIC_WAIT_INTERRUPTED, /* a signal came */
	NIC_WAIT_HOPELESS     /* no deadline, and no pending event can end this wait */
};

struct nic_ops {
	size_t size; /* of the table the backend was built with */

	/* ---- adapter ---- */

	/* Drop lib's reference. All objects of this nic have been destroyed. */
	void (*close)(struct nic *nic);
	void (*query)(struct nic *nic, struct nic_attr *attr);

	/* ---- memory ---- */

	int (*pd_alloc)(struct nic *nic, struct nic_pd **pd);
	void (*pd_free)(struct nic_pd *pd);
	/*
	 * The caller owns [addr, addr+length), which should stay mapped until mr_dereg. The keys
	 * are in *mr. -EFAULT: the memory is not mapped, or not with that access.
	 */
	int (*mr_reg)(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
		      struct nic_mr **mr);
	/* NIC_CAP_NUMBERS: remote addresses of the region, which is not in use yet, begin there. */
	void (*mr_base)(struct nic_mr *mr, uint64_t base);
	/* NIC_CAP_NUMBERS: another PD of the adapter, another access, the same keys; -EFAULT. */
	int (*mr_change)(struct nic_mr *mr, struct nic_pd *pd, uint32_t access);
	/* Requests that still use the keys fail with a protection status when they run. */
	void (*mr_dereg)(struct nic_mr *mr);
	/* The number of memory windows bound to it; mr_dereg requires 0. */
	uint32_t (*mr_windows)(struct nic_mr *mr);
	int (*mw_alloc)(struct nic_pd *pd, struct nic_mw **mw);
	/* Unbinds. A bind that is still queued fails when it runs. */
	void (*mw_free)(struct nic_mw *mw);
	void (*mw_query)(struct nic_mw *mw, struct nic_mw_state *state);

	/* ---- completion queues ---- */

	int (*cq_create)(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq);
	/* Queued completions stay. -EINVAL: there are more of them than `depth`. */
	int (*cq_resize)(struct nic_cq *cq, uint32_t depth);
	void (*cq_destroy)(struct nic_cq *cq);
	/* Take up to n completions, oldest first; the number taken. Never blocks. */
	int (*cq_poll)(struct nic_cq *cq, struct nic_wc *wc, int n);
	/*
	 * Take the next completion. If there is none, up to one poll quantum of virtual time
	 * passes, until a completion arrives. Where time is real, the call does not wait.
	 */
	bool (*cq_spin)(struct nic_cq *cq, struct nic_wc *wc);
	/*
	 * The same, but the completion goes to nic_upcalls.completed, with `out`, and no_completion
	 * is called if there is none. Returns what they return, so a front can call it as the last
	 * thing that it does. For PATH_PRIVATE, as send_one.
	 */
	int (*spin_one)(struct nic_cq *cq, void *out);
	/* The same for PATH_TRACED: the completion goes to nic_upcalls.completed_traced. */
	int (*spin_one_traced)(struct nic_cq *cq, void *out);
	uint32_t (*cq_count)(struct nic_cq *cq);
	/*
	 * Accept at most n unpolled completions from now on (n <= depth): part of the event queue's
	 * length is in use in lib's own queue. One more completion is not queued but reported by
	 * cq_lost. The caller does not spin a CQ whose limit is 0: what is in its own queue comes
	 * first.
	 */
	void (*cq_limit)(struct nic_cq *cq, uint32_t n);
	/* One cq_notify upcall at the next completion added. One shot. */
	void (*cq_arm)(struct nic_cq *cq);
	/*
	 * The same at the next one that is solicited or not successful. If the CQ is armed by
	 * cq_arm already, that stays. NIC_CAP_NUMBERS.
	 */
	void (*cq_arm_solicited)(struct nic_cq *cq);

	/* ---- shared receive queues ---- */

	int (*srq_create)(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name,
			  void *ctx, struct nic_srq **srq);
	/*
	 * Posted and taken Receives stay, also while messages are in flight. -EINVAL: more are
	 * posted than fit.
	 */
	int (*srq_resize)(struct nic_srq *srq, uint32_t max_wr);
	void (*srq_destroy)(struct nic_srq *srq);
	int (*srq_post)(struct nic_srq *srq, const struct nic_recv_wr *wr);
	/*
	 * Arm: one srq_limit upcall when a message takes a buffer and leaves fewer than `limit`
	 * posted. 0 disarms. The level is not checked by this call: verbs does not either, lib
	 * does.
	 */
	int (*srq_limit)(struct nic_srq *srq, uint32_t limit);
	/* The number of Receives posted and not taken. */
	uint32_t (*srq_count)(struct nic_srq *srq);

	/* ---- queue pairs ---- */

	int (*qp_create)(struct nic *nic, const struct nic_qp_init *init, void *ctx,
			 struct nic_qp **qp);
	/* Change PD, CQs and capacities of an unconnected QP, not its SRQ or posted Receives. */
	int (*qp_modify)(struct nic_qp *qp, const struct nic_qp_init *init);
	/*
	 * Return to the state after qp_create. A connection or its set-up is abandoned (the peer
	 * gets DISCONNECTED), posted work vanishes without completion, counts restart at zero,
	 * limits stay; those of RDMA Reads are again what the QP was created or modified with. No
	 * completion is added from now on; those already in a CQ stay there for lib to poll.
	 * Returns the number of Receives taken from the SRQ that vanished without completion.
	 */
	uint32_t (*qp_reset)(struct nic_qp *qp);
	/* Only after qp_reset, and with none of its completions left in a CQ. */
	void (*qp_destroy)(struct nic_qp *qp);
	void (*qp_query)(struct nic_qp *qp, struct nic_qp_counts *counts);
	/*
	 * Two limits on `unreaped`, checked now and whenever a message takes a buffer; each acts
	 * once for each call of this entry. Above soft: the qp_soft_limit upcall. Above hard on a
	 * connected QP: the connection breaks (NIC_END_BROKEN at both ends); the message that
	 * crossed the limit is not delivered, its Receive ends FLUSHED and its Send
	 * REMOTE_OPERATION. NIC_LIMIT_NONE disarms.
	 */
	void (*qp_taken_limit)(struct nic_qp *qp, int32_t soft, int32_t hard);
	/* Break the connection from this side; an upcall soon reports its end. */
	void (*qp_break)(struct nic_qp *qp);
	/*
	 * NIC_CAP_NUMBERS: connect an unconnected QP by number, or change the path of one that is
	 * (nic_work.h). An error of such a QP is NIC_END_BROKEN.
	 */
	int (*qp_to)(struct nic_qp *qp, const struct nic_qp_path *path);
	/*
	 * A DATAGRAM QP joins a multicast group or leaves it; to be destroyed is to leave all. A
	 * datagram to the group has a copy for each QP in it, the sender's included, each of which
	 * arrives or is lost by itself. -EALREADY: it is in the group; -EINVAL: it is not.
	 */
	int (*qp_group)(struct nic_qp *qp, const uint8_t gid[NIC_GID], bool join);
	/* Of such a QP, or an unconnected one: flush all work, now and later. No upcall. */
	void (*qp_fail)(struct nic_qp *qp);
	/*
	 * NIC_CAP_NUMBERS: the qp_event upcall NIC_QP_ALARM once, after that time, unless the QP is
	 * reset before. Its connection has ended, or it had none, and then it can have one after a
	 * reset only. May be called from its conn_end upcall. -EINVAL: it is connected, or an alarm
	 * is set; -ENOMEM.
	 */
	int (*qp_alarm)(struct nic_qp *qp, uint64_t after_ns);

	/* ---- posting: never blocks, never allocates ---- */

	/*
	 * The sge array is copied; the buffers belong to the backend until the completion. A
	 * request on a disconnected QP is accepted and flushed at once.
	 */
	int (*post_send)(struct nic_qp *qp, const struct nic_send_wr *wr);
	int (*post_recv)(struct nic_qp *qp, const struct nic_recv_wr *wr);
	/*
	 * The same for an ordinary request: a SEND, or a Receive, without flags, of one segment
	 * that is not empty. Returns 0 and sets nic.idle to 0; or nothing has happened, and it
	 * returns what nic_upcalls.send_refused or recv_refused returns, to which it passes
	 * `request`, the front's own form of the request. So a front can call these as the last
	 * thing that it does. For PATH_PRIVATE and PATH_TRACED (path.h), so decorators do not see
	 * these calls. The NIC writes the line of a Send that is traced, and asks the front by
	 * recv_posted for that of a Receive.
	 */
	int (*send_one)(struct nic_qp *qp, uint64_t addr, void *request, uint64_t wr_id,
			uint32_t length, uint32_t lkey);
	int (*recv_one)(struct nic_qp *qp, uint64_t addr, void *request, uint64_t wr_id,
			uint32_t length, uint32_t lkey);

	/* ---- connections ---- */

	/*
	 * -EADDRINUSE: the port is in use. *port 0: the backend picks a free one and writes it;
	 * -EADDRNOTAVAIL: there is none.
	 */
	int (*listen)(struct nic *nic, uint64_t *port, void *ctx, struct nic_listener **listener);
	/* Requests already passed to lib can still be answered. */
	void (*unlisten)(struct nic_listener *listener);
	/*
	 * Start to connect; an upcall reports the outcome. -EAFNOSUPPORT: the network does not know
	 * this form of address; -EADDRNOTAVAIL: no host can have it. Private data is copied. The
	 * deadline is in nic time, or NIC_TIME_NEVER.
	 */
	int (*connect)(struct nic_qp *qp, const struct sockaddr *remote, uint64_t port,
		       uint64_t deadline, const struct nic_conn_param *param);
	/* Consumes conn if it returns 0; an upcall on qp reports the outcome. */
	int (*accept)(struct nic_conn *conn, struct nic_qp *qp, const struct nic_conn_param *param);
	/*
	 * NIC_CAP_NUMBERS, if param->by.qp of the request named a QP: the passive side hears of the
	 * connection when the active side calls this after its established upcall. `qp` stands for
	 * the connection, without requests. If the answer named a QP too, the fronts connect these
	 * two by number, and messages is NULL. Else it is the QP that carries the messages, which
	 * takes the place of `qp`. -ENOTCONN: the connection has ended.
	 */
	int (*confirm)(struct nic_qp *qp, struct nic_qp *messages);
	/* Reject a request by the program, with private data. Consumes conn. NIC_CAP_NUMBERS. */
	int (*refuse)(struct nic_conn *conn, const void *data, uint32_t size);
	/* Consumes conn. The peer gets REJECTED if by_program, else NO_LISTENER. */
	void (*reject)(struct nic_conn *conn, bool by_program);
	/*
	 * Pass the request to another listener of this adapter, as if it arrived now. Consumes
	 * conn: the conn_request upcall, from inside this call, hands it to lib again. -ENOENT: no
	 * such listener.
	 */
	int (*handoff)(struct nic_conn *conn, uint64_t port);
	/*
	 * abrupt: all outstanding work is flushed, then the DISCONNECTED upcall comes. Otherwise
	 * the requests already posted complete first. During set-up either form aborts the set-up.
	 */
	void (*disconnect)(struct nic_qp *qp, bool abrupt);

	/* ---- time, nanoseconds ---- */

	uint64_t (*now)(struct nic *nic);
	/*
	 * Let the world run until cq gains a completion, lib sets `attention` (it clears the flag
	 * before the call), or the deadline; at most one event if cq is NULL. May block (in real
	 * time), and then releases the lock.
	 */
	enum nic_wait (*wait)(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
	/*
	 * All threads blocked in `wait`, on any nic, return: what they wait for may have happened.
	 */
	void (*wake)(struct nic *nic);

	/* ---- simulation and trace (NIC_CAP_SIM) ---- */

	/* Run the next event and move the clock to it; false: there is none. */
	bool (*sim_step)(struct nic *nic);
	/* The number of pending events, without held packets; the time of the first in *next_ns. */
	uint32_t (*sim_pending)(struct nic *nic, uint64_t *next_ns);
	/* Buffers that the program changed while they were posted: NIC_HOSTILE_WATCH. */
	uint32_t (*sim_violations)(struct nic *nic);
	int (*sim_set_link)(struct nic *nic, const char *from, const char *to, uint64_t latency_ns,
			    uint64_t bandwidth_bps);
	/* -ENOENT: no open adapter has that name. */
	int (*sim_hold_link)(struct nic *nic, const char *from, const char *to, uint32_t packets);
	int (*sim_release_link)(struct nic *nic, const char *from, const char *to);
	/* The adapter's port: while it is down, every packet from and to the adapter is lost. */
	void (*sim_port)(struct nic *nic, bool up);
	int (*sim_hold_message)(struct nic_qp *qp, uint64_t message, uint32_t packets);
	int (*sim_release_message)(struct nic_qp *qp, uint64_t message);
	void (*sim_trace)(struct nic *nic, bool on);
	/* The backend owns the text; it is valid until the next call. */
	int (*sim_trace_read)(struct nic *nic, const char **text, size_t *length);
	/* Append a line to the trace, with "<now> " before it and a newline after it. */
	void (*trace)(struct nic *nic, const char *format, va_list args);
	/* One of the lines of every message: call it only while tracing. */
	void (*trace_event)(struct nic *nic, enum nic_trace_kind kind, uint32_t name, uint32_t a,
			    uint32_t b, uint32_t c);

	/* ---- packet faults (NIC_CAP_PACKET_RULES) ---- */

	/* -EINVAL: a field out of range. *id counts from 1. */
	int (*packet_rule_add)(struct nic *nic, const struct nic_packet_rule *rule, uint32_t *id);
	/* How many times the rule acted. -ENOENT: no such rule. */
	int (*packet_rule_fired)(struct nic *nic, uint32_t id, uint64_t *fired);
	/* Remove all rules; links that are down come up and dead hosts come to life. */
	void (*packet_rules_clear)(struct nic *nic);
};

/*
 * The entries that a backend lacks: an optional one returns -EOPNOTSUPP or does nothing, a
 * mandatory one aborts. A backend's table is laid over it, so that no entry is ever NULL.
 */
extern const struct nic_ops nic_unsupported;

#include "nic_backend.h"
#include "nic_fault.h"

#endif /* HOST_NIC_H */
