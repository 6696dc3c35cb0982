/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posted.h - the buffers that the NIC owns, from post to completion: watch=posted and poison=on.
 *
 * Each request and Receive that is posted gets a record in the process that posted it, whose number
 * is kept in the ring entry. With watch=posted the record has a copy of the buffer's bytes. They
 * are compared when the NIC reads or writes a part of the buffer, and all of them at the
 * completion; a byte that differs was changed by the program, for what the NIC itself writes, for
 * this or any other request, is written to the copies too. The first byte of each record is told,
 * on stderr and in the trace, where datsim finds it.
 *
 * With poison=on a Receive's buffer is filled with garbage at the post. What a message leaves of it
 * untouched gets its old bytes back at the completion; a Receive that fails or is flushed keeps the
 * garbage.
 *
 * In a shared fabric each process reads and writes its own memory only (as with DATSIM_COPY=bounce)
 * while a mode of EMU_HOSTILE_OWN is on, so that the records' process sees every access. A
 * completion that another process makes is told to it by a message in its inbox.
 *
 * Copies take up to EMU_POSTED_BYTES in all. Beyond that a record has a sum for each block of its
 * buffer: the block that differs is told, not the byte.
 *
 * Lock: lib's backend lock.
 */
#ifndef EMU_HOSTILE_POSTED_H
#define EMU_HOSTILE_POSTED_H

#include "emu/fabric/fabric.h"

#define EMU_POSTED_BYTES (64ul << 20)

/* Modes in which each process accesses its own memory only. */
#define EMU_HOSTILE_OWN \
	(NIC_HOSTILE_WATCH | NIC_HOSTILE_POISON | NIC_HOSTILE_PLACEMENT | NIC_HOSTILE_SENT)
/* Modes in which posts are recorded. */
#define EMU_HOSTILE_POSTS (NIC_HOSTILE_WATCH | NIC_HOSTILE_POISON | NIC_HOSTILE_SENT)

/* As `placed`: the Receive fails or is flushed. */
#define EMU_POSTED_FAILED UINT32_MAX

static inline bool emu_posted_on(const struct emu_world *w)
{
	return __builtin_expect(w->config.hostile & EMU_HOSTILE_POSTS, 0);
}

/* A post by this process. The number of its record; 0: it has none. */
EMU_COLD uint32_t emu_posted_request(struct emu_world *w, const struct emu_qp *qp,
				     const struct nic_send_wr *wr, uint32_t message);
EMU_COLD uint32_t emu_posted_receive(struct emu_world *w, const struct emu_qp *qp,
				     const struct emu_srq *srq, const struct nic_recv_wr *wr);
/*
 * complete=sent: the NIC takes a copy of what the request sends, and the buffer is the program's
 * again. False: there is no memory for it. Is there one? It is read in place of the buffer.
 */
EMU_COLD bool emu_posted_keep(struct emu_world *w, uint32_t id);
EMU_COLD bool emu_posted_is_kept(const struct emu_world *w, const struct emu_swqe *wqe);
/* The copy of these bytes of a buffer; NULL: there is none. */
EMU_COLD const void *emu_posted_kept(const struct emu_world *w, uint32_t id, uint64_t addr);
/* The NIC is about to read or write this part of a buffer. */
EMU_COLD void emu_posted_look(struct emu_world *w, uint32_t id, uint64_t addr, uint64_t length);
/* The NIC has written to memory of this process. */
EMU_COLD void emu_posted_wrote(struct emu_world *w, uint64_t addr, uint64_t length);
/*
 * The request or Receive completes; qp: whose it is, in this process or another one. placed: bytes
 * of the message in a Receive, or EMU_POSTED_FAILED.
 */
EMU_COLD void emu_posted_done(struct emu_world *w, const struct emu_qp *qp, uint32_t id,
			      uint32_t placed);
/* The same, by the process that owns it. */
EMU_COLD void emu_posted_done_here(struct emu_world *w, uint32_t qp, uint32_t id, uint32_t placed);
/* Everything on the queues of a QP, or on an SRQ, belongs to the program again. */
EMU_COLD void emu_posted_forget(struct emu_world *w, const struct emu_qp *qp,
				const struct emu_srq *srq);
/* One that completes nothing does. */
EMU_COLD void emu_posted_drop(struct emu_world *w, uint32_t id);
/* How many of this process's buffers the program changed. */
uint32_t emu_posted_violations(struct nic *nic);
/* The world ends. */
void emu_posted_end(struct emu_world *w);

#endif /* EMU_HOSTILE_POSTED_H */
