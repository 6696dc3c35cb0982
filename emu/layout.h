/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h - what the arena holds: every structure of the simulated world, in one place.
 *
 * struct emu_fabric is the whole state: adapters, links, queue pairs, completion queues, memory
 * regions, one event queue, one clock, one generator, one trace. It is one mapping (the arena), holds
 * indices and offsets and never a pointer, so that several processes can map it at different
 * addresses. Index 0 of every table means "none".
 *
 * Lock: lib's backend lock covers everything here (lib/nic.h).
 */
#ifndef EMU_LAYOUT_H
#define EMU_LAYOUT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "lib/nic.h"
#include "limits.h"
#include "lock.h"
#include "turn.h"

/* Off the path of a message: keeps its registers out of the way of what is on it. */
#define EMU_COLD __attribute__((cold, noinline))

/*
 * A pointer into the fabric that is used many times. Left to itself gcc forgets it and computes base +
 * index * size + offset again at every use.
 */
#define EMU_KEEP(ptr)                          \
	({                                     \
		__typeof__(ptr) kept_ = (ptr); \
		__asm__("" : "+r"(kept_));     \
		kept_;                         \
	})

/* What one process writes all the time, away from what others do. */
#define EMU_OWN_LINE _Alignas(EMU_LINE)

/*
 * True of a fabric that only this process has. In a shared one another may have written what it liked: there the
 * code behind it copes, and wild indices end in memory that is there for them (shared_file.h).
 */
#define EMU_SURE(w, condition) assert((condition) || (w)->process)

/* Most entries of a list, or steps of a loop that the arena bounds, in a shared fabric: more is nonsense. */
#define EMU_STEPS_MOST (1u << 20)

typedef uint32_t emu_ref; /* a block of the pool; 0: none */

/* First member of every table entry. */
struct emu_head {
	uint32_t next_free; /* while free: the next free index */
	uint32_t live;      /* 0 or 1 */
};

struct emu_table {
	uint32_t high; /* entries ever used; index 1..high */
	uint32_t free;
	uint32_t live;
};

struct emu_pd {
	struct emu_head head;
	uint32_t adapter;
};

struct emu_mr {
	struct emu_head head;
	uint64_t addr, length;
	uint64_t tag;    /* pd << 32 | key while live, else 0: one compare tells right from wrong */
	uint32_t access; /* enum nic_access */
	uint32_t windows; /* bound to it */
	uint8_t gen;      /* low byte of its keys, so that a freed key stays wrong for 255 reuses */
};

/* A memory window; the index in its keys is counted on from those of the MRs. */
struct emu_mw {
	struct emu_head head;
	uint64_t addr, length;
	uint64_t tag;    /* as emu_mr's while bound, else 0 */
	uint32_t access; /* NIC_ACCESS_REMOTE_xxx */
	uint32_t pd;
	uint32_t mr;     /* what it is bound to; 0: nothing */
	uint32_t serial; /* of the allocation: a bind queued before a free finds another number */
	uint8_t gen;
};

struct emu_cqe {
	uint64_t wr_id;
	uint32_t qp;
	uint32_t length;
	uint8_t opcode, status, flags;
};

struct emu_cq {
	EMU_OWN_LINE struct emu_head head;
	emu_ref ring; /* struct emu_cqe[mask + 1] */
	uint32_t mask;
	uint32_t put;   /* free-running, as get is */
	uint32_t depth; /* asked for, exact */
	uint32_t limit; /* accepted now, <= depth */
	uint16_t adapter;
	bool armed;
	bool unsettled; /* direct.h; in a shared fabric only, as the slots (slot.h) */
	emu_ref slots;
	uint32_t seen;             /* of get, lately, by who adds completions */
	EMU_OWN_LINE uint32_t get; /* alone: the owner's to write */
};

/* A receive work request on a queue; sge follow. */
struct emu_rwqe {
	uint64_t wr_id;
	uint32_t mem_epoch; /* at the post */
	uint16_t num_sge;
	uint16_t flags;
	struct nic_sge sge[];
};

/* A send work request on a queue; it stays there until acknowledged. */
struct emu_swqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t mem_epoch; /* at the post */
	uint32_t length;
	uint32_t message; /* number among the connection's requests, from 1, low 32 bits */
	uint8_t opcode, flags;
	uint16_t num_sge;
	uint32_t step; /* READ: response packet due next, or EMU_READ_xxx; BIND: emu_mw.serial */
	struct nic_sge sge[];
};

