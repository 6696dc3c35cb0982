/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_work.h - work requests and completions, a part of the door: nic.h includes it.
 */
#ifndef HOST_NIC_WORK_H
#define HOST_NIC_WORK_H

#include <stdbool.h>
#include <stdint.h>

struct nic_mr;
struct nic_mw;
struct nic_qp;

enum nic_access {
	NIC_ACCESS_LOCAL_READ = 1u << 0,
	NIC_ACCESS_LOCAL_WRITE = 1u << 1,
	NIC_ACCESS_REMOTE_READ = 1u << 2,
	NIC_ACCESS_REMOTE_WRITE = 1u << 3,
	NIC_ACCESS_REMOTE_ATOMIC = 1u << 4,
	NIC_ACCESS_ZERO_BASED = 1u << 5, /* of a bind: remote addresses count from its beginning */
	/* Not an access: memory of the front for a QP. There may be max_qp of it beside max_mr. */
	NIC_ACCESS_OF_FRONT = 1u << 6,
};

enum nic_opcode {
	NIC_OP_SEND,
	NIC_OP_WRITE,
	NIC_OP_READ,
	NIC_OP_BIND,
	NIC_OP_RECV,
	/* NIC_CAP_NUMBERS, of QPs connected by number: */
	NIC_OP_SWAP, /* atomic: compare and swap */
	NIC_OP_ADD,  /* atomic: fetch and add */
	NIC_OP_COUNT
};

/*
 * Every status of a work request, one for each cause; numbered like DAT's, so lib need not
 * translate.
 */
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
	NIC_WC_PARTIAL, /* no backend reports it */
	NIC_WC_BIND_FAILED,
	NIC_WC_DAT_COUNT, /* those above are DAT's; the rest are of QPs connected by number */
	NIC_WC_REMOTE_INVALID = NIC_WC_DAT_COUNT, /* the peer refused the form of the request */
	NIC_WC_COUNT,
	/* Above it, to NIC_WC_OWN_MOST: a front's own statuses, which only faults bring about. */
	NIC_WC_OWN = 64,
	NIC_WC_OWN_MOST = 127
};

enum nic_wr_flag {
	NIC_WR_SUPPRESS = 1u << 0,  /* no completion if it succeeds */
	NIC_WR_SOLICITED = 1u << 1, /* the completion of the matching Receive is a solicited one */
	NIC_WR_FENCE = 1u << 2,     /* starts when all earlier reads have completed */
	NIC_WR_QUIET = 1u << 3, /* the completion is no notification; repeated in nic_wc.flags */
	/* SEND, WRITE: with `imm`; a WRITE then takes a Receive. In nic_wc.flags: it came. */
	NIC_WR_IMM = 1u << 4,
	NIC_WR_WRITTEN = 1u << 5, /* nic_wc.flags only: a WRITE with `imm` took this Receive */
	/* SEND: invalidates the window with the key in `imm`. In nic_wc.flags: it came, and did. */
	NIC_WR_INVALIDATE = 1u << 6,
	NIC_WR_GLOBAL = 1u << 7, /* nic_wc.flags only: a datagram with a GRH took this Receive */
};

/* What a QP promises of a request; all but the first kind: NIC_CAP_NUMBERS. */
enum nic_qp_kind {
	NIC_QP_RELIABLE,
	NIC_QP_UNRELIABLE, /* connected; no answer ever comes, and what is lost stays lost */
	NIC_QP_DATAGRAM,   /* each SEND names its receivers and fits into one packet */
	NIC_QP_KINDS
};

/* What a front calls a QP. */
enum nic_qp_noun {
	NIC_NOUN_EP,
	NIC_NOUN_QP,
	NIC_NOUN_ID, /* one that stands for a connection of librdmacm, and has no requests */
	NIC_NOUNS
};

/*
 * Lines that a front writes into the trace for every message: it passes numbers, and a backend
 * makes the text when the trace is read. All other lines are passed as text (nic_ops.trace). name:
 * the number of the EP, QP or SRQ in traces; a, b, c: see the line.
 */
