/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no program should pass to libibverbs: values out of range, pointers to nothing where the
 * real library survives them, objects of another device, objects that are in use. Each call says
 * so as the man pages of rdma-core have it, and nothing changes: at the end a message still goes
 * from one queue pair to the other, and no object is left.
 */
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>

#include "host/random.h"
#include "tests/support/support.h"
#include "verbs_pair.h"

#define SEED 5

static struct verbs_end a, b;

/* No object is left: the domain can be freed. */
static void end_both(void)
{
	verbs_exchange(&a, &b);
	verbs_end_all(&a, &b);
}

START_TEST(queries_beyond_the_tables_are_refused)
{
	struct ibv_values_ex values = { .comp_mask = 2 };
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	verbs_begin(&a, &b);
	for (int i = 0; i < 256; i += i == 0 ? 2 : 1)
		EXPECT(EINVAL, ibv_query_port(a.context, (uint8_t)i, &port));
	EXPECT_MINUS(EINVAL, ibv_query_gid(a.context, 1, -1, &gid));
	EXPECT_MINUS(EINVAL, ibv_query_gid(a.context, 1, 2, &gid));
	EXPECT_MINUS(EINVAL, ibv_query_gid(a.context, 1, INT_MAX, &gid));
	EXPECT_MINUS(EINVAL, ibv_query_gid(a.context, 2, 0, &gid));
	EXPECT_MINUS(EINVAL, ibv_query_pkey(a.context, 1, 1, &pkey));
	EXPECT_MINUS(EINVAL, ibv_query_pkey(a.context, 1, INT_MIN, &pkey));
	EXPECT_MINUS(EINVAL, ibv_get_pkey_index(a.context, 1, 0x1234));
	EXPECT(EINVAL, ibv_query_gid_ex(a.context, 1, UINT32_MAX, &entry, 0));
	EXPECT(EINVAL, ibv_query_gid_ex(a.context, 1, 2, &entry, 0));
	EXPECT(EINVAL, ibv_query_gid_ex(a.context, 0, 0, &entry, 0));
	EXPECT(EOPNOTSUPP, ibv_query_gid_ex(a.context, 1, 0, &entry, 1));
	EXPECT(EOPNOTSUPP, ibv_query_rt_values_ex(a.context, &values));
	ck_assert_str_eq(ibv_wc_status_str((enum ibv_wc_status)1000), "unknown");
	ck_assert_str_eq(ibv_event_type_str((enum ibv_event_type) - 5), "unknown");
	ck_assert_str_eq(ibv_node_type_str((enum ibv_node_type)77), "unknown");
	ck_assert_str_eq(ibv_port_state_str((enum ibv_port_state)77), "unknown");
	ck_assert_int_eq(ibv_rate_to_mult((enum ibv_rate)1000), -1);
	ck_assert_int_eq(ibv_rate_to_mbps((enum ibv_rate)1000), -1);
	end_both();
}
END_TEST

START_TEST(a_way_back_is_made_of_a_header_to_an_own_GID_alone)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_grh grh = { .next_hdr = 0x1b, .hop_limit = 9 };
	struct ibv_ah_attr attr = { .port_num = 77 };

	verbs_begin(&a, &b);
	EXPECT_MINUS(EPROTONOSUPPORT, ibv_init_ah_from_wc(a.context, 1, &wc, &grh, &attr));
	grh.version_tclass_flow = htobe32(6u << 28 | 5u << 20 | 4u);
	EXPECT_MINUS(EINVAL, ibv_init_ah_from_wc(a.context, 1, &wc, &grh, &attr));
	ck_assert_int_eq(ibv_query_gid(a.context, 1, 1, &grh.dgid), 0);
	grh.next_hdr = 6;
	EXPECT_MINUS(EPROTONOSUPPORT, ibv_init_ah_from_wc(a.context, 1, &wc, &grh, &attr));
	grh.next_hdr = 0x1b;
	EXPECT_MINUS(EINVAL, ibv_init_ah_from_wc(a.context, 2, &wc, &grh, &attr));
	ck_assert_int_eq(attr.port_num, 77);
	ck_assert_int_eq(ibv_init_ah_from_wc(a.context, 1, &wc, &grh, &attr), 0);
	ck_assert_int_eq(attr.port_num, 1);
	ck_assert_int_eq(attr.grh.sgid_index, 1);
	ck_assert_int_eq(attr.grh.hop_limit, 9);
	ck_assert_int_eq(attr.grh.traffic_class, 5);
	ck_assert_uint_eq(attr.grh.flow_label, 4);
	grh.next_hdr = IPPROTO_UDP; /* RoCE v2 */
	ck_assert_int_eq(ibv_init_ah_from_wc(a.context, 1, &wc, &grh, &attr), 0);
	end_both();
}
END_TEST

