/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.h - the only door between what DAT means (lib/) and a network adapter.
 *
 * Verbs-shaped and free of DAT: queue pairs, completion queues, shared receive queues, memory keys,
 * connections, time. Behind the door stands the emulator (emu/) or real hardware (passthrough/); a
 * decorator (fault/) may stand in it, being itself a table that wraps a table.
 *
 * Objects. A backend's object embeds the small base struct below as its first member and comes back
 * from it by container_of; `ctx` is lib's own and never touched by a backend. Whoever created an
 * object destroys it, through the same table. A parent (PD, CQ, SRQ) outlives its children; the backend
 * may assert so.
 *
 * Return values. 0 or a negative errno, everywhere:
 *   -ENOMEM      out of memory, table space or a limit reported in nic_attr
 *   -EINVAL      a value the backend cannot take (lib checks DAT's own rules before)
 *   -EAGAIN      a work queue is full
 *   -EOPNOTSUPP  this backend cannot do it at all (a capability bit says so beforehand)
 *   -EIO         the adapter has failed
 * A failing call changes nothing and writes no output.
 *
 * Lock. lib holds the one lock of the backend instance (backend.h) around every call and every upcall
 * happens under it. `wait` is the one entry that may block; it releases the lock by upcalls while it
 * does. A backend with threads of its own takes the lock by the `lock` upcall before any other upcall.
 * While the process has a single thread (__libc_single_threaded) the lock is no operation at all.
 *
 * Upcalls may come from inside any call. They may poll, arm, count and limit completion queues, query, and
 * ask for qp_break or reject; conn_request may make a QP, too; nothing else.
 */
#ifndef LIB_NIC_H
#define LIB_NIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nic_packet.h"

#define nic_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define NIC_TIME_NEVER UINT64_MAX /* a deadline that never comes */
#define NIC_LIMIT_NONE (-1)       /* an unarmed qp_taken_limit */

struct nic_ops;
struct nic_upcalls;

struct nic {
	const struct nic_ops *ops;
	const struct nic_upcalls *up;
	void *ctx;
	uint64_t caps;            /* enum nic_cap; fixed at open */
	uint64_t poll_quantum_ns; /* most that a vain poll lets pass; 0: polls move no time */
	bool tracing;             /* so that an untraced path costs one load */
	bool threaded; /* NIC_CAP_SIM: lib sets it, for ever, once the process has several threads */
	unsigned int idle; /* lib's: polls and queries in a row in which nothing happened */
	bool attention;    /* lib sets it in an upcall to end a wait: it has seen to something */
	char label[NIC_ADAPTER_NAME]; /* its name in traces: the one it was opened by, or a longer one */
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
	uint32_t rkey; /* of the bind posted last, from the post on; 0: none, or an unbind */
};

/* What a window is bound to, now; mr NULL: to nothing. */
struct nic_mw_state {
	struct nic_mr *mr;
	uint64_t addr, length;
	uint32_t access, rkey;
};

struct nic_cq {
	struct nic *nic;
	void *ctx;
	bool waited;         /* lib's: a thread waits for its completions, or is about to */
	bool solicited_only; /* lib's: of those that succeed, only solicited ones are news */
	bool picks; /* the backend's: cq_notify comes for news alone, and no nic_wc says which it was */
};

struct nic_srq {
	struct nic *nic;
	void *ctx;
};

struct nic_qp {
	struct nic *nic;
	void *ctx;
	uint32_t *reaped; /* lib counts here: receive completions handed out or thrown away */
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
	uint32_t rd_in, rd_out; /* of the side that asks: nic_conn_param */
};

/* What a backend can do. Asserted against its table at open, so that a bit is never a promise only. */
enum nic_cap {
	NIC_CAP_SRQ = 1u << 0,
	NIC_CAP_SRQ_RESIZE = 1u << 1,
	NIC_CAP_SRQ_LIMIT = 1u << 2,
	NIC_CAP_SRQ_COUNT = 1u << 3, /* srq_query is exact at any moment */
	NIC_CAP_TAKEN_LIMIT =
		1u << 4, /* taken limits act when a buffer is taken, not when drained */
	NIC_CAP_MW = 1u << 5,
	NIC_CAP_CQ_RESIZE = 1u << 6,
	NIC_CAP_HANDOFF = 1u << 7,
	NIC_CAP_SIM = 1u << 8, /* virtual time: the sim_* group works */
	NIC_CAP_PACKET_RULES = 1u << 9,
	NIC_CAP_SRQ_ANY_PD = 1u << 10, /* a QP and its SRQ may be of different PDs */
	NIC_CAP_READ_BY_WRITE =
		1u << 11, /* the local memory of a Read must be open to remote writes */
};

/* Limits, finite and enforced by the backend over all users of the adapter. */
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
};

