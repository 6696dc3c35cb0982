/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim show --pcapng on a trace that the test makes: an independent reader reads the file and
 * finds the packets of the wire, with their lengths, numbers and marks.
 */
#include "tests/support/support.h"
#include "tests/unit/capture/capture_file.h"
#include "tools/datsim/show/capture/roce.h"

struct seen {
	uint32_t interface;
	uint32_t opcode, qpn, psn;
	size_t payload; /* including the headers behind the BTH */
	uint8_t aeth;   /* the first byte behind the BTH */
	uint32_t msn;   /* and the next three */
	uint16_t attribute;
	bool checks;
	const char *comment;
};

static struct seen seen_packets[COUNT(file.frames)];

static void read_frame(struct seen *seen, const struct frame *frame)
{
	const uint8_t *bth = frame->bytes + 42;

	ck_assert_uint_ge(frame->length, 42 + 12 + 4);
	ck_assert_uint_eq(get_net(frame->bytes + 36, 2), 4791);
	seen->interface = frame->interface;
	seen->comment = frame->comment;
	seen->opcode = bth[0];
	seen->qpn = get_net(bth + 5, 3);
	seen->psn = get_net(bth + 9, 3);
	seen->payload = frame->length - 42 - 12 - 4 - (bth[1] >> 4 & 3);
	seen->aeth = bth[12];
	seen->msn = get_net(bth + 13, 3);
	seen->attribute = (uint16_t)get_net(bth + 12 + 8 + 16, 2);
	seen->checks = get(frame->bytes + frame->length - 4, 4) ==
		       roce_icrc(frame->bytes + 14, frame->length - 14 - 4);
}

static void capture(void)
{
	size_t i;

	read_capture();
	for (i = 0; i < file.count; i++)
		read_frame(&seen_packets[i], &file.frames[i]);
}

/* ---- contents ---- */

static struct seen *find(size_t *from, uint32_t opcode)
{
	for (; *from < file.count; ++*from)
		if (seen_packets[*from].opcode == opcode)
			return &seen_packets[(*from)++];
	ck_abort_msg("no packet of opcode 0x%02x", opcode);
	return NULL;
}

/* The next packet of that opcode has to have this payload and this PSN. */
static struct seen *expect(size_t *from, uint32_t opcode, size_t bytes, uint32_t psn)
{
	struct seen *seen = find(from, opcode);

	ck_assert_msg(seen->payload == bytes, "opcode 0x%02x: %zu bytes", opcode, seen->payload);
	ck_assert_msg(seen->psn == (psn & 0xffffff), "opcode 0x%02x: PSN %u, not %u", opcode,
		      seen->psn, psn & 0xffffff);
	ck_assert(seen->checks);
	return seen;
}

/* The next answer: of this kind, after so many messages that arrived. */
static void expect_answer(size_t *from, uint32_t syndrome, uint32_t messages)
{
	const struct seen *answer = find(from, ROCE_ACK);

	ck_assert_uint_eq(answer->aeth, syndrome);
	ck_assert_uint_eq(answer->msn, messages);
}

static void finish(void)
{
	run_quiet();
	drain(w.a.request);
	drain(w.b.recv);
}