START_TEST(a_way_back_has_the_level_and_the_LIDs_of_the_way_there)
{
	struct ibv_wc wc = { .slid = 9, .sl = 5, .dlid_path_bits = 3 };
	struct ibv_ah_attr attr = { .is_global = 1 };

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_init_ah_from_wc(a.context, 1, &wc, NULL, &attr), 0);
	ck_assert_uint_eq(attr.dlid, 9);
	ck_assert_uint_eq(attr.sl, 5);
	ck_assert_uint_eq(attr.src_path_bits, 3);
	ck_assert_uint_eq(attr.is_global, 0);
	end_both();
}
END_TEST

START_TEST(memory_that_is_not_there_is_not_registered)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	void *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *fixed = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	verbs_begin(&a, &b);
	munmap((char *)gone + 4096, 4096);
	EXPECT_NULL(EFAULT, ibv_reg_mr(a.pd, NULL, 4096, all));
	EXPECT_NULL(EFAULT, ibv_reg_mr(a.pd, gone, 8192, all));
	EXPECT_NULL(EFAULT, ibv_reg_mr(a.pd, fixed, 4096, all));
	EXPECT_NULL(EINVAL, ibv_reg_mr(a.pd, a.buffer, BUFFER, IBV_ACCESS_REMOTE_WRITE));
	EXPECT_NULL(EINVAL, ibv_reg_mr(a.pd, a.buffer, BUFFER, IBV_ACCESS_REMOTE_ATOMIC));
	EXPECT_NULL(EOPNOTSUPP, ibv_reg_mr(a.pd, a.buffer, BUFFER, IBV_ACCESS_ON_DEMAND));
	EXPECT_NULL(EOPNOTSUPP, ibv_reg_mr(a.pd, a.buffer, BUFFER, 1 << 15));
	ck_assert_ptr_null(ibv_reg_mr(a.pd, a.buffer, SIZE_MAX, all));
	ck_assert_ptr_null(ibv_reg_mr(a.pd, (void *)(UINTPTR_MAX - 100), 4096, all));
	EXPECT_NULL(EOPNOTSUPP, ibv_reg_dmabuf_mr(a.pd, 0, 4096, 0, -1, all));
	end_both();
	munmap(gone, 4096);
	munmap(fixed, 4096);
}
END_TEST

