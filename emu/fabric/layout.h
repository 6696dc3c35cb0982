/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h - the contents of the arena: every structure of the simulated world.
 *
 * struct emu_fabric is the whole state: adapters, links, queue pairs, completion queues, memory
 * regions, one event queue, one clock, one generator, one trace. It is one mapping (the arena),
 * holds indices and offsets and never a pointer, so that several processes can map it at different
 * addresses. Index 0 of every table means "none".
 *
 * Lock: lib's backend lock covers everything here (host/nic.h).
 */
#ifndef EMU_FABRIC_LAYOUT_H
#define EMU_FABRIC_LAYOUT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "entry.h"
#include "event.h"
#include "host/nic.h"
#include "limits.h"
#include "turn.h"
#include "emu/payload/stage.h"

/* Not on the path of a message, out of line so that the path needs fewer registers; on it. */
#define EMU_COLD __attribute__((cold, noinline))
#define EMU_HOT  inline __attribute__((always_inline))

/* Keep a pointer in a register: else gcc computes base + index * size + offset at every use. */
#define EMU_KEEP(ptr)                          \
	({                                     \
		__typeof__(ptr) kept_ = (ptr); \
		__asm__("" : "+r"(kept_));     \
		kept_;                         \
	})

/* Store a field by itself: to put it into a vector with its neighbours takes more instructions. */
#define EMU_ALONE(field) __asm__("" : "+m"(field))

/*
 * An entry of a table, by an index from the arena. In a shared fabric it may be wild; then it leads
 * to memory reserved for that (shared_file.h). array[index] would promise the compiler that it is
 * within the table, and so would array + index: the cast hides the array from it.
 */
#define EMU_AT(array, index) (*((__typeof__(*(array)) *)(uintptr_t)(array) + (index)))

/* Begin a cache line, for fields that one process writes often. */
#define EMU_OWN_LINE _Alignas(EMU_LINE)

/*
 * Assert a condition in a private fabric. In a shared one another process may have written garbage;
 * there the code after it copes, and wild indices lead to memory reserved for them (shared_file.h).
 */
#define EMU_SURE(w, condition) assert((condition) || (w)->sharing)

/*
 * Steps that one event, message or recovery may take through lists and tables of a shared arena,
 * all its loops together (emu_go_on); and once garbage has used them up.
 */
#define EMU_STEPS_MOST    (1u << 23)
#define EMU_STEPS_DAMAGED (1u << 16)

struct emu_pd {
	struct emu_head head;
	uint32_t adapter;
};

struct emu_mr {
	struct emu_head head;
	uint64_t addr, length, base; /* base: its first remote address, usually addr */
	uint64_t tag;     /* pd << 32 | key while live, else 0: one compare checks both */
	uint32_t access;  /* enum nic_access */
	uint32_t windows; /* memory windows bound to it */
	uint8_t gen;      /* low byte of its keys: a freed key stays invalid for 255 reuses */
};

/* A memory window. The indices in its keys begin after those of the MRs. */
struct emu_mw {
	struct emu_head head;
	uint64_t addr, length, base;
	uint64_t tag;    /* as emu_mr's while bound, else 0 */
	uint32_t access; /* NIC_ACCESS_REMOTE_xxx */
	uint32_t pd;
	uint32_t mr;     /* the MR it is bound to; 0: unbound */
	uint32_t qp;     /* whose requests alone it serves, as the bind said; 0: of any */
	uint32_t serial; /* of this allocation: a BIND queued before a free detects it */
	uint8_t gen;
};

struct emu_cqe {
	uint64_t wr_id;
	uint32_t qp;
	uint32_t length;
	uint8_t opcode, status, flags, unused;
	uint32_t imm, src_qp; /* src_xxx: of datagrams only */
	uint16_t src_adapter;
	uint8_t src_sl, unused_too;
};

/* Lines of what changes rarely, of the side that adds completions, of the owner: direct.h. */
struct emu_cq {
	EMU_OWN_LINE struct emu_head head;
	emu_ref ring;   /* struct emu_cqe[mask + 1] */
	uint32_t depth; /* entries asked for, exact */
	uint16_t adapter;
	emu_ref inline_ring;
	uint32_t ring_end;                /* put behind the last completion in `ring` */
	EMU_OWN_LINE uint32_t cached_get; /* copy of get for the side that adds completions */
	uint32_t mask;
	uint32_t limit; /* entries accepted now, <= depth */
	uint8_t armed;  /* enum emu_armed */
	union {         /* a poll without the lock reads both at once: direct.h */
		uint64_t put_in_event;
		struct {
			uint32_t put;      /* completions added; free-running, like get */
			uint32_t in_event; /* shared fabrics: an event is changing it, or 0 */
		};
	};
	EMU_OWN_LINE uint32_t get; /* completions dequeued; written by the owner only */
};