enum nic_access {
	NIC_ACCESS_LOCAL_READ = 1u << 0,
	NIC_ACCESS_LOCAL_WRITE = 1u << 1,
	NIC_ACCESS_REMOTE_READ = 1u << 2,
	NIC_ACCESS_REMOTE_WRITE = 1u << 3,
};

enum nic_opcode {
	NIC_OP_SEND,
	NIC_OP_WRITE,
	NIC_OP_READ,
	NIC_OP_BIND,
	NIC_OP_RECV,
	NIC_OP_COUNT
};

/* Every way a work request can end, one to one with its cause; numbered so that lib need not translate. */
enum nic_wc_status {
	NIC_WC_SUCCESS,
	NIC_WC_FLUSHED,
	NIC_WC_LOCAL_LENGTH,
	NIC_WC_LOCAL_QP,
	NIC_WC_LOCAL_PROTECTION,
	NIC_WC_BAD_RESPONSE,
	NIC_WC_REMOTE_ACCESS,
	NIC_WC_REMOTE_OPERATION,
	NIC_WC_RETRY_EXCEEDED,
	NIC_WC_RNR_EXCEEDED,
	NIC_WC_PARTIAL, /* no backend ends a request so */
	NIC_WC_BIND_FAILED,
	NIC_WC_COUNT
};

enum nic_wr_flag {
	NIC_WR_SUPPRESS = 1u << 0,  /* no completion if it succeeds */
	NIC_WR_SOLICITED = 1u << 1, /* asks that the matching receive be a solicited completion */
	NIC_WR_FENCE = 1u << 2,     /* start only when earlier reads are done */
	NIC_WR_QUIET = 1u << 3,     /* completion that is no notification; echoed in the wc */
};

struct nic_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

struct nic_send_wr {
	uint64_t wr_id;
	const struct nic_sge *sge;
	/*
	 * SEND, WRITE: sum over sge, computed by lib's checks. READ: as much of them as is read. BIND:
	 * lib's own, handed back in nic_wc.length however it ends.
	 */
	uint32_t length;
	uint8_t opcode; /* enum nic_opcode */
	uint8_t flags;  /* enum nic_wr_flag */
	uint16_t num_sge;
	/* NIC_OP_WRITE, NIC_OP_READ only; no bytes at all need no valid key */
	uint64_t remote_addr;
	uint32_t rkey;
	/*
	 * NIC_OP_BIND only, no sge. It starts when all before it is done, and nothing after it starts
	 * before it is. mw->rkey is the new key at once, which works from the completion on, as the old
	 * one does until then. bind_length 0 unbinds.
	 */
	uint32_t bind_access; /* NIC_ACCESS_REMOTE_xxx */
	uint64_t bind_addr, bind_length;
	struct nic_mr *mr;
	struct nic_mw *mw;
};

struct nic_recv_wr {
	uint64_t wr_id;
	const struct nic_sge *sge;
	uint16_t num_sge;
	uint16_t flags; /* NIC_WR_QUIET */
};

struct nic_wc {
	uint64_t wr_id;
	struct nic_qp *qp; /* never a destroyed or reset one, see qp_reset */
	uint32_t length;
	uint8_t opcode; /* enum nic_opcode */
	uint8_t status; /* enum nic_wc_status */
	uint8_t flags;  /* NIC_WR_QUIET, NIC_WR_SOLICITED */
	uint8_t own;    /* the backend's */
};

struct nic_qp_cap {
	uint32_t max_send_wr, max_recv_wr; /* exact: one more is -EAGAIN */
	uint32_t max_send_sge, max_recv_sge;
	uint32_t max_rdma_sge; /* of WRITE and READ, where that is more than max_send_sge */
	/*
	 * Reads that the peer may have under way here, one more breaks the connection; and from here,
	 * more wait on the send queue.
	 */
	uint32_t max_rd_in, max_rd_out;
};