/* The kernel maps whole pages. No bytes at the beginning of one need none, which it refuses. */
START_TEST(no_bytes_are_a_region_in_the_middle_of_a_page_alone)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	EXPECT_NULL(EINVAL, ibv_reg_mr(a.pd, page, 0, IBV_ACCESS_LOCAL_WRITE));
	EXPECT_NULL(EINVAL, ibv_reg_mr(a.pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
	mr = ibv_reg_mr(a.pd, (char *)page + 8, 0, IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(mr);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	end_both();
	munmap(page, 4096);
}
END_TEST

/* The kernel maps whole pages, so both names of a byte have to lie at one place of theirs. */
START_TEST(another_name_of_memory_has_the_same_place_in_its_page)
{
	struct ibv_mr *mr;

	verbs_begin(&a, &b);
	for (uint64_t at = 0; at < 3; at++) {
		errno = 0;
		mr = ibv_reg_mr_iova2(a.pd, a.buffer + 1, 8,
				      ((uintptr_t)(a.buffer + 1) & 4095) + at * 4095,
				      IBV_ACCESS_LOCAL_WRITE);
		ck_assert_int_eq(mr != NULL, at == 0);
		if (mr)
			ck_assert_int_eq(ibv_dereg_mr(mr), 0);
		else
			ck_assert_int_eq(errno, EINVAL);
	}
	end_both();
}
END_TEST

START_TEST(a_region_that_cannot_be_registered_again_stays)
{
	struct ibv_mr before;

	verbs_begin(&a, &b);
	before = *a.mr;
	EXPECT(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(a.mr, 0, NULL, NULL, 0, 0));
	EXPECT(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(a.mr, 1 << 20, NULL, NULL, 0, 0));
	EXPECT(IBV_REREG_MR_ERR_INPUT,
	       ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, a.pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
	EXPECT(IBV_REREG_MR_ERR_INPUT,
	       ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL, 0, 0));
	EXPECT(IBV_REREG_MR_ERR_INPUT,
	       ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 4096, 0));
	EXPECT(IBV_REREG_MR_ERR_INPUT, ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
						    IBV_ACCESS_REMOTE_WRITE));
	EXPECT(IBV_REREG_MR_ERR_CMD,
	       ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)4096, 4096, 0));
	ck_assert_mem_eq(&before, a.mr, sizeof(before));
	end_both();
}
END_TEST

START_TEST(completion_queues_of_no_size_are_refused)
{
	struct ibv_cq_init_attr_ex ex = { .cqe = 4, .wc_flags = 1ull << 60 };
	struct ibv_comp_channel *channel;
	struct ibv_device_attr limits;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_query_device(a.context, &limits), 0);
	EXPECT_NULL(EINVAL, ibv_create_cq(a.context, 0, NULL, NULL, 0));
	EXPECT_NULL(EINVAL, ibv_create_cq(a.context, -1, NULL, NULL, 0));
	EXPECT_NULL(EINVAL, ibv_create_cq(a.context, limits.max_cqe + 1, NULL, NULL, 0));
	EXPECT_NULL(EINVAL, ibv_create_cq(a.context, 4, NULL, NULL, -1));
	EXPECT_NULL(EINVAL, ibv_create_cq(a.context, 4, NULL, NULL, 1));
	channel = ibv_create_comp_channel(b.context);
	EXPECT_NULL(EINVAL, ibv_create_cq(a.context, 4, NULL, channel, 0));
	ck_assert_int_eq(ibv_destroy_comp_channel(channel), 0);
	EXPECT(EINVAL, ibv_resize_cq(a.cq, 0));
	EXPECT(EINVAL, ibv_resize_cq(a.cq, -1));
	EXPECT(EINVAL, ibv_resize_cq(a.cq, limits.max_cqe + 1));
	EXPECT_NULL(EOPNOTSUPP, ibv_create_cq_ex(a.context, &ex));
	ex = (struct ibv_cq_init_attr_ex){ .cqe = 4, .comp_mask = 1u << 30 };
	ck_assert_ptr_null(ibv_create_cq_ex(a.context, &ex));
	ck_assert_int_eq(ibv_poll_cq(a.cq, 0, NULL), 0);
	ck_assert_int_eq(ibv_poll_cq(a.cq, -1, &wc), 0);
	end_both();
}
END_TEST

