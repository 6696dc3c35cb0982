/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends between processes whose post a front makes in full, with the fabric's lock: those that are
 * delivered at their post nevertheless (emu/shared/direct.c), and those that are not. One program
 * is both processes.
 */
#include <errno.h>

#include "emu/fabric/trace.h"
#include "emu/payload/inline.h"
#include "emu/qp.h"
#include "emu/tx.h"
#include "tests/litmus/ends.h"

enum {
	BYTES = 64,
	MOST = EMU_STAGE_BYTES + BYTES,
	IMM = 0x12345678,
	LINES = 6, /* of a Send: its post, packet, arrival, two completions and the ACK */
};

static uint8_t source[MOST], target[MOST];
static struct nic_mr *from_mr, *to_mr;
static uint64_t wr_id; /* of the Send */

static struct nic_mr *register_at(struct end *end, uint8_t *memory)
{
	struct nic_mr *mr;

	emu_backend.enter(end->world, false);
	ck_assert_int_eq(end->nic->ops->mr_reg(end->pd, (uintptr_t)memory, MOST,
					       NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE, &mr),
			 0);
	emu_backend.leave(end->world);
	return mr;
}

static void deregister_at(struct end *end, struct nic_mr *mr)
{
	emu_backend.enter(end->world, false);
	end->nic->ops->mr_dereg(mr);
	emu_backend.leave(end->world);
}

static void prepare_memory(void)
{
	wr_id = 3;
	for (uint32_t i = 0; i < MOST; i++)
		source[i] = (uint8_t)(i % 251 + 1);
	memset(target, 0, sizeof(target));
	from_mr = register_at(&ends[0], source);
	to_mr = register_at(&ends[1], target);
}

static void send_setup(void)
{
	ends_setup();
	prepare_memory();
}

static void send_setup_long_queue(void)
{
	ends_setup_long_queue();
	prepare_memory();
}

static void send_teardown(void)
{
	deregister_at(&ends[0], from_mr);
	deregister_at(&ends[1], to_mr);
	ends_teardown();
}

/* ---- one message ---- */

static const struct emu_fabric *fabric(void)
{
	return ends_worlds.world[0]->fab;
}

static void receive_into_target(void)
{
	struct nic_sge sge = { (uintptr_t)target, MOST, to_mr->lkey };
	const struct nic_recv_wr wr = { .wr_id = 7, .sge = &sge, .num_sge = 1 };

	ck_assert_int_eq(emu_direct_recv(ends[1].qp, &wr), 0);
}

static struct nic_sge part_of_source(uint32_t from, uint32_t length)
{
	return (struct nic_sge){ (uintptr_t)source + from, length, from_mr->lkey };
}

static struct nic_send_wr send_of(struct nic_sge *sge, uint16_t segments, uint32_t length,
				  uint32_t flags)
{
	return (struct nic_send_wr){ .wr_id = wr_id,
				     .sge = sge,
				     .length = length,
				     .opcode = NIC_OP_SEND,
				     .flags = (uint8_t)flags,
				     .num_sge = segments,
				     .imm = IMM };
}

/* `post` is called with the fabric's lock. */
static void post_with_lock(int (*post)(struct nic_qp *qp, const struct nic_send_wr *wr),
			   const struct nic_send_wr *wr)
{
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(post(ends[0].qp, wr), 0);
	emu_backend.leave(ends[0].world);
}

static bool send_is_complete(enum nic_wc_status status)
{
	struct nic_wc wc;

	if (emu_direct_poll(ends[0].send_cq, &wc, 1) == 0)
		return false;
	ck_assert_uint_eq(wc.wr_id, wr_id);
	ck_assert_uint_eq(wc.opcode, NIC_OP_SEND);
	ck_assert_uint_eq(wc.status, status);
	return true;
}

