/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds iWARP's bytes (iwarp.h): MPA frames with DDP and RDMAP headers, Terminate messages, and
 * TCP segments.
 */
#include "iwarp.h"

#include <string.h>

#define DDP_TAGGED    0x80u
#define DDP_LAST      0x40u
#define DDP_VERSION   1u
#define RDMAP_VERSION 0x40u
#define TAGGED        14u
#define UNTAGGED      18u
#define CRC           4u

/* Terminate: the parts of the segment at fault that follow. */
#define HAS_LENGTH 0x8000u
#define HAS_DDP    0x4000u
#define HAS_RDMAP  0x2000u /* the header of a Read Request */

#define MPA_CRC      0x40u
#define MPA_REJECTED 0x20u
#define MPA_ENHANCED 0x10u
#define MPA_REVISION 2u
#define PEER_TO_PEER 0x8000u /* in the IRD field */
#define RTR_WRITE    0x8000u /* in the ORD field: "ready to receive" is a Write of no bytes */

#define TCP_HEADER   20u
#define SYN_OPTIONS  8u
#define WINDOW       0xffffu
#define WINDOW_SHIFT 14u

/* ---- CRC32c ---- */

uint32_t crc32c(const uint8_t *bytes, size_t length)
{
	/* The polynomial 0x1edc6f41, reflected, four bits at a time. */
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = 0xffffffff;
	size_t i;

	for (i = 0; i < length; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

/* ---- DDP and RDMAP, in MPA ---- */

static bool is_tagged(enum rdmap_opcode opcode)
{
	return opcode == RDMAP_WRITE || opcode == RDMAP_READ_RESPONSE;
}

static size_t header_bytes(enum rdmap_opcode opcode)
{
	return is_tagged(opcode) ? TAGGED : UNTAGGED;
}

static uint8_t *put_headers(uint8_t *at, const struct ddp_segment *segment)
{
	bool tagged = is_tagged(segment->opcode);

	*at++ = (uint8_t)((tagged ? DDP_TAGGED : 0) | (segment->last ? DDP_LAST : 0) | DDP_VERSION);
	*at++ = (uint8_t)(RDMAP_VERSION | segment->opcode);
	at = frame_put32(at, 0); /* tagged: the STag; untagged: reserved for the ULP */
	if (tagged)
		return frame_put64(at, segment->offset);
	at = frame_put32(at, segment->queue);
	at = frame_put32(at, segment->msn);
	return frame_put32(at, (uint32_t)segment->offset);
}

size_t fpdu_bytes(enum rdmap_opcode opcode, uint32_t length)
{
	return (2 + header_bytes(opcode) + length + 3) / 4 * 4 + CRC;
}

size_t fpdu_build(const struct ddp_segment *segment, uint8_t *start)
{
	size_t whole = fpdu_bytes(segment->opcode, segment->length);
	uint8_t *at = start, *end = start + whole - CRC;
	uint32_t crc;
	int i;

	at = frame_put16(at, (uint32_t)header_bytes(segment->opcode) + segment->length);
	at = put_headers(at, segment);
	memset(at, 0, (size_t)(end - at));
	if (segment->data)
		memcpy(at, segment->data, segment->length);
	crc = crc32c(start, (size_t)(end - start));
	for (i = 0; i < 4; i++)
		end[i] = (uint8_t)(crc >> 8 * i);
	return whole;
}

void read_request_build(uint32_t length, uint8_t data[READ_REQUEST_BYTES])
{
	memset(data, 0, READ_REQUEST_BYTES);
	frame_put32(data + 12, length);
}

size_t terminate_build(const struct terminate *why, const struct ddp_segment *at_fault,
		       uint8_t data[TERMINATE_MAX])
{
	bool read = at_fault && at_fault->opcode == RDMAP_READ_REQUEST;
	uint8_t *at = data;

	*at++ = (uint8_t)((unsigned int)why->layer << 4 | why->type);
	*at++ = why->code;
	at = frame_put16(at, (at_fault ? HAS_LENGTH | HAS_DDP : 0) | (read ? HAS_RDMAP : 0));
	if (at_fault) {
		at = frame_put16(at, (uint32_t)header_bytes(at_fault->opcode) + at_fault->length);
		at = put_headers(at, at_fault);
	}
	if (read) {
		memcpy(at, at_fault->data, READ_REQUEST_BYTES);
		at += READ_REQUEST_BYTES;
	}
	return (size_t)(at - data);
}

size_t mpa_build(const struct mpa_frame *mpa, uint8_t *start)
{
	uint8_t *at = start;

	memcpy(at, mpa->reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	at += 16;
	*at++ = MPA_CRC | (mpa->rejected ? MPA_REJECTED : 0) | MPA_ENHANCED;
	*at++ = MPA_REVISION;
	at = frame_put16(at, 4 + mpa->length);
	at = frame_put16(at, PEER_TO_PEER | (mpa->reads_in & MPA_READS_UNKNOWN));
	at = frame_put16(at, RTR_WRITE | (mpa->reads_out & MPA_READS_UNKNOWN));
	if (mpa->length)
		memcpy(at, mpa->data, mpa->length);
	return (size_t)(at - start) + mpa->length;
}

/* ---- TCP ---- */

/* The largest receive window: TCP does not limit the bytes in flight here. */
static uint8_t *put_options(uint8_t *at)
{
	at = frame_put32(at, 2u << 24 | 4u << 16 | TCP_PAYLOAD_MAX); /* maximum segment size */
	return frame_put32(at, 1u << 24 | 3u << 16 | 3u << 8 | WINDOW_SHIFT);
}

/* TCP's checksum, which includes the addresses. */
static uint16_t tcp_sum(const struct tcp_segment *segment, const uint8_t *tcp, size_t length)
{
	uint8_t pseudo[12];

	frame_put32(frame_put32(frame_put32(pseudo, segment->from), segment->to),
		    (uint32_t)FRAME_TCP << 16 | (uint32_t)length);
	return frame_sum_finish(frame_sum(frame_sum(0, pseudo, sizeof(pseudo)), tcp, length));
}

size_t tcp_build(const struct tcp_segment *segment, uint8_t frame[FRAME_MAX])
{
	bool syn = segment->flags & TCP_SYN;
	size_t header = TCP_HEADER + (syn ? SYN_OPTIONS : 0), length = header + segment->length;
	uint8_t *tcp = frame_begin(frame, segment->from, segment->to, FRAME_TCP, length);
	uint8_t *at = tcp;
	uint16_t sum;

	at = frame_put16(at, segment->from_port);
	at = frame_put16(at, segment->to_port);
	at = frame_put32(at, segment->sequence);
	at = frame_put32(at, segment->flags & TCP_ACK ? segment->ack : 0);
	at = frame_put16(at, (uint32_t)header / 4 << 12 | segment->flags);
	at = frame_put16(at, WINDOW);
	at = frame_put32(at, 0);
	if (syn)
		at = put_options(at);
	if (segment->length)
		memcpy(at, segment->data, segment->length);
	sum = tcp_sum(segment, tcp, length);
	frame_put16(tcp + 16, segment->corrupt ? sum ^ 0x5555u : sum);
	return (size_t)(tcp - frame) + length;
}