START_TEST(shared_receive_queues_out_of_range_are_refused)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } }, bad = init;
	struct ibv_srq_attr attr = { .max_wr = 4 };
	struct ibv_device_attr limits;
	struct ibv_srq *srq;

	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_query_device(a.context, &limits), 0);
	bad.attr.max_wr = 0;
	EXPECT_NULL(EINVAL, ibv_create_srq(a.pd, &bad));
	bad.attr.max_wr = UINT32_MAX;
	EXPECT_NULL(EINVAL, ibv_create_srq(a.pd, &bad));
	bad = init;
	bad.attr.max_sge = (uint32_t)limits.max_srq_sge + 1;
	EXPECT_NULL(EINVAL, ibv_create_srq(a.pd, &bad));
	srq = ibv_create_srq(a.pd, &init);
	ck_assert_ptr_nonnull(srq);
	EXPECT(EINVAL, ibv_modify_srq(srq, &attr, 1 << 5));
	attr.srq_limit = 5;
	EXPECT(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	attr.max_wr = UINT32_MAX;
	ck_assert_int_ne(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	ck_assert_int_eq(ibv_query_srq(srq, &attr), 0);
	ck_assert_uint_eq(attr.max_wr, 4);
	ck_assert_uint_eq(attr.srq_limit, 0);
	attr.srq_limit = 3;
	ck_assert_int_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	attr = (struct ibv_srq_attr){ .max_wr = 2 };
	EXPECT(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	ck_assert_int_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	ck_assert_int_eq(ibv_query_srq(srq, &attr), 0);
	ck_assert_uint_eq(attr.max_wr, 2);
	ck_assert_uint_eq(attr.srq_limit, 0);
	ck_assert_int_eq(ibv_destroy_srq(srq), 0);
	end_both();
}
END_TEST

START_TEST(queue_pairs_that_cannot_be_are_refused)
{
	static const int types[] = {
		0, 1, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_DRIVER, 1000
	};
	struct ibv_qp_init_attr good, bad;

	verbs_begin(&a, &b);
	good = (struct ibv_qp_init_attr){ .send_cq = a.cq,
					  .recv_cq = a.cq,
					  .cap = { 4, 4, 1, 1, 0 },
					  .qp_type = IBV_QPT_RC };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bad = good;
		bad.qp_type = (enum ibv_qp_type)types[i];
		EXPECT_NULL(EOPNOTSUPP, ibv_create_qp(a.pd, &bad));
	}
#define BAD(field, value)                                       \
	do {                                                    \
		bad = good;                                     \
		bad.field = (value);                            \
		EXPECT_NULL(EINVAL, ibv_create_qp(a.pd, &bad)); \
	} while (0)
	BAD(send_cq, NULL);
	BAD(recv_cq, NULL);
	BAD(send_cq, b.cq); /* of another device */
	BAD(recv_cq, b.cq);
	BAD(cap.max_send_wr, UINT32_MAX);
	BAD(cap.max_recv_wr, UINT32_MAX);
	BAD(cap.max_send_sge, UINT32_MAX);
	BAD(cap.max_recv_sge, 1000);
	BAD(cap.max_inline_data, UINT32_MAX);
#undef BAD
	end_both();
}
END_TEST

/* ---- posts ---- */

#define EXPECT_BAD_SEND(wr)                                      \
	do {                                                     \
		bad = NULL;                                      \
		EXPECT(EINVAL, ibv_post_send(a.qp, (wr), &bad)); \
		ck_assert_ptr_eq(bad, (wr));                     \
	} while (0)

START_TEST(requests_that_cannot_be_are_not_posted)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, good, *bad;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 64, a.mr->lkey };
	good = wr = verbs_wr(&b, IBV_WR_SEND, &sge);
	wr.num_sge = -1;
	EXPECT_BAD_SEND(&wr);
	wr.num_sge = 3;
	EXPECT_BAD_SEND(&wr);
	wr.num_sge = INT_MAX;
	EXPECT_BAD_SEND(&wr);
	wr = good;
	wr.send_flags = 1u << 20;
	EXPECT_BAD_SEND(&wr);
	for (int opcode = IBV_WR_TSO; opcode < 64; opcode++) {
		wr = good;
		wr.opcode = (enum ibv_wr_opcode)opcode;
		EXPECT_BAD_SEND(&wr);
	}
	wr = good;
	wr.send_flags = IBV_SEND_INLINE;
	sge.length = 513;
	EXPECT_BAD_SEND(&wr);
	sge.length = 8;
	wr.opcode = IBV_WR_RDMA_READ;
	EXPECT_BAD_SEND(&wr);
	end_both();
}
END_TEST

