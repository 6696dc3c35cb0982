/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams to a group of queue pairs, and who may join one. */
#include "letters.h"

#include <errno.h>

#include "emu/fabric/limits.h"

#define MLID 0xc001 /* any of a group */

static const union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 1 } };

static struct ibv_ah *handle_of_group(struct verbs_end *end)
{
	struct ibv_ah_attr attr = { .dlid = 0xc001,
				    .port_num = 1,
				    .is_global = 1,
				    .grh = { .dgid = group } };
	struct ibv_ah *ah = ibv_create_ah(end->pd, &attr);

	ck_assert_ptr_nonnull(ah);
	return ah;
}

static struct letter letter_to_group(struct verbs_end *end, struct ibv_ah *ah)
{
	struct letter letter = letter_to(end, end, ah);

	letter.qpn = 0xffffff;
	return letter;
}

static void receive_copy(struct verbs_end *end, struct ibv_qp *qp)
{
	struct ibv_qp *own = end->qp;
	struct ibv_wc wc;

	wc = expect(end, IBV_WC_SUCCESS);
	ck_assert_int_eq((int)wc.opcode, (int)IBV_WC_RECV);
	ck_assert_uint_eq(wc.qp_num, qp->qp_num);
	ck_assert_uint_eq(wc.src_qp, a.qp->qp_num);
	ck_assert_uint_eq(wc.wc_flags, IBV_WC_GRH);
	ck_assert_str_eq(end->buffer + 100 * wc.wr_id + GRH, "letter");
	end->qp = qp;
	ck_assert_int_eq(verbs_recv(end, wc.wr_id, 100 * (uint32_t)wc.wr_id, 100), 0);
	end->qp = own;
}

/* `a` sends, with QPs of b and its own in the group, or not. */
static void send_to_group(struct ibv_ah *ah, struct ibv_qp *second, bool first_comes,
			  bool second_comes)
{
	struct letter letter = letter_to_group(&a, ah);

	ck_assert_int_eq(post(&a, &letter), 0);
	ck_assert_int_eq((int)expect(&a, IBV_WC_SUCCESS).opcode, (int)IBV_WC_SEND);
	if (first_comes)
		receive_copy(&b, b.qp);
	if (second_comes)
		receive_copy(&b, second);
	expect_nothing(&b);
}

START_TEST(each_qp_of_a_group_gets_a_copy)
{
	struct ibv_qp *first, *second;
	struct ibv_ah *ah;

	begin_ud();
	ah = handle_of_group(&a);
	first = b.qp;
	ck_assert_int_eq(verbs_recv(&b, 1, 100, 100), 0);
	verbs_make_qp(&b);
	second = b.qp;
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)state), 0);
	ck_assert_int_eq(verbs_recv(&b, 2, 200, 100), 0);
	b.qp = first;
	send_to_group(ah, second, false, false);
	ck_assert_int_eq(ibv_detach_mcast(first, &group, MLID), EINVAL);
	ck_assert_int_eq(ibv_attach_mcast(first, &group, MLID), 0);
	ck_assert_int_eq(ibv_attach_mcast(first, &group, MLID), 0);
	send_to_group(ah, second, true, false);
	ck_assert_int_eq(ibv_attach_mcast(second, &group, MLID), 0);
	send_to_group(ah, second, true, true);
	ck_assert_int_eq(ibv_destroy_qp(second), EBUSY);
	ck_assert_int_eq(ibv_detach_mcast(first, &group, MLID), 0);
	send_to_group(ah, second, false, true);
	ck_assert_int_eq(ibv_detach_mcast(second, &group, MLID), 0);
	ck_assert_int_eq(ibv_destroy_qp(second), 0);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* With and without another QP that takes the place of the one that has left. */
