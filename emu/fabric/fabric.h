/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric.h - a process's view of the simulated world, and access to its objects.
 *
 * struct emu_world is that view: the mapping of the arena (layout.h), the nic objects lib holds
 * (arrays that run parallel to the fabric's tables), and nothing that the simulation depends on.
 *
 * Lock: lib's backend lock covers everything here (host/nic.h).
 */
#ifndef EMU_FABRIC_H
#define EMU_FABRIC_H

#include "layout.h"

struct emu_nic {
	EMU_OWN_LINE struct nic base; /* what each message reads of it is on its first line */
	struct emu_world *world;
	uint16_t adapter; /* 0: the control nic */
};

/*
 * lib holds a pointer to the base object in one of these; the rest leads to its entry in the arena
 * and to the world. They are in memory of this process, so pointers are fine. Those of QPs and CQs
 * are one line each, and an index leads to them with a shift.
 */
struct emu_local_cq {
	EMU_OWN_LINE struct nic_cq base;
	struct emu_cq *entry;
	struct emu_world *world;
	struct emu_cqe *ring; /* where entry->ring is mapped */
};

struct emu_local_srq {
	struct nic_srq base;
	struct emu_srq *entry;
	struct emu_world *world;
};

struct emu_local_qp {
	EMU_OWN_LINE struct nic_qp base;
	struct emu_qp *entry;
	struct emu_world *world;
	uint64_t *sq, *rq; /* where the rings of the entry are mapped */
};
_Static_assert(sizeof(struct emu_local_cq) == EMU_LINE && sizeof(struct emu_local_qp) == EMU_LINE,
	       "a message reads one line of each");

/*
 * For emu/shared/direct.h, of a QP of this process in a shared fabric: its receive queue, and what
 * it last saw on lines to which its peer stores. Not in emu_local_qp, which is one line.
 */
struct emu_seen {
	uint32_t mask, words, max; /* of rq */
	uint32_t get;
	/*
	 * Of the peer's rq, while peer_epoch is the peer's epoch; during a connection only put
	 * changes. Zero after this QP is created, modified or reset, and it gets no other peer
	 * without that.
	 */
	uint32_t peer_epoch, peer_put, peer_mask, peer_words;
	const uint64_t *peer_ring; /* where it is mapped */
};

/* This process's own copy of an MR, which no other process can change. */
struct emu_range {
	uint64_t addr, length;
	uint32_t lkey;
};

/* Events that are due in the order in which they were queued: queue.h. */
struct emu_fifo {
	struct emu_event *first, *end, *limit; /* NULL in a shared fabric */
	struct emu_event event[EMU_FIFO_EVENTS];
};

/* Events of about the same time: wheel.h. */
struct emu_slot {
	emu_ref block; /* 0: no events */
	uint32_t used; /* events in that block; further ones are full */
};

/* Events that are due late; all zero in a shared fabric: wheel.h. */
struct emu_wheel {
	uint32_t events;
	uint32_t levels; /* set of those that have events */
	uint64_t base;   /* no event is earlier */
	uint64_t near;   /* events due until then are on the heap, and later ones here */
	uint64_t slots[EMU_WHEEL_LEVELS]; /* of each level: set of those that have events */
	struct emu_slot slot[EMU_WHEEL_LEVELS][EMU_WHEEL_SLOTS];
};

struct emu_world {
	struct emu_local_qp qp[EMU_QPS + 1]; /* first, so that its place need not be added */
	struct emu_fabric *fab;
	size_t fab_size;
	uint16_t process;        /* number of this process in a shared fabric; 0: private fabric */
	struct emu_process *own; /* its entry in the arena; NULL: none */
	const struct emu_sharing *sharing; /* hooks of a shared fabric; NULL: private fabric */
	struct emu_membership *membership; /* of emu/shared; NULL: private fabric */
	struct emu_config config; /* the fabric's: a copy that no other process can change */
	int trace_fd;             /* the regular file that is mapped as the trace; -1: none */
	int trace_stream;         /* a pipe or device, to which the trace is written at the end */
	char *trace_file;         /* its path; NULL: there is none */
	uint32_t trace_lines;     /* of the regular file */
	uint64_t trace_limit;     /* a record that begins before it has room: record.h */
	uint64_t trace_mask;      /* the bits of a position that are a place in memory: ring.h */
	bool trace_is_long;       /* trace.c */
	bool trace_told;          /* a problem with its file was reported: trace_file.c */
	struct emu_trace_text *trace_text; /* what was read of the trace; NULL: nothing */
	uint32_t steps, steps_most;        /* left, and at the beginning: emu_go_on */
	bool guarded;                      /* faults of copies are handled: guard.h */
	bool lockstep;                     /* the fabric's processes take turns: lockstep.h */
	struct emu_hostile *hostile; /* what this process has posted; NULL: nothing, or not kept */
	bool following;              /* virtual time follows the monotonic clock */
	uint64_t mono_base;          /* monotonic time at virtual 0, while following */

	uint16_t nic_high; /* highest index of an adapter that this process has opened */
	struct emu_nic nics[EMU_ADAPTERS + 1]; /* those behind 0 are zeroed by need: spare.c */
	struct nic_pd pd[EMU_PDS + 1];
	struct nic_mr mr[EMU_MRS + 1];
	struct emu_range range[EMU_MRS + 1]; /* of the MRs of this process */
	uint32_t range_high, range_last;     /* highest ever used; last lookup */
	struct nic_mw mw[EMU_MWS + 1];
	struct emu_local_cq cq[EMU_CQS + 1];
	struct emu_local_srq srq[EMU_SRQS + 1];
	struct emu_seen seen[EMU_QPS + 1];
	struct nic_listener listener[EMU_LISTENERS + 1];
	struct nic_conn conn[EMU_CONNS + 1];
	struct emu_fifo fifo;
	struct emu_wheel wheel;
};

static inline struct emu_nic *emu_nic(struct nic *nic)
{
	return nic_container_of(nic, struct emu_nic, base);
}

/* Base objects and fabric entries have the same index. */
#define EMU_INDEX(world, table, base) ((uint32_t)((base) - (world)->table))

static inline struct emu_world *emu_world_of(struct nic *nic)
{
	return emu_nic(nic)->world;
}

static inline struct nic *emu_nic_at(struct emu_world *w, uint16_t adapter)
{
	return &w->nics[adapter].base;
}

/* Does this process own the adapter and its objects? Only the owner makes upcalls about them. */
static inline bool emu_mine(const struct emu_world *w, uint16_t adapter)
{
	return adapter <= EMU_ADAPTERS && EMU_AT(w->fab->adapters, adapter).process == w->process;
}

static inline struct emu_local_qp *emu_local_qp(struct nic_qp *base)
{
	return nic_container_of(base, struct emu_local_qp, base);
}

static inline struct emu_local_cq *emu_local_cq(struct nic_cq *base)
{
	return nic_container_of(base, struct emu_local_cq, base);
}

static inline struct emu_local_srq *emu_local_srq(struct nic_srq *base)
{
	return nic_container_of(base, struct emu_local_srq, base);
}

/* From a base object to its index; NULL is index 0, "none". */
static inline uint32_t emu_cq_index(struct emu_world *w, struct nic_cq *base)
{
	return base ? (uint32_t)(emu_local_cq(base)->entry - w->fab->cq) : 0;
}

static inline uint32_t emu_srq_index(struct emu_world *w, struct nic_srq *base)
{
	return base ? (uint32_t)(emu_local_srq(base)->entry - w->fab->srq) : 0;
}

/* An index that no table has: only garbage in a shared arena leads here. Entry 0 means "none". */
static EMU_COLD uint32_t emu_wild_index(const struct emu_world *w)
{
	EMU_SURE(w, false);
	return 0;
}

static inline struct emu_qp *emu_qp_at(struct emu_world *w, uint32_t index)
{
	struct emu_qp *qp = w->fab->qp;

	if (__builtin_expect(index > EMU_QPS, 0))
		index = emu_wild_index(w);
	qp += index;
	return EMU_KEEP(qp);
}

/* Flushed receives are reaped without having been taken, so the difference may be negative. */
static inline uint32_t emu_unreaped(const struct emu_qp *qp)
{
	int32_t unreaped = (int32_t)(qp->taken - qp->reaped);

	return unreaped > 0 ? (uint32_t)unreaped : 0;
}

static inline uint32_t emu_qp_index(struct emu_world *w, const struct emu_qp *qp)
{
	return (uint32_t)(qp - w->fab->qp);
}

/* The highest index of a table ever used, bounded in case of garbage. */
#define EMU_HIGH(fab, table, entries)                                           \
	((fab)->table.high < sizeof((fab)->entries) / sizeof((fab)->entries[0]) \
		 ? (fab)->table.high                                            \
		 : (uint32_t)(sizeof((fab)->entries) / sizeof((fab)->entries[0])) - 1)

/* Likewise, of the adapters. */
static inline uint16_t emu_adapter_high(const struct emu_fabric *fab)
{
	return (uint16_t)(fab->adapter_high < EMU_ADAPTERS ? fab->adapter_high : EMU_ADAPTERS);
}

/* False, and the process's adapters fail: emu/fabric/arena.c. */
bool emu_out_of_steps(struct emu_world *w);

/*
 * May a loop over a list or table of the arena go on? In a shared fabric garbage could make one
 * endless, or several that are short by themselves very long in sum. All loops of an event
 * therefore take their steps from one number. False: it is used up, the arena is damaged. The
 * caller leaves what it looked at, empty if it can, and the process's adapters fail soon.
 */
static inline bool emu_go_on(struct emu_world *w)
{
	return !w->sharing || w->steps-- > 0 || emu_out_of_steps(w);
}

/* Are single packets observed, or is there a trace? */
static inline uint32_t emu_is_watched(const struct emu_fabric *fab)
{
	return fab->watched;
}

static EMU_HOT void *emu_at(struct emu_world *w, emu_ref ref)
{
	EMU_SURE(w, ref < w->fab->pool_end);
	return w->fab->pool + (uint64_t)ref * EMU_POOL_UNIT;
}

/* The entry in the ring at that address. */
static inline void *emu_wqe_in(uint64_t *ring, const struct emu_wq *wq, uint32_t index)
{
	/* A 32-bit product stays within EMU_REACH. */
	return ring + (index & wq->mask) * wq->words;
}

static inline void *emu_wqe(struct emu_world *w, const struct emu_wq *wq, uint32_t index)
{
	return emu_wqe_in(emu_at(w, wq->ring), wq, index);
}

static inline void emu_copy_sge(struct nic_sge *to, const struct nic_sge *from, uint32_t n)
{
	if (__builtin_expect(n > 0, 1))
		to[0] = from[0];
	for (uint32_t i = 1; i < n; i++)
		to[i] = from[i];
}

static inline uint32_t emu_wq_count(const struct emu_wq *wq)
{
	return wq->put - wq->get;
}

/* Is the work request of this index posted, and not yet complete? Any index may be asked for. */
static inline bool emu_wq_has(const struct emu_wq *wq, uint32_t index)
{
	return index - wq->get < emu_wq_count(wq);
}

#endif /* EMU_FABRIC_H */
