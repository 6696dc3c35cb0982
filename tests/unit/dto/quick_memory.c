/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of messages, which every post checks. Ruling A3; Q1 and L2 on SRQs.
 */
#include "lib/memory/lmr.h"
#include "tests/unit/dto/quick.h"

DAT_RETURN send_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov, int flags)
{
	return dat_ep_post_send(w.a.ep, n, iov, cookie(0), (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN recv_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov, int flags)
{
	return dat_ep_post_recv(w.b.ep, n, iov, cookie(0), (DAT_COMPLETION_FLAGS)flags);
}

DAT_LMR_HANDLE region(struct side *side, int first, int n, DAT_PZ_HANDLE pz, DAT_LMR_TRIPLET *iov)
{
	DAT_REGION_DESCRIPTION description = { .for_va = slot(side, first) };
	DAT_LMR_HANDLE lmr;

	*iov = segment(side, first, SHORT);
	must(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, description, (DAT_VLEN)(n * SLOT_SIZE),
			    pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &iov->lmr_context, NULL, NULL, NULL));
	return lmr;
}

void message(DAT_LMR_TRIPLET *from, DAT_LMR_TRIPLET *to)
{
	must(recv_iov(1, to, 0));
	must(send_iov(1, from, 0));
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
}

void used_pair(DAT_LMR_TRIPLET *from, DAT_LMR_TRIPLET *to)
{
	*from = segment(&w.a, 0, SHORT);
	*to = segment(&w.b, 0, SHORT);
	plain_pair();
	for (int i = 0; i < 3; i++)
		message(from, to);
}

/* ---- segments ---- */

START_TEST(A3_a_segment_is_checked_with_every_post)
{
	DAT_LMR_TRIPLET from, to, bad_from, bad_to;
	const struct {
		DAT_UINT64 offset, length;
	} bad[] = {
		{ (DAT_UINT64)-0x100000, SHORT },    { 0, UINT64_MAX },
		{ 0, (DAT_UINT64)1 << 63 },          { 1, UINT64_MAX },
		{ sizeof(w.a.memory), 1 },           { 0, sizeof(w.a.memory) + 1 },
		{ (DAT_UINT64)-0x100000, 0x200000 }, { (DAT_UINT64)1 << 63, SHORT },
	};

	used_pair(&from, &to);
	for (size_t i = 0; i < COUNT(bad); i++) {
		bad_from = from;
		bad_to = to;
		bad_from.virtual_address += bad[i].offset;
		bad_from.segment_length = bad[i].length;
		bad_to.virtual_address += bad[i].offset;
		bad_to.segment_length = bad[i].length;
		must_fail(send_iov(1, &bad_from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		must_fail(recv_iov(1, &bad_to, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		message(&from, &to);
	}
}
END_TEST

START_TEST(A3_every_byte_of_the_region_and_none_beside_it)
{
	DAT_LMR_TRIPLET from, to, edge;
	DAT_UINT64 start;

	used_pair(&from, &to);
	region(&w.a, 5, 2, w.a.pz, &from);
	message(&from, &to);
	start = from.virtual_address;
	edge = from;
	edge.segment_length = 1;
	message(&edge, &to);
	edge.virtual_address = start - 1;
	must_fail(send_iov(1, &edge, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	edge.virtual_address = start + 2 * SLOT_SIZE - 1;
	message(&edge, &to);
	edge.segment_length = 2;
	must_fail(send_iov(1, &edge, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	edge.virtual_address = start + 2 * SLOT_SIZE;
	edge.segment_length = 1;
	must_fail(send_iov(1, &edge, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	edge.segment_length = 0;
	message(&edge, &to);
}
END_TEST

START_TEST(A3_the_region_of_the_last_post_is_freed)
{
	DAT_LMR_TRIPLET from, to, first, second;
	DAT_LMR_HANDLE a, b;

	used_pair(&from, &to);
	a = region(&w.a, 5, 1, w.a.pz, &first);
	b = region(&w.b, 5, 1, w.b.pz, &second);
	message(&first, &second);
	must(dat_lmr_free(a));
	must(dat_lmr_free(b));
	must_fail(send_iov(1, &first, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	must_fail(recv_iov(1, &second, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	message(&from, &to);
	/* A second region of the same memory has a context of its own. */
	a = region(&w.a, 5, 1, w.a.pz, &from);
	must_fail(send_iov(1, &first, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	message(&from, &to);
	must(dat_lmr_free(a));
}
END_TEST

START_TEST(messages_come_from_several_regions_by_turns)
{
	DAT_LMR_TRIPLET from[3], to[3];

	used_pair(&from[0], &to[0]);
	for (int i = 1; i < 3; i++) {
		region(&w.a, 5 * i, 1, w.a.pz, &from[i]);
		region(&w.b, 5 * i, 1, w.b.pz, &to[i]);
	}
	for (int i = 0; i < 9; i++) {
		fill_slot(&w.a, 5 * (i % 3), i);
		message(&from[i % 3], &to[i * 2 % 3]);
		ck_assert(slot_holds(&w.b, 5 * (i * 2 % 3), i, SHORT));
	}
}
END_TEST

/* Several Endpoints post from one region that is then freed, as is one Endpoint before it. */
START_TEST(A3_a_region_that_several_Endpoints_use_is_freed)
{
	DAT_LMR_TRIPLET from, to, shared;
	DAT_EP_HANDLE a[3], b[3];
	DAT_LMR_HANDLE lmr;

	used_pair(&from, &to);
	lmr = region(&w.a, 5, 1, w.a.pz, &shared);
	for (int i = 0; i < 3; i++) {
		plain_pair();
		a[i] = w.a.ep;
		b[i] = w.b.ep;
		message(&shared, &to);
		message(&shared, &to);
	}
	w.a.ep = a[1];
	w.b.ep = b[1];
	disconnect_pair();
	must(dat_ep_free(a[1]));
	must(dat_ep_free(b[1]));
	must(dat_lmr_free(lmr));
	for (int i = 0; i < 3; i += 2) {
		w.a.ep = a[i];
		w.b.ep = b[i];
		must_fail(send_iov(1, &shared, 0), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
		message(&from, &to);
	}
}
END_TEST

/* An LMR knows the Endpoints that post from it: a freed Endpoint is not among them. */
START_TEST(A3_an_Endpoint_that_goes_lets_go_of_the_region)
{
	DAT_LMR_TRIPLET from, to, first;
	DAT_LMR_HANDLE handle;
	const struct lmr *lmr;

	used_pair(&from, &to);
	handle = region(&w.a, 5, 1, w.a.pz, &first);
	lmr = (const struct lmr *)((const struct handle_slot *)handle)->object;
	/* With a trace, posts take the careful path, which looks the region up each time. */
	(void)dat_sim_trace(w.sim, DAT_FALSE);
	message(&first, &to);
	ck_assert(!LIST_EMPTY(&lmr->ranges));
	disconnect_pair();
	must(dat_ep_free(w.a.ep));
	ck_assert(LIST_EMPTY(&lmr->ranges));
	must(dat_lmr_free(handle));
}
END_TEST

START_TEST(A3_the_zone_of_the_Endpoint_changes)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, SHORT), other;
	DAT_EP_PARAM param = { 0 };
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.b.ia, &pz));
	w.b.ep = plain_ep(&w.b);
	must(recv_iov(1, &to, 0));
	must(recv_iov(1, &to, 0));
	param.pz_handle = pz;
	must(dat_ep_modify(w.b.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	must_fail(recv_iov(1, &to, 0), DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	region(&w.b, 5, 1, pz, &other);
	must(recv_iov(1, &other, 0));
}
END_TEST

/* A region may be larger than a message: only the span of the message is checked. */
START_TEST(page_max_message_size_holds_wherever_in_the_region)
{
	DAT_LMR_TRIPLET from, to = segment(&w.b, 0, SLOT_SIZE);
	DAT_EP_ATTR attr = ep_attr();

	attr.max_message_size = 100;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	from = segment(&w.a, 0, 100);
	for (int offset = 0; offset <= 300; offset += 50) {
		from.virtual_address = segment(&w.a, 0, 0).virtual_address + (DAT_UINT64)offset;
		from.segment_length = 100;
		message(&from, &to);
		from.segment_length = 101;
		must_fail(send_iov(1, &from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	from.virtual_address = segment(&w.a, SLOTS - 1, 0).virtual_address + SLOT_SIZE - 60;
	from.segment_length = 60;
	message(&from, &to);
	from.segment_length = sizeof(w.a.memory);
	must_fail(send_iov(1, &from, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}
END_TEST

/* ---- SRQs ---- */

static DAT_RETURN srq_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov)
{
	return dat_srq_post_recv(w.b.srq, n, iov, cookie(0));
}

static void srq_message(DAT_LMR_TRIPLET *to)
{
	must(srq_iov(1, to));
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}

START_TEST(A3_a_Receive_of_an_SRQ_is_checked_with_every_post)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, SHORT), other, bad;
	DAT_LMR_HANDLE lmr;

	srq_pair(3);
	for (int i = 0; i < 3; i++)
		srq_message(&to);
	bad = to;
	bad.segment_length = sizeof(w.b.memory);
	must_fail(srq_iov(1, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	bad = to;
	bad.virtual_address += sizeof(w.b.memory);
	must_fail(srq_iov(1, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(srq_iov(1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(srq_iov(-1, &to), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_srq_post_recv(w.b.ep, 1, &to, cookie(0)), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_SRQ);
	must_fail(recv_iov(1, &to, 0), DAT_INVALID_STATE, ANY_SUBTYPE); /* ruling Q5 */
	lmr = region(&w.b, 5, 1, w.b.pz, &other);
	srq_message(&other);
	must(dat_lmr_free(lmr));
	must_fail(srq_iov(1, &other), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	srq_message(&to);
	srq_counts(w.b.srq, 3, 0, 0);
}
END_TEST

/* Q1: posted and not reaped. */
START_TEST(Q1_one_Receive_too_many_on_an_SRQ)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, SHORT);

	srq_pair(3);
	for (int i = 0; i < 3; i++)
		must(srq_iov(1, &to));
	for (int i = 0; i < 5; i++) {
		must_fail(srq_iov(1, &to), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
		deliver(&w.a, w.a.ep, 1);
		must_fail(srq_iov(1, &to), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
		expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
		must(srq_iov(1, &to));
	}
	srq_counts(w.b.srq, 3, 3, 3);
}
END_TEST

START_TEST(L2_a_low_watermark_that_is_set_later_acts)
{
	DAT_LMR_TRIPLET to = segment(&w.b, 0, SHORT);

	srq_pair(8);
	for (int i = 0; i < 3; i++)
		srq_message(&to);
	for (int i = 0; i < 3; i++)
		must(srq_iov(1, &to));
	must(dat_srq_set_lw(w.b.srq, 2));
	deliver(&w.a, w.a.ep, 1);
	expect_no_event(w.b.async);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_low_watermark(w.b.async, w.b.srq);
	srq_message(&to);
}
END_TEST

void quick_memory(Suite *suite)
{
	unit_test(suite, A3_a_segment_is_checked_with_every_post);
	unit_test(suite, A3_every_byte_of_the_region_and_none_beside_it);
	unit_test(suite, A3_the_region_of_the_last_post_is_freed);
	unit_test(suite, messages_come_from_several_regions_by_turns);
	unit_test(suite, A3_a_region_that_several_Endpoints_use_is_freed);
	unit_test(suite, A3_an_Endpoint_that_goes_lets_go_of_the_region);
	unit_test(suite, A3_the_zone_of_the_Endpoint_changes);
	unit_test(suite, page_max_message_size_holds_wherever_in_the_region);
	unit_test(suite, A3_a_Receive_of_an_SRQ_is_checked_with_every_post);
	unit_test(suite, Q1_one_Receive_too_many_on_an_SRQ);
	unit_test(suite, L2_a_low_watermark_that_is_set_later_acts);
}