/* A receive work request in its ring entry, followed by its segments. */
struct emu_rwqe {
	uint64_t wr_id;
	uint32_t mem_epoch; /* at the post; in a hostile fabric: emu_posted.id */
	uint16_t num_sge;
	uint16_t flags;
	struct nic_sge sge[];
};

/* A send work request in its ring entry, where it stays until it is acknowledged. */
struct emu_swqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t mem_epoch; /* at the post; in a hostile fabric: emu_posted.id */
	uint32_t length;
	uint32_t message; /* number among the connection's requests, from 1, low 32 bits */
	uint8_t opcode, flags;
	uint16_t num_sge;
	/*
	 * READ: response packet due next, or EMU_READ_xxx; atomics: EMU_ATOMIC_DECIDED once they
	 * are, or EMU_READ_xxx; BIND: emu_mw.serial; SEND and WRITE: their `imm`.
	 */
	uint32_t step;
	struct nic_sge sge[];
};

/* The `order` of unused entries behind the event queue of a shared fabric. */
#define EMU_NO_EVENT UINT64_MAX

#define EMU_READ_DONE  UINT32_MAX
#define EMU_READ_EARLY (UINT32_MAX - 1) /* its response came before that to an earlier READ */

/* A ring of work requests: a power of two of entries, free-running put and get. */
struct emu_wq {
	emu_ref ring;
	uint32_t mask;
	uint32_t words; /* of 8 bytes, in an entry: no value of it misaligns one */
	uint32_t max;   /* entries asked for, exact */
	uint32_t put, get;
};

struct emu_srq {
	struct emu_head head;
	struct emu_wq wq;
	uint32_t pd;
	uint32_t limit; /* armed low limit; 0: not armed */
	uint32_t name;
	uint32_t max_sge;
	uint32_t users; /* number of QPs */
	uint16_t adapter;
};

/* A message that has arrived in part. In an in-order profile a QP has at most one. */
struct emu_rx {
	emu_ref next; /* by message number */
	emu_ref self;
	uint32_t index; /* of the sender's work request */
	uint32_t message;
	uint32_t next_packet;
	uint32_t length;
	emu_flag whole;         /* all its packets arrived, but an earlier message is incomplete */
	emu_flag write;         /* an RDMA Write that took no receive: wqe is empty */
	uint8_t flags, landing; /* emu_recv_told; stages that are over: emu/hostile/land.h */
	uint32_t imm;
	struct emu_rwqe wqe;
};

enum emu_qp_state {
	EMU_QP_IDLE,       /* receives may be posted */
	EMU_QP_CONNECTING, /* active: request sent; passive: accept sent */
	EMU_QP_CONNECTED,
	EMU_QP_PAUSED,     /* connected by number, and begins no request: pause.h */
	EMU_QP_DRAINING,   /* graceful disconnect: finishing its requests */
	EMU_QP_ERROR,      /* disconnected: a posted request is flushed at once */
	EMU_QP_UNANSWERED, /* of another kind than RELIABLE, ready: unreliable.h */
};

/* How a request fails. */
struct emu_failure {
	uint32_t index;
	uint32_t came;        /* all requests before this one have been executed */
	uint8_t status, tell; /* its status; packet to the peer (enum emu_event_kind) */
};

/* A hold of one message. */
struct emu_hold_rule {
	uint32_t message; /* 0: free */
	uint32_t packets; /* packets that pass the hold */
};

