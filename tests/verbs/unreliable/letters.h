/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * letters.h - two unreliable queue pairs of one process, of type UD or UC, their completions, and
 * datagrams.
 */
#ifndef TESTS_VERBS_LETTERS_H
#define TESTS_VERBS_LETTERS_H

#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

#define GRH 40

extern struct verbs_end a, b;

struct ibv_wc expect(struct verbs_end *end, enum ibv_wc_status status);
/* All that was sent has arrived or is dropped: no completion is queued, and none will come. */
void expect_nothing(struct verbs_end *end);
/* The environment is read when the first device is opened. */
void begin_with_faults(const char *faults, enum ibv_qp_type type);

/* ---- type UD ---- */

struct ibv_ah *handle_of(struct verbs_end *end, const struct verbs_end *peer, bool global);

struct letter {
	struct ibv_ah *ah;
	uint32_t qpn, qkey, length, flags, lkey;
	enum ibv_wr_opcode opcode;
};

struct letter letter_to(const struct verbs_end *end, const struct verbs_end *peer,
			struct ibv_ah *ah);
int post(struct verbs_end *end, const struct letter *letter);
/* The first end's buffer begins with "letter". */
void begin_ud(void);

#endif /* TESTS_VERBS_LETTERS_H */
