/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs of type UD: what arrives, what is dropped in silence, what fails at the sender. */
#include "letters.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

START_TEST(a_datagram_comes_behind_its_grh_and_names_its_sender)
{
	struct ibv_grh grh;
	union ibv_gid gid;
	struct ibv_ah *ah;
	struct letter letter;
	struct ibv_wc wc;

	for (int global = 0; global < 2; global++) {
		begin_ud();
		ah = handle_of(&a, &b, global);
		letter = letter_to(&a, &b, ah);
		letter.opcode = IBV_WR_SEND_WITH_IMM;
		letter.length = 7;
		ck_assert_int_eq(verbs_recv(&b, 7, 100, GRH + 8), 0);
		ck_assert_int_eq(post(&a, &letter), 0);
		wc = expect(&b, IBV_WC_SUCCESS);
		ck_assert_int_eq((int)wc.opcode, (int)IBV_WC_RECV);
		ck_assert_uint_eq(wc.wr_id, 7);
		ck_assert_uint_eq(wc.byte_len, GRH + 7);
		ck_assert_uint_eq(wc.src_qp, a.qp->qp_num);
		ck_assert_uint_eq(wc.slid, a.port.lid);
		ck_assert_uint_eq(wc.sl, 3);
		ck_assert_uint_eq(wc.imm_data, 0x12345678);
		ck_assert_uint_eq(wc.wc_flags, IBV_WC_WITH_IMM | (global ? IBV_WC_GRH : 0));
		ck_assert_str_eq(b.buffer + 100 + GRH, "letter");
		memcpy(&grh, b.buffer + 100, GRH);
		ck_assert_int_eq(ibv_query_gid(a.context, 1, 0, &gid), 0);
		if (global) {
			ck_assert_int_eq(memcmp(&grh.sgid, &gid, sizeof(gid)), 0);
			ck_assert_uint_eq(be32toh(grh.version_tclass_flow), 6u << 28 | 5u << 20);
			ck_assert_uint_eq(grh.hop_limit, 7);
			/* BTH, DETH, the immediate data, the payload in words, and the ICRC */
			ck_assert_uint_eq(be16toh(grh.paylen), 12 + 8 + 4 + 8 + 4);
		}
		wc = expect(&a, IBV_WC_SUCCESS);
		ck_assert_int_eq((int)wc.opcode, (int)IBV_WC_SEND);
		ck_assert_int_eq(ibv_destroy_ah(ah), 0);
		verbs_end_all(&a, &b);
	}
}
END_TEST

START_TEST(the_completion_leads_back_to_the_sender)
{
	struct ibv_ah *ah, *back;
	struct letter letter;
	struct ibv_wc wc;

	for (int global = 0; global < 2; global++) {
		begin_ud();
		ah = handle_of(&a, &b, global);
		letter = letter_to(&a, &b, ah);
		ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
		ck_assert_int_eq(verbs_recv(&a, 2, 200, 100), 0);
		ck_assert_int_eq(post(&a, &letter), 0);
		wc = expect(&b, IBV_WC_SUCCESS);
		back = ibv_create_ah_from_wc(b.pd, &wc, (struct ibv_grh *)b.buffer, 1);
		ck_assert_ptr_nonnull(back);
		strcpy(b.buffer, "answer");
		letter = letter_to(&b, &a, back);
		ck_assert_int_eq(post(&b, &letter), 0);
		expect(&b, IBV_WC_SUCCESS);
		expect(&a, IBV_WC_SUCCESS);
		ck_assert_uint_eq(expect(&a, IBV_WC_SUCCESS).wr_id, 2);
		ck_assert_str_eq(a.buffer + 200 + GRH, "answer");
		ck_assert_int_eq(ibv_dealloc_pd(b.pd), EBUSY);
		ck_assert_int_eq(ibv_destroy_ah(ah), 0);
		ck_assert_int_eq(ibv_destroy_ah(back), 0);
		verbs_end_all(&a, &b);
	}
}
END_TEST

