/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * direct.h - the direct path of a Send, and of an RDMA Write, between two processes of a shared
 * fabric.
 *
 * On the general path a Send takes the fabric's lock at the post and becomes an event; when the
 * event is due, some process takes the lock, moves the payload and queues another event for the
 * ACK. The direct path does all of that at the post, in one locked section and without an event. It
 * is possible when no difference can be observed, except in the buffer of a Receive that was not
 * dequeued yet (libdat(3)): the links have neither latency nor a bandwidth limit, nor a packet in
 * flight from before; nothing of this connection is in flight; no hold or rule is active; the Send
 * is not empty, has no key to invalidate, and is one packet if there is a trace; the receiver has a
 * Receive that no check and no SRQ limit concerns; both CQs are distinct, not armed and have room.
 * Otherwise emu_direct_send returns -EAGAIN, has changed nothing, and the front takes the general
 * path.
 *
 * A post that the front makes in full has the lock already, and takes the same path. Such a Send
 * may have a fence; several segments, which are gathered in the arena or not sent in this way; and,
 * if it is short and there is no trace, immediate data. Not in lockstep: there each message is an
 * event.
 *
 *   sender, emu_direct_send                     receiver, emu_direct_poll
 *   (with the fabric's lock)                    (without any lock)
 *
 *   check that the direct path is possible      polls: inline CQE cq.get has another number, and
 *   record what will change (emu_delivery)      cq.ring_end is not beyond cq.get: the CQ is empty
 *   fill inline CQE cq.put, but its number
 *   take the Receive: rq.get++
 *   write the lines, if it is traced
 *   publish: inline CQE's number = cq.put ----> inline CQE cq.get has that number: a completion
 *   cq.put++                                    copies the payload to the Receive's buffer
 *   complete the Send in its own CQ             cq.get++: the inline CQE is free again
 *
 * Example. The receiver's CQ has get = put = 7; its receive queue has get = 2, put = 4, so Receives
 * 2 and 3 are posted. A Send of 64 bytes copies them into inline CQE 7, sets rq.get = 3, then the
 * CQE's number to 7, and cq.put = 8. The receiver sees the number, copies the 64 bytes from inline
 * CQE 7 into the buffer of Receive 2, and sets cq.get = 8. Meanwhile it may post further Receives;
 * a post only stores rq.put, here 5.
 *
 * The receiver needs no lock because every index has one writer:
 *
 *   rq.put, cq.get                  the process that owns the queue (direct_owner.c)
 *   rq.get, cq.put, an inline CQE   the process that holds the fabric's lock
 *
 * The same holds for an SRQ, whose queue pairs are of one process.
 *
 * rq.put, cq.put, cq.get and the number are stored with release order after the data they cover,
 * and loaded with acquire order before it. rq.get tells the owner only whether the ring is full,
 * and an old value makes it look fuller than it is. A Receive is still read after rq.get has passed
 * it, so a ring has an entry more than Receives may be posted (ring_mask in emu/fabric/arena.c). If
 * the sender is killed before the store that publishes, the delivery has not happened and
 * emu_direct_undo takes it back, with its lines in the trace, or makes the Receive fail if it must
 * (split.h); after that store it has happened, and emu_direct_undo stores the rest.
 *
 * Two cores that store to one cache line take it from each other, which costs more than all
 * instructions of a message. So what each side stores to has lines of its own, in a QP and in a CQ
 * (layout.h), and a side reads the other's only when it must: the sender reads rq.put when the
 * Receives are used up that it has seen, and cq.get when the CQ seems full; the owner reads rq.get
 * when its ring seems full, and cq.put only for completions in the ring. These are counted by
 * cq.ring_end, on a line that direct deliveries leave alone. What is left for a message are the two
 * lines of its inline CQE, half a line of the Receive, and the lock, if both sides send.
 *
 * The payload waits in the inline CQE, or a longer one in a staging buffer (inline.h), until the
 * receiver dequeues the completion, until its helper thread looks after the fabric, or until the
 * region it goes to is about to be deregistered. If neither has room, the payload is copied to its
 * destination before the completion is published (reach.h). So is a long one, by both ends at the
 * same time (split.h).
 *
 * An RDMA Write is executed at its post, too (direct_write.c), by a call that holds lib's lock and
 * the fabric's. The conditions on the links, the connection and the sender's CQ are the same. It
 * may be empty or have a fence, but the kernel must let this process write to the target's memory.
 * The system call that does so takes most of its time. There is no record of it: of the target it
 * changes rx_next, and no completion.
 *
 * An event on the general path may be rolled back by recovery (recover.h). Its completions are in
 * the ring. While it runs, the CQs it may change are marked in_event, and their owner dequeues
 * nothing from their rings without the lock.
 * put and in_event are one word, which the owner loads at once: of two loads the first might be of
 * an event that is rolled back, the second of the time after it.
 */
#ifndef EMU_SHARED_DIRECT_H
#define EMU_SHARED_DIRECT_H

#include "emu/fabric/fabric.h"

/*
 * Entries of the door (host/nic.h). A poll or the post of a Receive that holds the fabric's lock
 * takes the general path, unless it has taken it by emu_direct_line_begin. A Send or an RDMA Write
 * with the lock is posted by the general path if it cannot be executed at once.
 */
int emu_direct_send(struct nic_qp *qp, const struct nic_send_wr *wr);
/*
 * Execute an RDMA Write at once. False: that is not possible, and it is to be posted by the general
 * path. Only its place on the send queue may have been filled in, and a part of its payload
 * written. Lock: the fabric's.
 */
bool emu_direct_write(struct nic_qp *qp, const struct nic_send_wr *wr);
int emu_direct_recv(struct nic_qp *qp, const struct nic_recv_wr *wr);
int emu_direct_srq_post(struct nic_srq *srq, const struct nic_recv_wr *wr);
int emu_direct_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
bool emu_direct_spin(struct nic_cq *cq, struct nic_wc *wc);
uint32_t emu_direct_count(struct nic_cq *cq);

/* May lib call these without the lock? Not in lockstep, where each call needs the turn. */
bool emu_direct_quick(struct nic_world *world);
/* Without the lock: is the inbox empty, and no event due? */
bool emu_direct_quiet(struct nic_world *world);

/*
 * While the fabric is traced a Receive and a dequeue write a line, which takes the lock, as the
 * lines of a Send do. That is all the lock is taken for: if anything is due, or there is nothing to
 * dequeue, it is not.
 */
enum nic_line emu_direct_line_begin(struct nic_world *world, struct nic_cq *cq);
void emu_direct_line_end(struct nic_world *world);

/* A process died with the lock: roll back its delivery if cq.put was not stored. */
void emu_direct_undo(struct emu_world *w);

/* An event that may be rolled back is about to change the CQ; it has ended. */
static inline void emu_cq_event_begin(struct emu_cq *cq)
{
	__atomic_store_n(&cq->in_event, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Both are stored to with the lock only. */
static inline void emu_cq_event_end(struct emu_cq *cq)
{
	__atomic_store_n(&cq->put_in_event, (uint64_t)cq->put, __ATOMIC_RELEASE);
}

/* The two halves. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "put is the lower half");

static inline uint64_t emu_cq_look(const struct emu_cq *cq)
{
	return __atomic_load_n(&cq->put_in_event, __ATOMIC_ACQUIRE);
}

static inline bool emu_cq_was_in_event(uint64_t look)
{
	return look >> 32;
}

#endif /* EMU_SHARED_DIRECT_H */
