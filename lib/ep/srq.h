/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srq.h - shared receive queues (SRQs).
 *
 * available = posted and not taken: the NIC has that number. outstanding = posted and not reaped:
 * counted here, incremented by a post, decremented when a completion is handed to the Consumer or
 * discarded (ruling Q1).
 *
 * The low watermark is armed at the NIC, whose srq_limit acts when a message takes a buffer, in
 * whichever process the arrival runs. The call that arms it checks the level itself, because verbs
 * does not. Both report through srq_low, which disarms first: one event per arming (ruling L3).
 */
#ifndef LIB_EP_SRQ_H
#define LIB_EP_SRQ_H

#include "lib/evd/evd.h"
#include "lib/memory/lmr.h"

struct pz;

struct srq {
	struct obj obj;
	struct pz *pz;
	struct nic_srq *nic;
	DAT_COUNT max_recv_dtos, max_recv_iov;
	DAT_COUNT low_watermark; /* kept after the event: ruling L5 */
	DAT_COUNT outstanding;
	unsigned int eps;
	bool armed, reached; /* reached: the NIC has reported since the last setting */
	struct async_note low;
	struct lmr_range range;
};

void srq_destroy(struct srq *srq);
/* See dto.h: dto_move_recv_range. */
bool srq_move_range(struct srq *srq, const DAT_LMR_TRIPLET *iov);
/* Upcall: a message took a buffer and left fewer than the armed limit. */
void srq_on_limit(void *srq_ctx);
/* Receives that are posted and not taken by a message. */
DAT_COUNT srq_available(const struct srq *srq);
/* " srq=... available=... outstanding=..." for a trace line. */
void srq_trace_counts(const struct srq *srq, char *text, size_t size);

#endif /* LIB_EP_SRQ_H */
