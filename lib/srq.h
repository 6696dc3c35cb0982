/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srq.h - shared receive queues.
 *
 * available = posted and not taken: the NIC knows. outstanding = posted and not reaped: counted here,
 * up at the post, down when a completion is handed to the program or thrown away (ruling Q1).
 *
 * The low watermark is armed at the NIC (its srq_limit acts when a message takes a buffer, whoever runs
 * the arrival) and checked here at the call, because verbs does not. Both ends meet in srq_low, which
 * disarms first: one event per arming (ruling L3).
 */
#ifndef LIB_SRQ_H
#define LIB_SRQ_H

#include "evd.h"
#include "lmr.h"

struct pz;

struct srq {
	struct obj obj;
	struct pz *pz;
	struct nic_srq *nic;
	DAT_COUNT max_recv_dtos, max_recv_iov;
	DAT_COUNT low_watermark; /* stays after the event: ruling L5 */
	DAT_COUNT outstanding;
	unsigned int eps;
	bool armed;
	struct async_note low;
	struct lmr_window window;
};

void srq_destroy(struct srq *srq);
/* See dto.h: dto_move_recv_window. */
bool srq_move_window(struct srq *srq, const DAT_LMR_TRIPLET *iov);
/* Upcall: a taking left fewer than the armed limit. */
void srq_on_limit(void *srq_ctx);
/* " srq=... available=... outstanding=..." for a trace line. */
void srq_trace_counts(const struct srq *srq, char *text, size_t size);

#endif /* LIB_SRQ_H */