/* Behind the event queue of a shared fabric, in place of an order. */
#define EMU_NO_EVENT UINT64_MAX

#define EMU_LISTEN_BUCKET(adapter, port) (((port)*31 + (adapter)) % EMU_LISTEN_BUCKETS)

#define EMU_READ_DONE UINT32_MAX
#define EMU_READ_EARLY \
	(UINT32_MAX - 1) /* its answer came before that to an earlier one was whole */

/* In place of the sge of a BIND; remote_addr is where the range begins, rkey the new key. */
struct emu_bind {
	uint64_t length;
	uint32_t lkey;
	uint32_t access;
};

/* A ring of work requests: power of two slots of `stride` bytes, free-running put and get. */
struct emu_wq {
	emu_ref ring;
	uint32_t mask;
	uint32_t stride;
	uint32_t max; /* asked for, exact */
	uint32_t put, get;
};

struct emu_srq {
	struct emu_head head;
	struct emu_wq wq;
	uint32_t pd;
	uint32_t limit; /* armed low limit; 0: not */
	uint32_t name;
	uint32_t max_sge;
	uint32_t users; /* QPs */
	uint16_t adapter;
};

/* A message that has begun to arrive and is not complete. In order: at most one of a QP. */
struct emu_rx {
	emu_ref next; /* by message number */
	emu_ref self;
	uint32_t index; /* of the sender's work request */
	uint32_t message;
	uint32_t next_packet;
	uint32_t length;
	bool whole; /* all packets arrived, those of an earlier message did not */
	bool write; /* an RDMA Write: it took no buffer, wqe is empty */
	uint8_t solicited;
	struct emu_rwqe wqe;
};

enum emu_qp_state {
	EMU_QP_IDLE,       /* receives may be posted */
	EMU_QP_CONNECTING, /* active: request sent; passive: accept sent */
	EMU_QP_CONNECTED,
	EMU_QP_DRAINING, /* graceful disconnect: finishing its requests */
	EMU_QP_ERROR,    /* disconnected: everything posted is flushed at once */
};

/* A request that fails. */
struct emu_failure {
	uint32_t index;
	uint32_t came;        /* all before this one have been executed */
	uint8_t status, tell; /* how it ends; what the peer is told (enum emu_event_kind) */
};

struct emu_hold_rule {
	uint32_t message; /* 0: free */
	uint32_t packets; /* that pass */
};

struct emu_qp {
	struct emu_head head;
	struct emu_wq sq, rq;            /* sq.get: oldest unacknowledged */
	uint32_t sq_next;                /* next to transmit */
	uint32_t rx_next;                /* work request of the peer expected next (in order) */
	uint32_t rx_taken, rx_completed; /* numbers among the peer's Sends */
	uint32_t taken, reaped;          /* receive buffers; unreaped is the difference */
	uint32_t pd, send_cq, recv_cq, srq;
	uint32_t name;
	uint32_t epoch; /* of the connection: events of an earlier one are stale */
	uint32_t peer, peer_epoch;
	uint32_t conn;      /* request under way, active side */
	int32_t soft, hard; /* NIC_LIMIT_NONE: disarmed or fired */
	emu_ref rx;         /* list of struct emu_rx, by message number */
	uint32_t rx_count;
	emu_ref parked,
		parked_tail;     /* list of struct emu_held: packets that came before their turn */
	emu_ref holds;           /* struct emu_hold_rule[EMU_HOLDS] */
	emu_ref held, held_tail; /* list of struct emu_held: packets of held messages */
	uint32_t link;           /* to the peer, an index of links */
	/* See rdma.h. */
	uint32_t specials;  /* on the send queue */
	uint32_t sq_acked;  /* while there are specials: all before are delivered */
	uint32_t reads_out; /* READs on the wire */
	uint32_t reads_in;  /* the peer's READs that are being answered */
	emu_ref rdma_sge;   /* struct nic_sge[slots of sq][max_rdma_sge]; made when first needed */
	struct emu_failure nak; /* waits for the READs before it; status 0: there is none */
	uint16_t adapter, peer_adapter;
	uint8_t state; /* enum emu_qp_state */
	uint8_t rnr_tries;
	bool timer : 1;    /* one is queued for this QP: connect timeout or RNR retry */
	bool rnr_wait : 1; /* nothing is sent until the retry timer fires */
	bool doubt : 1;    /* an answer may be lost, and rnr_wait took the retry timer's place */
	bool rx_gap : 1;   /* rx_next was answered RNR: what follows is dropped */
	bool plain;        /* nothing out of the ordinary is going on: emu_qp_assess */
	bool tx_plain;     /* nor on the send queue */
	uint8_t max_send_sge, max_recv_sge, max_rdma_sge;
	uint8_t max_rd_in, max_rd_out; /* of this connection */
	uint8_t cap_rd_in, cap_rd_out; /* made for */
	/* While packets are looked at (wire.h); profile in order. */
	uint32_t wire_index, wire_packet; /* next to come off the wire from here */
	uint32_t wire_again;              /* all before are sent again: each starts the next */
	emu_ref early, early_tail;        /* list of struct emu_held: behind that one */
	uint32_t psn_more,
		psn_counted; /* packets beyond one a request, of those before psn_counted */
	uint8_t retry_tries;
	bool retry_timer; /* the timer is the retry timer */
	bool half_open;   /* the peer is gone, and what said so never arrived */
	bool ack_due;     /* at the end of this instant */
};

