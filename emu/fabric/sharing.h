/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing.h - what a fabric of several processes adds to the NIC in one process: one table of
 * hooks.
 *
 * A private fabric has no table (emu_world.sharing is NULL), and each wrapper below then does what
 * a process alone does, at the cost of one predictable branch. emu/shared fills the table in
 * (emu/shared/hooks.c) and, in lockstep, calls emu/lockstep from there. emu/, emu/wire and
 * emu/fabric know nothing of those two rooms but this header and the layout of the arena.
 *
 * Lock: lib's backend lock covers all of it (host/nic.h).
 */
#ifndef EMU_FABRIC_SHARING_H
#define EMU_FABRIC_SHARING_H

#include <sys/socket.h>

#include "fabric.h"

/* An upcall of host/nic.h in a form that can be left to another process. */
enum emu_upcall_kind {
	EMU_UPCALL_CQ_NOTIFY,   /* index: CQ; what: it is patient (nic_cq) */
	EMU_UPCALL_CQ_LOST,     /* index: CQ, qp, what: enum nic_opcode */
	EMU_UPCALL_SRQ_LIMIT,   /* index: SRQ */
	EMU_UPCALL_SOFT_LIMIT,  /* qp */
	EMU_UPCALL_ESTABLISHED, /* qp, of the passive side */
	EMU_UPCALL_CONN_END,    /* qp, what: enum nic_conn_end */
	EMU_UPCALL_QP_EVENT,    /* qp, what: enum nic_qp_event */
	EMU_UPCALL_POSTED_DONE, /* qp, index: emu_posted.id, what: emu_posted_done.placed */
};

struct emu_upcall {
	uint32_t kind; /* enum emu_upcall_kind */
	uint32_t index, qp, what;
};

/* An address in the memory of a process; process 0: it is gone. */
struct emu_place {
	uint16_t process;
	uint64_t addr;
	uint32_t posted; /* record of the buffer: emu/hostile/posted.h; 0: none */
};

/* How a copy between the memories of two ends went: the end that is named cannot be accessed. */
enum emu_copy {
	EMU_COPY_OK,
	EMU_COPY_BAD_SOURCE,
	EMU_COPY_BAD_TARGET,
	EMU_COPY_TOO_LONG
};

struct emu_sharing {
	/* A nic of this process is open, or the control nic is made: its table, its clock. */
	void (*open_nic)(struct emu_world *w, struct nic *nic);
	/*
	 * The name that an adapter of this process has in the fabric, where each process has an
	 * "emu0".
	 */
	void (*name_adapter)(struct emu_world *w, const char *name, char *in_fabric, size_t size);
	/*
	 * The adapter that an address of this machine means; 0: it is not one. As
	 * emu_adapter_by_address.
	 */
	uint16_t (*find_host)(struct emu_world *w, const struct sockaddr *addr, uint64_t port,
			      uint16_t from);

	/*
	 * Allocate file blocks for a part of the arena; a store to a page without one is a SIGBUS.
	 * False: no room.
	 */
	bool (*back)(struct emu_world *w, const void *at, uint64_t bytes);
	/* The inline CQEs of a CQ (emu/payload/inline.h). -ENOMEM */
	int (*cq_init)(struct emu_world *w, struct emu_cq *cq);
	void (*cq_fini)(struct emu_world *w, struct emu_cq *cq);

	/* There is garbage in the arena: the adapters of this process fail with its next call. */
	void (*damaged)(struct emu_world *w);

	/* Copy between the memories of two processes. */
	enum emu_copy (*copy)(struct emu_world *w, const struct emu_place *to,
			      const struct emu_place *from, uint64_t length);
	/* Can this process access the memory of that one? */
	bool (*reaches)(struct emu_world *w, uint16_t process);
	/* Has that process ended? Asked only when a copy has failed: it is a system call. */
	bool (*gone)(struct emu_world *w, uint16_t process);
	/* Copy from such a process to this program's own variable, or back. False: no memory. */
	bool (*load)(struct emu_world *w, void *to, const struct emu_place *from, uint64_t length);
	bool (*store)(struct emu_world *w, const struct emu_place *to, const void *from,
		      uint64_t length);
	/* Let another process run the event that runs now, which has changed nothing. */
	void (*pass_on)(struct emu_world *w, uint16_t process, const struct emu_event *event);
	/*
	 * Copy all waiting payloads of this process to their buffers: a region is about to be
	 * deregistered.
	 */
	void (*place_payloads)(struct emu_world *w);
	/* Send an upcall to the process that owns the adapter. */
	void (*post_upcall)(struct emu_world *w, uint16_t adapter, const struct emu_upcall *up);

	/*
	 * Run the first event of the queue, here or in the process that has to; there is one.
	 */
	void (*run_first)(struct emu_world *w);
	/* The door's wait, for another completion in that CQ (0: for any event). */
	enum nic_wait (*wait)(struct emu_world *w, struct nic *nic, uint32_t cq, uint64_t deadline);
};

static inline bool emu_is_shared(const struct emu_world *w)
{
	return __builtin_expect(w->sharing != NULL, 0);
}

/* QPs that an adapter can have. */
static inline uint32_t emu_qps_most(const struct emu_world *w)
{
	return emu_is_shared(w) ? EMU_MAX_QP_SHARE : EMU_MAX_QP;
}

/* The kernel gives pages to a private fabric as they are used. */
static inline bool emu_back(struct emu_world *w, const void *at, uint64_t bytes)
{
	return !emu_is_shared(w) || w->sharing->back(w, at, bytes);
}

static inline int emu_cq_init_payloads(struct emu_world *w, struct emu_cq *cq)
{
	return emu_is_shared(w) ? w->sharing->cq_init(w, cq) : 0;
}

static inline void emu_cq_fini_payloads(struct emu_world *w, struct emu_cq *cq)
{
	if (emu_is_shared(w))
		w->sharing->cq_fini(w, cq);
}

static inline void emu_place_payloads(struct emu_world *w)
{
	if (emu_is_shared(w))
		w->sharing->place_payloads(w);
}

static inline uint16_t emu_find_host(struct emu_world *w, const struct sockaddr *addr,
				     uint64_t port, uint16_t from)
{
	return emu_is_shared(w) ? w->sharing->find_host(w, addr, port, from) : 0;
}

static inline bool emu_is_gone(struct emu_world *w, uint16_t adapter)
{
	return emu_is_shared(w) && w->sharing->gone(w, EMU_AT(w->fab->adapters, adapter).process);
}

/* In a private fabric every adapter is this process's own. */
static inline void emu_post_upcall(struct emu_world *w, uint16_t adapter,
				   const struct emu_upcall *up)
{
	if (emu_is_shared(w))
		w->sharing->post_upcall(w, adapter, up);
}

#endif /* EMU_FABRIC_SHARING_H */