START_TEST(messages_have_their_opcodes_lengths_and_numbers)
{
	uint32_t psn;
	size_t at = 0;

	traced();
	rdma_pair(4, 4);
	post_recv(&w.b, w.b.ep, 0);
	post_recv(&w.b, w.b.ep, 1);
	post_send(&w.a, w.a.ep, 0, LONG - 3);
	post_send(&w.a, w.a.ep, 1, SHORT);
	post_write(&w.a, w.a.ep, 2, remote(&w.b, 2, LONG));
	post_write(&w.a, w.a.ep, 3, remote(&w.b, 3, 1));
	post_read(&w.a, w.a.ep, 4, remote(&w.b, 4, LONG));
	post_read(&w.a, w.a.ep, 5, remote(&w.b, 5, SHORT));
	finish();
	capture();

	ck_assert_uint_eq(file.interfaces, 2);
	psn = find(&at, ROCE_SEND_FIRST)->psn;
	expect(&at, ROCE_SEND_MIDDLE, MTU, psn + 1);
	expect(&at, ROCE_SEND_MIDDLE, MTU, psn + 2);
	expect(&at, ROCE_SEND_LAST, MTU - 3, psn + 3);
	expect(&at, ROCE_SEND_ONLY, SHORT, psn + 4);
	expect(&at, ROCE_WRITE_FIRST, 16 + MTU, psn + 5);
	expect(&at, ROCE_WRITE_LAST, MTU, psn + 8);
	expect(&at, ROCE_WRITE_ONLY, 16 + 1, psn + 9);
	expect(&at, ROCE_READ_REQUEST, 16, psn + 10);
	expect(&at, ROCE_READ_REQUEST, 16, psn + 14);
	expect(&at, ROCE_READ_RESPONSE_FIRST, 4 + MTU, psn + 10);
	expect(&at, ROCE_READ_RESPONSE_MIDDLE, MTU, psn + 11);
	expect(&at, ROCE_READ_RESPONSE_LAST, 4 + MTU, psn + 13);
	expect(&at, ROCE_READ_RESPONSE_ONLY, 4 + SHORT, psn + 14);
	at = 0;
	ck_assert_uint_eq(expect(&at, ROCE_ACK, 4, psn + 3)->aeth, ROCE_SYNDROME_ACK);
}
END_TEST

START_TEST(both_ends_are_numbered_as_their_connection_says)
{
	struct seen *request, *reply, *send;
	size_t at = 0;

	traced();
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	finish();
	disconnect_pair();
	capture();

	request = expect(&at, ROCE_UD_SEND_ONLY, 8 + ROCE_MAD, 0);
	ck_assert_uint_eq(request->attribute, CM_REQ);
	ck_assert_uint_eq(request->qpn, 1);
	reply = expect(&at, ROCE_UD_SEND_ONLY, 8 + ROCE_MAD, 0);
	ck_assert_uint_eq(reply->attribute, CM_REP);
	ck_assert_uint_ne(reply->interface, request->interface);
	ck_assert_uint_eq(expect(&at, ROCE_UD_SEND_ONLY, 8 + ROCE_MAD, 0)->attribute, CM_RTU);
	send = find(&at, ROCE_SEND_ONLY);
	ck_assert_uint_ge(send->qpn, 0x100);
	ck_assert_uint_eq(send->interface, request->interface);
	ck_assert(strstr(send->comment, "op=SEND_ONLY message=1"));
	ck_assert_uint_eq(find(&at, ROCE_UD_SEND_ONLY)->attribute, CM_DREQ);
}
END_TEST

static const struct {
	DAT_SIM_VERDICT verdict;
	const char *words;
	bool checks; /* false: its check sum is wrong */
	int times;   /* occurrences in the file */
} marks[] = {
	{ DAT_SIM_DROP, "dropped by fault 1", true, 2 },
	{ DAT_SIM_CORRUPT, "corrupted by fault 1", false, 2 },
	{ DAT_SIM_DELAY, "delayed by fault 1", true, 1 },
	{ DAT_SIM_DUPLICATE, "duplicated by fault 1", true, 2 },
};

