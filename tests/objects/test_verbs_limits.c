/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device says of itself, field by field, and that it is true: the largest value of each
 * limit is taken, and the next one is refused.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

#define VALUES(array) (sizeof(array) / sizeof((array)[0]))

static struct verbs_end a, b;
static struct ibv_device_attr limits;

static void begin(void)
{
	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_query_device(a.context, &limits), 0);
}

/* ---- what is said ---- */

START_TEST(a_device_says_what_it_has)
{
	const struct ibv_device_attr expected = {
		.fw_ver = "1.0",
		.node_guid = htobe64(0x0201000000000001ul),
		.sys_image_guid = htobe64(0x0201000000000001ul),
		.max_mr_size = 1ul << 46,
		.page_size_cap = ~0xffful,
		.vendor_id = 0x020000,
		.vendor_part_id = 1,
		.hw_ver = 1,
		.max_qp = 131072,
		.max_qp_wr = 32768,
		.device_cap_flags = IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_SRQ_RESIZE |
				    IBV_DEVICE_RC_RNR_NAK_GEN,
		.max_sge = 15,
		.max_sge_rd = 15,
		.max_cq = 8192,
		.max_cqe = 262144,
		.max_mr = 16384,
		.max_pd = 2048,
		.max_qp_rd_atom = 128,
		.max_res_rd_atom = 128 * 131072,
		.max_qp_init_rd_atom = 128,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mw = 8192,
		.max_mcast_grp = 4096,
		.max_mcast_qp_attach = 4096,
		.max_total_mcast_qp_attach = 4096,
		.max_ah = 65536,
		.max_srq = 1024,
		.max_srq_wr = 32768,
		.max_srq_sge = 15,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = 1,
	};
	struct ibv_device_attr_ex more;

	memset(&limits, 0xa5, sizeof(limits));
	begin();
	ck_assert_mem_eq(&limits, &expected, offsetof(struct ibv_device_attr, phys_port_cnt) + 1);
	memset(&more, 0xa5, sizeof(more));
	ck_assert_int_eq(ibv_query_device_ex(a.context, NULL, &more), 0);
	ck_assert_mem_eq(&more.orig_attr, &limits, sizeof(limits));
	ck_assert_uint_eq(more.completion_timestamp_mask, UINT64_MAX);
	ck_assert_uint_eq(more.hca_core_clock, 1000000);
	ck_assert_uint_eq(more.phys_port_cnt_ex, 1);
	ck_assert_uint_eq(more.device_cap_flags_ex, limits.device_cap_flags);
	ck_assert_uint_eq(more.comp_mask, 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* Programs that were built with an older header have shorter structs. */
START_TEST(a_short_struct_is_filled_to_its_end)
{
	struct verbs_context *ex;
	struct ibv_device_attr_ex whole, some;
	struct ibv_port_attr port;
	size_t size = sizeof(whole.orig_attr);

	begin();
	ex = verbs_get_ctx(a.context);
	ck_assert_ptr_nonnull(ex);
	ck_assert_int_eq(ex->query_device_ex(a.context, NULL, &whole, sizeof(whole)), 0);
	memset(&some, 0xa5, sizeof(some));
	ck_assert_int_eq(ex->query_device_ex(a.context, NULL, &some, size - 1), EINVAL);
	ck_assert_uint_eq(((unsigned char *)&some)[0], 0xa5);
	ck_assert_int_eq(ex->query_device_ex(a.context, NULL, &some, size), 0);
	ck_assert_mem_eq(&some, &whole, size);
	ck_assert_uint_eq(((unsigned char *)&some)[size], 0xa5);
	memset(&port, 0xa5, sizeof(port));
	ck_assert_int_eq(ex->query_port(a.context, 1, &port, 8), 0);
	ck_assert_mem_eq(&port, &a.port, 8);
	ck_assert_uint_eq(((unsigned char *)&port)[8], 0xa5);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_port_says_what_it_has)
{
	const struct ibv_port_attr expected = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.gid_tbl_len = 2,
		.port_cap_flags = IBV_PORT_SYS_IMAGE_GUID_SUP | IBV_PORT_CM_SUP,
		.max_msg_sz = 1u << 30,
		.pkey_tbl_len = 1,
		.lid = 2,
		.sm_lid = 1,
		.max_vl_num = 1,
		.subnet_timeout = 18,
		.active_width = 2,
		.active_speed = 32,
		.phys_state = 5,
		.link_layer = IBV_LINK_LAYER_INFINIBAND,
	};
	struct ibv_port_attr port;

	begin();
	memset(&port, 0xa5, sizeof(port));
	ck_assert_int_eq(ibv_query_port(b.context, 1, &port), 0);
	ck_assert_mem_eq(&port, &expected, offsetof(struct ibv_port_attr, port_cap_flags2) + 2);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_table_of_gids_is_whole_or_refused)
{
	struct ibv_gid_entry entries[3], one;
	union ibv_gid gid;
	__be16 pkey = 0;

	begin();
	ck_assert_int_eq(ibv_query_gid_table(a.context, entries, 1, 0), -EINVAL);
	ck_assert_int_eq(ibv_query_gid_table(a.context, entries, 2, 1), -EOPNOTSUPP);
	for (size_t room = 2; room <= 3; room++) {
		memset(entries, 0xa5, sizeof(entries));
		ck_assert_int_eq(ibv_query_gid_table(a.context, entries, room, 0), 2);
		ck_assert_uint_eq(entries[2].port_num, 0xa5a5a5a5);
	}
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_query_gid(a.context, 1, (int)i, &gid), 0);
		ck_assert_int_eq(ibv_query_gid_ex(a.context, 1, i, &one, 0), 0);
		ck_assert_mem_eq(&gid, &one.gid, sizeof(gid));
		ck_assert_mem_eq(&one, &entries[i], sizeof(one));
		ck_assert_uint_eq(one.gid_index, i);
		ck_assert_uint_eq(one.port_num, 1);
		ck_assert_uint_eq(one.gid_type, IBV_GID_TYPE_IB);
		ck_assert_uint_eq(one.ndev_ifindex, 0);
	}
	ck_assert_int_eq(ibv_query_gid_ex(a.context, 1, 2, &one, 0), EINVAL);
	ck_assert_int_eq(ibv_query_gid_ex(a.context, 2, 0, &one, 0), EINVAL);
	ck_assert_int_eq(ibv_query_pkey(a.context, 1, 0, &pkey), 0);
	ck_assert_uint_eq(pkey, 0xffff);
	ck_assert_int_eq(ibv_query_pkey(a.context, 2, 0, &pkey), -1);
	ck_assert_int_eq(ibv_get_pkey_index(a.context, 1, pkey), 0);
	ck_assert_int_eq(ibv_get_pkey_index(a.context, 2, pkey), -1);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- that it is true ---- */