START_TEST(of_a_list_the_requests_before_the_bad_one_are_posted)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_recv_wr recv[2], *bad_recv = NULL;
	struct ibv_wc wc;

	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	for (int i = 0; i < 3; i++) {
		wr[i] = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].num_sge = 100;
	EXPECT(EINVAL, ibv_post_send(a.qp, wr, &bad));
	ck_assert_ptr_eq(bad, &wr[1]);
	ck_assert(verbs_poll(&a, &wc));
	ck_assert(!ibv_poll_cq(a.cq, 1, &wc));
	recv[0] = (struct ibv_recv_wr){ .next = &recv[1] };
	recv[1] = (struct ibv_recv_wr){ .num_sge = -1 };
	EXPECT(EINVAL, ibv_post_recv(a.qp, recv, &bad_recv));
	ck_assert_ptr_eq(bad_recv, &recv[1]);
	end_both();
}
END_TEST

START_TEST(a_full_queue_is_ENOMEM)
{
	struct ibv_wc wc;
	int n = 0, err;

	verbs_begin(&a, &b);
	while ((err = verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 8, 0)) == 0)
		n++;
	ck_assert_int_eq(err, ENOMEM);
	for (; n > 0; n--)
		ck_assert(verbs_poll(&a, &wc) && wc.status == IBV_WC_SUCCESS);
	while ((err = verbs_recv(&a, 1, 0, 8)) == 0)
		n++;
	ck_assert_int_eq(err, ENOMEM);
	end_both();
}
END_TEST

/* ---- objects in use ---- */

START_TEST(an_object_with_children_is_busy)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_ah_attr to = { .dlid = 1, .port_num = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr init;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mw *mw;
	struct ibv_ah *ah;

	verbs_begin(&a, &b);
	pd = ibv_alloc_pd(a.context);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	EXPECT(EBUSY, ibv_dealloc_pd(pd));
	EXPECT(0, ibv_dealloc_mw(mw));
	ah = ibv_create_ah(pd, &to);
	EXPECT(EBUSY, ibv_dealloc_pd(pd));
	EXPECT(0, ibv_destroy_ah(ah));
	srq = ibv_create_srq(pd, &srq_init);
	EXPECT(EBUSY, ibv_dealloc_pd(pd));
	channel = ibv_create_comp_channel(a.context);
	cq = ibv_create_cq(a.context, 4, NULL, channel, 0);
	EXPECT(EBUSY, ibv_destroy_comp_channel(channel));
	init = (struct ibv_qp_init_attr){ .send_cq = cq,
					  .recv_cq = cq,
					  .srq = srq,
					  .cap = { 4, 0, 1, 0, 0 },
					  .qp_type = IBV_QPT_RC };
	qp = ibv_create_qp(pd, &init);
	ck_assert_ptr_nonnull(qp);
	for (int i = 0; i < 2; i++) {
		EXPECT(EBUSY, ibv_destroy_cq(cq));
		EXPECT(EBUSY, ibv_destroy_srq(srq));
		EXPECT(EBUSY, ibv_dealloc_pd(pd));
	}
	EXPECT(0, ibv_destroy_qp(qp));
	EXPECT(0, ibv_destroy_srq(srq));
	EXPECT(0, ibv_destroy_cq(cq));
	EXPECT(0, ibv_destroy_comp_channel(channel));
	EXPECT(0, ibv_dealloc_pd(pd));
	end_both();
}
END_TEST