struct nic_qp_init {
	struct nic_pd *pd; /* NULL: none until qp_modify gives it one, before it connects */
	struct nic_cq *send_cq,
		*recv_cq;    /* NULL: each completion of that side is a cq_lost upcall */
	struct nic_srq *srq; /* NULL: its own receive queue */
	struct nic_qp_cap cap;
	uint32_t name; /* ordinal that traces print: emu0.ep<name> */
};

struct nic_qp_counts {
	uint32_t send_posted;    /* posted, not completed */
	uint32_t recv_posted;    /* on its own receive queue, not taken */
	uint32_t recv_taken;     /* taken, not completed */
	uint32_t unreaped;       /* taken, not reaped */
	uint64_t last_taken;     /* latest message number that took a buffer; counts from 1 */
	uint64_t last_completed; /* latest message number completed */
};

/*
 * What a side tells the other: RDMA Reads that it serves, and that it has under way, at a time. lib sees
 * that an accept fits the request; its numbers are in force. The side that asked then starts no more
 * than the other serves and serves what the other starts, whatever its QP was made for.
 */
struct nic_conn_param {
	const void *private_data;
	uint32_t private_data_size;
	uint32_t rd_in, rd_out;
};

/* Why a connection ended or never came to be. */
enum nic_conn_end {
	NIC_END_REJECTED,      /* the peer's program said no */
	NIC_END_NO_LISTENER,   /* nobody listens there, or the listener's queue was full */
	NIC_END_UNREACHABLE,   /* no such adapter */
	NIC_END_TIMED_OUT,     /* no answer within the caller's time */
	NIC_END_DISCONNECTED,  /* either side asked for it */
	NIC_END_BROKEN,        /* an error on the connection */
	NIC_END_ACCEPT_FAILED, /* accepted, but the active side was gone */
	NIC_END_COUNT
};

/* Result of wait. */
enum nic_wait {
	NIC_WAIT_RAN,         /* something happened: look again */
	NIC_WAIT_DEADLINE,    /* the deadline was reached, the clock stands on it */
	NIC_WAIT_INTERRUPTED, /* a signal came */
	NIC_WAIT_HOPELESS     /* no deadline, and nothing pending can ever end this wait */
};

struct nic_ops {
	size_t size; /* of the table the backend was built with */

	/* ---- adapter ---- */

	/* Drop lib's reference. Every object of this nic is gone already. */
	void (*close)(struct nic *nic);
	void (*query)(struct nic *nic, struct nic_attr *attr);

	/* ---- memory ---- */

	int (*pd_alloc)(struct nic *nic, struct nic_pd **pd);
	void (*pd_free)(struct nic_pd *pd);
	/* [addr, addr+length) stays the caller's; it must stay mapped until mr_dereg. Keys are in *mr. */
	int (*mr_reg)(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
		      struct nic_mr **mr);
	/* Work still using the keys fails with a protection status when it runs. */
	void (*mr_dereg)(struct nic_mr *mr);
	/* Windows bound to it now; mr_dereg wants none. */
	uint32_t (*mr_windows)(struct nic_mr *mr);
	int (*mw_alloc)(struct nic_pd *pd, struct nic_mw **mw);
	/* Unbinds. A bind still queued fails when its turn comes. */
	void (*mw_free)(struct nic_mw *mw);
	void (*mw_query)(struct nic_mw *mw, struct nic_mw_state *state);

	/* ---- completion queues ---- */

	int (*cq_create)(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq);
	/* Keeps what is queued. -EINVAL: more is queued than fits. */
	int (*cq_resize)(struct nic_cq *cq, uint32_t depth);
	void (*cq_destroy)(struct nic_cq *cq);
	/* Hand out up to n completions, oldest first; the number handed out. Never blocks. */
	int (*cq_poll)(struct nic_cq *cq, struct nic_wc *wc, int n);
	/*
	 * The next completion. A vain look lets up to one poll quantum of virtual time pass and looks
	 * again; a clock that goes by itself is not waited for.
	 */
	bool (*cq_spin)(struct nic_cq *cq, struct nic_wc *wc);
	uint32_t (*cq_count)(struct nic_cq *cq);
	/*
	 * Accept at most n unpolled completions from now on (n <= depth): lib keeps part of the event
	 * queue's length in its own queue. The completion above n is the overflow upcall, not an entry.
	 */
	void (*cq_limit)(struct nic_cq *cq, uint32_t n);
	/* One cq_notify upcall at the next completion added. One shot. */
	void (*cq_arm)(struct nic_cq *cq);

