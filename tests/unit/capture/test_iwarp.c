/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iWARP packets as datsim writes them: CRC32c against published vectors and an independent
 * implementation, frames and headers by opcode, TCP check sums, and positions in a stream.
 */
#include "tests/support/support.h"
#include "tools/datsim/show/capture/iwarp.h"
#include "tools/datsim/show/capture/tcp.h"

static uint32_t number(const uint8_t *at, int bytes)
{
	uint32_t n = 0;

	while (bytes-- > 0)
		n = n << 8 | *at++;
	return n;
}

/* From the iSCSI specification, RFC 3720, B.4: bytes in the order sent */
START_TEST(published_vectors_have_the_CRC32c_that_we_compute)
{
	static const uint8_t sent[5][4] = { { 0xaa, 0x36, 0x91, 0x8a },
					    { 0x43, 0xab, 0xa8, 0x62 },
					    { 0x4e, 0x79, 0xdd, 0x46 },
					    { 0x5c, 0xdb, 0x3f, 0x11 },
					    { 0x56, 0x3a, 0x96, 0xd9 } };
	static const uint8_t read_command[48] = {
		[0] = 0x01,  [1] = 0xc0,  [16] = 0x14, [22] = 0x04,
		[27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02
	};
	uint8_t bytes[5][48];
	uint32_t crc;
	int i;

	memset(bytes[0], 0, 32);
	memset(bytes[1], 0xff, 32);
	for (i = 0; i < 32; i++) {
		bytes[2][i] = (uint8_t)i;
		bytes[3][i] = (uint8_t)(31 - i);
	}
	memcpy(bytes[4], read_command, sizeof(read_command));
	crc = crc32c(bytes[_i], _i == 4 ? 48 : 32);
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq((uint8_t)(crc >> 8 * i), sent[_i][i]);
}
END_TEST

/* A polynomial division, bit by bit, the lowest bit of a byte first. */
static uint32_t slow_crc(const uint8_t *bytes, size_t length)
{
	uint32_t rest = 0xffffffff, crc = 0;
	size_t i;
	int bit;

	for (i = 0; i < length; i++)
		for (bit = 0; bit < 8; bit++) {
			uint32_t out = (rest >> 31) ^ ((bytes[i] >> bit) & 1u);

			rest = rest << 1 ^ (out ? 0x1edc6f41u : 0);
		}
	for (bit = 0; bit < 32; bit++)
		crc |= (~rest >> (31 - bit) & 1u) << bit;
	return crc;
}

static const struct {
	enum rdmap_opcode opcode;
	uint32_t queue;
	size_t header;
	uint8_t control; /* tagged, last, version */
} opcodes[] = {
	{ RDMAP_WRITE, 0, 14, 0xc1 },         { RDMAP_READ_REQUEST, 1, 18, 0x41 },
	{ RDMAP_READ_RESPONSE, 0, 14, 0xc1 }, { RDMAP_SEND, 0, 18, 0x41 },
	{ RDMAP_TERMINATE, 2, 18, 0x41 },
};

START_TEST(every_opcode_has_its_headers_padding_and_CRC)
{
	uint8_t data[16], bytes[128];
	struct ddp_segment segment = { .opcode = opcodes[_i].opcode,
				       .last = true,
				       .queue = opcodes[_i].queue,
				       .msn = 0x01020304,
				       .offset = 0x11223344,
				       .data = data };
	size_t header = opcodes[_i].header, length, end, i;

	memset(data, 0xa5, sizeof(data));
	for (segment.length = 0; segment.length < 9; segment.length++) {
		memset(bytes, 0xee, sizeof(bytes));
		length = fpdu_build(&segment, bytes);
		ck_assert_uint_eq(length, fpdu_bytes(segment.opcode, segment.length));
		ck_assert_uint_eq(length % 4, 0);
		end = 2 + header + segment.length;
		ck_assert_uint_ge(length, end + 4);
		ck_assert_uint_lt(length, end + 8);
		ck_assert_uint_eq(number(bytes, 2), header + segment.length);
		ck_assert_uint_eq(bytes[2], opcodes[_i].control);
		ck_assert_uint_eq(bytes[3], 0x40u | opcodes[_i].opcode);
		ck_assert_uint_eq(number(bytes + 4, 4), 0); /* STag */
		ck_assert_uint_eq(number(bytes + 2 + header - 4, 4), 0x11223344);
		if (header == 18) {
			ck_assert_uint_eq(number(bytes + 8, 4), opcodes[_i].queue);
			ck_assert_uint_eq(number(bytes + 12, 4), 0x01020304);
		}
		ck_assert_mem_eq(bytes + 2 + header, data, segment.length);
		for (i = end; i < length - 4; i++)
			ck_assert_uint_eq(bytes[i], 0);
		ck_assert_uint_eq(number(bytes + length - 4, 4),
				  __builtin_bswap32(slow_crc(bytes, length - 4)));
		ck_assert_uint_eq(bytes[length], 0xee);
	}
	segment.last = false;
	fpdu_build(&segment, bytes);
	ck_assert_uint_eq(bytes[2], opcodes[_i].control & ~0x40u);
}
END_TEST

START_TEST(a_terminate_quotes_the_segment_at_fault)
{
	static const struct terminate why = { LAYER_RDMAP, 1, 2 };
	uint8_t data[TERMINATE_MAX], asked[READ_REQUEST_BYTES];
	struct ddp_segment segment = { .opcode = RDMAP_WRITE, .last = true, .length = 5 };

	ck_assert_uint_eq(terminate_build(&why, NULL, data), 4);
	ck_assert_uint_eq(number(data, 4), 0x01020000);
	ck_assert_uint_eq(terminate_build(&why, &segment, data), 4 + 2 + 14);
	ck_assert_uint_eq(number(data, 4), 0x0102c000); /* M and D */
	ck_assert_uint_eq(number(data + 4, 4), (14 + 5) << 16 | 0xc140);
	read_request_build(0x01020304, asked);
	ck_assert_uint_eq(number(asked + 12, 4), 0x01020304);
	segment.opcode = RDMAP_READ_REQUEST;
	segment.data = asked;
	segment.length = READ_REQUEST_BYTES;
	ck_assert_uint_eq(terminate_build(&why, &segment, data), TERMINATE_MAX);
	ck_assert_uint_eq(number(data, 4), 0x0102e000); /* and the R bit */
	ck_assert_mem_eq(data + 4 + 2 + 18, asked, READ_REQUEST_BYTES);
}
END_TEST

START_TEST(MPA_frames_carry_flags_Reads_and_private_data)
{
	static const uint8_t private[3] = { 7, 8, 9 };
	uint8_t bytes[MPA_FRAME_MAX];
	struct mpa_frame mpa = { .reads_in = 4,
				 .reads_out = 5,
				 .data = private,
				 .length = sizeof(private) };

	ck_assert_uint_eq(mpa_build(&mpa, bytes), 20 + 4 + 3);
	ck_assert_mem_eq(bytes, "MPA ID Req Frame", 16);
	ck_assert_uint_eq(number(bytes + 16, 4), 0x50020007); /* CRC, enhanced; revision 2 */
	ck_assert_uint_eq(number(bytes + 20, 4), 0x80048005);
	ck_assert_mem_eq(bytes + 24, private, 3);
	mpa = (struct mpa_frame){ .reply = true, .rejected = true, .reads_in = 0x7fff };
	ck_assert_uint_eq(mpa_build(&mpa, bytes), 24);
	ck_assert_mem_eq(bytes, "MPA ID Rep Frame", 16);
	ck_assert_uint_eq(number(bytes + 16, 4), 0x70020004);
	ck_assert_uint_eq(number(bytes + 20, 4), 0xbfff8000); /* flags, no counts */
}
END_TEST

static uint32_t sum_of(const uint8_t *at, size_t length)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < length; i++)
		sum += i & 1 ? at[i] : (uint32_t)at[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The sum over the pseudo header and the segment must be all ones. */
START_TEST(TCP_segments_add_up_and_a_corrupt_one_does_not)
{
	static const uint8_t data[5] = { 1, 2, 3, 4, 5 };
	static uint8_t frame[FRAME_MAX];
	struct tcp_segment segment = { .from = 0xc6120001,
				       .to = 0xc61200ff,
				       .from_port = 49152,
				       .to_port = 1000,
				       .sequence = 0xfffffffe,
				       .ack = 0x80000001,
				       .flags = TCP_ACK | (_i & 1 ? TCP_SYN : TCP_PUSH),
				       .corrupt = _i & 2,
				       .data = data };
	uint8_t summed[12 + 64];
	size_t length, tcp;

	for (segment.length = 0; segment.length <= sizeof(data); segment.length++) {
		length = tcp_build(&segment, frame);
		tcp = length - 34;
		ck_assert_uint_eq(tcp, (_i & 1 ? 28 : 20) + segment.length);
		ck_assert_uint_eq(frame[34 + 12] >> 4, _i & 1 ? 7 : 5);
		ck_assert_uint_eq(number(frame + 16, 2), length - 14);
		ck_assert_uint_eq(sum_of(frame + 14, 20), 0xffff);
		memcpy(summed, frame + 26, 8);
		summed[8] = 0;
		summed[9] = 6;
		summed[10] = 0;
		summed[11] = (uint8_t)tcp;
		memcpy(summed + 12, frame + 34, tcp);
		ck_assert_uint_eq(sum_of(summed, 12 + tcp) == 0xffff, !segment.corrupt);
		ck_assert_uint_eq(number(frame + 34, 4), 49152u << 16 | 1000);
		ck_assert_uint_eq(number(frame + 38, 4), 0xfffffffe);
		ck_assert_uint_eq(number(frame + 42, 4), 0x80000001);
		ck_assert_mem_eq(frame + length - segment.length, data, segment.length);
	}
}
END_TEST

/* ---- a stream ---- */

static uint64_t place(struct half *half, uint64_t message, uint64_t packet, uint64_t packets,
		      bool arrived)
{
	struct piece piece = { .message = message,
			       .packet = packet,
			       .packets = packets,
			       .bytes = packets * 10,
			       .each = 10,
			       .arrived = arrived };

	return half_place(half, PIECE_REQUEST, &piece) ? piece.at : UINT64_MAX;
}

START_TEST(what_comes_late_or_again_has_its_place)
{
	struct half half = { 0 };

	ck_assert_uint_eq(place(&half, 1, 0, 1, true), 0);
	ck_assert_uint_eq(place(&half, 2, 0, 9, false), 10);
	ck_assert_uint_eq(place(&half, 3, 0, 1, true), 100);
	ck_assert_uint_eq(half_arrived(&half), 10);
	ck_assert_uint_eq(place(&half, 2, 4, 2, true), 50); /* from the middle of the gap */
	ck_assert_uint_eq(half_arrived(&half), 10);
	ck_assert_uint_eq(place(&half, 2, 0, 4, true), 10);
	ck_assert_uint_eq(half_arrived(&half), 70);
	ck_assert_uint_eq(place(&half, 2, 2, 2, true), 30); /* a repetition */
	ck_assert_uint_eq(place(&half, 2, 6, 2, false), 70);
	ck_assert_uint_eq(place(&half, 2, 6, 3, true), 70);
	ck_assert_uint_eq(half_arrived(&half), 110);
	ck_assert_uint_eq(half_end_of(&half, PIECE_REQUEST, 2), 100);
	ck_assert_uint_eq(half_end_of(&half, PIECE_REQUEST, 4), 0);
	ck_assert_uint_eq(half_end_of(&half, PIECE_RESPONSE, 2), 0);
	ck_assert_uint_eq(place(&half, 5, 0, 1, true), 110);
	ck_assert_uint_eq(place(&half, 4, 0, 1, true), UINT64_MAX); /* nothing of the gap is left */
	half_free(&half);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, published_vectors_have_the_CRC32c_that_we_compute, 5, setup_fabric);
	unit_add(suite, every_opcode_has_its_headers_padding_and_CRC, COUNT(opcodes), setup_fabric);
	unit_test_bare(suite, a_terminate_quotes_the_segment_at_fault);
	unit_test_bare(suite, MPA_frames_carry_flags_Reads_and_private_data);
	unit_add(suite, TCP_segments_add_up_and_a_corrupt_one_does_not, 4, setup_fabric);
	unit_test_bare(suite, what_comes_late_or_again_has_its_place);
}

UNIT_SUITE("iwarp")
