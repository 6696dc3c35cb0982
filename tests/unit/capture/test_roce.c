/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RoCEv2 packets as datsim writes them: the invariant CRC against published packets and an
 * independent implementation, headers by opcode, datagrams of connection management by their
 * fields.
 */
#include <ctype.h>

#include "tests/support/support.h"
#include "tools/datsim/show/capture/roce.h"

#define IP     14 /* offset of the headers */
#define BTH    (IP + 28)
#define BEHIND (BTH + 12)

static size_t from_hex(const char *hex, uint8_t *bytes)
{
	size_t n = 0;
	unsigned int byte;

	for (; *hex; hex++) {
		if (isspace((unsigned char)*hex))
			continue;
		ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
		bytes[n++] = (uint8_t)byte;
		hex++;
	}
	return n;
}

static uint32_t number(const uint8_t *at, int bytes)
{
	uint32_t n = 0;

	while (bytes-- > 0)
		n = n << 8 | *at++;
	return n;
}

/* The packet from the IPv4 header on, without its check sum, and the check sum from the wire */
static const struct {
	const char *what, *packet;
	uint8_t icrc[4];
} published[] = {
	{ "a congestion notification that an adapter sent",
	  "45c2003c718c400040119161 0a0011010a001201 000012b700280000"
	  "8100ffff4000011800000000 00000000000000000000000000000000",
	  { 0x82, 0xfd, 0x00, 0x2a } },
	{ "a Send of an unreliable connection, with padding",
	  "45010040047840004011b4d5 c0a80007c0a80007 c00012b7002caca2"
	  "2460ffff000000d300cf1710 4630818be28935d90e9a95505401be885e500000",
	  { 0x78, 0xf3, 0x53, 0xf3 } },
};

START_TEST(published_packets_have_the_check_sum_that_we_compute)
{
	uint8_t bytes[256];
	uint32_t icrc;
	size_t i, length;
	int j;

	for (i = 0; i < COUNT(published); i++) {
		length = from_hex(published[i].packet, bytes);
		icrc = roce_icrc(bytes, length);
		for (j = 0; j < 4; j++)
			ck_assert_msg((uint8_t)(icrc >> 8 * j) == published[i].icrc[j],
				      "%s: byte %d", published[i].what, j);
	}
}
END_TEST

/*
 * ---- an independent implementation: a polynomial division, bit by bit, lowest bit first ----
 */

static uint32_t divide(uint32_t rest, uint8_t byte)
{
	int bit;

	for (bit = 0; bit < 8; bit++) {
		uint32_t out = (rest >> 31) ^ ((byte >> bit) & 1u);

		rest = rest << 1 ^ (out ? 0x04c11db7u : 0);
	}
	return rest;
}

static uint32_t slow_icrc(const uint8_t *frame, size_t length)
{
	static const size_t masked[] = { 15, 22, 24, 25, 40, 41, 46 };
	uint32_t rest = 0xffffffff, icrc = 0;
	size_t i, j;
	int bit;

	for (i = 0; i < 8; i++)
		rest = divide(rest, 0xff);
	for (i = IP; i < length; i++) {
		uint8_t byte = frame[i];

		for (j = 0; j < COUNT(masked); j++)
			byte = i == masked[j] ? 0xff : byte;
		rest = divide(rest, byte);
	}
	for (bit = 0; bit < 32; bit++)
		icrc |= (~rest >> (31 - bit) & 1u) << bit;
	return icrc;
}

static uint32_t icrc_of(const uint8_t *frame, size_t length)
{
	const uint8_t *at = frame + length - 4;

	return (uint32_t)at[3] << 24 | number(at + 2, 1) << 16 | number(at + 1, 1) << 8 | at[0];
}