struct emu_qp {
	/* A line to which the owner stores when it posts or reaps. */
	EMU_OWN_LINE struct emu_head head;
	struct emu_wq sq;     /* sq.get: oldest unacknowledged */
	uint32_t sq_next;     /* next request to transmit */
	uint32_t reaped;      /* receives that were taken, less those unreaped */
	uint32_t constrained; /* requests on sq that restrict the order: rdma.h */
	struct emu_wq rq;     /* its last member, get, begins the next line */
	/* A line to which the peer stores when it delivers a message. */
	uint32_t rx_next, rx_packet;     /* the peer's request, and its packet if UC, expected */
	uint32_t rx_taken, rx_completed; /* counted among the peer's Sends */
	uint32_t taken;                  /* receives */
	emu_ref rx;                      /* list of struct emu_rx, by message number */
	uint32_t rx_count;
	emu_ref parked, parked_tail; /* list of struct emu_held: they wait for earlier ones */
	emu_ref holds;               /* struct emu_hold_rule[EMU_HOLDS] */
	emu_ref held, held_tail;     /* list of struct emu_held: packets of held messages */
	emu_ref rdma_sge;   /* struct nic_sge[entries of sq][max_rdma_sge], on demand: rdma.h */
	uint32_t reads_in;  /* the peer's READs whose response is being sent */
	uint32_t reads_out; /* READs in flight */
	/* An ordinary message changes nothing here. */
	uint32_t link; /* to the peer, an index of links */
	uint32_t pd, send_cq, recv_cq, srq;
	uint32_t name;
	uint32_t epoch; /* of the connection; events of an earlier one are stale */
	uint32_t peer, peer_epoch;
	uint32_t conn;      /* active side: the connection request in flight */
	int32_t soft, hard; /* NIC_LIMIT_NONE: disarmed or fired */
	uint16_t adapter, peer_adapter;
	uint32_t mtu;        /* of its packets: emu_wire_mtu */
	uint8_t state, kind; /* enum emu_qp_state, enum nic_qp_kind */
	uint8_t rnr_tries;
	bool timer : 1;      /* a timer event is queued: connect timeout, RNR or retry */
	bool rnr_wait : 1;   /* nothing is transmitted until the RNR timer fires */
	bool doubt : 1;      /* an answer may be lost, but the RNR timer is running */
	bool rx_gap : 1;     /* rx_next got a NAK (RNR, sequence): later packets are dropped */
	bool left_here : 1;  /* packets of this QP may wait in its owner's inbox: runner.c */
	bool left_there : 1; /* packets with payload may wait in its peer's inbox */
	bool numbered : 1;   /* connected by number: number.h */
	bool odd_mtu : 1;    /* its peer's MTU is another one */
	bool unheard : 1;    /* it is to tell when a packet comes: pause.h */
	bool paused : 1;     /* requests from emu_path.pause_at on wait */
	bool undrained : 1;  /* it is to tell when all before that have completed */
	bool hostile : 1;    /* the fabric is: no fast path */
	uint8_t noun : 2;    /* enum nic_qp_noun */
	emu_flag rx_fast;    /* packets may take the responder's fast path: emu_qp_assess */
	emu_flag tx_fast, rq_fast; /* so may Sends and ACKs; so may posts of Receives */
	/* An ordinary message of a private fabric does not touch this line. See rdma.h. */
	uint32_t sq_acked;      /* while constrained > 0: all before are delivered */
	struct emu_failure nak; /* kept until the READs before it complete; status 0: none */
	uint64_t again_at;      /* shared fabrics: no packet arrives earlier; runner.c */
	uint8_t max_send_sge, max_recv_sge, max_rdma_sge;
	uint8_t max_rd_in, max_rd_out; /* of this connection */
	uint8_t cap_rd_in, cap_rd_out; /* limits at creation */
	/* While packets are observed (wire.h), in an in-order profile. */
	uint32_t wire_index, wire_packet; /* next packet of this QP to come off the wire */
	uint32_t wire_again;              /* requests before this one form a train */
	emu_ref early, early_tail;        /* list of struct emu_held: packets after those */
	uint32_t psn_more, psn_counted;   /* packets beyond one a request, before psn_counted */
	uint8_t retry_tries : 3, retry_mark : 5; /* mark: of what the last NAK asked for; retry.c */
	uint8_t retry_timer; /* the queued timer is the retry timer: 1, and 1 for each put_off */
	emu_flag half_open;  /* the peer is gone, and the packet that said so was lost */
	emu_flag ack_due;    /* an EMU_EV_ACK_DUE is queued */
};
_Static_assert(sizeof(struct emu_qp) == 256, "otherwise a message costs 13 instructions more");
_Static_assert(offsetof(struct emu_qp, rq.get) == EMU_LINE, "rq.put is the owner's, rq.get is not");

struct emu_listener {
	struct emu_head head;
	uint64_t port;
	uint32_t next; /* in its hash bucket */
	uint16_t adapter;
};

/* A connection request, from connect to the arrival of its reply. */
struct emu_conn {
	struct emu_head head;
	uint32_t qp, epoch;                 /* active side; if the epoch differs, it is gone */
	uint32_t passive_qp, passive_epoch; /* set by accept */
	uint64_t port;
	uint16_t from, to; /* adapters */
	emu_flag arrived, answered;
	emu_flag by_number; /* the active side confirms the answer: nic_ops.confirm */
	uint32_t to_generation;
	uint32_t name;                /* of the active QP */
	struct nic_conn_end_point by; /* of the request, after accept of the reply */
	uint8_t rd_in, rd_out;        /* of the request, after accept of the reply */
	uint16_t size;                /* of data: likewise */
	uint8_t data[EMU_PRIVATE_DATA];
};

