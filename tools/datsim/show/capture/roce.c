/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds RoCEv2 packets (roce.h), with the invariant CRC.
 */
#include "roce.h"

#include <string.h>

#define UDP            8u
#define BTH            12u
#define RETH           16u
#define AETH           4u
#define DETH           8u
#define ATOMIC_ETH     28u
#define ATOMIC_ACK_ETH 8u
#define TAIL           4u
#define ICRC           4u

#define PORT_FIRST 0xc000u /* UDP source ports, one a connection */

/* ---- the headers of an opcode ---- */

static bool has_reth(enum roce_opcode opcode)
{
	return opcode == ROCE_WRITE_FIRST || opcode == ROCE_WRITE_ONLY ||
	       opcode == ROCE_READ_REQUEST || opcode == ROCE_UC_WRITE_FIRST ||
	       opcode == ROCE_UC_WRITE_ONLY;
}

static bool has_atomic_eth(enum roce_opcode opcode)
{
	return opcode == ROCE_COMPARE_SWAP || opcode == ROCE_FETCH_ADD;
}

static bool has_aeth(enum roce_opcode opcode)
{
	return opcode == ROCE_ATOMIC_ACK || opcode == ROCE_READ_RESPONSE_FIRST ||
	       opcode == ROCE_READ_RESPONSE_LAST || opcode == ROCE_READ_RESPONSE_ONLY ||
	       opcode == ROCE_ACK;
}

/* The last packet of a request asks for an answer. */
static bool asks_for_ack(enum roce_opcode opcode)
{
	return opcode == ROCE_SEND_LAST || opcode == ROCE_SEND_ONLY || opcode == ROCE_WRITE_LAST ||
	       opcode == ROCE_WRITE_ONLY || opcode == ROCE_READ_REQUEST || has_atomic_eth(opcode);
}

static bool has_tail(const struct roce_packet *packet)
{
	enum roce_opcode opcode = packet->opcode;

	return packet->tail != ROCE_TAIL_NONE &&
	       (opcode == ROCE_SEND_LAST || opcode == ROCE_SEND_ONLY || opcode == ROCE_WRITE_LAST ||
		opcode == ROCE_WRITE_ONLY || opcode == ROCE_UC_SEND_LAST ||
		opcode == ROCE_UC_SEND_ONLY || opcode == ROCE_UC_WRITE_LAST ||
		opcode == ROCE_UC_WRITE_ONLY || opcode == ROCE_UD_SEND_ONLY);
}

/* "With immediate" follows the opcode without it; Sends that invalidate have two of their own. */
static uint8_t final_opcode(const struct roce_packet *packet)
{
	if (!has_tail(packet))
		return (uint8_t)packet->opcode;
	if (packet->tail == ROCE_TAIL_IMMEDIATE)
		return (uint8_t)(packet->opcode + 1);
	return packet->opcode == ROCE_SEND_ONLY ? ROCE_SEND_ONLY_INVALIDATE
						: ROCE_SEND_LAST_INVALIDATE;
}

/* ---- writing headers ---- */

static uint8_t *put_udp(uint8_t *at, const struct roce_packet *packet, size_t length)
{
	at = frame_put16(at, PORT_FIRST | ((packet->from_qpn ^ packet->to_qpn) & 0x3fff));
	at = frame_put16(at, ROCE_UDP_PORT);
	at = frame_put16(at, (uint32_t)length);
	return frame_put16(at, 0);
}

static uint8_t *put_bth(uint8_t *at, const struct roce_packet *packet, uint32_t pad)
{
	*at++ = final_opcode(packet);
	*at++ = (uint8_t)(0x40 | pad << 4);
	at = frame_put16(at, 0xffff);
	at = frame_put32(at, packet->to_qpn & 0xffffff);
	return frame_put32(at,
			   (uint32_t)asks_for_ack(packet->opcode) << 31 | (packet->psn & 0xffffff));
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
	return frame_put32(frame_put32(at, (uint32_t)(value >> 32)), (uint32_t)value);
}