static const struct {
	enum roce_opcode opcode;
	size_t headers; /* bytes behind the BTH */
	bool asks;
} opcodes[] = {
	{ ROCE_SEND_FIRST, 0, false },
	{ ROCE_SEND_MIDDLE, 0, false },
	{ ROCE_SEND_LAST, 0, true },
	{ ROCE_SEND_ONLY, 0, true },
	{ ROCE_WRITE_FIRST, 16, false },
	{ ROCE_WRITE_MIDDLE, 0, false },
	{ ROCE_WRITE_LAST, 0, true },
	{ ROCE_WRITE_ONLY, 16, true },
	{ ROCE_READ_REQUEST, 16, true },
	{ ROCE_READ_RESPONSE_FIRST, 4, false },
	{ ROCE_READ_RESPONSE_MIDDLE, 0, false },
	{ ROCE_READ_RESPONSE_LAST, 4, false },
	{ ROCE_READ_RESPONSE_ONLY, 4, false },
	{ ROCE_ACK, 4, false },
	{ ROCE_ATOMIC_ACK, 12, false },
	{ ROCE_COMPARE_SWAP, 28, true },
	{ ROCE_FETCH_ADD, 28, true },
	{ ROCE_UC_SEND_FIRST, 0, false },
	{ ROCE_UC_SEND_MIDDLE, 0, false },
	{ ROCE_UC_SEND_LAST, 0, false },
	{ ROCE_UC_SEND_ONLY, 0, false },
	{ ROCE_UC_WRITE_FIRST, 16, false },
	{ ROCE_UC_WRITE_MIDDLE, 0, false },
	{ ROCE_UC_WRITE_LAST, 0, false },
	{ ROCE_UC_WRITE_ONLY, 16, false },
	{ ROCE_UD_SEND_ONLY, 8, false },
};

static uint8_t frame[FRAME_MAX];

START_TEST(every_opcode_has_its_headers_padding_and_check_sum)
{
	uint8_t data[16];
	struct roce_packet packet = { .from = 0xc6120001,
				      .to = 0xc6120002,
				      .opcode = opcodes[_i].opcode,
				      .from_qpn = 0x101,
				      .to_qpn = 0xabcdef,
				      .psn = 0x1fffffe,
				      .dma_length = 0x12345678,
				      .rkey = 0x77665544,
				      .operand = 0x0102030405060708,
				      .compare = 0x1112131415161718,
				      .qkey = ROCE_QKEY_CM,
				      .syndrome = ROCE_SYNDROME_NAK | 2,
				      .msn = 0x1000005,
				      .data = data };
	size_t headers = opcodes[_i].headers, length;
	const uint8_t *more = frame + BEHIND;

	memset(data, 0xa5, sizeof(data));
	for (packet.length = 0; packet.length < 9; packet.length++) {
		uint32_t pad = (4 - packet.length % 4) % 4;

		length = roce_build(&packet, frame);
		ck_assert_uint_eq(length, BEHIND + headers + packet.length + pad + 4);
		ck_assert_uint_eq(number(frame + IP + 2, 2), length - IP);
		ck_assert_uint_eq(number(frame + IP + 24, 2), length - IP - 20);
		ck_assert_uint_eq(number(frame + IP + 22, 2), ROCE_UDP_PORT);
		ck_assert_uint_eq(frame[BTH], opcodes[_i].opcode);
		ck_assert_uint_eq(frame[BTH + 1], 0x40 | pad << 4);
		ck_assert_uint_eq(number(frame + BTH + 4, 4), 0xabcdef);
		ck_assert_uint_eq(number(frame + BTH + 8, 4),
				  0xfffffeu | (opcodes[_i].asks ? 1u << 31 : 0));
		ck_assert_uint_eq(icrc_of(frame, length), slow_icrc(frame, length - 4));
		ck_assert_mem_eq(frame + BEHIND + headers, data, packet.length);
		ck_assert_uint_eq(pad && number(frame + length - 4 - pad, (int)pad) != 0, 0);
	}
	if (headers == 16)
		ck_assert_uint_eq(number(more + 12, 4), 0x12345678);
	if (headers == 4 || headers == 12)
		ck_assert_uint_eq(number(more, 4), 0x62000005);
	if (headers == 16 || headers == 28)
		ck_assert_uint_eq(number(more + 8, 4), 0x77665544);
	if (headers == 28) {
		ck_assert_uint_eq(number(more + 12, 4), 0x01020304);
		ck_assert_uint_eq(number(more + 16, 4), 0x05060708);
		ck_assert_uint_eq(number(more + 20, 4), 0x11121314);
		ck_assert_uint_eq(number(more + 24, 4), 0x15161718);
	}
	if (headers == 8) {
		ck_assert_uint_eq(number(more, 4), 0x80010000);
		ck_assert_uint_eq(number(more + 4, 4), 0x101);
	}
}
END_TEST