/* A packet that was taken off the wire: held, parked or early. */
struct emu_held {
	emu_ref next;
	uint32_t message; /* held by a hold of this message; 0: otherwise */
	struct emu_event event;
};

/* Two lines, so that an index leads to it with a shift. */
struct emu_link {
	EMU_OWN_LINE struct emu_head head;
	uint16_t from, to;      /* adapters */
	uint32_t back;          /* the link of the other direction */
	uint32_t generation[2]; /* of the two adapters */
	uint64_t latency_ns;
	uint64_t bandwidth_bps;
	uint64_t ns_per_byte; /* in units of 2^-32 ns, rounded up; 0: no limit */
	uint64_t not_before;  /* no packet arrives earlier, for the latency was lowered */
	uint64_t busy_until;  /* the last bytes are on the wire until then */
	uint64_t late;        /* a fault delays all packets until then */
	emu_flag down;
	emu_flag used; /* while unused links are looked for */
	emu_ref held, held_tail;
	uint32_t pass; /* while holding: packets that may still pass */
	emu_flag holding;
};

struct emu_adapter {
	emu_flag open;
	emu_flag dead, port_down; /* by faults; a port that is down is an observer */
	uint32_t generation;      /* grows with each adapter that has this entry */
	uint16_t process;         /* the process that opened it; 0 in a private fabric */
	char name[EMU_NAME];
	int qps, cqs, srqs, mrs, mws, pds, listeners, front_mrs; /* mrs leaves the front's out */
};

struct emu_config {
	uint32_t profile; /* number of its row in profile.c */
	uint64_t seed;
	uint64_t latency_ns, bandwidth_bps;
	uint64_t rnr_timer_ns, poll_quantum_ns;
	uint64_t retry_timer_ns;
	uint32_t mtu, rnr_retry, retry, hostile; /* hostile: set of enum nic_hostile */
	uint32_t address;     /* of the adapter with number 1, less one; host order */
	uint32_t addresses;   /* number of addresses from there */
	uint64_t trace_bytes; /* longest trace */
	uint64_t trace_last;  /* what is kept of its end at least; 0: its beginning is kept */
	uint64_t trace_ring;  /* bytes of its memory then, used again and again: ring.h; or 0 */
};

struct emu_rule {
	struct nic_packet_rule match;
	uint64_t seen, fired;
};

/* What a direct delivery changes at the receiver, as it was before: direct.h. */
struct emu_delivery {
	emu_flag running;
	uint32_t qp, get; /* get: of the receive queue or SRQ */
	uint32_t taken, rx_taken, rx_completed, rx_next;
	uint32_t put;          /* of the CQ */
	uint64_t trace_length; /* before its lines */
};

/* A process that takes part in a shared fabric: shared.h. */
struct emu_process {
	EMU_OWN_LINE emu_flag used;
	emu_flag overrun;      /* there was no memory for a message to it */
	emu_flag exits, named; /* about to end, without having left; it has had an adapter */
	int32_t pid;
	uint32_t futex;            /* incremented when the process has to look at the arena */
	uint32_t generation;       /* grows with each process that has this entry */
	uint32_t sleepers;         /* its threads that sleep in a wait */
	uint32_t idlers, lockers;  /* its helper, if that sleeps; threads asleep for the lock */
	emu_ref inbox, inbox_tail; /* list of struct emu_message */
	uint64_t probe; /* address of its nonce; a process that can read it there has access */
	uint64_t nonce;
	char node[EMU_NAME];
	EMU_OWN_LINE struct emu_delivery delivery; /* in progress */
	emu_flag helps;       /* it copies pieces of a payload that is split: split.h */
	uint32_t help_failed; /* the last offer of which it could not copy a piece */
};

/* A QP, its CQs and its SRQ, as they were before an event ran. */
struct emu_kept {
	uint32_t index;
	uint32_t send_put, recv_put; /* emu_cq.put of its CQs */
	uint8_t send_armed, recv_armed;
	struct emu_qp qp;
	struct emu_srq srq;
};

/* How far the event queue, and what counts its reasons, had come at a moment of consistency. */
struct emu_mark {
	uint64_t sequence;
	uint32_t events, observed;
};

