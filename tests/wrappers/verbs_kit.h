/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_kit.h - the objects of libibverbs that calls of test_fuzz_verbs get. */
#ifndef TESTS_WRAPPERS_KIT_H
#define TESTS_WRAPPERS_KIT_H

#include "fuzz.h"

/* Objects in `lone` have no children and no users; the others have, and each other. */
struct fuzz_kit {
	struct {
		struct ibv_context *context;
		struct ibv_device **list;
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct ibv_comp_channel *channel;
		struct ibv_cq *cq;
		struct ibv_srq *srq;
		struct ibv_qp *qp; /* RESET */
		struct ibv_ah *ah;
		struct ibv_mw *mw; /* type 1 */
	} lone;
	struct {
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct ibv_comp_channel *channel;
		struct ibv_cq *cq;
		struct ibv_cq_ex *cq_ex;
		struct ibv_srq *srq;
		struct ibv_qp *qp;   /* RTS, connected to itself */
		struct ibv_qp *srqp; /* of the SRQ, INIT */
		struct ibv_qp *ud;   /* RTS */
		struct ibv_mw *mw;   /* type 2 */
	} busy;
	_Alignas(4096) char memory[8192]; /* another name of it may be 0 */
};

extern struct fuzz_kit fuzz_kit;

void fuzz_kit_begin(void);
void fuzz_kit_end(void);
void fuzz_kit_make(void);
void fuzz_kit_free(void);
uint64_t fuzz_kit_sum(void);
struct ibv_qp_attr fuzz_kit_attr(const struct ibv_qp *qp, enum ibv_qp_state state, int *mask);

/* ---- verbs_value.c ---- */

/* Objects: of the kit, of the other device; the first of `lone` ones has no children. */
extern const struct fuzz_kind fuzz_context, fuzz_device;
extern const struct fuzz_kind fuzz_pd, fuzz_mr, fuzz_channel, fuzz_cq, fuzz_srq, fuzz_qp, fuzz_ud;
extern const struct fuzz_kind fuzz_lone_context, fuzz_lone_list, fuzz_lone_pd, fuzz_lone_mr,
	fuzz_lone_channel, fuzz_lone_cq, fuzz_lone_srq, fuzz_lone_qp, fuzz_lone_ah, fuzz_lone_mw;
/* One that may be missing. */
extern const struct fuzz_kind fuzz_channel_or_null;
/* Structures; the objects in them are hostile, too, and the bytes beside. */
extern const struct fuzz_kind fuzz_qp_init, fuzz_qp_init_ex, fuzz_cq_init_ex, fuzz_qp_attr,
	fuzz_srq_init, fuzz_srq_init_ex, fuzz_ah_attr, fuzz_gid, fuzz_wc, fuzz_grh, fuzz_event;
extern const struct fuzz_kind fuzz_send_wr, fuzz_recv_wr, fuzz_bind;

#endif /* TESTS_WRAPPERS_KIT_H */