struct emu_listener {
	struct emu_head head;
	uint64_t port;
	uint32_t next; /* of its hash bucket */
	uint16_t adapter;
};

/* A connection request, from connect to its answer. */
struct emu_conn {
	struct emu_head head;
	uint32_t qp, epoch;                 /* active side; epoch mismatch: it is gone */
	uint32_t passive_qp, passive_epoch; /* set by accept */
	uint64_t port;
	uint16_t from, to; /* adapters */
	bool arrived, answered;
	uint32_t to_generation;
	uint32_t name;         /* of the QP that asks */
	uint8_t rd_in, rd_out; /* as data: of whoever spoke last */
	uint16_t size;         /* of data: the request's, from accept on the answer's */
	uint8_t data[EMU_PRIVATE_DATA];
};

/* An event taken off the wire by a hold. */
struct emu_held {
	emu_ref next;
	uint32_t message; /* hold of a message: which; hold of a link: 0 */
	struct emu_event event;
};

struct emu_link {
	uint64_t latency_ns;
	uint64_t bandwidth_bps;
	uint64_t ns_per_byte; /* of 2^-32 ns, rounded up; 0: no limit */
	uint64_t not_before; /* nothing arrives earlier: the latency was lowered behind what is under way */
	uint64_t busy_until; /* the wire is serialising until then */
	uint64_t late;       /* a fault delays all until then */
	bool down;
	emu_ref held, held_tail;
	uint32_t pass; /* holding: packets still to pass */
	bool holding;
};

struct emu_adapter {
	bool open;
	bool dead;           /* silent, by a fault */
	uint32_t generation; /* of the slot: grows with each adapter that takes it */
	uint16_t number;     /* its address is so many above the range's first */
	uint16_t process;    /* that has it open; 0 in a private fabric */
	char name[EMU_NAME];
	int qps, cqs, srqs, mrs, mws, pds, listeners;
};

struct emu_config {
	uint32_t profile; /* number of its row in profile.c */
	uint64_t seed;
	uint64_t latency_ns, bandwidth_bps;
	uint64_t rnr_timer_ns, poll_quantum_ns;
	uint64_t retry_timer_ns;
	uint32_t mtu, rnr_retry, retry;
	uint32_t address;   /* of the adapter with number 1, less one; host order */
	uint32_t addresses; /* there are, from there */
};

struct emu_rule {
	struct nic_packet_rule match;
	uint64_t seen, fired;
};

/* Memory for a payload that waits for the receiver and is too long for a slot: slot.h. */
struct emu_stage {
	emu_ref data;   /* 0: none yet */
	uint32_t bytes; /* of it */
	uint32_t cq;    /* in use with that completion of this; 0: not */
	uint32_t turn;
};

/* A QP that a message is delivered to, its receive queue and its CQ, as they were before: direct.h. */
struct emu_delivery {
	bool running;
	uint32_t qp;
	uint32_t get; /* of the queue that has the receive */
	uint32_t taken, rx_taken, rx_completed, rx_next;
	uint32_t put; /* of the CQ */
};

