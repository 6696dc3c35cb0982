/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits.h - how much of everything a fabric can hold, and how much an adapter admits.
 */
#ifndef EMU_LIMITS_H
#define EMU_LIMITS_H

#define EMU_ADAPTERS       32u /* of a fabric: for each program that datsim run starts one */
#define EMU_CONNS          65536u
#define EMU_EVENTS         (1u << 22)
#define EMU_EVENTS_RESERVE (1u << 17) /* kept free for what must not fail: answers, teardown */
#define EMU_TRACE_BYTES    (256ul << 20)
#define EMU_TRACE_FIRST    (64ul << 10) /* of them, in a shared fabric, from the beginning */
#define EMU_PAGE           4096u
#define EMU_LINE           64u /* of a cache */
#define EMU_POOL_BYTES     (4ul << 30)
#define EMU_POOL_UNIT      64u /* bytes; a ref counts these, so 2^32 of them reach 256 GiB */
#define EMU_POOL_CLASSES   128u
#define EMU_LISTEN_BUCKETS 1024u
#define EMU_HOLDS          16u /* messages of one QP held at a time */
#define EMU_RULES          256u
#define EMU_PRIVATE_DATA   256u /* ruling A5 */
#define EMU_NAME           32u
#define EMU_PROCESSES      64u  /* that share a fabric at a time */
#define EMU_STRANGERS      256u /* threads of a process that take no turns */
#define EMU_NEWBORN        16u
#define EMU_SLOTS          128u       /* of a CQ, slot.h */
#define EMU_STAGES         16u        /* of a shared fabric */
#define EMU_STAGE_BYTES    (1u << 20) /* at most */
#define EMU_THREADS        1024u      /* that take turns in it */

/* Per adapter, reported by query and enforced: ruling G9. */
#define EMU_MAX_QP       8192
#define EMU_MAX_QP_WR    8192
#define EMU_MAX_SGE      16
#define EMU_MAX_RD       128
#define EMU_MAX_CQ       8192
#define EMU_MAX_CQE      65536
#define EMU_MAX_SRQ      1024
#define EMU_MAX_SRQ_WR   32768
#define EMU_MAX_MR       16384
#define EMU_MAX_MW       8192
#define EMU_MAX_PD       2048
#define EMU_MAX_LISTENER 1024
#define EMU_MAX_MSG      (1ul << 30)
#define EMU_MAX_MR_SIZE  (1ul << 46)

/* A table has room for what all adapters admit, so that each can hold what it says whatever the others do. */
#define EMU_PDS       (EMU_ADAPTERS * EMU_MAX_PD)
#define EMU_MRS       (EMU_ADAPTERS * EMU_MAX_MR)
#define EMU_MWS       (EMU_ADAPTERS * EMU_MAX_MW)
#define EMU_CQS       (EMU_ADAPTERS * EMU_MAX_CQ)
#define EMU_SRQS      (EMU_ADAPTERS * EMU_MAX_SRQ)
#define EMU_QPS       (EMU_ADAPTERS * EMU_MAX_QP)
#define EMU_LISTENERS (EMU_ADAPTERS * EMU_MAX_LISTENER)

#endif /* EMU_LIMITS_H */
