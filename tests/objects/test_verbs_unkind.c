/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile NIC (DATSIM_HOSTILE) seen by verbs: the payload of messages in the memory of the
 * receiver, and buffers that are watched while several requests own them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/support.h"
#include "tests/verbs/verbs_pair.h"

#define ROUNDS 20
#define LONG   9000 /* several packets */

static struct verbs_end a, b;
static char file[64];

static void begin(const char *ways, enum ibv_qp_type type)
{
	snprintf(file, sizeof(file), "verbs_unkind.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	setenv("DATSIM_HOSTILE", ways, 1);
	verbs_begin_of(&a, &b, type);
}

static void end(void)
{
	verbs_end_all(&a, &b);
	unlink(file);
	unsetenv("DATSIM_HOSTILE");
	unsetenv("DATSIM_TRACE");
}

/* The same, and the changes that were found: what the trace has of each behind its time. */
static void end_with(const char *expected)
{
	char line[1024], found[4096] = "";
	FILE *trace;

	verbs_end_all(&a, &b);
	trace = fopen(file, "r");
	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace))
		if (strstr(line, " violation "))
			strncat(found, strchr(line, ' ') + 1, sizeof(found) - strlen(found) - 1);
	fclose(trace);
	unlink(file);
	unsetenv("DATSIM_HOSTILE");
	unsetenv("DATSIM_TRACE");
	ck_assert_str_eq(found, expected);
}

static void send_at(struct verbs_end *from, const struct verbs_end *to, uint64_t id,
		    uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)from->buffer + offset, length, from->mr->lkey };
	struct ibv_send_wr wr = verbs_wr(to, IBV_WR_SEND, &sge), *bad;

	wr.wr_id = id;
	ck_assert_int_eq(ibv_post_send(from->qp, &wr, &bad), 0);
}

static void expect_good(struct verbs_end *end, uint64_t id)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_uint_eq(wc.wr_id, id);
}

/* ---- placement ---- */

/* How the bytes of a message of `value` are there. */
struct view {
	bool any, whole, gap; /* a byte that is there behind one that is not */
};

static struct view look(const char *bytes, uint32_t length, char value)
{
	struct view view = { .whole = true };

	for (uint32_t i = 0; i < length; i++) {
		if (bytes[i] != value) {
			view.whole = false;
			continue;
		}
		view.any = true;
		view.gap |= !view.whole;
	}
	return view;
}

/* Watch a message from a to b until it completes at `at`. Returns whether it came with a gap. */
static bool comes_with_gap(struct verbs_end *at, const char *bytes, uint32_t length, char value)
{
	bool gap = false;
	struct ibv_wc wc;
	int n;

	do {
		gap |= look(bytes, length, value).gap;
		n = ibv_poll_cq(at->cq, 1, &wc);
		ck_assert_int_ge(n, 0);
	} while (n == 0);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert(look(bytes, length, value).whole);
	return gap;
}

static void write_in_rounds(const char *ways, uint32_t length)
{
	int gaps = 0;

	begin(ways, IBV_QPT_UC);
	for (char i = 1; i <= ROUNDS; i++) {
		memset(a.buffer, i, length);
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, length, 0), 0);
		gaps += comes_with_gap(&a, b.buffer, length, i);
	}
	ck_assert_int_gt(gaps, ROUNDS / 2);
	end();
}

START_TEST(a_UC_write_is_there_in_parts_before_it_completes)
{
	write_in_rounds("placement=random", 1024);
	write_in_rounds("placement=random", LONG);
	write_in_rounds("placement=tail", 1024);
	write_in_rounds("placement=tail", LONG);
}
END_TEST

START_TEST(a_UC_message_is_there_in_parts_before_it_completes)
{
	int gaps = 0;

	begin("placement=random", IBV_QPT_UC);
	for (char i = 1; i <= ROUNDS; i++) {
		memset(a.buffer, i, LONG);
		ck_assert_int_eq(verbs_recv(&b, 7, 0, LONG), 0);
		send_at(&a, &b, 1, 0, LONG);
		gaps += comes_with_gap(&b, b.buffer, LONG, i);
		expect_good(&a, 1);
	}
	ck_assert_int_gt(gaps, ROUNDS / 2);
	end();
}
END_TEST