START_TEST(a_datagram_leaves_the_rest_of_the_last_segment_as_it_was)
{
	struct ibv_sge segments[2];
	struct ibv_recv_wr wr = { .sg_list = segments, .num_sge = 2 }, *bad;
	struct ibv_ah *ah;
	struct letter letter;

	begin_ud();
	segments[0] = (struct ibv_sge){ (uintptr_t)b.buffer, GRH + 3, b.mr->lkey };
	segments[1] = (struct ibv_sge){ (uintptr_t)b.buffer + 100, 30, b.mr->lkey };
	memset(b.buffer, '.', 200);
	ck_assert_int_eq(ibv_post_recv(b.qp, &wr, &bad), 0);
	ah = handle_of(&a, &b, false);
	letter = letter_to(&a, &b, ah);
	ck_assert_int_eq(post(&a, &letter), 0);
	ck_assert_uint_eq(expect(&b, IBV_WC_SUCCESS).byte_len, GRH + 8);
	ck_assert_int_eq(memcmp(b.buffer + GRH, "let...", 6), 0);
	ck_assert_int_eq(memcmp(b.buffer + 100, "ter\0\0.........................", 30), 0);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* Each time the sender is content, and the Receive stays for the datagram at the end. */
START_TEST(a_datagram_that_nobody_takes_is_dropped_in_silence)
{
	struct ibv_ah *ah;
	struct letter letter;

	begin_ud();
	ah = handle_of(&a, &b, true);
	letter = letter_to(&a, &b, ah);
	ck_assert_int_eq(post(&a, &letter), 0); /* no Receive is posted */
	expect(&a, IBV_WC_SUCCESS);
	ck_assert_int_eq(verbs_recv(&b, 5, 0, GRH + 8), 0);
	letter.qkey++;
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	letter = letter_to(&a, &b, ah);
	letter.qpn += 100;
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	letter = letter_to(&a, &b, ah);
	letter.length = 9; /* longer than the Receive */
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect_nothing(&b);
	letter = letter_to(&a, &b, ah);
	letter.qkey = 0x80000000u; /* the Q_Key of the sender's QP */
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	ck_assert_uint_eq(expect(&b, IBV_WC_SUCCESS).wr_id, 5);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_datagram_to_a_qp_that_is_not_ready_is_dropped)
{
	struct ibv_ah *ah;
	struct letter letter;

	begin_ud();
	ah = handle_of(&a, &b, false);
	letter = letter_to(&a, &b, ah);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_RESET), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_INIT), 0);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect_nothing(&b);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_RTR), 0);
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
	expect(&b, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

static void expect_stopped(const struct letter *bad, struct ibv_ah *ah, enum ibv_wc_status status)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	struct letter good = letter_to(&a, &b, ah);

	ck_assert_int_eq(post(&a, bad), 0);
	ck_assert_int_eq(post(&a, &good), 0);
	expect(&a, status);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_SQE);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &rts, IBV_QP_STATE), 0);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ck_assert_int_eq(post(&a, &good), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
}

START_TEST(a_datagram_that_fails_stops_the_send_queue_until_it_is_set_to_RTS)
{
	struct ibv_ah *ah;
	struct letter letter;

	begin_ud();
	ah = handle_of(&a, &b, false);
	letter = letter_to(&a, &b, ah);
	letter.length = 4097; /* more than a packet */
	expect_stopped(&letter, ah, IBV_WC_LOC_LEN_ERR);
	letter = letter_to(&a, &b, ah);
	letter.lkey++;
	expect_stopped(&letter, ah, IBV_WC_LOC_PROT_ERR);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_request_that_is_no_datagram_is_refused)
{
	struct ibv_ah_attr attr = { .port_num = 2 };
	struct ibv_ah *own, *foreign;
	struct letter letter;

	begin_ud();
	own = handle_of(&a, &b, false);
	foreign = handle_of(&b, &a, false);
	letter = letter_to(&a, &b, foreign);
	ck_assert_int_eq(post(&a, &letter), EINVAL);
	letter = letter_to(&a, &b, NULL);
	ck_assert_int_eq(post(&a, &letter), EINVAL);
	letter = letter_to(&a, &b, own);
	letter.opcode = IBV_WR_RDMA_WRITE;
	ck_assert_int_eq(post(&a, &letter), EINVAL);
	ck_assert_ptr_null(ibv_create_ah(a.pd, &attr));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(ibv_destroy_ah(own), 0);
	ck_assert_int_eq(ibv_destroy_ah(foreign), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_qp_may_send_datagrams_to_itself_from_a_payload_that_changes)
{
	struct ibv_ah *ah;
	struct letter letter;

	begin_ud();
	ah = handle_of(&a, &a, true);
	letter = letter_to(&a, &a, ah);
	letter.flags |= IBV_SEND_INLINE;
	ck_assert_int_eq(verbs_recv(&a, 1, 100, 100), 0);
	ck_assert_int_eq(post(&a, &letter), 0);
	memset(a.buffer, 'x', 8);
	expect(&a, IBV_WC_SUCCESS);
	expect(&a, IBV_WC_SUCCESS);
	ck_assert_str_eq(a.buffer + 100 + GRH, "letter");
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(datagrams_take_the_receives_of_a_shared_queue)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_async_event event;
	struct ibv_ah *ah;
	struct letter letter;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	a.type = b.type = IBV_QPT_UD;
	b.srq = ibv_create_srq(b.pd, &init);
	ck_assert_ptr_nonnull(b.srq);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	verbs_connect(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&b, 2, 64, 64), 0);
	ck_assert_int_eq(ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT), 0);
	ah = handle_of(&a, &b, false);
	letter = letter_to(&a, &b, ah);
	for (uint64_t id = 1; id <= 2; id++) {
		ck_assert_int_eq(post(&a, &letter), 0);
		ck_assert_uint_eq(expect(&b, IBV_WC_SUCCESS).wr_id, id);
		expect(&a, IBV_WC_SUCCESS);
	}
	ck_assert_int_eq(ibv_get_async_event(b.context, &event), 0);
	ck_assert_int_eq((int)event.event_type, (int)IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_batch_of_datagrams_names_their_receivers)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND
	};
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah, *others;
	struct ibv_qp *plain;

	begin_ud();
	init.send_cq = init.recv_cq = a.cq;
	init.pd = a.pd;
	plain = a.qp;
	a.qp = ibv_create_qp_ex(a.context, &init);
	ck_assert_ptr_nonnull(a.qp);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)state), 0);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ah = handle_of(&a, &b, false);
	ex = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, b.qp->qp_num, VERBS_QKEY);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buffer, 8);
	ck_assert_int_eq(ibv_wr_complete(ex), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, NULL, b.qp->qp_num, VERBS_QKEY);
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	/* Of another domain; the first of the two is not posted either. */
	others = handle_of(&b, &a, false);
	ibv_wr_start(ex);
	for (int i = 0; i < 2; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, i ? others : ah, b.qp->qp_num, VERBS_QKEY);
	}
	ck_assert_int_eq(ibv_wr_complete(ex), EINVAL);
	expect_nothing(&a);
	ck_assert_int_eq(ibv_destroy_ah(others), 0);
	init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	ck_assert_ptr_null(ibv_create_qp_ex(a.context, &init));
	ck_assert_int_eq(ibv_destroy_qp(plain), 0);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(the_number_of_a_receiver_has_24_bits)
{
	struct letter letter;
	struct ibv_ah *ah;

	begin_ud();
	ah = handle_of(&a, &b, false);
	letter = letter_to(&a, &b, ah);
	letter.qpn |= 0xab000000u;
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(post(&a, &letter), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_gid_of_another_network_is_no_adapters)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };
	struct letter letter;
	struct ibv_ah *ah;

	begin_ud();
	/* The adapter's own; one of 198.19.0.2; one that is no mapped address. */
	for (int other = 0; other < 3; other++) {
		ck_assert_int_eq(ibv_query_gid(b.context, 1, 1, &attr.grh.dgid), 0);
		attr.grh.dgid.raw[13] ^= other == 1;
		attr.grh.dgid.raw[11] ^= other == 2;
		ah = ibv_create_ah(a.pd, &attr);
		ck_assert_ptr_nonnull(ah);
		letter = letter_to(&a, &b, ah);
		ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
		ck_assert_int_eq(post(&a, &letter), 0);
		expect(&a, IBV_WC_SUCCESS);
		if (other)
			expect_nothing(&b);
		else
			expect(&b, IBV_WC_SUCCESS);
		ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	}
	verbs_end_all(&a, &b);
}
END_TEST

