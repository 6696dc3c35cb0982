/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits.h - the capacity of a fabric and the limits of an adapter.
 */
#ifndef EMU_FABRIC_LIMITS_H
#define EMU_FABRIC_LIMITS_H

#define EMU_ADAPTERS       4096u      /* in a private fabric, and in a shared one: */
#define EMU_TOGETHER       1024u      /* of all its processes together */
#define EMU_LINKS          (1u << 20) /* that are in use, each direction: links.h */
#define EMU_CONNS          65536u
#define EMU_EVENTS         (1u << 22)
#define EMU_EVENTS_RESERVE (1u << 17) /* for events that must not fail: ACKs, NAKs, teardown */
#define EMU_TRACE_BYTES    (256ul << 20)
#define EMU_TRACE_FIRST    (64ul << 10) /* of them, allocated at first in a shared fabric */
#define EMU_PAGE           4096u
#define EMU_LINE           64u /* bytes of a cache line */
#define EMU_WORD           8u  /* bytes: entries of queues are aligned to it */
#define EMU_POOL_BYTES     (4ul << 30)
#define EMU_POOL_UNIT      64u /* bytes; a ref counts these, so 2^32 of them reach 256 GiB */
#define EMU_POOL_CLASSES   128u
#define EMU_LISTEN_BUCKETS 1024u
#define EMU_HOLDS          16u /* messages of one QP held at a time */
#define EMU_RULES          256u
#define EMU_MEMBERS        4096u /* of all multicast groups together */
#define EMU_PRIVATE_DATA   256u  /* ruling A5 */
#define EMU_MTU_LEAST      256u
#define EMU_NAME           32u
#define EMU_PROCESSES      64u  /* in a fabric at the same time */
#define EMU_OUTSIDERS      256u /* threads of a process that take no turns */
#define EMU_NEW_THREADS    16u
#define EMU_WHEEL_LEVELS   11u
#define EMU_WHEEL_SLOTS    64u /* of a level */
#ifdef LIBDAT_SMALL_LIMITS
#define EMU_FIFO_EVENTS  8u
#define EMU_HEAP_EVENTS  4u
#define EMU_WHEEL_EVENTS 512u
#define EMU_INLINE_CQES  4u
#define EMU_STAGES       4u
#define EMU_FIRST        0xfffffff0u
#else
#define EMU_FIFO_EVENTS  2048u /* that need no heap: queue.h */
#define EMU_HEAP_EVENTS  1024u /* on the heap before others go to the wheel */
#define EMU_WHEEL_EVENTS (EMU_EVENTS / 2)
#define EMU_INLINE_CQES  128u /* inline CQEs of a CQ: inline.h */
#define EMU_STAGES       16u  /* staging buffers of a shared fabric */
/* Where counters begin that wrap and that no trace shows: of CQs, of receive queues, and epochs. */
#define EMU_FIRST        0u
#endif
#define EMU_STAGE_BYTES (1u << 20) /* longest payload in one */
#define EMU_THREADS     1024u      /* in a fabric in lockstep */

/*
 * Per adapter, reported by query and enforced: ruling G9. Two adapters of a private fabric can have
 * all its QPs, so that a pair can have as many connections as a cluster.
 */
#define EMU_MAX_QP       131072
#define EMU_MAX_QP_SHARE 8192 /* in a shared fabric */
#define EMU_MAX_QP_WR    32768
#define EMU_MAX_SGE      16
#define EMU_MAX_RD       128
#define EMU_MAX_CQ       8192
#define EMU_MAX_CQE      262144 /* libfabric asks for 196608 */
#define EMU_MAX_SRQ      1024
#define EMU_MAX_SRQ_WR   32768
#define EMU_MAX_MR       16384
#define EMU_MAX_MW       8192
#define EMU_MAX_PD       2048
#define EMU_MAX_LISTENER 1024
#define EMU_MAX_MSG      (1ul << 30)
#define EMU_MAX_MR_SIZE  (1ul << 46)

/*
 * The tables of a fabric. They have room for that many adapters that hold their maximum, so in a
 * fabric of no more adapters each can hold it whatever the others do. The kernel allocates the
 * pages of a table as its entries are used first.
 */
#define EMU_FULL      32u
#define EMU_PDS       (EMU_FULL * EMU_MAX_PD)
#define EMU_MRS       (EMU_FULL * (EMU_MAX_MR + EMU_MAX_QP_SHARE)) /* with those of the front */
#define EMU_MWS       (EMU_FULL * EMU_MAX_MW)
#define EMU_CQS       (EMU_FULL * EMU_MAX_CQ)
#define EMU_SRQS      (EMU_FULL * EMU_MAX_SRQ)
#define EMU_QPS       (EMU_FULL * EMU_MAX_QP_SHARE)
#define EMU_LISTENERS (EMU_FULL * EMU_MAX_LISTENER)

_Static_assert(EMU_QPS == 2 * EMU_MAX_QP, "a pair of adapters can have them all");
_Static_assert(EMU_MRS >= 2 * (EMU_MAX_MR + EMU_MAX_QP), "and a region of the front for each");

#define EMU_OBSERVED_MOST 0x7fffffffu /* emu_fabric.observed has 31 bits */

#endif /* EMU_FABRIC_LIMITS_H */