static void begin_with_faults(const char *ways, const char *faults)
{
	setenv("DATSIM_FAULTS", faults, 1);
	begin(ways, IBV_QPT_UC);
	unsetenv("DATSIM_FAULTS");
}

/*
 * Several on the wire take their Receives in order, and all complete; also where a rule has each
 * packet come by itself.
 */
START_TEST(UC_messages_stay_in_order)
{
	static const char *const faults[] = { "", "packets=SEND nth=1000 verdict=drop" };

	begin_with_faults("placement=random", faults[_i]);
	memset(a.buffer, 'x', LONG);
	memset(a.buffer + LONG, 'y', LONG);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(verbs_recv(&b, 10 + i, i * LONG, LONG), 0);
		send_at(&a, &b, i, i % 2 * LONG, i < 2 ? LONG : 8);
	}
	for (uint32_t i = 0; i < 4; i++) {
		expect_good(&b, 10 + i);
		expect_good(&a, i);
		ck_assert(look(b.buffer + i * LONG, i < 2 ? LONG : 8, "xy"[i % 2]).whole);
	}
	end();
}
END_TEST

/* A message that a rule delays comes while the one behind it lands. */
START_TEST(a_UC_message_that_is_late_does_not_hold_up_the_next_one)
{
	begin_with_faults("placement=tail", "packets=SEND nth=1 verdict=delay delay_ns=2000");
	for (uint64_t id = 0; id < 2; id++) {
		ck_assert_int_eq(verbs_recv(&b, 10 + id, 0, 64), 0);
		send_at(&a, &b, id, 0, 64);
	}
	for (uint64_t id = 0; id < 2; id++) {
		expect_good(&b, 10 + id);
		expect_good(&a, id);
	}
	end();
}
END_TEST

/* What has no Receive, or one that is too short, leaves memory and the next message alone. */
START_TEST(a_UC_message_that_is_dropped_is_not_waited_for)
{
	begin("placement=random", IBV_QPT_UC);
	memset(a.buffer, 'x', LONG);
	send_at(&a, &b, 1, 0, LONG);
	expect_good(&a, 1);
	ck_assert(!look(b.buffer, LONG, 'x').any);
	ck_assert_int_eq(verbs_recv(&b, 7, 0, 8), 0);
	send_at(&a, &b, 2, 0, LONG);
	send_at(&a, &b, 3, 0, 8);
	expect_good(&a, 2);
	expect_good(&a, 3);
	expect_good(&b, 7);
	ck_assert(!look(b.buffer + 8, LONG, 'x').any);
	end();
}
END_TEST

/*
 * Two pairs, whose messages land at the same time. The error of one has the packets of all QPs come
 * one by one, while the other's next message has come and waits for the landing.
 */
START_TEST(a_message_that_waits_comes_whole_when_another_QP_fails)
{
	static struct verbs_end c, d;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;

	begin("placement=tail", IBV_QPT_RC);
	verbs_begin(&c, &d);
	sge = (struct ibv_sge){ (uintptr_t)d.buffer, 64, d.mr->lkey };
	wr = verbs_wr(&c, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey = 0;
	ck_assert_int_eq(verbs_send(&d, &c, IBV_WR_RDMA_WRITE, LONG, 0), 0);
	ck_assert_int_eq(ibv_post_send(d.qp, &wr, &bad), 0);
	ck_assert_int_eq(verbs_recv(&b, 7, 0, LONG), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, LONG, 0), 0);
	send_at(&a, &b, 2, 0, LONG);
	expect_good(&a, 1);
	expect_good(&b, 7);
	expect_good(&a, 2);
	expect_good(&d, 1);
	ck_assert(verbs_poll(&d, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_REM_ACCESS_ERR);
	verbs_end_all(&c, &d);
	end();
}
END_TEST

/* ---- buffers that several requests own ---- */

START_TEST(a_buffer_may_be_posted_twice)
{
	begin("watch=posted", IBV_QPT_RC);
	for (uint64_t id = 1; id <= 2; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 0, 64), 0);
	memset(a.buffer, 'x', 64);
	send_at(&a, &b, 11, 0, 64);
	send_at(&a, &b, 12, 0, 64);
	for (uint64_t id = 1; id <= 2; id++) {
		expect_good(&b, id);
		expect_good(&a, 10 + id);
	}
	end_with("");
}
END_TEST