static bool is_received(uint32_t length, uint8_t flags)
{
	struct nic_wc wc;

	if (emu_direct_poll(ends[1].recv_cq, &wc, 1) == 0)
		return false;
	ck_assert_uint_eq(wc.wr_id, 7);
	ck_assert_uint_eq(wc.status, NIC_WC_SUCCESS);
	ck_assert_uint_eq(wc.length, length);
	ck_assert_uint_eq(wc.flags, flags);
	if (flags & NIC_WR_IMM)
		ck_assert_uint_eq(wc.imm, IMM);
	ck_assert_mem_eq(target, source, length);
	ck_assert(length == MOST || target[length] == 0);
	return true;
}

static void has_arrived(uint32_t length)
{
	ck_assert_uint_eq(fabric()->events, 0);
	ck_assert(is_received(length, 0));
	ck_assert(send_is_complete(NIC_WC_SUCCESS));
}

static void goes_by_event(uint32_t length, uint8_t flags)
{
	ck_assert_uint_gt(fabric()->events, 0);
	ck_assert(!send_is_complete(NIC_WC_SUCCESS));
	ends_run_all();
	ck_assert(is_received(length, flags));
	ck_assert(send_is_complete(NIC_WC_SUCCESS));
}

/* ---- at once ---- */

static const struct {
	uint8_t flags, at_receiver, completions;
} flagged[] = {
	{ 0, 0, 1 },
	{ NIC_WR_SUPPRESS, 0, 0 },
	{ NIC_WR_SOLICITED, NIC_WR_SOLICITED, 1 },
	{ NIC_WR_FENCE, 0, 1 },
	{ NIC_WR_SUPPRESS | NIC_WR_SOLICITED, NIC_WR_SOLICITED, 0 },
};

START_TEST(a_Send_with_the_lock_is_there_when_its_post_returns)
{
	struct nic_sge sge = part_of_source(0, BYTES);
	const struct nic_send_wr wr = send_of(&sge, 1, BYTES, flagged[_i].flags);

	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	ck_assert_uint_eq(fabric()->events, 0);
	ck_assert(is_received(BYTES, flagged[_i].at_receiver));
	ck_assert_int_eq(send_is_complete(NIC_WC_SUCCESS), flagged[_i].completions);
}
END_TEST

static const uint32_t cuts[][SEGMENTS] = {
	{ 1, BYTES - 1, 0 },
	{ 0, BYTES, 0 },
	{ 0, 1, 1 },
	{ EMU_INLINE_BYTES - 2, 1, 1 },
	{ EMU_INLINE_BYTES - 1, 1, 1 },
	{ 1, 4096, 4096 },
	{ 1, 0, EMU_STAGE_BYTES - 1 },
};

/* Each segment follows the one before, so the payload is the beginning of the source. */
static uint32_t cut_source(const uint32_t lengths[SEGMENTS], struct nic_sge sge[SEGMENTS])
{
	uint32_t at = 0;

	for (int i = 0; i < SEGMENTS; i++) {
		sge[i] = part_of_source(at, lengths[i]);
		at += lengths[i];
	}
	return at;
}

START_TEST(segments_are_gathered_at_the_post)
{
	struct nic_sge sge[SEGMENTS];
	const struct nic_send_wr wr = send_of(sge, SEGMENTS, cut_source(cuts[_i], sge), 0);

	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	/* They are in the arena by now. */
	memset(source, 0, 1);
	ck_assert_uint_eq(fabric()->events, 0);
	source[0] = 1;
	has_arrived(wr.length);
}
END_TEST

