/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA Writes between processes that are executed at their post (emu/shared/direct_write.c), and
 * those that are not. One program is both processes.
 */
#include <errno.h>
#include <sys/mman.h>

#include "emu/fabric/clock.h"
#include "emu/fabric/queue.h"
#include "emu/fabric/trace.h"
#include "emu/qp.h"
#include "emu/wire/wire.h"
#include "tests/litmus/ends.h"

enum {
	BYTES = 64,
	MANY = 3 * 4096 + 1, /* four packets */
	LINES = 4,           /* of a Write: post, packet, ACK, completion */
};

static uint8_t source[MANY], target[MANY];
static struct nic_mr *from_mr, *to_mr;

static void write_setup(void)
{
	ends_setup();
	for (uint32_t i = 0; i < MANY; i++)
		source[i] = (uint8_t)(i % 251 + 1);
	memset(target, 0, sizeof(target));
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(ends[0].nic->ops->mr_reg(ends[0].pd, (uintptr_t)source, MANY,
						  NIC_ACCESS_LOCAL_READ, &from_mr),
			 0);
	emu_backend.leave(ends[0].world);
	emu_backend.enter(ends[1].world, false);
	ck_assert_int_eq(ends[1].nic->ops->mr_reg(ends[1].pd, (uintptr_t)target, MANY,
						  NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE |
							  NIC_ACCESS_REMOTE_WRITE,
						  &to_mr),
			 0);
	emu_backend.leave(ends[1].world);
}

static void write_teardown(void)
{
	emu_backend.enter(ends[0].world, false);
	ends[0].nic->ops->mr_dereg(from_mr);
	emu_backend.leave(ends[0].world);
	emu_backend.enter(ends[1].world, false);
	ends[1].nic->ops->mr_dereg(to_mr);
	emu_backend.leave(ends[1].world);
	ends_teardown();
}

/* ---- requests of ends[0] ---- */

static const struct emu_fabric *fabric(void)
{
	return ends_worlds.world[0]->fab;
}

static uint32_t posted; /* their wr_id, from 1 */

static struct nic_send_wr work_request(enum nic_opcode opcode, uint32_t length, uint8_t flags,
				       uint32_t rkey)
{
	static struct nic_sge sge[SEGMENTS + 1];

	sge[0] = sge[1] = (struct nic_sge){ (uintptr_t)source, length, from_mr->lkey };
	return (struct nic_send_wr){ .wr_id = ++posted,
				     .sge = sge,
				     .remote_addr = (uintptr_t)target,
				     .rkey = rkey,
				     .length = length,
				     .opcode = (uint8_t)opcode,
				     .flags = flags,
				     .num_sge = 1 };
}

static int post_request(const struct nic_send_wr *wr)
{
	int err;

	emu_backend.enter(ends[0].world, false);
	err = ends[0].nic->ops->post_send(ends[0].qp, wr);
	emu_backend.leave(ends[0].world);
	return err;
}

static void post(enum nic_opcode opcode, uint32_t length, uint8_t flags, uint32_t rkey)
{
	const struct nic_send_wr wr = work_request(opcode, length, flags, rkey);

	ck_assert_int_eq(post_request(&wr), 0);
}

static void write_bytes(uint32_t length)
{
	post(NIC_OP_WRITE, length, 0, to_mr->rkey);
}

static void receive(void)
{
	struct nic_sge sge = { (uintptr_t)ends[1].memory, sizeof(ends[1].memory),
			       ends[1].mr->lkey };
	const struct nic_recv_wr wr = { .sge = &sge, .num_sge = 1 };

	ck_assert_int_eq(emu_direct_recv(ends[1].qp, &wr), 0);
}

/* True: the next completion of the requests is there, and it is of the newest one. */
static bool is_complete(enum nic_opcode opcode, enum nic_wc_status status)
{
	struct nic_wc wc;

	if (emu_direct_poll(ends[0].send_cq, &wc, 1) == 0)
		return false;
	ck_assert_uint_eq(wc.wr_id, posted);
	ck_assert_uint_eq(wc.opcode, opcode);
	ck_assert_uint_eq(wc.status, status);
	return true;
}

static bool is_written(uint32_t length)
{
	return memcmp(target, source, length) == 0 && (length == MANY || target[length] == 0);
}

/* The Write that was posted last goes by an event: nothing is there before that runs. */
static void goes_by_event(uint32_t length)
{
	ck_assert_uint_gt(fabric()->events, 0);
	ck_assert_uint_eq(target[0], 0);
	ck_assert(!is_complete(NIC_OP_WRITE, NIC_WC_SUCCESS));
	ends_run_all();
	ck_assert(is_written(length));
	ck_assert(is_complete(NIC_OP_WRITE, NIC_WC_SUCCESS));
}

