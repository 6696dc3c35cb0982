/* SPDX-License-Identifier: BSD-3-Clause */
/* named_memory.c - memory of one end, and requests of the other: see named_memory.h. */
#include "named_memory.h"

#include <string.h>

struct verbs_end a, b;

void begin(void)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE | RW | IBV_ACCESS_MW_BIND),
			 0);
}

struct ibv_mw *alloc_mw(enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, type);

	ck_assert_ptr_nonnull(mw);
	return mw;
}

struct ibv_mw_bind_info range(uint32_t offset, uint64_t length, unsigned int access)
{
	return (struct ibv_mw_bind_info){ .mr = b.mr,
					  .addr = (uintptr_t)b.buffer + offset,
					  .length = length,
					  .mw_access_flags = access };
}

void expect_wc(struct verbs_end *end, enum ibv_wc_opcode opcode, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_msg(wc.status == status, "%s", ibv_wc_status_str(wc.status));
	if (status == IBV_WC_SUCCESS)
		ck_assert_int_eq((int)wc.opcode, (int)opcode);
	if (opcode == IBV_WC_BIND_MW || opcode == IBV_WC_LOCAL_INV)
		ck_assert_uint_eq(wc.byte_len, 0);
}

void write_to(uint64_t addr, uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, a.mr->lkey };
	struct ibv_send_wr wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge), *bad;

	strcpy(a.buffer, "through");
	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_wc(&a, IBV_WC_RDMA_WRITE, status);
}

int post(struct verbs_end *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags = IBV_SEND_SIGNALED;
	return ibv_post_send(end->qp, wr, &bad);
}

void reregister(struct verbs_end *end, struct ibv_mr *mr)
{
	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(ibv_dereg_mr(end->mr), 0);
	end->mr = mr;
}