	/* ---- shared receive queues ---- */

	int (*srq_create)(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name,
			  void *ctx, struct nic_srq **srq);
	/* Loses nothing, also with messages under way. -EINVAL: more is posted than fits. */
	int (*srq_resize)(struct nic_srq *srq, uint32_t max_wr);
	void (*srq_destroy)(struct nic_srq *srq);
	int (*srq_post)(struct nic_srq *srq, const struct nic_recv_wr *wr);
	/*
	 * Arm: one srq_limit upcall at the next taking that leaves fewer than `limit` posted. 0 disarms.
	 * No level check now: verbs has none, lib does its own.
	 */
	int (*srq_limit)(struct nic_srq *srq, uint32_t limit);
	/* Posted and not taken. */
	uint32_t (*srq_count)(struct nic_srq *srq);

	/* ---- queue pairs ---- */

	int (*qp_create)(struct nic *nic, const struct nic_qp_init *init, void *ctx,
			 struct nic_qp **qp);
	/* Change PD, CQs and capacities of an unconnected QP; posted receives stay. The SRQ is ignored. */
	int (*qp_modify)(struct nic_qp *qp, const struct nic_qp_init *init);
	/*
	 * Back to the state after qp_create: a connection or its set-up is abandoned (the peer sees
	 * DISCONNECTED), posted work vanishes without completion, counts restart at zero, limits stay,
	 * those of RDMA Reads are again what the QP was made or modified for.
	 * Adds no completion from now on; completions already in a CQ stay for lib to poll.
	 * Returns how many receive buffers taken from the SRQ vanished uncompleted.
	 */
	uint32_t (*qp_reset)(struct nic_qp *qp);
	/* Only when reset, and with none of its completions left in a CQ. */
	void (*qp_destroy)(struct nic_qp *qp);
	void (*qp_query)(struct nic_qp *qp, struct nic_qp_counts *counts);
	/*
	 * Two limits on `unreaped`, checked now and at every taking, each acting once per call of this:
	 * above soft: qp_soft_limit upcall. Above hard on a connected QP: the connection breaks
	 * (NIC_END_BROKEN at both ends); the message that crossed it is not delivered, its receive ends
	 * FLUSHED and its send REMOTE_OPERATION. NIC_LIMIT_NONE disarms.
	 */
	void (*qp_taken_limit)(struct nic_qp *qp, int32_t soft, int32_t hard);
	/* Break a running connection from this side; the end is an upcall, soon. */
	void (*qp_break)(struct nic_qp *qp);

	/* ---- posting: never blocks, never allocates ---- */

	/*
	 * The sge array is copied; buffers belong to the backend until the completion. On a
	 * disconnected QP the request is accepted and flushed at once.
	 */
	int (*post_send)(struct nic_qp *qp, const struct nic_send_wr *wr);
	int (*post_recv)(struct nic_qp *qp, const struct nic_recv_wr *wr);

	/* ---- connections ---- */

	/*
	 * -EADDRINUSE: taken. *port 0: the backend picks a free one and writes it; -EADDRNOTAVAIL: there
	 * is none.
	 */
	int (*listen)(struct nic *nic, uint64_t *port, void *ctx, struct nic_listener **listener);
	/* Requests already handed up stay answerable. */
	void (*unlisten)(struct nic_listener *listener);
	/*
	 * Start connecting; the outcome is an upcall. -EAFNOSUPPORT: an address form this network does not
	 * know; -EADDRNOTAVAIL: no host can have it. Private data is copied. deadline is in nic time, or NIC_TIME_NEVER.
	 */
	int (*connect)(struct nic_qp *qp, const struct sockaddr *remote, uint64_t port,
		       uint64_t deadline, const struct nic_conn_param *param);
	/* Consumes conn when it returns 0; the outcome is an upcall on qp. */
	int (*accept)(struct nic_conn *conn, struct nic_qp *qp, const struct nic_conn_param *param);
	/* Consumes conn. by_program: the peer sees REJECTED, else NO_LISTENER. */
	void (*reject)(struct nic_conn *conn, bool by_program);
	/*
	 * Pass the request to another listener of this adapter, as if it came now; consumes conn: lib has
	 * it again by the upcall, inside. -ENOENT: none there.
	 */
	int (*handoff)(struct nic_conn *conn, uint64_t port);
	/*
	 * abrupt: all outstanding work is flushed and the disconnected upcall comes, in that order.
	 * Otherwise the requests already posted finish first. During set-up either aborts it.
	 */
	void (*disconnect)(struct nic_qp *qp, bool abrupt);