static void has_arrived(uint32_t length)
{
	ck_assert_uint_eq(fabric()->events, 0);
	ck_assert(is_written(length));
	ck_assert(is_complete(NIC_OP_WRITE, NIC_WC_SUCCESS));
	ck_assert(!is_complete(NIC_OP_WRITE, NIC_WC_SUCCESS));
}

START_TEST(a_Write_is_there_when_its_post_returns)
{
	for (int i = 0; i < 3 * DEPTH; i++) {
		memset(target, 0, sizeof(target));
		write_bytes(BYTES);
		has_arrived(BYTES);
	}
	write_bytes(MANY);
	has_arrived(MANY);
}
END_TEST

START_TEST(a_Write_whose_completion_is_suppressed_has_none)
{
	post(NIC_OP_WRITE, BYTES, NIC_WR_SUPPRESS, to_mr->rkey);
	ck_assert(is_written(BYTES));
	ck_assert(!is_complete(NIC_OP_WRITE, NIC_WC_SUCCESS));
}
END_TEST

START_TEST(a_Write_of_no_bytes_needs_no_key)
{
	post(NIC_OP_WRITE, 0, 0, 0);
	has_arrived(0);
}
END_TEST

/* ---- Writes that are not executed at once ---- */

START_TEST(a_Write_of_more_segments_than_the_queue_has_room_for_is_refused)
{
	struct nic_send_wr wr = work_request(NIC_OP_WRITE, 2 * BYTES, 0, to_mr->rkey);

	wr.num_sge = SEGMENTS + 1;
	ck_assert_int_eq(post_request(&wr), -EINVAL);
	ck_assert_uint_eq(target[0], 0);
}
END_TEST

/* Its payload goes through the target's inbox, and the target may find its memory gone. */
START_TEST(a_Write_to_memory_that_the_kernel_denies_is_an_event)
{
	ends_worlds.world[0]->membership->bounce = true;
	write_bytes(BYTES);
	ck_assert_uint_gt(fabric()->events, 0);
	ends_run_all();
	emu_backend.enter(ends[1].world, false);
	emu_backend.leave(ends[1].world);
	has_arrived(BYTES);
}
END_TEST

/* There the order of events is chosen. */
START_TEST(a_Write_in_lockstep_is_an_event)
{
	const struct nic_send_wr wr = work_request(NIC_OP_WRITE, BYTES, 0, to_mr->rkey);
	int err;

	emu_backend.enter(ends[0].world, false);
	ends_worlds.world[0]->lockstep = true;
	err = ends[0].nic->ops->post_send(ends[0].qp, &wr);
	ends_worlds.world[0]->lockstep = false;
	emu_backend.leave(ends[0].world);
	ck_assert_int_eq(err, 0);
	goes_by_event(BYTES);
}
END_TEST

START_TEST(a_Write_waits_for_the_Send_before_it)
{
	post(NIC_OP_SEND, BYTES, NIC_WR_SUPPRESS, 0);
	write_bytes(BYTES);
	ck_assert_uint_eq(target[0], 0);
	receive();
	goes_by_event(BYTES);
}
END_TEST

START_TEST(a_Write_notifies_an_armed_CQ)
{
	const struct emu_cq *cq = emu_local_cq(ends[0].send_cq)->entry;

	emu_backend.enter(ends[0].world, false);
	ends[0].nic->ops->cq_arm(ends[0].send_cq);
	emu_backend.leave(ends[0].world);
	ck_assert(cq->armed);
	write_bytes(BYTES);
	goes_by_event(BYTES);
	ck_assert(!cq->armed);
}
END_TEST

START_TEST(a_Write_finds_no_room_in_a_full_CQ)
{
	for (int i = 0; i < DEPTH; i++)
		write_bytes(BYTES);
	memset(target, 0, sizeof(target));
	post(NIC_OP_WRITE, BYTES, NIC_WR_SUPPRESS, to_mr->rkey);
	ck_assert_uint_eq(target[0], 0);
	ends_run_all();
	ck_assert(is_written(BYTES));
}
END_TEST

START_TEST(a_Write_with_immediate_data_takes_a_Receive)
{
	struct nic_wc wc;

	receive();
	post(NIC_OP_WRITE, BYTES, NIC_WR_IMM, to_mr->rkey);
	goes_by_event(BYTES);
	ck_assert_int_eq(emu_direct_poll(ends[1].recv_cq, &wc, 1), 1);
	ck_assert(wc.flags & NIC_WR_WRITTEN);
}
END_TEST

START_TEST(a_Write_of_packets_that_are_observed_goes_one_by_one)
{
	ends_trace_on();
	write_bytes(MANY);
	goes_by_event(MANY);
}
END_TEST