static const struct {
	enum roce_opcode opcode;
	uint8_t immediate, invalidate; /* the opcode on the wire */
	size_t headers;                /* before the value */
} tails[] = {
	{ ROCE_SEND_FIRST, 0x00, 0x00, 0 },      { ROCE_SEND_MIDDLE, 0x01, 0x01, 0 },
	{ ROCE_SEND_LAST, 0x03, 0x16, 0 },       { ROCE_SEND_ONLY, 0x05, 0x17, 0 },
	{ ROCE_WRITE_LAST, 0x09, 0, 0 },         { ROCE_WRITE_ONLY, 0x0b, 0, 16 },
	{ ROCE_UC_SEND_LAST, 0x23, 0, 0 },       { ROCE_UC_SEND_ONLY, 0x25, 0, 0 },
	{ ROCE_UC_WRITE_LAST, 0x29, 0, 0 },      { ROCE_UC_WRITE_ONLY, 0x2b, 0, 16 },
	{ ROCE_UC_WRITE_FIRST, 0x26, 0x26, 16 }, { ROCE_UD_SEND_ONLY, 0x65, 0, 8 },
};

/* Only the last packet of a message carries the value. */
static void check_tail(enum roce_opcode opcode, enum roce_tail tail, uint8_t wire, size_t headers)
{
	struct roce_packet packet = { .opcode = opcode,
				      .tail = tail,
				      .tail_value = 0xcafe1234,
				      .length = 4 };
	size_t length = roce_build(&packet, frame), more = wire == opcode ? 0 : 4;

	ck_assert_uint_eq(frame[BTH], wire);
	ck_assert_uint_eq(length, BEHIND + headers + more + 4 + 4);
	if (more)
		ck_assert_uint_eq(number(frame + BEHIND + headers, 4), 0xcafe1234);
}

START_TEST(immediate_data_and_invalidated_keys_are_behind_the_other_headers)
{
	check_tail(tails[_i].opcode, ROCE_TAIL_IMMEDIATE, tails[_i].immediate, tails[_i].headers);
	if (tails[_i].invalidate || !tails[_i].immediate)
		check_tail(tails[_i].opcode, ROCE_TAIL_INVALIDATE, tails[_i].invalidate,
			   tails[_i].headers);
}
END_TEST

/* Changes that a router makes keep the invariant CRC; every other change breaks it. */
START_TEST(the_check_sum_covers_all_but_what_routers_change)
{
	static const size_t free_bytes[] = { 15, 22, 24, 25, 40, 41, 46 };
	const struct roce_packet packet = { .from = 1,
					    .to = 2,
					    .opcode = ROCE_SEND_ONLY,
					    .length = 5 };
	size_t length = roce_build(&packet, frame), i, j;
	uint32_t icrc = icrc_of(frame, length);

	for (i = IP; i < length - 4; i++) {
		bool is_free = false;

		for (j = 0; j < COUNT(free_bytes); j++)
			is_free |= i == free_bytes[j];
		frame[i] ^= 0x10;
		ck_assert_msg((roce_icrc(frame + IP, length - IP - 4) == icrc) == is_free,
			      "byte %zu", i);
		frame[i] ^= 0x10;
	}
}
END_TEST

START_TEST(the_IPv4_header_adds_up_and_a_corrupt_packet_does_not_check)
{
	struct roce_packet packet = { .from = 0xc6120001,
				      .to = 0xc61200ff,
				      .opcode = ROCE_ACK,
				      .corrupt = true };
	size_t length = roce_build(&packet, frame), i;
	uint32_t sum = 0;

	for (i = 0; i < 20; i += 2)
		sum += number(frame + IP + i, 2);
	ck_assert_uint_eq((sum & 0xffff) + (sum >> 16), 0xffff);
	ck_assert_uint_ne(icrc_of(frame, length), slow_icrc(frame, length - 4));
}
END_TEST