static void expect_cq(int cqe, bool good)
{
	struct ibv_cq *cq = ibv_create_cq(a.context, cqe, NULL, NULL, 0);

	ck_assert_int_eq(cq != NULL, good);
	if (!cq) {
		ck_assert_int_eq(errno, EINVAL);
		return;
	}
	ck_assert_int_eq(cq->cqe, cqe);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
}

START_TEST(a_cq_is_as_long_as_the_device_says)
{
	begin();
	expect_cq(0, false);
	expect_cq(1, true);
	expect_cq(limits.max_cqe, true);
	expect_cq(limits.max_cqe + 1, false);
	ck_assert_int_eq(ibv_resize_cq(a.cq, limits.max_cqe + 1), EINVAL);
	ck_assert_int_eq(a.cq->cqe, 32);
	ck_assert_int_eq(ibv_resize_cq(a.cq, limits.max_cqe), 0);
	ck_assert_int_eq(a.cq->cqe, limits.max_cqe);
	ck_assert_int_eq(ibv_resize_cq(a.cq, 1), 0);
	ck_assert_int_eq(a.cq->cqe, 1);
	ck_assert_int_eq(ibv_resize_cq(a.cq, 0), EINVAL);
	verbs_end_all(&a, &b);
}
END_TEST

static void expect_srq(uint32_t wr, uint32_t sge, bool good)
{
	struct ibv_srq_init_attr init = { .attr = { wr, sge, 7 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &init);
	struct ibv_srq_attr attr;

	ck_assert_msg((srq != NULL) == good, "%u Receives of %u segments", wr, sge);
	if (!srq) {
		ck_assert_int_eq(errno, EINVAL);
		return;
	}
	ck_assert_int_eq(ibv_query_srq(srq, &attr), 0);
	ck_assert_uint_eq(attr.max_wr, wr);
	ck_assert_uint_eq(attr.max_sge, sge);
	ck_assert_uint_eq(attr.srq_limit, 0);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
}

START_TEST(an_srq_is_as_large_as_the_device_says)
{
	const uint32_t wr = 32768, sge = 15;

	begin();
	expect_srq(0, 1, false);
	expect_srq(1, 0, true);
	expect_srq(wr, sge, true);
	expect_srq(wr + 1, sge, false);
	expect_srq(wr, sge + 1, false);
	verbs_end_all(&a, &b);
}
END_TEST

/* A limit, a resize, and both at once; what is refused changes neither. */
START_TEST(the_limit_of_an_srq_is_not_above_its_length)
{
	static const struct {
		int mask;
		uint32_t wr, limit;
		int err;
		uint32_t wr_after, limit_after;
	} steps[] = {
		{ IBV_SRQ_LIMIT, 99, 5, EINVAL, 4, 0 },
		{ IBV_SRQ_LIMIT, 99, 4, 0, 4, 4 },
		{ IBV_SRQ_LIMIT, 99, 3, 0, 4, 3 },
		{ IBV_SRQ_MAX_WR, 8, 99, 0, 8, 3 },
		{ IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 6, 7, EINVAL, 8, 3 },
		{ IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 6, 6, 0, 6, 6 },
		{ IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 9, 9, 0, 9, 9 },
		{ IBV_SRQ_LIMIT << 1, 9, 1, EINVAL, 9, 9 },
		{ 0, 1, 1, 0, 9, 9 },
		{ IBV_SRQ_LIMIT, 99, 0, 0, 9, 0 },
	};
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 2 } };
	struct ibv_srq_attr attr;

	begin();
	a.srq = ibv_create_srq(a.pd, &init);
	ck_assert_ptr_nonnull(a.srq);
	/* So many that no limit is reached. */
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(verbs_recv(&a, 1, 0, 8), 0);
	for (size_t i = 0; i < VALUES(steps); i++) {
		attr = (struct ibv_srq_attr){ .max_wr = steps[i].wr, .srq_limit = steps[i].limit };
		ck_assert_int_eq(ibv_modify_srq(a.srq, &attr, steps[i].mask), steps[i].err);
		ck_assert_int_eq(ibv_query_srq(a.srq, &attr), 0);
		ck_assert_msg(attr.max_wr == steps[i].wr_after &&
				      attr.srq_limit == steps[i].limit_after && attr.max_sge == 2,
			      "step %zu: %u %u %u", i, attr.max_wr, attr.srq_limit, attr.max_sge);
		if (i == 3)
			for (int n = 0; n < 2; n++)
				ck_assert_int_eq(verbs_recv(&a, 1, 0, 8), 0);
	}
	verbs_end_all(&a, &b);
}
END_TEST