/* It has changed nothing that counts when the general path begins, and fails there. */
static void is_refused(const struct nic_send_wr *wr, enum nic_wc_status status)
{
	const struct emu_qp *from = emu_local_qp(ends[0].qp)->entry;
	const struct emu_qp *to = emu_local_qp(ends[1].qp)->entry;

	emu_backend.enter(ends[0].world, false);
	ck_assert(!emu_direct_write(ends[0].qp, wr));
	emu_backend.leave(ends[0].world);
	ck_assert_uint_eq(from->sq.put, 0);
	ck_assert_uint_eq(to->rx_next, 0);
	ck_assert(!is_complete(NIC_OP_WRITE, status));
	ck_assert_int_eq(post_request(wr), 0);
	ends_run_all();
	ck_assert(is_complete(NIC_OP_WRITE, status));
	ck_assert(!is_complete(NIC_OP_WRITE, status));
}

START_TEST(a_Write_to_a_region_for_local_access_is_refused)
{
	struct nic_send_wr wr = work_request(NIC_OP_WRITE, BYTES, 0, ends[1].mr->rkey);

	wr.remote_addr = (uintptr_t)ends[1].memory;
	is_refused(&wr, NIC_WC_REMOTE_ACCESS);
	ck_assert_uint_eq(ends[1].memory[0][0], 0);
}
END_TEST

START_TEST(a_Write_from_a_region_of_another_key_is_refused)
{
	struct nic_send_wr wr = work_request(NIC_OP_WRITE, BYTES, 0, to_mr->rkey);
	struct nic_sge sge = *wr.sge;

	sge.lkey++;
	wr.sge = &sge;
	is_refused(&wr, NIC_WC_LOCAL_PROTECTION);
	ck_assert_uint_eq(target[0], 0);
}
END_TEST