/* ---- what there is not ---- */

START_TEST(what_is_not_there_answers_EOPNOTSUPP_and_is_no_capability)
{
	struct ibv_xrcd_init_attr xrcd = { .fd = -1, .oflags = 0 };
	struct ibv_parent_domain_init_attr domain;
	struct ibv_counters_init_attr counters = { .comp_mask = 0 };
	struct ibv_flow_attr flow = { .size = sizeof(flow), .port = 1 };
	struct ibv_alloc_dm_attr dm = { .length = 64 };
	struct ibv_td_init_attr td = { .comp_mask = 0 };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1 };
	struct ibv_rwq_ind_table_init_attr table = { .comp_mask = 0 };
	struct ibv_srq_init_attr_ex srq = { .attr = { .max_wr = 1, .max_sge = 1 },
					    .comp_mask =
						    IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						    IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_XRC };
	struct ibv_device_attr_ex limits;

	verbs_begin(&a, &b);
	domain = (struct ibv_parent_domain_init_attr){ .pd = a.pd };
	srq.pd = a.pd;
	srq.cq = a.cq;
	EXPECT_NULL(EOPNOTSUPP, ibv_alloc_td(a.context, &td));
	EXPECT_NULL(EOPNOTSUPP, ibv_alloc_parent_domain(a.context, &domain));
	EXPECT_NULL(EOPNOTSUPP, ibv_alloc_dm(a.context, &dm));
	EXPECT_NULL(EOPNOTSUPP, ibv_open_xrcd(a.context, &xrcd));
	EXPECT_NULL(EOPNOTSUPP, ibv_create_srq_ex(a.context, &srq));
	EXPECT_NULL(EOPNOTSUPP, ibv_create_flow(a.qp, &flow));
	EXPECT_NULL(EOPNOTSUPP, ibv_create_counters(a.context, &counters));
	EXPECT_NULL(EOPNOTSUPP, ibv_create_rwq_ind_table(a.context, &table));
	wq.pd = a.pd;
	wq.cq = a.cq;
	EXPECT_NULL(EOPNOTSUPP, ibv_create_wq(a.context, &wq));
	EXPECT(EOPNOTSUPP, ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0));
	EXPECT_NULL(EOPNOTSUPP, ibv_import_device(3));
	EXPECT_NULL(EOPNOTSUPP, ibv_import_pd(a.context, 1));
	EXPECT_NULL(EOPNOTSUPP, ibv_import_mr(a.pd, 1));
	EXPECT_NULL(EOPNOTSUPP, ibv_import_dm(a.context, 1));
	EXPECT(0, ibv_query_device_ex(a.context, NULL, &limits));
	ck_assert_uint_eq(limits.orig_attr.device_cap_flags &
				  (IBV_DEVICE_XRC | IBV_DEVICE_AUTO_PATH_MIG |
				   IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_RAW_MULTI),
			  0);
	ck_assert_uint_eq(limits.max_dm_size, 0);
	ck_assert_uint_eq(limits.odp_caps.general_caps, 0);
	ck_assert_uint_eq(limits.tm_caps.max_num_tags, 0);
	ck_assert_uint_eq(limits.rss_caps.max_rwq_indirection_tables, 0);
	ck_assert_uint_eq(limits.max_wq_type_rq, 0);
	ck_assert_uint_eq(limits.raw_packet_caps, 0);
	end_both();
}
END_TEST

/* ---- random attributes ---- */

static void fill_random(uint64_t *random, void *out, size_t size)
{
	uint8_t *byte = out;

	for (size_t i = 0; i < size; i++)
		byte[i] = (uint8_t)random_next(random);
}