START_TEST(a_copy_for_a_qp_that_has_left_the_group_is_dropped)
{
	struct letter letter;
	struct ibv_ah *ah;

	begin_ud();
	ah = handle_of_group(&a);
	letter = letter_to_group(&a, ah);
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &group, MLID), 0);
	ck_assert_int_eq(verbs_recv(&b, 1, 100, 100), 0);
	ck_assert_int_eq(post(&a, &letter), 0);
	ck_assert_int_eq(ibv_detach_mcast(b.qp, &group, MLID), 0);
	if (_i) {
		ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
		verbs_make_qp(&b);
		for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
			ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)state), 0);
		ck_assert_int_eq(verbs_recv(&b, 1, 100, 100), 0);
	}
	expect(&a, IBV_WC_SUCCESS);
	expect_nothing(&b);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(the_sender_in_the_group_gets_a_copy_and_a_lost_one_is_lost_alone)
{
	struct letter letter;
	struct ibv_ah *ah;
	int sent = 0;

	begin_with_faults("packets=SEND to=emu1 nth=1 verdict=drop", IBV_QPT_UD);
	strcpy(a.buffer, "letter");
	ah = handle_of_group(&a);
	letter = letter_to_group(&a, ah);
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &group, MLID), 0);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &group, MLID), 0);
	ck_assert_int_eq(verbs_recv(&a, 1, 100, 100), 0);
	ck_assert_int_eq(verbs_recv(&b, 1, 100, 100), 0);
	ck_assert_int_eq(post(&a, &letter), 0);
	for (int i = 0; i < 2; i++)
		sent += expect(&a, IBV_WC_SUCCESS).opcode == IBV_WC_SEND;
	ck_assert_int_eq(sent, 1);
	ck_assert_str_eq(a.buffer + 100 + GRH, "letter");
	expect_nothing(&b);
	ck_assert_int_eq(ibv_detach_mcast(b.qp, &group, MLID), 0);
	ck_assert_int_eq(ibv_detach_mcast(a.qp, &group, MLID), 0);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* So many members can all groups of a fabric have together. */
START_TEST(who_leaves_a_group_makes_room_for_another_member)
{
	union ibv_gid gid = group;
	unsigned int members = 0;

	begin_ud();
	do {
		gid.raw[13] = (uint8_t)(members >> 8);
		gid.raw[14] = (uint8_t)members;
	} while (ibv_attach_mcast(b.qp, &gid, MLID) == 0 && ++members < 1u << 16);
	ck_assert_uint_eq(members, EMU_MEMBERS);
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &gid, MLID), ENOMEM);
	gid.raw[13] = 0;
	gid.raw[14] = 5;
	ck_assert_int_eq(ibv_detach_mcast(b.qp, &gid, MLID), 0);
	gid.raw[12] = 1;
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &gid, MLID), 0);
	gid.raw[12] = 2;
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &gid, MLID), ENOMEM);
	ck_assert_int_eq(ibv_close_device(b.context), 0);
	verbs_close(&a);
}
END_TEST

START_TEST(only_a_datagram_qp_joins_a_group_and_only_of_a_multicast_gid)
{
	union ibv_gid gid;

	begin_ud();
	ck_assert_int_eq(ibv_query_gid(a.context, 1, 0, &gid), 0);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &gid, MLID), EINVAL);
	/* Nor with a LID of no group. */
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &group, 0), EINVAL);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &group, 0xbfff), EINVAL);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &group, 0xffff), EINVAL);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &group, 0xfffe), 0);
	ck_assert_int_eq(ibv_detach_mcast(a.qp, &group, 0), EINVAL);
	ck_assert_int_eq(ibv_detach_mcast(a.qp, &group, 0xfffe), 0);
	verbs_end_all(&a, &b);
	verbs_begin(&a, &b);
	ck_assert_int_eq(ibv_attach_mcast(a.qp, &group, MLID), EINVAL);
	verbs_end_all(&a, &b);
	/* A QP that is still in a group when its device is closed leaves the group. */
	begin_ud();
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &group, MLID), 0);
	ck_assert_int_eq(ibv_close_device(b.context), 0);
	verbs_close(&a);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_qp_of_a_group_gets_a_copy, 1, NULL);
	unit_add(suite, a_copy_for_a_qp_that_has_left_the_group_is_dropped, 2, NULL);
	unit_add(suite, the_sender_in_the_group_gets_a_copy_and_a_lost_one_is_lost_alone, 1, NULL);
	unit_add(suite, who_leaves_a_group_makes_room_for_another_member, 1, NULL);
	unit_add(suite, only_a_datagram_qp_joins_a_group_and_only_of_a_multicast_gid, 1, NULL);
}

UNIT_SUITE("verbs_multicast")