/* The key is good, and the copy fails. */
START_TEST(a_Write_to_memory_that_is_gone_is_refused)
{
	void *memory =
		mmap(NULL, EMU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nic_send_wr wr = work_request(NIC_OP_WRITE, BYTES, 0, 0);
	struct nic_mr *mr;

	emu_backend.enter(ends[1].world, false);
	ck_assert_int_eq(ends[1].nic->ops->mr_reg(ends[1].pd, (uintptr_t)memory, EMU_PAGE,
						  NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE,
						  &mr),
			 0);
	emu_backend.leave(ends[1].world);
	munmap(memory, EMU_PAGE);
	wr.remote_addr = (uintptr_t)memory;
	wr.rkey = mr->rkey;
	is_refused(&wr, NIC_WC_REMOTE_ACCESS);
	emu_backend.enter(ends[1].world, false);
	ends[1].nic->ops->mr_dereg(mr);
	emu_backend.leave(ends[1].world);
}
END_TEST

/* An attribute of verbs. */
START_TEST(a_Write_to_a_queue_pair_without_remote_access_is_refused)
{
	struct emu_qp *to = emu_local_qp(ends[1].qp)->entry;
	const struct nic_send_wr wr = work_request(NIC_OP_WRITE, BYTES, 0, to_mr->rkey);

	to->numbered = true;
	emu_backend.enter(ends[0].world, false);
	ck_assert(!emu_direct_write(ends[0].qp, &wr));
	ends_worlds.world[0]->fab->path[emu_qp_index(ends_worlds.world[0], to)].access =
		NIC_ACCESS_REMOTE_WRITE;
	ck_assert(emu_direct_write(ends[0].qp, &wr));
	emu_backend.leave(ends[0].world);
	to->numbered = false;
	ck_assert(is_written(BYTES));
}
END_TEST

START_TEST(a_Write_behind_the_end_of_the_region_is_refused)
{
	struct emu_mr *mr = &ends_worlds.world[1]->fab->mr[to_mr->rkey >> 8];

	ck_assert_uint_eq(mr->length, MANY);
	mr->length = BYTES - 1;
	write_bytes(BYTES);
	ends_run_all();
	ck_assert_uint_eq(target[0], 0);
	ck_assert(is_complete(NIC_OP_WRITE, NIC_WC_REMOTE_ACCESS));
}
END_TEST

/* ---- the trace ---- */

/* The lines since the last call. */
static const char *new_lines(size_t *seen)
{
	size_t from = *seen;
	const char *text;

	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(emu_trace_text(ends_worlds.world[0], &text, seen), 0);
	emu_backend.leave(ends[0].world);
	return text + from;
}

/* Requests of one packet, before this one, had so many packets more. */
static void has_psn(uint32_t message, uint32_t more)
{
	char packet[100];
	size_t seen = 0;

	snprintf(packet, sizeof(packet), "message=%u packet=0 bytes=64 psn=%u\n", message,
		 (emu_wire_first_psn(emu_local_qp(ends[0].qp)->entry) + message - 1 + more) &
			 EMU_PSN_MASK);
	ck_assert_ptr_nonnull(strstr(new_lines(&seen), packet));
}

static void set_observed(int change)
{
	emu_backend.enter(ends[0].world, false);
	emu_observe(ends_worlds.world[0], change);
	emu_backend.leave(ends[0].world);
}

START_TEST(a_traced_Write_has_the_time_of_its_post)
{
	struct emu_world *world = ends_worlds.world[0];
	uint64_t before;

	ends_trace_on();
	for (int i = 0; i < 2; i++) {
		before = emu_clock_real(world);
		write_bytes(BYTES);
		ck_assert_uint_ge(fabric()->now, before);
	}
}
END_TEST

START_TEST(a_Write_at_once_has_the_lines_of_one_by_event)
{
	static char direct[2000], general[2000];
	size_t seen = 0;

	for (int i = 0; i < 2; i++)
		emu_local_qp(ends[i].qp)->entry->noun = (_i ? NIC_NOUN_QP : NIC_NOUN_EP) & 3;
	write_bytes(MANY); /* its packets count in the numbers of the next ones */
	has_arrived(MANY);
	ends_trace_on();
	new_lines(&seen);
	memset(target, 0, sizeof(target));
	write_bytes(BYTES);
	has_arrived(BYTES);
	ends_copy_lines(new_lines(&seen), LINES, direct, 0);
	memset(target, 0, sizeof(target));
	set_observed(1);
	write_bytes(BYTES);
	goes_by_event(BYTES);
	set_observed(-1);
	ends_copy_lines(new_lines(&seen), LINES, general, 1);
	ck_assert_str_eq(direct, general);
	has_psn(2, 3);
}
END_TEST

/* Without a trace it is delivered at its post, and has never been on the wire. */
START_TEST(the_packets_of_a_long_Send_at_once_count)
{
	struct nic_sge sge = { (uintptr_t)target, MANY, to_mr->lkey };
	const struct nic_recv_wr receive_wr = { .sge = &sge, .num_sge = 1 };
	const struct nic_send_wr wr = work_request(NIC_OP_SEND, MANY, NIC_WR_SUPPRESS, 0);
	const struct emu_qp *from = emu_local_qp(ends[0].qp)->entry;
	struct emu_swqe *entry;

	/* The place on the send queue had a bind, which is no packet. */
	entry = emu_wqe(ends_worlds.world[0], &from->sq, from->sq.put);
	entry->opcode = NIC_OP_BIND;
	ck_assert_int_eq(emu_direct_recv(ends[1].qp, &receive_wr), 0);
	ck_assert_int_eq(emu_direct_send(ends[0].qp, &wr), 0);
	ends_trace_on();
	write_bytes(BYTES);
	has_psn(2, 3);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("direct Writes");

	tcase_add_checked_fixture(tcase, write_setup, write_teardown);
	tcase_add_test(tcase, a_Write_is_there_when_its_post_returns);
	tcase_add_test(tcase, a_Write_whose_completion_is_suppressed_has_none);
	tcase_add_test(tcase, a_Write_of_no_bytes_needs_no_key);
	tcase_add_test(tcase, a_Write_to_memory_that_the_kernel_denies_is_an_event);
	tcase_add_test(tcase, a_Write_of_more_segments_than_the_queue_has_room_for_is_refused);
	tcase_add_test(tcase, a_Write_in_lockstep_is_an_event);
	tcase_add_test(tcase, a_Write_waits_for_the_Send_before_it);
	tcase_add_test(tcase, a_Write_notifies_an_armed_CQ);
	tcase_add_test(tcase, a_Write_finds_no_room_in_a_full_CQ);
	tcase_add_test(tcase, a_Write_with_immediate_data_takes_a_Receive);
	tcase_add_test(tcase, a_Write_of_packets_that_are_observed_goes_one_by_one);
	tcase_add_test(tcase, a_Write_to_a_region_for_local_access_is_refused);
	tcase_add_test(tcase, a_Write_from_a_region_of_another_key_is_refused);
	tcase_add_test(tcase, a_Write_to_memory_that_is_gone_is_refused);
	tcase_add_test(tcase, a_Write_to_a_queue_pair_without_remote_access_is_refused);
	tcase_add_test(tcase, a_Write_behind_the_end_of_the_region_is_refused);
	tcase_add_test(tcase, a_traced_Write_has_the_time_of_its_post);
	tcase_add_test(tcase, the_packets_of_a_long_Send_at_once_count);
	tcase_add_loop_test(tcase, a_Write_at_once_has_the_lines_of_one_by_event, 0, 2);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("RDMA Writes at their post")