START_TEST(a_gathered_Send_has_the_lines_of_one_by_event)
{
	static char direct[2000], general[2000];
	struct nic_sge sge[SEGMENTS];
	struct nic_send_wr wr = send_of(sge, SEGMENTS, cut_source(cuts[0], sge), 0);
	const char *text;
	size_t length, seen;

	for (int i = 0; i < 2; i++)
		emu_local_qp(ends[i].qp)->entry->noun = (_i ? NIC_NOUN_QP : NIC_NOUN_EP) & 3;
	ends_trace_on();
	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	has_arrived(BYTES);
	emu_local_qp(ends[1].qp)->entry->reaped++;
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(emu_trace_text(ends_worlds.world[0], &text, &seen), 0);
	ends_copy_lines(strstr(text, "post_send") - 20, LINES, direct, 0);
	emu_backend.leave(ends[0].world);
	receive_into_target();
	wr.wr_id = ++wr_id;
	post_with_lock(emu_post_send, &wr);
	goes_by_event(BYTES, 0);
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(emu_trace_text(ends_worlds.world[0], &text, &length), 0);
	ends_copy_lines(text + seen, LINES, general, 1);
	emu_backend.leave(ends[0].world);
	ck_assert_str_eq(direct, general);
}
END_TEST

/* ---- by an event ---- */

START_TEST(more_than_a_staging_buffer_takes_is_an_event)
{
	const uint32_t lengths[SEGMENTS] = { 1, EMU_STAGE_BYTES - 1, 1 };
	struct nic_sge sge[SEGMENTS];
	const struct nic_send_wr wr = send_of(sge, SEGMENTS, cut_source(lengths, sge), 0);

	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	goes_by_event(wr.length, 0);
}
END_TEST

/* It fails on the general path, which posts it again: here it has changed nothing. */
START_TEST(a_segment_of_another_key_fails_by_an_event)
{
	struct nic_sge sge[SEGMENTS];
	const struct nic_send_wr wr = send_of(sge, SEGMENTS, cut_source(cuts[0], sge), 0);
	const struct emu_qp *to = emu_local_qp(ends[1].qp)->entry;
	uint32_t get = to->rq.get;
	struct nic_wc wc;

	sge[_i].lkey++;
	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	ck_assert_uint_gt(fabric()->events, 0);
	ck_assert_uint_eq(emu_local_qp(ends[0].qp)->entry->sq.put, 1);
	ck_assert_uint_eq(to->rq.get, get);
	ends_run_all();
	ck_assert(send_is_complete(NIC_WC_LOCAL_PROTECTION));
	while (emu_direct_poll(ends[1].recv_cq, &wc, 1) == 1)
		ck_assert_uint_eq(wc.status, NIC_WC_FLUSHED);
	ck_assert_uint_eq(target[_i], 0);
}
END_TEST

START_TEST(more_segments_than_the_queue_has_room_for_are_refused)
{
	struct nic_sge sge[SEGMENTS + 1] = { part_of_source(0, BYTES) };
	const struct nic_send_wr wr = send_of(sge, SEGMENTS + 1, BYTES, 0);

	receive_into_target();
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(emu_direct_send(ends[0].qp, &wr), -EINVAL);
	emu_backend.leave(ends[0].world);
	ck_assert(!is_received(BYTES, 0));
}
END_TEST

START_TEST(an_empty_Send_is_an_event)
{
	const struct nic_send_wr wr = { .wr_id = wr_id, .opcode = NIC_OP_SEND };

	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	goes_by_event(0, 0);
}
END_TEST

/* Immediate data is in the completion, where a longer payload has its staging buffer. */
START_TEST(immediate_data_of_a_short_Send_is_there_when_its_post_returns)
{
	uint32_t length = EMU_INLINE_BYTES + (uint32_t)_i;
	struct nic_sge sge = part_of_source(0, length);
	const struct nic_send_wr wr = send_of(&sge, 1, length, NIC_WR_IMM);

	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	if (_i > 0) {
		goes_by_event(length, NIC_WR_IMM);
		return;
	}
	ck_assert_uint_eq(fabric()->events, 0);
	ck_assert(is_received(length, NIC_WR_IMM));
	ck_assert(send_is_complete(NIC_WC_SUCCESS));
}
END_TEST