/* State before `event`, while it is running, or else after the last change: recover.h. */
struct emu_section {
	struct emu_mark before, after;
	uint32_t qps; /* entries of `kept` in use */
	struct emu_kept kept[2];
	uint32_t letter_left, letter_packet; /* of the request of an UNANSWERED event */
	emu_flag running;                    /* `event` is running; it is on no queue */
	struct emu_event event;
};

/*
 * The lock of a shared fabric (emu/shared/lock.h): 0 while it is free, else the thread that holds
 * it, in the format of futex(2).
 */
struct emu_lock {
	uint32_t word;
};

/* The part of the state that only a shared fabric uses; all zero in a private one. */
struct emu_shared {
	uint64_t magic; /* set last, when the fabric can be joined */
	uint64_t layout;
	EMU_OWN_LINE uint64_t mono_base; /* monotonic time at virtual 0, without a namespace */
	emu_flag clock_runs;             /* mono_base is set */
	emu_flag stays;                  /* the fabric does, when the last process leaves */
	emu_flag gone;                   /* the fabric has ended: no process may join */
	char trace_path[256];            /* file for the trace at the end; empty: none */
	uint32_t processes;
	uint32_t backed; /* units of the pool that have file blocks */
	struct emu_section section;
	struct emu_stage stage[EMU_STAGES];
	EMU_OWN_LINE struct emu_split split;
	struct emu_process process[EMU_PROCESSES + 1];
	struct emu_lockstep lockstep;
};

struct emu_fabric {
	uint64_t size; /* of the mapping */
	struct emu_config config;

	EMU_OWN_LINE struct emu_lock lock; /* on one line with what its holder stores to most */
	uint16_t holder; /* process that has the lock; 0: none, or it changes nothing */
	uint64_t now;
	uint64_t trace_length; /* record.h */
	uint64_t trace_oldest; /* of a ring: the position of the oldest record */
	EMU_OWN_LINE uint64_t sequence;
	uint64_t random[4];
	uint32_t events;
	uint32_t mem_epoch; /* grows when a key becomes invalid or a QP changes its PD */
	union {
		uint32_t watched; /* not 0: packets are observed, or there is a trace */
		struct {          /* observed: at most EMU_OBSERVED_MOST reasons, of wire.h */
			uint32_t observed : 31, trace_on : 1;
		};
	};
	uint32_t rules;

	struct emu_table pds, mrs, mws, cqs, srqs, qps, listeners, conns, links;
	uint32_t adapter_high; /* highest index ever used of `adapters` */
	emu_ref link_places;   /* finds links by their adapters: links.c */
	uint32_t link_mask;

	uint32_t listen_hash[EMU_LISTEN_BUCKETS];
	struct emu_rule rule[EMU_RULES]; /* `rules` of them */

	uint64_t trace_room; /* bytes of `trace` that may be written; its file grows */
	emu_flag trace_full;
	uint32_t pool_next; /* first unit never allocated */
	uint32_t pool_end;
	emu_ref pool_free[EMU_POOL_CLASSES];

	struct emu_adapter adapters[EMU_ADAPTERS + 1]; /* by number, 1-based: adapter.h */
	struct emu_link link[EMU_LINKS + 1];           /* 0: as configured */
	struct emu_pd pd[EMU_PDS + 1];
	struct emu_mr mr[EMU_MRS + 1];
	struct emu_mw mw[EMU_MWS + 1];
	struct emu_cq cq[EMU_CQS + 1];
	struct emu_srq srq[EMU_SRQS + 1];
	_Alignas(4 * EMU_LINE) struct emu_qp qp[EMU_QPS + 1]; /* pairs of lines, on one page */
	struct emu_path path[EMU_QPS + 1];                    /* of the QPs that are `numbered` */
	uint32_t timer_at[EMU_QPS + 1]; /* the places of their timers on the heap: queue.c */
	uint16_t qp_lives[EMU_QPS + 1]; /* how many QPs have had the index: number.h */
	uint32_t members;               /* highest index ever used, and 1 */
	struct emu_member member[EMU_MEMBERS];
	struct emu_listener listener[EMU_LISTENERS + 1];
	struct emu_conn conn[EMU_CONNS + 1];
	struct emu_shared shared;
	/* Unused: each group of children behind it begins a pair of lines. */
	_Alignas(2 * EMU_LINE) struct emu_event heap_begin[3];
	struct emu_event heap[EMU_EVENTS];
	_Alignas(EMU_PAGE) char trace[EMU_TRACE_BYTES]; /* records, or a file's text */
	_Alignas(EMU_POOL_UNIT) uint8_t pool[];         /* up to size */
};

#endif /* EMU_FABRIC_LAYOUT_H */