START_TEST(a_payload_that_IPv4_has_no_room_for_is_cut)
{
	const struct roce_packet packet = { .opcode = ROCE_WRITE_ONLY, .length = UINT32_MAX };
	size_t length = roce_build(&packet, frame);

	ck_assert_uint_le(length - IP, 65535);
	ck_assert_uint_eq(number(frame + IP + 2, 2), length - IP);
}
END_TEST

/* ---- connection management ---- */

START_TEST(datagrams_of_connection_management_have_their_fields)
{
	struct cm_message message = { .attribute = CM_REQ,
				      .transaction = 7,
				      .local_id = 0x11,
				      .remote_id = 0x22,
				      .service_id = 0x123456789aull,
				      .from = 0xc6120001,
				      .to = 0xc6120002,
				      .qpn = 0x101,
				      .psn = 0xfffff0,
				      .mtu = 1024,
				      .retry = 7,
				      .rnr_retry = 6,
				      .reads_in = 3,
				      .reads_out = 4 };
	uint8_t mad[ROCE_MAD];

	memset(message.private, 0xa5, sizeof(message.private));
	cm_build(&message, mad);
	ck_assert_uint_eq(number(mad, 4), 0x01070203);
	ck_assert_uint_eq(number(mad + 12, 4), 7);
	ck_assert_uint_eq(number(mad + 16, 2), 0x10);
	ck_assert_uint_eq(number(mad + 24, 4), 0x11);
	ck_assert_uint_eq(number(mad + 28, 4), 0);
	ck_assert_uint_eq(number(mad + 32, 4), 0x12);
	ck_assert_uint_eq(number(mad + 36, 4), 0x3456789a);
	ck_assert_uint_eq(number(mad + 56, 3), 0x101);
	ck_assert_uint_eq(number(mad + 68, 3), 0xfffff0);
	ck_assert_uint_eq(mad[59], 3);
	ck_assert_uint_eq(mad[63], 4);
	ck_assert_uint_eq(mad[163], 0);
	ck_assert_mem_eq(mad + 164, message.private, 92);
	ck_assert_uint_eq(mad[71] & 7, 7);
	ck_assert_uint_eq(mad[74], 3 << 4 | 6);
	ck_assert_uint_eq(number(mad + 90, 2), 0xffff); /* the GIDs are IPv4-mapped addresses */
	ck_assert_uint_eq(number(mad + 92, 4), 0xc6120001);
	ck_assert_uint_eq(number(mad + 108, 4), 0xc6120002);

	message.attribute = CM_REP;
	cm_build(&message, mad);
	ck_assert_uint_eq(number(mad + 16, 2), 0x13);
	ck_assert_uint_eq(number(mad + 28, 4), 0x22);
	ck_assert_uint_eq(number(mad + 36, 3), 0x101);
	ck_assert_uint_eq(number(mad + 44, 3), 0xfffff0);
	ck_assert_uint_eq(mad[51] >> 5, 6);
	ck_assert_uint_eq(number(mad + 48, 2), 0x0304);
	ck_assert_mem_eq(mad + 60, message.private, CM_PRIVATE);

	message = (struct cm_message){ .attribute = CM_REJ, .rejected = 1, .reason = 28 };
	cm_build(&message, mad);
	ck_assert_uint_eq(number(mad + 32, 4), 1u << 30 | 28);

	message = (struct cm_message){ .attribute = CM_DREQ, .qpn = 0xabcdef };
	cm_build(&message, mad);
	ck_assert_uint_eq(number(mad + 32, 3), 0xabcdef);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, published_packets_have_the_check_sum_that_we_compute);
	unit_test_loop(suite, every_opcode_has_its_headers_padding_and_check_sum, COUNT(opcodes));
	unit_test_loop(suite, immediate_data_and_invalidated_keys_are_behind_the_other_headers,
		       COUNT(tails));
	unit_test_bare(suite, the_check_sum_covers_all_but_what_routers_change);
	unit_test_bare(suite, the_IPv4_header_adds_up_and_a_corrupt_packet_does_not_check);
	unit_test_bare(suite, a_payload_that_IPv4_has_no_room_for_is_cut);
	unit_test_bare(suite, datagrams_of_connection_management_have_their_fields);
}

UNIT_SUITE("roce")
