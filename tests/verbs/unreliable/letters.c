/* SPDX-License-Identifier: BSD-3-Clause */
/* letters.c - two queue pairs of type UD or UC, and what they send: see letters.h. */
#include "letters.h"

#include <stdlib.h>
#include <string.h>

struct verbs_end a, b;

struct ibv_wc expect(struct verbs_end *end, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	ck_assert(verbs_poll(end, &wc));
	ck_assert_msg(wc.status == status, "%s", ibv_wc_status_str(wc.status));
	return wc;
}

void expect_nothing(struct verbs_end *end)
{
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(ibv_poll_cq(end->cq, 1, &wc), 0);
}

void begin_with_faults(const char *faults, enum ibv_qp_type type)
{
	setenv("DATSIM_FAULTS", faults, 1);
	verbs_begin_of(&a, &b, type);
	unsetenv("DATSIM_FAULTS");
}

struct ibv_ah *handle_of(struct verbs_end *end, const struct verbs_end *peer, bool global)
{
	struct ibv_ah_attr attr = { .dlid = peer->port.lid,
				    .sl = 3,
				    .port_num = 1,
				    .is_global = global,
				    .grh = { .hop_limit = 7, .traffic_class = 5 } };
	struct ibv_ah *ah;

	ck_assert_int_eq(ibv_query_gid(peer->context, 1, 0, &attr.grh.dgid), 0);
	ah = ibv_create_ah(end->pd, &attr);
	ck_assert_ptr_nonnull(ah);
	return ah;
}

struct letter letter_to(const struct verbs_end *end, const struct verbs_end *peer,
			struct ibv_ah *ah)
{
	return (struct letter){ ah,         peer->qp->qp_num,  VERBS_QKEY,
				8,          IBV_SEND_SIGNALED, end->mr->lkey,
				IBV_WR_SEND };
}

int post(struct verbs_end *end, const struct letter *letter)
{
	struct ibv_sge sge = { (uintptr_t)end->buffer, letter->length, letter->lkey };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = letter->opcode,
				  .send_flags = letter->flags },
			   *bad;

	wr.imm_data = 0x12345678;
	wr.wr.ud.ah = letter->ah;
	wr.wr.ud.remote_qpn = letter->qpn;
	wr.wr.ud.remote_qkey = letter->qkey;
	return ibv_post_send(end->qp, &wr, &bad);
}

void begin_ud(void)
{
	verbs_begin_of(&a, &b, IBV_QPT_UD);
	strcpy(a.buffer, "letter");
}