/* A process that takes part in a shared fabric: shared.h. */
struct emu_process {
	EMU_OWN_LINE bool used;
	bool overrun; /* an upcall for it found no memory */
	int32_t pid;
	uint32_t bell;             /* a futex: it grows when the process is to look */
	uint32_t births;           /* of the slot */
	uint32_t sleepers;         /* threads of it that sleep in a wait */
	uint32_t idlers;           /* and those that look after it while nobody does */
	emu_ref inbox, inbox_tail; /* list of struct emu_message */
	uint64_t probe; /* where it keeps `nonce`: who reads it there reaches its memory */
	uint64_t nonce;
	char node[EMU_NAME];
	EMU_OWN_LINE struct emu_delivery delivery; /* that is under way */
};

/* A QP and what it works with, as they were before an event ran. */
struct emu_kept {
	uint32_t index;
	struct emu_qp qp;
	struct emu_cq send_cq, recv_cq;
	struct emu_srq srq;
};

/* What was there when the lock was let go last, and before the event that is running: recover.h. */
struct emu_section {
	uint64_t sequence;
	uint32_t events;
	uint32_t observed;
	uint32_t qps; /* of kept */
	struct emu_kept kept[2];
	bool running; /* this event, which is on no queue any more */
	struct emu_event event;
};

/* What makes a fabric one of several processes; all zero in a private one. */
struct emu_shared {
	uint64_t magic; /* set when the rest is ready to be joined */
	uint64_t layout;
	EMU_OWN_LINE struct emu_lock lock;
	uint16_t holder;                 /* process that has the lock; 0: it changes nothing */
	EMU_OWN_LINE uint64_t mono_base; /* monotonic time at virtual 0 */
	bool clock_runs;                 /* mono_base is set */
	bool stays;                      /* when the last process leaves */
	bool gone;                       /* nobody joins any more */
	char trace_path[256];            /* where its trace goes in the end; empty: nowhere */
	uint32_t processes;
	uint32_t backed; /* units of the pool that there is memory for */
	struct emu_section section;
	struct emu_stage stage[EMU_STAGES];
	struct emu_process process[EMU_PROCESSES + 1];
	struct emu_lockstep lockstep;
};

struct emu_fabric {
	uint64_t size; /* of the mapping */
	struct emu_config config;

	uint64_t now;
	uint64_t sequence;
	uint64_t random[4];
	uint32_t events;
	uint32_t mem_epoch; /* grows when a key dies or a QP changes its PD: see emu_still_good */
	/*
	 * Links holding, QPs with holds, rules, retry timers, marked packets under way, QPs half open: 0
	 * lets every packet pass unlooked at.
	 */
	uint32_t observed;
	uint32_t rules;

	struct emu_table pds, mrs, mws, cqs, srqs, qps, listeners, conns;
	struct emu_adapter adapters[EMU_ADAPTERS + 1];                  /* 1-based */
	struct emu_link links[(EMU_ADAPTERS + 1) * (EMU_ADAPTERS + 1)]; /* emu_link_at */

	uint32_t listen_hash[EMU_LISTEN_BUCKETS];

	struct emu_rule rule[EMU_RULES]; /* rules of them */

	uint64_t trace_length;
	uint64_t trace_room; /* bytes of `trace` that may be written now: its file grows */
	uint32_t trace_lines;
	bool trace_on, trace_full;

	uint32_t pool_next; /* first ref never handed out */
	uint32_t pool_end;
	emu_ref pool_free[EMU_POOL_CLASSES];

	struct emu_pd pd[EMU_PDS + 1];
	struct emu_mr mr[EMU_MRS + 1];
	struct emu_mw mw[EMU_MWS + 1];
	struct emu_cq cq[EMU_CQS + 1];
	struct emu_srq srq[EMU_SRQS + 1];
	struct emu_qp qp[EMU_QPS + 1];
	struct emu_listener listener[EMU_LISTENERS + 1];
	struct emu_conn conn[EMU_CONNS + 1];
	struct emu_shared shared;
	struct emu_event heap[EMU_EVENTS];
	_Alignas(EMU_PAGE) char trace[EMU_TRACE_BYTES]; /* a file's pages, where one was asked for */
	_Alignas(EMU_POOL_UNIT) uint8_t pool[];         /* up to size */
};

#endif /* EMU_LAYOUT_H */