START_TEST(packets_that_a_fault_hit_are_there_and_marked)
{
	DAT_SIM_FAULT rule = { .packets = DAT_SIM_PACKET_SEND,
			       .nth = 1,
			       .delay_ns = 100,
			       .verdict = marks[_i].verdict };
	DAT_COUNT id;
	struct seen *seen;
	size_t at = 0, i;
	uint32_t psn;
	int times = 0;

	traced();
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	must(dat_sim_fault_add(w.sim, &rule, &id));
	post_send(&w.a, w.a.ep, 0, SHORT);
	finish();
	capture();

	seen = find(&at, ROCE_SEND_ONLY);
	psn = seen->psn;
	ck_assert_msg(strstr(seen->comment, marks[_i].words), "%s", seen->comment);
	ck_assert_uint_eq(seen->checks, marks[_i].checks);
	for (i = 0; i < file.count; i++)
		if (seen_packets[i].opcode == ROCE_SEND_ONLY) {
			ck_assert_uint_eq(seen_packets[i].psn, psn);
			ck_assert_uint_eq(seen_packets[i].payload, SHORT);
			ck_assert_uint_eq(seen_packets[i].qpn, seen->qpn);
			ck_assert(i < at || !strstr(seen_packets[i].comment, "fault"));
			times++;
		}
	ck_assert_int_eq(times, marks[_i].times);
}
END_TEST

START_TEST(refusals_have_their_syndromes)
{
	DAT_RMR_TRIPLET wrong;
	size_t at = 0;

	traced();
	rdma_pair(4, 4);
	post_send(&w.a, w.a.ep, 0, SHORT);
	advance_us(3);
	post_recv(&w.b, w.b.ep, 0);
	finish();
	wrong = remote(&w.b, 1, SHORT);
	wrong.rmr_context ^= 0x55;
	post_write(&w.a, w.a.ep, 1, wrong);
	finish();
	capture();
	drain(w.a.connect);
	drain(w.b.connect);

	/* the seventh timer value: 100 us are rounded up to 120 */
	expect_answer(&at, ROCE_SYNDROME_RNR | 7, 0);
	expect_answer(&at, ROCE_SYNDROME_ACK, 1);
	expect_answer(&at, ROCE_SYNDROME_NAK | 2, 1);
}
END_TEST

static const struct {
	DAT_SIM_NAK_CODE code;
	uint8_t syndrome;
} naks[] = {
	{ DAT_SIM_NAK_SEQUENCE, ROCE_SYNDROME_NAK },
	{ DAT_SIM_NAK_REMOTE_ACCESS, ROCE_SYNDROME_NAK | 2 },
	{ DAT_SIM_NAK_REMOTE_OPERATION, ROCE_SYNDROME_NAK | 3 },
	{ DAT_SIM_NAK_RESERVED, ROCE_SYNDROME_NAK | 31 },
};

/* The second message is refused, so the number of messages that have arrived stays 1. */
START_TEST(a_NAK_counts_the_messages_before_it)
{
	DAT_SIM_FAULT rule = { .packets = DAT_SIM_PACKET_SEND,
			       .nth = 2,
			       .verdict = DAT_SIM_NAK,
			       .nak = naks[_i].code };
	size_t at = 0, nak;
	DAT_COUNT id;
	uint32_t psn;

	traced();
	plain_pair();
	must(dat_sim_fault_add(w.sim, &rule, &id));
	for (int n = 0; n < 2; n++) {
		post_recv(&w.b, w.b.ep, n);
		post_send(&w.a, w.a.ep, n, n ? LONG : SHORT);
		advance_us(20);
	}
	finish();
	capture();
	drain(w.a.connect);
	drain(w.b.connect);

	psn = find(&at, ROCE_SEND_ONLY)->psn;
	expect_answer(&at, ROCE_SYNDROME_ACK, 1);
	nak = at;
	expect_answer(&at, naks[_i].syndrome, 1);
	expect(&nak, ROCE_ACK, 4, psn + 1);
	if (naks[_i].code == DAT_SIM_NAK_SEQUENCE)
		expect_answer(&at, ROCE_SYNDROME_ACK, 2);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, messages_have_their_opcodes_lengths_and_numbers);
	unit_test(suite, both_ends_are_numbered_as_their_connection_says);
	unit_test_loop(suite, packets_that_a_fault_hit_are_there_and_marked, COUNT(marks));
	unit_test(suite, refusals_have_their_syndromes);
	unit_test_loop(suite, a_NAK_counts_the_messages_before_it, COUNT(naks));
}

UNIT_SUITE("capture")