START_TEST(a_traced_Send_with_immediate_data_is_an_event)
{
	struct nic_sge sge = part_of_source(0, BYTES);
	const struct nic_send_wr wr = send_of(&sge, 1, BYTES, NIC_WR_IMM);

	ends_trace_on();
	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	goes_by_event(BYTES, NIC_WR_IMM);
}
END_TEST

/* The key is looked at when the message arrives. */
START_TEST(a_Send_that_invalidates_a_key_is_an_event)
{
	struct nic_sge sge = part_of_source(0, BYTES);
	const struct nic_send_wr wr = send_of(&sge, 1, BYTES, NIC_WR_INVALIDATE);

	receive_into_target();
	post_with_lock(emu_direct_send, &wr);
	ck_assert_uint_gt(fabric()->events, 0);
	ck_assert(!is_received(BYTES, NIC_WR_INVALIDATE));
	ends_run_all();
}
END_TEST

/* There the order of events is chosen. */
START_TEST(a_Send_in_lockstep_is_an_event)
{
	struct nic_sge sge = part_of_source(0, BYTES);
	const struct nic_send_wr wr = send_of(&sge, 1, BYTES, 0);

	receive_into_target();
	ends_worlds.world[0]->lockstep = true;
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(emu_direct_send(ends[0].qp, &wr), 0);
	ends_worlds.world[0]->lockstep = false;
	emu_backend.leave(ends[0].world);
	goes_by_event(BYTES, 0);
}
END_TEST

/* The CQ has room for more completions than there are inline CQEs, none of which is taken. */
START_TEST(gathered_Sends_leave_inline_CQEs_in_use_alone)
{
	struct nic_sge sge[SEGMENTS];
	const struct nic_send_wr wr = send_of(sge, SEGMENTS, cut_source(cuts[0], sge), 0);

	for (uint32_t i = 0; i <= EMU_INLINE_CQES; i++) {
		ck_assert_uint_eq(fabric()->events, 0);
		receive_into_target();
		source[0] = (uint8_t)(i + 1);
		post_with_lock(emu_direct_send, &wr);
		if (i < EMU_INLINE_CQES)
			ck_assert(send_is_complete(NIC_WC_SUCCESS));
	}
	ck_assert_uint_gt(fabric()->events, 0);
	for (uint32_t i = 0; i < EMU_INLINE_CQES; i++) {
		source[0] = (uint8_t)(i + 1);
		ck_assert(is_received(BYTES, 0));
	}
	source[0] = (uint8_t)(EMU_INLINE_CQES + 1);
	goes_by_event(BYTES, 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("direct Sends"), *many = tcase_create("many completions");

	tcase_add_checked_fixture(tcase, send_setup, send_teardown);
	tcase_add_loop_test(tcase, a_Send_with_the_lock_is_there_when_its_post_returns, 0,
			    COUNT(flagged));
	tcase_add_loop_test(tcase, segments_are_gathered_at_the_post, 0, COUNT(cuts));
	tcase_add_loop_test(tcase, a_gathered_Send_has_the_lines_of_one_by_event, 0, 2);
	tcase_add_test(tcase, more_than_a_staging_buffer_takes_is_an_event);
	tcase_add_loop_test(tcase, a_segment_of_another_key_fails_by_an_event, 0, 2);
	tcase_add_test(tcase, more_segments_than_the_queue_has_room_for_are_refused);
	tcase_add_test(tcase, an_empty_Send_is_an_event);
	tcase_add_loop_test(tcase, immediate_data_of_a_short_Send_is_there_when_its_post_returns, 0,
			    2);
	tcase_add_test(tcase, a_traced_Send_with_immediate_data_is_an_event);
	tcase_add_test(tcase, a_Send_that_invalidates_a_key_is_an_event);
	tcase_add_test(tcase, a_Send_in_lockstep_is_an_event);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(many, send_setup_long_queue, send_teardown);
	tcase_add_test(many, gathered_Sends_leave_inline_CQEs_in_use_alone);
	suite_add_tcase(suite, many);
}

UNIT_SUITE("Sends at their post, with the lock")