	/* ---- time, nanoseconds ---- */

	uint64_t (*now)(struct nic *nic);
	/*
	 * Let the world go on until cq gains a completion, lib asks for attention (it clears the flag
	 * before), or the deadline; never more than one step where cq is NULL. May block (real time)
	 * and then releases the lock.
	 */
	enum nic_wait (*wait)(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
	/* Threads that block in wait, of any nic, return: what they wait for may be there. */
	void (*wake)(struct nic *nic);

	/* ---- simulation and trace (NIC_CAP_SIM) ---- */

	/* Run the next event and move the clock to it; false: there is none. */
	bool (*sim_step)(struct nic *nic);
	/* Events pending, held ones not counted; the time of the first in *next_ns. */
	uint32_t (*sim_pending)(struct nic *nic, uint64_t *next_ns);
	int (*sim_set_link)(struct nic *nic, const char *from, const char *to, uint64_t latency_ns,
			    uint64_t bandwidth_bps);
	/* -ENOENT: an adapter of that name is not open. */
	int (*sim_hold_link)(struct nic *nic, const char *from, const char *to, uint32_t packets);
	int (*sim_release_link)(struct nic *nic, const char *from, const char *to);
	int (*sim_hold_message)(struct nic_qp *qp, uint64_t message, uint32_t packets);
	int (*sim_release_message)(struct nic_qp *qp, uint64_t message);
	void (*sim_trace)(struct nic *nic, bool on);
	/* The text belongs to the backend until the next call. */
	int (*sim_trace_read)(struct nic *nic, const char **text, size_t *length);
	/* Append a line to the trace: "<now> " is put in front, a newline behind. */
	void (*trace)(struct nic *nic, const char *format, va_list args);

	/* ---- packet faults (NIC_CAP_PACKET_RULES) ---- */

	/* -EINVAL: a field out of range. *id counts from 1. */
	int (*packet_rule_add)(struct nic *nic, const struct nic_packet_rule *rule, uint32_t *id);
	/* How often it acted. -ENOENT: no such rule. */
	int (*packet_rule_fired)(struct nic *nic, uint32_t id, uint64_t *fired);
	/* All rules go, links come up and hosts alive. */
	void (*packet_rules_clear)(struct nic *nic);
};

struct nic_upcalls {
	/* ---- completions and limits; ctx is the object's ---- */
	void (*cq_notify)(void *cq_ctx);
	/*
	 * A completion of qp is lost: the CQ has no room (see cq_limit), and the backend breaks qp
	 * next; or the QP has no CQ for it (cq_ctx NULL), which is nobody's fault.
	 */
	void (*cq_lost)(void *cq_ctx, void *qp_ctx, enum nic_opcode lost);
	void (*srq_limit)(void *srq_ctx);
	void (*qp_soft_limit)(void *qp_ctx);

	/* ---- connections ---- */
	/* conn now belongs to lib, which answers by accept, reject or handoff, at once or later. */
	void (*conn_request)(void *listener_ctx, struct nic_conn *conn);
	/*
	 * What the peer answered, for the side that asked; valid during the upcall only. NULL for the
	 * other.
	 */
	void (*established)(void *qp_ctx, const struct nic_conn_param *peer);
	/* The QP is disconnected; its work was flushed before, except for set-up failures of no work. */
	void (*conn_end)(void *qp_ctx, enum nic_conn_end why);

	/* ---- adapter ---- */
	void (*adapter_failed)(void *nic_ctx);

	/* ---- services of the host process ---- */
	void (*lock)(void *nic_ctx);
	void (*unlock)(void *nic_ctx);
	uint64_t (*monotonic_ns)(void *nic_ctx);
	/* Release the lock, sleep until something was posted or added, or until then; take it again. */
	enum nic_wait (*sleep)(void *nic_ctx, uint64_t until_monotonic_ns);
	/* Wake all sleepers: their events may have come. */
	void (*wake)(void *nic_ctx);
};

/* Every entry answers "cannot": lay a backend's table over it so that no entry is ever NULL. */
extern const struct nic_ops nic_unsupported;

#include "nic_backend.h"
#include "nic_fault.h"

#endif /* LIB_NIC_H */