static struct ibv_qp_init_attr smallest(void)
{
	return (struct ibv_qp_init_attr){ .send_cq = a.cq,
					  .recv_cq = a.cq,
					  .cap = { 1, 1, 1, 1, 0 },
					  .qp_type = IBV_QPT_RC };
}

static void expect_qp(const struct ibv_qp_init_attr *init, bool good)
{
	struct ibv_qp_init_attr asked = *init, said;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp = ibv_create_qp(a.pd, &asked);

	ck_assert_msg((qp != NULL) == good, "%u %u %u %u %u", init->cap.max_send_wr,
		      init->cap.max_recv_wr, init->cap.max_send_sge, init->cap.max_recv_sge,
		      init->cap.max_inline_data);
	if (!qp) {
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_mem_eq(&asked.cap, &init->cap, sizeof(asked.cap));
		return;
	}
	ck_assert_int_eq(ibv_query_qp(qp, &attr, 0, &said), 0);
	ck_assert_mem_eq(&asked.cap, &said.cap, sizeof(said.cap));
	ck_assert_mem_eq(&attr.cap, &said.cap, sizeof(said.cap));
	ck_assert_uint_eq(said.cap.max_send_wr, init->cap.max_send_wr);
	ck_assert_uint_eq(said.cap.max_recv_wr, init->cap.max_recv_wr);
	ck_assert_uint_eq(said.cap.max_send_sge, init->cap.max_send_sge);
	ck_assert_uint_eq(said.cap.max_recv_sge, init->cap.max_recv_sge);
	ck_assert_uint_eq(said.cap.max_inline_data,
			  init->cap.max_inline_data < 32 ? 32 : init->cap.max_inline_data);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
}

enum {
	FEW_QPS = 20000 /* under valgrind: still more than there are regions */
};

