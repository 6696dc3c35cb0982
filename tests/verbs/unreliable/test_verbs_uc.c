/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs of type UC: what arrives, and what is dropped without a word to its sender. */
#include <stdlib.h>

#include "letters.h"

#include <errno.h>
#include <string.h>

START_TEST(a_connected_qp_sends_and_writes_without_an_answer)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM,
						      IBV_WR_RDMA_WRITE };
	struct ibv_wc wc;

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	for (uint32_t length = 8; length <= 20000; length += 19992)
		for (int i = 0; i < 3; i++) {
			memset(b.buffer, 0, BUFFER);
			memset(a.buffer, 'x', length);
			if (i < 2)
				ck_assert_int_eq(verbs_recv(&b, 3, 30000, 30000), 0);
			ck_assert_int_eq(verbs_send(&a, &b, opcodes[i], length, 0), 0);
			expect(&a, IBV_WC_SUCCESS);
			if (i < 2) {
				wc = expect(&b, IBV_WC_SUCCESS);
				ck_assert_uint_eq(wc.byte_len, length);
				ck_assert_uint_eq(wc.src_qp, a.qp->qp_num);
			}
			ck_assert_int_eq(memcmp(b.buffer + (i ? 0 : 30000), a.buffer, length), 0);
			expect_nothing(&b);
		}
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_READ, 8, 0), EINVAL);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(what_a_connected_peer_cannot_take_is_dropped_in_silence)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	strcpy(a.buffer, "late");
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0); /* no Receive is posted */
	expect(&a, IBV_WC_SUCCESS);
	ck_assert_int_eq(verbs_recv(&b, 5, 100, 8), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 9, 0), 0); /* it is too short */
	expect(&a, IBV_WC_SUCCESS);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey++;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect_nothing(&b);
	ck_assert_int_eq(b.buffer[0], 0);
	ck_assert_int_eq((int)b.qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_SUCCESS);
	ck_assert_uint_eq(expect(&b, IBV_WC_SUCCESS).wr_id, 5);
	ck_assert_str_eq(b.buffer + 100, "late");
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

/* The number of the sender is right, and its LID is not. */
START_TEST(a_packet_of_another_adapter_than_the_path_names_is_dropped)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTR; state++) {
		attr = verbs_attr(&b, &a);
		attr.qp_state = (enum ibv_qp_state)state;
		attr.ah_attr.dlid = b.port.lid;
		ck_assert_int_eq(
			ibv_modify_qp(b.qp, &attr, verbs_mask_of(IBV_QPT_UC, attr.qp_state)), 0);
	}
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect_nothing(&b);
	verbs_end_all(&a, &b);
}
END_TEST

static uint64_t time_of_message(uint32_t length)
{
	struct ibv_values_ex before = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, after = before;

	ck_assert_int_eq(verbs_recv(&b, 1, 0, length), 0);
	ck_assert_int_eq(ibv_query_rt_values_ex(a.context, &before), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, length, 0), 0);
	expect(&b, IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_query_rt_values_ex(a.context, &after), 0);
	expect(&a, IBV_WC_SUCCESS);
	return (uint64_t)(after.raw_clock.tv_sec - before.raw_clock.tv_sec) * 1000000000u +
	       (uint64_t)(after.raw_clock.tv_nsec - before.raw_clock.tv_nsec);
}

/* Whole packets take the same time each, and the rest of the message its part of that. */
START_TEST(the_last_packet_takes_the_time_of_its_bytes)
{
	uint64_t two, three;
	uint32_t mtu;

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	mtu = 128u << verbs_attr(&a, &b).path_mtu;
	two = time_of_message(2 * mtu);
	three = time_of_message(3 * mtu);
	ck_assert_uint_eq(time_of_message(2 * mtu + mtu / 2), (two + three) / 2);
	verbs_end_all(&a, &b);
}
END_TEST

/* In state SQD a program may correct the address that it gave in RTR. */
START_TEST(what_waits_in_SQD_goes_to_the_address_that_is_set_there)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr = verbs_attr(&a, &b);
		attr.qp_state = (enum ibv_qp_state)state;
		attr.ah_attr.dlid = a.port.lid;
		ck_assert_int_eq(
			ibv_modify_qp(a.qp, &attr, verbs_mask_of(IBV_QPT_UC, attr.qp_state)), 0);
	}
	attr.qp_state = IBV_QPS_SQD;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	attr.ah_attr.dlid = b.port.lid;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_AV), 0);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

/* A request that has begun fails in state SQD: what waits is flushed, and the pause is over. */
START_TEST(a_failure_in_SQD_ends_the_pause)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_mr *own;

	verbs_begin_of(&a, &b, IBV_QPT_UC);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 20000), 0);
	own = a.mr;
	a.mr = ibv_reg_mr(a.pd, a.buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(a.mr);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 20000, 0), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq(ibv_dereg_mr(a.mr), 0);
	a.mr = own;
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_LOC_PROT_ERR);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_WR_FLUSH_ERR);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_lost_packet_takes_its_message_along_and_no_other)
{
	begin_with_faults("packets=SEND nth=2 verdict=drop", IBV_QPT_UC);
	for (uint64_t id = 1; id <= 2; id++)
		ck_assert_int_eq(verbs_recv(&b, id, (uint32_t)id * 20000, 20000), 0);
	for (int i = 0; i < 3; i++) {
		memset(a.buffer, 'a' + i, 20000);
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 20000, 0), 0);
		expect(&a, IBV_WC_SUCCESS);
	}
	for (uint64_t id = 1; id <= 2; id++) {
		ck_assert_uint_eq(expect(&b, IBV_WC_SUCCESS).wr_id, id);
		ck_assert_int_eq(b.buffer[id * 20000], 'a' + (int)id);
		ck_assert_int_eq(b.buffer[id * 20000 + 19999], 'a' + (int)id);
	}
	expect_nothing(&b);
	verbs_end_all(&a, &b);
}
END_TEST

/* Where payloads land in stages, a packet leaves when the one before it is over. */
START_TEST(a_message_behind_a_lost_one_goes_on_where_payloads_land_late)
{
	setenv("DATSIM_HOSTILE", "placement=tail", 1);
	begin_with_faults("packets=SEND nth=1 verdict=drop", IBV_QPT_UC);
	unsetenv("DATSIM_HOSTILE");
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 100, 0), 0);
	expect(&a, IBV_WC_SUCCESS);
	expect(&a, IBV_WC_SUCCESS);
	expect(&b, IBV_WC_SUCCESS);
	expect_nothing(&b);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_connected_qp_sends_and_writes_without_an_answer, 1, NULL);
	unit_add(suite, what_a_connected_peer_cannot_take_is_dropped_in_silence, 1, NULL);
	unit_add(suite, a_packet_of_another_adapter_than_the_path_names_is_dropped, 1, NULL);
	unit_add(suite, the_last_packet_takes_the_time_of_its_bytes, 1, NULL);
	unit_add(suite, what_waits_in_SQD_goes_to_the_address_that_is_set_there, 1, NULL);
	unit_add(suite, a_failure_in_SQD_ends_the_pause, 1, NULL);
	unit_add(suite, a_lost_packet_takes_its_message_along_and_no_other, 1, NULL);
	unit_add(suite, a_message_behind_a_lost_one_goes_on_where_payloads_land_late, 1, NULL);
}

UNIT_SUITE("verbs_uc")