/* Any attributes with any mask: a call that fails changes nothing that a query shows. */
START_TEST(random_attributes_fail_as_a_whole)
{
	uint64_t random = SEED;
	struct ibv_qp_attr attr, before, after;
	struct ibv_qp_init_attr init;
	int err, refused = 0;

	verbs_begin(&a, &b);
	for (int i = 0; i < 20000; i++) {
		fill_random(&random, &attr, sizeof(attr));
		attr.qp_state = (enum ibv_qp_state)(random_next(&random) % 8);
		ck_assert_int_eq(ibv_query_qp(a.qp, &before, 0, &init), 0);
		err = ibv_modify_qp(a.qp, &attr, (int)(random_next(&random) & 0x3ffffff));
		ck_assert_int_eq(ibv_query_qp(a.qp, &after, 0, &init), 0);
		ck_assert(err == 0 || err == EINVAL);
		refused += err != 0;
		if (err)
			ck_assert_mem_eq(&before, &after, sizeof(before));
	}
	ck_assert_int_gt(refused, 10000);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_RESET), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_RESET), 0);
	verbs_connect(&a, &b);
	end_both();
}
END_TEST

/* Whatever the requests say, they end by a completion each, or are refused. */
START_TEST(random_requests_end)
{
	uint64_t random = SEED;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;
	struct ibv_sge sge;

	verbs_begin(&a, &b);
	for (int i = 0; i < 2000; i++) {
		fill_random(&random, &wr, sizeof(wr));
		fill_random(&random, &sge, sizeof(sge));
		sge.length &= 0xfffff; /* a link takes its time for more */
		wr.next = NULL;
		wr.sg_list = &sge;
		wr.num_sge = (int)(random_next(&random) % 2);
		wr.opcode = (enum ibv_wr_opcode)(random_next(&random) % 16);
		wr.send_flags = IBV_SEND_SIGNALED | (unsigned int)(random_next(&random) & 5);
		if (wr.opcode == IBV_WR_BIND_MW)
			continue; /* its pointers are followed */
		if (i % 2)
			sge = (struct ibv_sge){ (uintptr_t)a.buffer, sge.length & 0xff,
						a.mr->lkey };
		if (ibv_post_send(a.qp, &wr, &bad))
			continue;
		ck_assert(verbs_poll(&a, &wc));
		if (wc.status == IBV_WC_SUCCESS)
			continue;
		for (int state = IBV_QPS_RESET; state <= IBV_QPS_RTS; state++) {
			ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)state), 0);
			ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)state), 0);
		}
	}
	end_both();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, queries_beyond_the_tables_are_refused, 1, NULL);
	unit_add(suite, a_way_back_is_made_of_a_header_to_an_own_GID_alone, 1, NULL);
	unit_add(suite, a_way_back_has_the_level_and_the_LIDs_of_the_way_there, 1, NULL);
	unit_add(suite, memory_that_is_not_there_is_not_registered, 1, NULL);
	unit_add(suite, no_bytes_are_a_region_in_the_middle_of_a_page_alone, 1, NULL);
	unit_add(suite, another_name_of_memory_has_the_same_place_in_its_page, 1, NULL);
	unit_add(suite, a_region_that_cannot_be_registered_again_stays, 1, NULL);
	unit_add(suite, completion_queues_of_no_size_are_refused, 1, NULL);
	unit_add(suite, shared_receive_queues_out_of_range_are_refused, 1, NULL);
	unit_add(suite, queue_pairs_that_cannot_be_are_refused, 1, NULL);
	unit_add(suite, requests_that_cannot_be_are_not_posted, 1, NULL);
	unit_add(suite, of_a_list_the_requests_before_the_bad_one_are_posted, 1, NULL);
	unit_add(suite, a_full_queue_is_ENOMEM, 1, NULL);
	unit_add(suite, an_object_with_children_is_busy, 1, NULL);
	unit_add(suite, what_is_not_there_answers_EOPNOTSUPP_and_is_no_capability, 1, NULL);
	unit_add(suite, random_attributes_fail_as_a_whole, 1, NULL);
	unit_add(suite, random_requests_end, 1, NULL);
}

UNIT_SUITE("verbs_hostile")
