/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h - what every captured packet begins with: an Ethernet and an IPv4 header. Numbers go out
 * with the highest byte first.
 */
#ifndef DATSIM_FRAME_H
#define DATSIM_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_ETHERNET 14u
#define FRAME_IPV4     20u
/* Nothing that is built is longer. */
#define FRAME_MAX (FRAME_ETHERNET + 65535u)

#define FRAME_TCP 6
#define FRAME_UDP 17

/* Each returns where the next byte goes. */
static inline uint8_t *put16(uint8_t *at, uint32_t n)
{
	*at++ = (uint8_t)(n >> 8);
	*at++ = (uint8_t)n;
	return at;
}

static inline uint8_t *put32(uint8_t *at, uint32_t n)
{
	return put16(put16(at, n >> 16), n);
}

static inline uint8_t *put64(uint8_t *at, uint64_t n)
{
	return put32(put32(at, (uint32_t)(n >> 32)), (uint32_t)n);
}

/* Both headers; the rest is so long. Addresses are IPv4's; those of Ethernet are made of them. */
uint8_t *frame_begin(uint8_t *at, uint32_t from, uint32_t to, uint8_t protocol, size_t rest);
/* The check sum of IPv4 and TCP over some bytes and what was summed before: finish it once. */
uint32_t frame_sum(uint32_t sum, const uint8_t *bytes, size_t length);
uint16_t frame_sum_finish(uint32_t sum);

#endif