/* All at once: a queue pair takes nothing of what the device promises of regions. */
START_TEST(there_are_as_many_queue_pairs_and_regions_as_the_device_says)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp **qps;
	struct ibv_mr **mrs;
	int most;

	begin();
	most = getenv("UNIT_SHARE") ? FEW_QPS : limits.max_qp;
	qps = calloc((size_t)most, sizeof(struct ibv_qp *));
	mrs = calloc((size_t)limits.max_mr, sizeof(struct ibv_mr *));
	init = smallest();
	/* One of each is there already. */
	for (int i = 1; i < limits.max_mr; i++) {
		mrs[i] = ibv_reg_mr(a.pd, a.buffer, 8, 0);
		ck_assert_msg(mrs[i] != NULL, "region %d", i);
	}
	for (int i = 1; i < most; i++) {
		qps[i] = ibv_create_qp(a.pd, &init);
		ck_assert_msg(qps[i] != NULL, "queue pair %d", i);
	}
	for (int i = 1; i < limits.max_mr; i++)
		ck_assert_int_eq(ibv_dereg_mr(mrs[i]), 0);
	for (int i = 1; i < most; i++)
		ck_assert_int_eq(ibv_destroy_qp(qps[i]), 0);
	free(qps);
	free(mrs);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_qp_is_as_large_as_the_device_says)
{
	struct ibv_qp_init_attr init;
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	begin();
#define LIMIT(field, most)                             \
	do {                                           \
		init = smallest();                     \
		init.cap.field = (uint32_t)(most);     \
		expect_qp(&init, true);                \
		init.cap.field = (uint32_t)(most) + 1; \
		expect_qp(&init, false);               \
	} while (0)
	LIMIT(max_send_wr, limits.max_qp_wr);
	LIMIT(max_recv_wr, limits.max_qp_wr);
	LIMIT(max_send_sge, limits.max_sge);
	LIMIT(max_recv_sge, limits.max_sge);
	LIMIT(max_inline_data, 512);
#undef LIMIT
	for (uint32_t bytes = 31; bytes <= 33; bytes++) {
		init = smallest();
		init.cap.max_inline_data = bytes;
		expect_qp(&init, true);
	}
	/* Of an SRQ, the queue pair's own Receives do not count. */
	init = smallest();
	init.srq = ibv_create_srq(a.pd, &srq_init);
	init.cap.max_recv_wr = init.cap.max_recv_sge = 1000000;
	expect_qp(&init, true);
	ck_assert_int_eq(ibv_destroy_srq(init.srq), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* A queue takes as many requests as it was made for, of as many segments, and no more. */
START_TEST(a_queue_takes_as_many_requests_and_segments_as_it_was_made_for)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr send, *bad;
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = sge }, *bad_recv;

	begin();
	for (int i = 0; i < 3; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	send = verbs_wr(&b, IBV_WR_RDMA_WRITE, sge);
	send.num_sge = recv.num_sge = 3;
	ck_assert_int_eq(ibv_post_send(a.qp, &send, &bad), EINVAL);
	ck_assert_int_eq(ibv_post_recv(a.qp, &recv, &bad_recv), EINVAL);
	send.num_sge = recv.num_sge = 2;
	for (int i = 0; i < 16; i++) {
		ck_assert_int_eq(ibv_post_send(a.qp, &send, &bad), 0);
		ck_assert_int_eq(ibv_post_recv(a.qp, &recv, &bad_recv), 0);
	}
	ck_assert_int_eq(ibv_post_send(a.qp, &send, &bad), ENOMEM);
	ck_assert_int_eq(ibv_post_recv(a.qp, &recv, &bad_recv), ENOMEM);
	verbs_end_all(&a, &b);
}
END_TEST

/* ---- attributes of a queue pair ---- */

static void open_both(void)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
}

static void go_to(enum ibv_qp_state to)
{
	for (int i = IBV_QPS_RESET; i <= (int)to && i <= IBV_QPS_RTS; i++)
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)i), 0);
	if (to == IBV_QPS_SQD)
		ck_assert_int_eq(verbs_modify(&a, &b, to), 0);
}

static void try_modify(enum ibv_qp_state from, struct ibv_qp_attr attr, int mask, bool good)
{
	go_to(from);
	ck_assert_msg(ibv_modify_qp(a.qp, &attr, mask) == (good ? 0 : EINVAL), "mask %#x", mask);
	ck_assert_int_eq((int)a.qp->state, good ? (int)attr.qp_state : (int)from);
}