static uint8_t *put_extended(uint8_t *at, const struct roce_packet *packet)
{
	if (has_reth(packet->opcode)) {
		memset(at, 0, 8);
		at = frame_put32(frame_put32(at + 8, packet->rkey), packet->dma_length);
	}
	if (has_atomic_eth(packet->opcode)) {
		memset(at, 0, 8);
		at = put64(frame_put32(at + 8, packet->rkey), packet->operand);
		at = put64(at, packet->compare);
	}
	if (has_aeth(packet->opcode))
		at = frame_put32(at, (uint32_t)packet->syndrome << 24 | (packet->msn & 0xffffff));
	if (packet->opcode == ROCE_ATOMIC_ACK)
		at = put64(at, 0); /* the trace has not the former value */
	if (packet->opcode == ROCE_UD_SEND_ONLY)
		at = frame_put32(frame_put32(at, packet->qkey), packet->from_qpn & 0xffffff);
	return has_tail(packet) ? frame_put32(at, packet->tail_value) : at;
}

static size_t extended_bytes(const struct roce_packet *packet)
{
	enum roce_opcode opcode = packet->opcode;

	return (has_reth(opcode) ? RETH : 0) + (has_aeth(opcode) ? AETH : 0) +
	       (has_atomic_eth(opcode) ? ATOMIC_ETH : 0) +
	       (opcode == ROCE_ATOMIC_ACK ? ATOMIC_ACK_ETH : 0) +
	       (opcode == ROCE_UD_SEND_ONLY ? DETH : 0) + (has_tail(packet) ? TAIL : 0);
}

size_t roce_build(const struct roce_packet *packet, uint8_t frame[FRAME_MAX])
{
	uint32_t length = packet->length < ROCE_PAYLOAD_MAX ? packet->length : ROCE_PAYLOAD_MAX;
	uint32_t pad = -length & 3, icrc;
	size_t udp = UDP + BTH + extended_bytes(packet) + length + pad + ICRC;
	uint8_t *at = frame;
	int i;

	at = frame_begin(at, packet->from, packet->to, FRAME_UDP, udp);
	at = put_udp(at, packet, udp);
	at = put_bth(at, packet, pad);
	at = put_extended(at, packet);
	if (packet->data)
		memcpy(at, packet->data, length);
	else
		memset(at, 0, length);
	memset(at + length, 0, pad);
	at += length + pad;
	icrc = roce_icrc(frame + FRAME_ETHERNET, (size_t)(at - frame) - FRAME_ETHERNET);
	if (packet->corrupt)
		icrc = ~icrc;
	for (i = 0; i < 4; i++)
		*at++ = (uint8_t)(icrc >> 8 * i);
	return (size_t)(at - frame);
}

/* ---- the invariant CRC ---- */

static uint32_t crc_step(uint32_t crc, uint8_t byte)
{
	/* Ethernet's CRC-32, four bits at a time. */
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	crc ^= byte;
	crc = crc >> 4 ^ table[crc & 15];
	return crc >> 4 ^ table[crc & 15];
}

/* Is this a byte that a router may change? Such bytes count as ones. */
static bool may_change(size_t i)
{
	return i == 1 || i == 8 || i == 10 || i == 11 ||     /* type of service, TTL, checksum */
	       i == FRAME_IPV4 + 6 || i == FRAME_IPV4 + 7 || /* UDP's checksum */
	       i == FRAME_IPV4 + UDP + 4;                    /* congestion marks of the BTH */
}

uint32_t roce_icrc(const uint8_t *ip, size_t length)
{
	uint32_t crc = 0xffffffff;
	size_t i;

	/* Eight bytes of ones replace InfiniBand's local route header. */
	for (i = 0; i < 8; i++)
		crc = crc_step(crc, 0xff);
	for (i = 0; i < length; i++)
		crc = crc_step(crc, may_change(i) ? 0xff : ip[i]);
	return ~crc;
}
