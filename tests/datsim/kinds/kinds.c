/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for trace.sh: both ends of queue pairs in one process, and one request of each kind
 * between them, so that its trace, its timeline and its packets show each kind once.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verbs/verbs_pair.h"

#define KEY_OWN 0xffu

static struct verbs_end a, b;

static void must(const char *what, bool good)
{
	if (good)
		return;
	printf("%s failed\n", what);
	exit(1);
}

static void wait_for(struct verbs_end *end, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	must("ibv_poll_cq", verbs_poll(end, &wc));
	if (wc.status == status)
		return;
	printf("status %d, not %d\n", wc.status, status);
	exit(1);
}

static void post(struct verbs_end *end, const struct verbs_end *peer, enum ibv_wr_opcode opcode,
		 uint64_t id, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)end->buffer, length, end->mr->lkey };
	struct ibv_send_wr wr = verbs_wr(peer, opcode, &sge), *bad;

	wr.wr_id = id;
	wr.imm_data = htobe32(0x12345678);
	must("ibv_post_send", ibv_post_send(end->qp, &wr, &bad) == 0);
}

static void post_atomic(enum ibv_wr_opcode opcode, uint64_t id, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer + 64, 8, a.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)b.buffer;
	wr.wr.atomic.rkey = b.mr->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	must("ibv_post_send", ibv_post_send(a.qp, &wr, &bad) == 0);
	wait_for(&a, IBV_WC_SUCCESS);
}

/* A request about a key: LOCAL_INV or SEND_WITH_INV. */
static void post_key(struct verbs_end *end, enum ibv_wr_opcode opcode, uint64_t id, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = id,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .invalidate_rkey = rkey },
			   *bad;

	must("ibv_post_send", ibv_post_send(end->qp, &wr, &bad) == 0);
	wait_for(end, IBV_WC_SUCCESS);
}

static uint32_t bind_window(struct ibv_mw *mw, struct ibv_mr *mr, uint64_t id, uint32_t own)
{
	struct ibv_send_wr wr = { .wr_id = id,
				  .opcode = IBV_WR_BIND_MW,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = (mw->rkey & ~KEY_OWN) | own;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ .mr = mr,
					   .addr = (uintptr_t)b.buffer,
					   .length = 64,
					   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	must("ibv_post_send", ibv_post_send(b.qp, &wr, &bad) == 0);
	wait_for(&b, IBV_WC_SUCCESS);
	return wr.bind_mw.rkey;
}

static void windows(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr =
		ibv_reg_mr(b.pd, b.buffer, 64,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	uint32_t key;

	must("ibv_alloc_mw", mw != NULL && mr != NULL);
	key = bind_window(mw, mr, 20, 1);
	must("ibv_post_recv", verbs_recv(&b, 21, 0, 64) == 0);
	post_key(&a, IBV_WR_SEND_WITH_INV, 22, key);
	wait_for(&b, IBV_WC_SUCCESS);
	key = bind_window(mw, mr, 23, 2);
	post_key(&b, IBV_WR_LOCAL_INV, 24, key);
	must("ibv_dereg_mr", ibv_dereg_mr(mr) == 0);
	must("ibv_dealloc_mw", ibv_dealloc_mw(mw) == 0);
}

static void reliable(void)
{
	verbs_begin(&a, &b);
	must("ibv_post_recv", verbs_recv(&b, 1, 0, 4096) == 0);
	must("ibv_post_recv", verbs_recv(&b, 2, 0, 64) == 0);
	must("ibv_post_recv", verbs_recv(&b, 3, 0, 64) == 0);
	post(&a, &b, IBV_WR_SEND, 11, 2500);
	post(&a, &b, IBV_WR_SEND_WITH_IMM, 12, 64);
	post(&a, &b, IBV_WR_RDMA_WRITE, 13, 64);
	post(&a, &b, IBV_WR_RDMA_WRITE_WITH_IMM, 14, 64);
	for (int i = 0; i < 4; i++)
		wait_for(&a, IBV_WC_SUCCESS);
	for (int i = 0; i < 3; i++)
		wait_for(&b, IBV_WC_SUCCESS);
	post(&a, &b, IBV_WR_RDMA_READ, 15, 2500);
	wait_for(&a, IBV_WC_SUCCESS);
	memset(b.buffer, 0, 8);
	post_atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 16, 0, 7);
	post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 17, 5, 0);
	must("an atomic", *(uint64_t *)b.buffer == 12);
	windows();
	must("ibv_post_recv", verbs_recv(&a, 30, 0, 64) == 0);
	b.mr->rkey ^= 1;
	post(&a, &b, IBV_WR_RDMA_WRITE, 31, 64);
	wait_for(&a, IBV_WC_REM_ACCESS_ERR);
	wait_for(&a, IBV_WC_WR_FLUSH_ERR);
	b.mr->rkey ^= 1;
	verbs_end_all(&a, &b);
}

static void shared_receives(void)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_async_event event;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	b.srq = ibv_create_srq(b.pd, &init);
	must("ibv_create_srq", b.srq != NULL);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int i = 0; i < 3; i++)
		must("ibv_modify_qp",
		     verbs_modify(&a, &b, states[i]) == 0 && verbs_modify(&b, &a, states[i]) == 0);
	for (unsigned int i = 0; i < 3; i++)
		must("ibv_post_srq_recv", verbs_recv(&b, 40 + i, 0, 64) == 0);
	must("ibv_modify_srq", ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT) == 0);
	for (unsigned int i = 0; i < 2; i++) {
		post(&a, &b, IBV_WR_SEND, 50 + i, 64);
		wait_for(&a, IBV_WC_SUCCESS);
		wait_for(&b, IBV_WC_SUCCESS);
	}
	must("ibv_get_async_event", ibv_get_async_event(b.context, &event) == 0);
	ibv_ack_async_event(&event);
	verbs_end_all(&a, &b);
}

static void datagrams(void)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 60,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_ah *ah;

	verbs_begin_of(&a, &b, IBV_QPT_UD);
	attr.dlid = b.port.lid;
	ah = ibv_create_ah(a.pd, &attr);
	must("ibv_create_ah", ah != NULL);
	must("ibv_post_recv", verbs_recv(&b, 61, 0, 128) == 0);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 64, a.mr->lkey };
	wr.imm_data = htobe32(0x12345678);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = VERBS_QKEY;
	must("ibv_post_send", ibv_post_send(a.qp, &wr, &bad) == 0);
	wait_for(&a, IBV_WC_SUCCESS);
	wait_for(&b, IBV_WC_SUCCESS);
	must("ibv_destroy_ah", ibv_destroy_ah(ah) == 0);
	verbs_end_all(&a, &b);
}

/* Two requests with a wr_id each, that never complete: the peer is gone. */
static void unfinished(void)
{
	verbs_begin(&a, &b);
	must("ibv_destroy_qp", ibv_destroy_qp(b.qp) == 0);
	b.qp = NULL;
	post(&a, &b, IBV_WR_SEND, 71, 64);
	post(&a, &b, IBV_WR_RDMA_READ, 72, 64);
	verbs_end_all(&a, &b);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	/* Open from the first to the last, so that the fabric is one, and so is the trace. */
	struct ibv_context *kept = list && list[0] ? ibv_open_device(list[0]) : NULL;

	must("ibv_open_device", kept != NULL);
	ibv_free_device_list(list);
	reliable();
	shared_receives();
	datagrams();
	unfinished();
	return ibv_close_device(kept);
}