START_TEST(each_attribute_has_its_limits)
{
	struct ibv_qp_attr attr;

	open_both();
#define TRY(next, field, value, good)                                                   \
	do {                                                                            \
		attr = verbs_attr(&a, &b);                                              \
		attr.qp_state = IBV_QPS_##next;                                         \
		attr.field = (value);                                                   \
		try_modify(IBV_QPS_##next - 1, attr, verbs_mask(IBV_QPS_##next), good); \
	} while (0)
	TRY(INIT, port_num, 0, false);
	TRY(INIT, port_num, 1, true);
	TRY(INIT, port_num, 2, false);
	TRY(INIT, pkey_index, 0, true);
	TRY(INIT, pkey_index, 1, false);
	for (int mtu = 0; mtu <= 6; mtu++)
		TRY(RTR, path_mtu, (enum ibv_mtu)mtu, mtu >= 1 && mtu <= 5);
	TRY(RTR, dest_qp_num, 0xffffff, true);
	TRY(RTR, dest_qp_num, 0x1000000, false);
	TRY(RTR, min_rnr_timer, 0, true);
	TRY(RTR, min_rnr_timer, 31, true);
	TRY(RTR, min_rnr_timer, 32, false);
	TRY(RTR, max_dest_rd_atomic, 128, true);
	TRY(RTR, max_dest_rd_atomic, 129, false);
	TRY(RTR, ah_attr.port_num, 0, false);
	TRY(RTR, ah_attr.port_num, 2, false);
	TRY(RTR, ah_attr.sl, 15, true);
	TRY(RTR, ah_attr.sl, 16, false);
	TRY(RTS, timeout, 31, true);
	TRY(RTS, timeout, 32, false);
	TRY(RTS, retry_cnt, 7, true);
	TRY(RTS, retry_cnt, 8, false);
	TRY(RTS, rnr_retry, 7, true);
	TRY(RTS, rnr_retry, 8, false);
	TRY(RTS, max_rd_atomic, 128, true);
	TRY(RTS, max_rd_atomic, 129, false);
#undef TRY
	for (int i = 0; i < 3; i++) {
		attr = verbs_attr(&a, &b);
		attr.qp_state = IBV_QPS_RTS;
		attr.path_mig_state = IBV_MIG_MIGRATED + (enum ibv_mig_state)i;
		try_modify(IBV_QPS_RTR, attr, verbs_mask(IBV_QPS_RTS) | IBV_QP_PATH_MIG_STATE,
			   i == 0);
		attr = verbs_attr(&a, &b);
		attr.qp_state = IBV_QPS_RTS;
		attr.cur_qp_state = (enum ibv_qp_state)(IBV_QPS_INIT + i);
		try_modify(IBV_QPS_RTR, attr, verbs_mask(IBV_QPS_RTS) | IBV_QP_CUR_STATE, i == 1);
		attr = verbs_attr(&a, &b);
		attr.qp_state = IBV_QPS_RTR;
		attr.alt_port_num = (uint8_t)i;
		try_modify(IBV_QPS_INIT, attr, verbs_mask(IBV_QPS_RTR) | IBV_QP_ALT_PATH, i == 0);
	}
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_address_of_a_global_path_has_its_index)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1, .grh = { .sgid_index = 0 } };
	struct ibv_ah *ah;

	open_both();
	for (uint8_t index = 0; index < 4; index++) {
		attr.grh.sgid_index = index;
		ah = ibv_create_ah(a.pd, &attr);
		ck_assert_int_eq(ah != NULL, index < 2);
		if (ah)
			ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	}
	attr = (struct ibv_ah_attr){ .port_num = 1, .dlid = 1, .grh = { .sgid_index = 9 } };
	for (uint8_t sl = 14; sl < 18; sl++) {
		attr.sl = sl;
		ah = ibv_create_ah(a.pd, &attr);
		ck_assert_int_eq(ah != NULL, sl < 16);
		if (!ah)
			continue;
		ck_assert_ptr_eq(ah->context, a.context);
		ck_assert_ptr_eq(ah->pd, a.pd);
		ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	}
	verbs_end_all(&a, &b);
}
END_TEST

/* Each with a value that no other has. */
static struct ibv_qp_attr distinct(void)
{
	return (struct ibv_qp_attr){
		.path_mtu = IBV_MTU_512,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = 0x77,
		.rq_psn = 0x111111,
		.sq_psn = 0x222222,
		.dest_qp_num = 0x333333,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.ah_attr = { .dlid = 2,
			     .sl = 3,
			     .src_path_bits = 4,
			     .static_rate = 5,
			     .port_num = 1,
			     .is_global = 1,
			     .grh = { .flow_label = 6, .sgid_index = 1, .hop_limit = 8 } },
		.alt_ah_attr = { .dlid = 9, .sl = 10 },
		.max_rd_atomic = 11,
		.max_dest_rd_atomic = 12,
		.min_rnr_timer = 13,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 5,
		.alt_timeout = 15,
		.alt_pkey_index = 16,
	};
}

