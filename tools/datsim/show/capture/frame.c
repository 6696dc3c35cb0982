/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the Ethernet and IPv4 headers of captured packets (frame.h).
 */
#include "frame.h"

#define TYPE_IPV4    0x0800
#define DO_NOT_CUT   0x4000u
#define TIME_TO_LIVE 64u

uint32_t frame_sum(uint32_t sum, const uint8_t *bytes, size_t length)
{
	size_t i;

	for (i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	if (length & 1)
		sum += (uint32_t)bytes[length - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

uint16_t frame_sum_finish(uint32_t sum)
{
	return (uint16_t)~sum;
}

static uint8_t *put_ethernet(uint8_t *at, uint32_t from, uint32_t to)
{
	at = frame_put32(frame_put16(at, 0x0200), to);
	at = frame_put32(frame_put16(at, 0x0200), from);
	return frame_put16(at, TYPE_IPV4);
}

uint8_t *frame_begin(uint8_t *at, uint32_t from, uint32_t to, uint8_t protocol, size_t rest)
{
	uint8_t *ip = put_ethernet(at, from, to);

	at = frame_put16(ip, 0x4500);
	at = frame_put16(at, (uint32_t)(FRAME_IPV4 + rest));
	at = frame_put32(at, DO_NOT_CUT);
	at = frame_put32(at, TIME_TO_LIVE << 24 | (uint32_t)protocol << 16);
	at = frame_put32(at, from);
	at = frame_put32(at, to);
	frame_put16(ip + 10, frame_sum_finish(frame_sum(0, ip, FRAME_IPV4)));
	return at;
}