enum nic_trace_kind {
	NIC_TRACE_EP_RECV,         /* post_recv bytes=a segments=b outstanding=c */
	NIC_TRACE_EP_REAP_RECV,    /* reap op=RECV status=SUCCESS evd=<adapter>.evd<a> */
	NIC_TRACE_EP_REAP_REQUEST, /* reap op=REQUEST, likewise */
	NIC_TRACE_QP_RECV,         /* ibv_post_recv bytes=a segments=b wr_id=c */
	NIC_TRACE_QP_POLL_RECV,    /* ibv_poll_cq cq=cq<a> opcode=IBV_WC_RECV ... bytes=b wr_id=c */
	NIC_TRACE_QP_POLL_SEND,    /* the same of a Send */
	NIC_TRACE_SRQ_RECV,        /* post_recv bytes=a segments=1 available=b outstanding=c */
	NIC_TRACE_IBV_SRQ_RECV,    /* ibv_post_srq_recv bytes=a segments=1 available=b wr_id=c */
	NIC_TRACE_EP_REAP_SRQ,     /* as EP_REAP_RECV: a is NIC_TRACE_TWO(the EVD's number, that
				      of the SRQ); and srq=<adapter>.srq<n> available=b
				      outstanding=c */
	NIC_TRACE_KINDS
};

/* Two numbers of 16 bits, in one value of a line. */
#define NIC_TRACE_TWO(low, high) ((uint32_t)(low) | (uint32_t)(high) << 16)
#define NIC_TRACE_TWO_MOST       UINT16_MAX

#define NIC_GRH      40u       /* bytes before the payload in each Receive of a DATAGRAM QP */
#define NIC_GID      16u       /* bytes of an address; those of the receiver end a GRH */
#define NIC_QP_GROUP 0xffffffu /* in place of a number: each QP in the group of the GRH */

/* Where a SEND of a DATAGRAM QP goes. */
struct nic_to {
	uint32_t qp;      /* nic_qp.number, or NIC_QP_GROUP */
	uint32_t qkey;    /* a receiver with another one drops the message */
	uint16_t adapter; /* nic_attr.number */
	uint8_t sl;
	bool global; /* `grh` is valid, and the receiver's completion says so */
	uint8_t grh[NIC_GRH];
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
	 * SEND, WRITE: the sum of the segments' lengths. READ: the length of the read, at most that
	 * sum. BIND: a value of lib's, returned in nic_wc.length whatever the status.
	 */
	uint32_t length;
	uint8_t opcode; /* enum nic_opcode */
	uint8_t flags;  /* enum nic_wr_flag */
	uint16_t num_sge;
	/*
	 * NIC_OP_WRITE, NIC_OP_READ, atomics only; the key of an empty transfer is not checked. An
	 * atomic has one segment, of 8 bytes, which gets the former value.
	 */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm; /* with NIC_WR_IMM, and then no backend looks into it, or NIC_WR_INVALIDATE */
	/*
	 * NIC_OP_BIND only, without sge. It starts when all earlier requests have completed, and
	 * later ones start after it has completed. mw->rkey changes at once to the new key, which
	 * works from the completion on; until then the old one does. bind_length 0 unbinds.
	 *
	 * NIC_CAP_NUMBERS: with `rkey`, that is the key, which differs from mw->key in its lowest 8
	 * bits alone; the window has to be unbound, and then serves this QP alone. With mw NULL
	 * such a window is invalidated by its key `rkey`.
	 */
	uint32_t bind_access; /* NIC_ACCESS_REMOTE_xxx */
	union {
		uint64_t bind_addr;
		uint64_t compare; /* NIC_OP_SWAP */
	};
	union {
		uint64_t bind_length;
		uint64_t operand; /* NIC_OP_SWAP: the new value; NIC_OP_ADD: what is added */
	};
	union {
		struct nic_mr *mr;
		const struct nic_to *to; /* of a DATAGRAM QP; copied */
	};
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
	struct nic_qp *qp; /* never a destroyed or reset QP: see qp_reset */
	uint32_t length;
	uint8_t opcode; /* enum nic_opcode */
	uint8_t status; /* enum nic_wc_status */
	uint8_t flags;  /* NIC_WR_QUIET, _SOLICITED, _IMM, _WRITTEN, _INVALIDATE */
	uint8_t own;    /* the backend's */
	uint32_t imm;   /* with NIC_WR_IMM or NIC_WR_INVALIDATE only */
	/* Of a Receive of a DATAGRAM QP: the sender. */
	uint32_t src_qp;
	uint16_t src_adapter;
	uint8_t src_sl, unused;
};

