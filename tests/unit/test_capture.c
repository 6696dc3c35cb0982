/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim show --pcapng on a trace that is made here: the file is read by a reader of its own, and its
 * packets are those of the wire, with the lengths, numbers and marks that they had.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/support.h"
#include "tools/datsim/pcapng.h"
#include "tools/datsim/roce.h"

#define PACKETS 128

struct seen {
	uint32_t interface;
	uint64_t ns;
	uint32_t opcode, qpn, psn;
	size_t payload; /* with the headers behind the BTH */
	uint8_t aeth;   /* the first byte behind the BTH */
	uint16_t attribute;
	bool checks;
	char comment[512];
};

static struct {
	struct seen packets[PACKETS];
	size_t count;
	uint32_t interfaces;
} file;

/* ---- a reader of pcapng, for little-endian files ---- */

static uint32_t get(const uint8_t *at, int bytes)
{
	uint32_t n = 0;

	while (bytes-- > 0)
		n = n << 8 | at[bytes];
	return n;
}

static uint32_t get_net(const uint8_t *at, int bytes)
{
	uint32_t n = 0;

	while (bytes-- > 0)
		n = n << 8 | *at++;
	return n;
}

/* The option's value; NULL: it is not there. All of them have to end where the block does. */
static const uint8_t *option(const uint8_t *at, const uint8_t *end, uint32_t code, uint32_t *length)
{
	const uint8_t *found = NULL;

	while (at < end) {
		uint32_t this_code = get(at, 2), n = get(at + 2, 2);

		if (this_code == code) {
			found = at + 4;
			*length = n;
		}
		at += 4 + (n + 3) / 4 * 4;
		if (this_code == 0)
			break;
	}
	ck_assert(at == end);
	return found;
}

static void read_frame(struct seen *seen, const uint8_t *frame, size_t length)
{
	const uint8_t *bth = frame + 42;

	ck_assert_uint_ge(length, 42 + 12 + 4);
	ck_assert_uint_eq(get_net(frame + 12, 2), 0x0800);
	ck_assert_uint_eq(get_net(frame + 16, 2), length - 14);
	ck_assert_uint_eq(get_net(frame + 36, 2), 4791);
	seen->opcode = bth[0];
	seen->qpn = get_net(bth + 5, 3);
	seen->psn = get_net(bth + 9, 3);
	seen->payload = length - 42 - 12 - 4 - (bth[1] >> 4 & 3);
	seen->aeth = bth[12];
	seen->attribute = (uint16_t)get_net(bth + 12 + 8 + 16, 2);
	seen->checks = get(frame + length - 4, 4) == roce_icrc(frame + 14, length - 14 - 4);
}

static void read_packet(const uint8_t *at, const uint8_t *end)
{
	struct seen *seen = &file.packets[file.count++];
	uint32_t length = get(at + 12, 4), n = 0;
	const uint8_t *comment;

	ck_assert_uint_le(file.count, PACKETS);
	seen->interface = get(at, 4);
	ck_assert_uint_lt(seen->interface, file.interfaces);
	seen->ns = (uint64_t)get(at + 4, 4) << 32 | get(at + 8, 4);
	ck_assert_uint_eq(length, get(at + 16, 4));
	read_frame(seen, at + 20, length);
	comment = option(at + 20 + (length + 3) / 4 * 4, end, 1, &n);
	ck_assert(comment && n < sizeof(seen->comment));
	memcpy(seen->comment, comment, n);
	seen->comment[n] = '\0';
}

static void read_blocks(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *value;
	uint32_t n = 0;

	ck_assert_uint_eq(get(at, 4), 0x0a0d0d0a);
	ck_assert_uint_eq(get(at + 8, 4), 0x1a2b3c4d);
	while (at < end) {
		uint32_t type = get(at, 4), length = get(at + 4, 4);
		const uint8_t *last = at + length - 4;

		ck_assert(length % 4 == 0 && last < end);
		ck_assert_uint_eq(get(last, 4), length);
		if (type == 1) {
			value = option(at + 16, last, 9, &n); /* nanoseconds */
			ck_assert(value && n == 1 && *value == 9);
			ck_assert_uint_eq(get(at + 8, 2), 1);
			file.interfaces++;
		} else if (type == 6) {
			read_packet(at + 8, last);
		}
		at += length;
	}
	ck_assert(at == end);
}

/* Writes what the trace has so far as a capture, and reads it back. */
static void capture(void)
{
	static uint8_t bytes[1 << 20];
	char path[] = "/tmp/captureXXXXXX";
	struct text error = { 0 };
	const char *text;
	size_t length;
	FILE *in;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_msg(capture_write(path, "trace", text, length, &error), "%s", text_of(&error));
	text_free(&error);
	in = fopen(path, "r");
	unlink(path);
	ck_assert(in != NULL);
	length = fread(bytes, 1, sizeof(bytes), in);
	ck_assert(feof(in));
	fclose(in);
	memset(&file, 0, sizeof(file));
	read_blocks(bytes, bytes + length);
}

/* ---- what is in it ---- */

static struct seen *find(size_t *from, uint32_t opcode)
{
	for (; *from < file.count; ++*from)
		if (file.packets[*from].opcode == opcode)
			return &file.packets[(*from)++];
	ck_abort_msg("no packet of opcode 0x%02x", opcode);
	return NULL;
}

/* The next of that opcode: so many bytes behind the BTH, so many numbers behind the one before. */
static struct seen *expect(size_t *from, uint32_t opcode, size_t bytes, uint32_t psn)
{
	struct seen *seen = find(from, opcode);

	ck_assert_msg(seen->payload == bytes, "opcode 0x%02x: %zu bytes", opcode, seen->payload);
	ck_assert_msg(seen->psn == (psn & 0xffffff), "opcode 0x%02x: PSN %u, not %u", opcode,
		      seen->psn, psn & 0xffffff);
	ck_assert(seen->checks);
	return seen;
}

static void traced(void)
{
	must(dat_sim_trace(w.sim, DAT_TRUE));
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
	bool checks; /* else its check sum is wrong */
	int times;   /* in the file */
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
		if (file.packets[i].opcode == ROCE_SEND_ONLY) {
			ck_assert_uint_eq(file.packets[i].psn, psn);
			ck_assert_uint_eq(file.packets[i].payload, SHORT);
			ck_assert_uint_eq(file.packets[i].qpn, seen->qpn);
			ck_assert(i < at || !strstr(file.packets[i].comment, "fault"));
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

	/* 100 us, or rather 120: the seventh of the timers */
	ck_assert_uint_eq(find(&at, ROCE_ACK)->aeth, ROCE_SYNDROME_RNR | 7);
	ck_assert_uint_eq(find(&at, ROCE_ACK)->aeth, ROCE_SYNDROME_ACK);
	ck_assert_uint_eq(find(&at, ROCE_ACK)->aeth, ROCE_SYNDROME_NAK | 2);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, messages_have_their_opcodes_lengths_and_numbers);
	unit_test(suite, both_ends_are_numbered_as_their_connection_says);
	unit_test_loop(suite, packets_that_a_fault_hit_are_there_and_marked, COUNT(marks));
	unit_test(suite, refusals_have_their_syndromes);
}

UNIT_SUITE("capture")