static struct ibv_qp_attr query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0xa5, sizeof(attr));
	ck_assert_int_eq(ibv_query_qp(a.qp, &attr, 0, &init), 0);
	ck_assert_ptr_eq(init.send_cq, a.cq);
	ck_assert_ptr_eq(init.recv_cq, a.cq);
	ck_assert_int_eq((int)init.qp_type, (int)IBV_QPT_RC);
	return attr;
}

/* A query after each transition: what it has set, and nothing else. */
START_TEST(each_attribute_is_as_it_was_set)
{
	const int rtr = verbs_mask(IBV_QPS_RTR) | IBV_QP_ALT_PATH;
	const int rts = verbs_mask(IBV_QPS_RTS) | IBV_QP_PATH_MIG_STATE;
	const struct ibv_qp_cap cap = { 16, 16, 2, 2, 64 };
	struct ibv_qp_attr attr, expected = { .cap = cap }, set = distinct();

	open_both();
	attr = query();
	ck_assert_mem_eq(&attr, &expected, sizeof(attr));
	set.qp_state = expected.qp_state = expected.cur_qp_state = IBV_QPS_INIT;
	expected.qp_access_flags = set.qp_access_flags;
	expected.port_num = 1;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &set, verbs_mask(IBV_QPS_INIT)), 0);
	attr = query();
	ck_assert_mem_eq(&attr, &expected, sizeof(attr));
	set.qp_state = expected.qp_state = expected.cur_qp_state = IBV_QPS_RTR;
	expected.ah_attr = set.ah_attr;
	expected.path_mtu = set.path_mtu;
	expected.dest_qp_num = set.dest_qp_num;
	expected.rq_psn = set.rq_psn;
	expected.max_dest_rd_atomic = set.max_dest_rd_atomic;
	expected.min_rnr_timer = set.min_rnr_timer;
	expected.alt_ah_attr = set.alt_ah_attr;
	expected.alt_timeout = set.alt_timeout;
	expected.alt_pkey_index = set.alt_pkey_index;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &set, rtr), 0);
	attr = query();
	ck_assert_mem_eq(&attr, &expected, sizeof(attr));
	set.qp_state = expected.qp_state = expected.cur_qp_state = IBV_QPS_RTS;
	expected.timeout = set.timeout;
	expected.retry_cnt = set.retry_cnt;
	expected.rnr_retry = set.rnr_retry;
	expected.sq_psn = set.sq_psn;
	expected.max_rd_atomic = set.max_rd_atomic;
	expected.path_mig_state = set.path_mig_state;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &set, rts), 0);
	attr = query();
	ck_assert_mem_eq(&attr, &expected, sizeof(attr));
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_RESET), 0);
	attr = query();
	expected = (struct ibv_qp_attr){ .cap = cap };
	ck_assert_mem_eq(&attr, &expected, sizeof(attr));
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_device_says_what_it_has, 1, NULL);
	unit_add(suite, a_short_struct_is_filled_to_its_end, 1, NULL);
	unit_add(suite, a_port_says_what_it_has, 1, NULL);
	unit_add(suite, a_table_of_gids_is_whole_or_refused, 1, NULL);
	unit_add(suite, a_cq_is_as_long_as_the_device_says, 1, NULL);
	unit_add(suite, an_srq_is_as_large_as_the_device_says, 1, NULL);
	unit_add(suite, the_limit_of_an_srq_is_not_above_its_length, 1, NULL);
	unit_add(suite, there_are_as_many_queue_pairs_and_regions_as_the_device_says, 1, NULL);
	unit_add(suite, a_qp_is_as_large_as_the_device_says, 1, NULL);
	unit_add(suite, a_queue_takes_as_many_requests_and_segments_as_it_was_made_for, 1, NULL);
	unit_add(suite, each_attribute_has_its_limits, 1, NULL);
	unit_add(suite, an_address_of_a_global_path_has_its_index, 1, NULL);
	unit_add(suite, each_attribute_is_as_it_was_set, 1, NULL);
}

UNIT_SUITE("verbs_limits")
