/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_pair.h - two queue pairs of one process, on emu0 and emu1, for tests that use libibverbs as
 * a program would.
 */
#ifndef TESTS_VERBS_PAIR_H
#define TESTS_VERBS_PAIR_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define BUFFER     65536
#define VERBS_QKEY 0x11111111u /* of each QP of type UD */

struct verbs_end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;   /* if set before verbs_begin_qp, the QP uses it */
	enum ibv_qp_type type; /* of the QP; 0: RC */
	struct ibv_port_attr port;
	_Alignas(8) char buffer[BUFFER]; /* atomics need it aligned */
};

/* Open a device and make what a QP needs; then a QP in RESET. */
void verbs_open(struct verbs_end *end, int device);
void verbs_make_qp(struct verbs_end *end);
void verbs_close(struct verbs_end *end);

/* Take both QPs to RTS. */
void verbs_connect(struct verbs_end *a, struct verbs_end *b);
/* Two ends, whose QPs are in RTS. */
void verbs_begin(struct verbs_end *a, struct verbs_end *b);
void verbs_begin_of(struct verbs_end *a, struct verbs_end *b, enum ibv_qp_type type);
void verbs_end_all(struct verbs_end *a, struct verbs_end *b);

/* The attributes for a transition of `end` towards `peer`, and those it needs. */
struct ibv_qp_attr verbs_attr(const struct verbs_end *end, const struct verbs_end *peer);
int verbs_mask(enum ibv_qp_state to);
int verbs_mask_of(enum ibv_qp_type type, enum ibv_qp_state to);
int verbs_modify(struct verbs_end *end, const struct verbs_end *peer, enum ibv_qp_state to);

int verbs_recv(struct verbs_end *end, uint64_t id, uint32_t offset, uint32_t length);
/* Requests from the buffer's beginning; RDMA at the beginning of the peer's. */
struct ibv_send_wr verbs_wr(const struct verbs_end *peer, enum ibv_wr_opcode opcode,
			    struct ibv_sge *sge);
int verbs_send(struct verbs_end *end, const struct verbs_end *peer, enum ibv_wr_opcode opcode,
	       uint32_t length, unsigned int flags);
/* A message goes from one to the other. */
void verbs_exchange(struct verbs_end *from, struct verbs_end *to);
/* Poll until there is a completion; false: none came in a second of virtual time. */
bool verbs_poll(struct verbs_end *end, struct ibv_wc *wc);

/* ---- calls that fail ---- */

/* A call that returns 0 or an errno. */
#define EXPECT(err, call) ck_assert_int_eq((call), (err))
/* One that returns NULL, and one that returns -1, with errno. */
#define EXPECT_NULL(err, call)                  \
	do {                                    \
		errno = 0;                      \
		ck_assert_ptr_null((call));     \
		ck_assert_int_eq(errno, (err)); \
	} while (0)
#define EXPECT_MINUS(err, call)                 \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq((call), -1);   \
		ck_assert_int_eq(errno, (err)); \
	} while (0)

#endif