/* Its opcode and status in one number. */
static inline uint32_t nic_wc_what(uint8_t opcode, uint8_t status)
{
	return (uint32_t)(opcode | status << 8);
}

static inline uint8_t nic_what_opcode(uint32_t what)
{
	return (uint8_t)what;
}

static inline uint8_t nic_what_status(uint32_t what)
{
	return (uint8_t)(what >> 8);
}

/*
 * How a QP reaches its peer if the front connects it by number (qp_to), and how long it tries.
 * Neither end hears of the other's state: a packet to a QP that does not exist, is not connected to
 * this one or expects another sequence number is dropped, and the sender retries. The QP ends
 * without a word to its peer: by an error, by qp_fail or by qp_reset.
 *
 * A QP of another kind than RELIABLE is never answered: a request is successful once it was sent.
 * One that fails before stops the send queue: later ones are flushed until a qp_to that `restarts`
 * it. Of the path an UNRELIABLE QP needs adapter, qp, mtu, sends, waits, restarts and access; a
 * DATAGRAM QP needs sends, waits, restarts and qkey.
 */
struct nic_qp_path {
	uint16_t adapter;        /* of the peer: nic_attr.number */
	bool sends;              /* may post requests; before that it only receives */
	bool waits;              /* requests that have not begun wait until the next qp_to */
	bool restarts;           /* the program knows of the request that failed, and sends again */
	uint8_t retry;           /* retransmissions without an answer */
	uint8_t rnr_retry;       /* after an RNR NAK; 7: without end */
	uint32_t qp;             /* the peer: nic_qp.number */
	uint32_t sq_psn, rq_psn; /* of the first packet sent, and of the first one expected */
	uint32_t access;         /* NIC_ACCESS_REMOTE_xxx: what the peer may do */
	uint8_t rd_in, rd_out;   /* RDMA Reads and atomics at a time */
	uint64_t retry_timer_ns; /* 0: wait for an answer without end */
	uint64_t rnr_timer_ns;   /* the pause that this side's RNR NAKs ask for */
	uint32_t qkey;           /* that a datagram to this QP must have */
	/*
	 * Bytes of payload in its packets, if fewer than nic_attr.mtu; 0: those. A RELIABLE peer
	 * with another value refuses a message that this makes a difference to, and an UNRELIABLE
	 * one drops it.
	 */
	uint32_t mtu;
};

/*
 * What the two ends of a connection tell each other so that their fronts can connect two QPs by
 * number. The connection itself then carries no messages; see nic_ops.connect.
 */
struct nic_conn_end_point {
	uint32_t qp;      /* nic_qp.number; 0: none, the QPs of the connection carry its messages */
	uint32_t psn;     /* of the first packet that QP sends */
	uint16_t adapter; /* nic_attr.number; the backend fills it in */
	uint16_t port;    /* of the active side's program */
	uint32_t host;    /* IPv4 address that it is bound to, big-endian; 0: the adapter's */
	uint8_t retry, rnr_retry; /* for the passive side's QP, which tries as often */
};

/* What a QP that is connected by number tells beside its completions. */
enum nic_qp_event {
	NIC_QP_DRAINED, /* nic_qp_path.waits: every request that had begun has completed */
	NIC_QP_HEARD,   /* a packet has come, and the QP does not send yet */
	/* The QP ends, for a request of the peer that took no Receive: */
	NIC_QP_ACCESS,  /* its key, or the QP, does not permit it */
	NIC_QP_REQUEST, /* its form is wrong */
	NIC_QP_ALARM,   /* nic_ops.qp_alarm */
	NIC_QP_EVENTS
};

/* What a memory window is bound to now; mr NULL: to nothing. */
struct nic_mw_state {
	struct nic_mr *mr;
	uint64_t addr, length;
	uint32_t access, rkey;
};

struct nic_qp_counts {
	uint32_t send_posted;    /* posted, not completed */
	uint32_t recv_posted;    /* on its own receive queue, not taken */
	uint32_t recv_taken;     /* taken, not completed */
	uint32_t unreaped;       /* taken, not reaped */
	uint64_t last_taken;     /* latest message number that took a buffer; counts from 1 */
	uint64_t last_completed; /* latest message number completed */
};

#endif /* HOST_NIC_WORK_H */