/* A rule counts the packets on which no earlier rule acted; the last two can act on none. */
START_TEST(lost_and_late_datagrams_are_successful_for_their_sender)
{
	struct ibv_ah *ah;
	struct letter letter;

	begin_with_faults("packets=SEND nth=1 verdict=drop;"
			  "packets=SEND nth=1 verdict=reorder delay_ns=5000;"
			  "packets=SEND verdict=duplicate;"
			  "packets=SEND verdict=rnr",
			  IBV_QPT_UD);
	for (uint64_t id = 1; id <= 8; id++)
		ck_assert_int_eq(verbs_recv(&b, id, (uint32_t)id * 100, 100), 0);
	ah = handle_of(&a, &b, false);
	letter = letter_to(&a, &b, ah);
	for (char c = 'a'; c <= 'd'; c++) {
		memset(a.buffer, c, 8);
		ck_assert_int_eq(post(&a, &letter), 0);
	}
	for (int i = 0; i < 4; i++)
		expect(&a, IBV_WC_SUCCESS);
	for (int i = 0; i < 3; i++) {
		struct ibv_wc wc = expect(&b, IBV_WC_SUCCESS);

		ck_assert_int_eq(b.buffer[wc.wr_id * 100 + GRH], "cdb"[i]);
	}
	expect_nothing(&b);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_datagram_comes_behind_its_grh_and_names_its_sender, 1, NULL);
	unit_add(suite, the_completion_leads_back_to_the_sender, 1, NULL);
	unit_add(suite, a_datagram_leaves_the_rest_of_the_last_segment_as_it_was, 1, NULL);
	unit_add(suite, a_datagram_that_nobody_takes_is_dropped_in_silence, 1, NULL);
	unit_add(suite, a_datagram_to_a_qp_that_is_not_ready_is_dropped, 1, NULL);
	unit_add(suite, a_datagram_that_fails_stops_the_send_queue_until_it_is_set_to_RTS, 1, NULL);
	unit_add(suite, a_request_that_is_no_datagram_is_refused, 1, NULL);
	unit_add(suite, a_qp_may_send_datagrams_to_itself_from_a_payload_that_changes, 1, NULL);
	unit_add(suite, datagrams_take_the_receives_of_a_shared_queue, 1, NULL);
	unit_add(suite, a_batch_of_datagrams_names_their_receivers, 1, NULL);
	unit_add(suite, the_number_of_a_receiver_has_24_bits, 1, NULL);
	unit_add(suite, a_gid_of_another_network_is_no_adapters, 1, NULL);
	unit_add(suite, lost_and_late_datagrams_are_successful_for_their_sender, 1, NULL);
}

UNIT_SUITE("verbs_datagrams")