START_TEST(buffers_may_overlap)
{
	begin("watch=posted,poison=on", IBV_QPT_RC);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&b, 2, 32, 64), 0);
	memset(a.buffer, 'x', 128);
	send_at(&a, &b, 11, 0, 64);
	send_at(&a, &b, 12, 16, 64);
	for (uint64_t id = 1; id <= 2; id++) {
		expect_good(&b, id);
		expect_good(&a, 10 + id);
	}
	ck_assert(look(b.buffer, 96, 'x').whole);
	end_with("");
}
END_TEST

/* The message changes what the other end is sending: that was the NIC. */
START_TEST(a_buffer_may_be_sent_while_a_message_comes_into_it)
{
	begin("watch=posted", IBV_QPT_RC);
	memset(a.buffer, 'x', 64);
	memset(b.buffer, 'y', 64);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&a, 2, 512, 64), 0);
	send_at(&a, &b, 11, 0, 64);
	send_at(&b, &a, 12, 0, 64);
	/* In which order the two ends complete is not the matter here. */
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc;

		ck_assert(verbs_poll(&a, &wc) && wc.status == IBV_WC_SUCCESS);
		ck_assert(verbs_poll(&b, &wc) && wc.status == IBV_WC_SUCCESS);
	}
	end_with("");
}
END_TEST

START_TEST(a_change_is_told_of_each_owner_by_its_own_offset)
{
	begin("watch=posted", IBV_QPT_RC);
	memset(b.buffer, 0, 96);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	ck_assert_int_eq(verbs_recv(&b, 2, 32, 64), 0);
	b.buffer[40] = 5;
	send_at(&a, &b, 11, 0, 8);
	send_at(&a, &b, 12, 0, 8);
	for (uint64_t id = 1; id <= 2; id++) {
		expect_good(&b, id);
		expect_good(&a, 10 + id);
	}
	end_with("emu1.qp1 violation rule=watch work=RECV wr_id=1 segment=0 offset=40 was=0 is=5\n"
		 "emu1.qp1 violation rule=watch work=RECV wr_id=2 segment=0 offset=8 was=0 is=5\n");
}
END_TEST

START_TEST(a_change_is_told_of_its_owner_alone)
{
	begin("watch=posted", IBV_QPT_RC);
	memset(a.buffer, 0, 96);
	for (uint64_t id = 1; id <= 3; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 0, 64), 0);
	send_at(&a, &b, 11, 0, 64);
	send_at(&a, &b, 12, 32, 64);
	send_at(&a, &b, 13, 32, 64);
	a.buffer[70] = 5;
	for (uint64_t id = 1; id <= 3; id++) {
		expect_good(&b, id);
		expect_good(&a, 10 + id);
	}
	end_with("emu0.qp1 violation rule=watch work=SEND wr_id=12 message=2 segment=0 offset=38 "
		 "was=0 is=5\n"
		 "emu0.qp1 violation rule=watch work=SEND wr_id=13 message=3 segment=0 offset=38 "
		 "was=0 is=5\n");
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_UC_write_is_there_in_parts_before_it_completes, 1, NULL);
	unit_add(suite, a_UC_message_is_there_in_parts_before_it_completes, 1, NULL);
	unit_add(suite, UC_messages_stay_in_order, 2, NULL);
	unit_add(suite, a_UC_message_that_is_late_does_not_hold_up_the_next_one, 1, NULL);
	unit_add(suite, a_UC_message_that_is_dropped_is_not_waited_for, 1, NULL);
	unit_add(suite, a_message_that_waits_comes_whole_when_another_QP_fails, 1, NULL);
	unit_add(suite, a_buffer_may_be_posted_twice, 1, NULL);
	unit_add(suite, buffers_may_overlap, 1, NULL);
	unit_add(suite, a_buffer_may_be_sent_while_a_message_comes_into_it, 1, NULL);
	unit_add(suite, a_change_is_told_of_each_owner_by_its_own_offset, 1, NULL);
	unit_add(suite, a_change_is_told_of_its_owner_alone, 1, NULL);
}

UNIT_SUITE("verbs_unkind")
