/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.h - the Ethernet and IPv4 headers with which every captured packet begins, and functions
 * that write numbers in network byte order.
 */
#ifndef DATSIM_FRAME_H
#define DATSIM_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_ETHERNET 14u
#define FRAME_IPV4     20u
/* The longest frame that is built. */
#define FRAME_MAX (FRAME_ETHERNET + 65535u)

#define FRAME_TCP 6
#define FRAME_UDP 17

/* Write a number; returns the address of the next byte. */
static inline uint8_t *frame_put16(uint8_t *at, uint32_t n)
{
	*at++ = (uint8_t)(n >> 8);
	*at++ = (uint8_t)n;
	return at;
}

static inline uint8_t *frame_put32(uint8_t *at, uint32_t n)
{
	return frame_put16(frame_put16(at, n >> 16), n);
}

static inline uint8_t *frame_put64(uint8_t *at, uint64_t n)
{
	return frame_put32(frame_put32(at, (uint32_t)(n >> 32)), (uint32_t)n);
}

/*
 * Write both headers, for `rest` bytes after them. Ethernet addresses are made from the IPv4 ones.
 */
uint8_t *frame_begin(uint8_t *at, uint32_t from, uint32_t to, uint8_t protocol, size_t rest);
/* The checksum of IPv4 and TCP, continued over some bytes; frame_sum_finish at the end. */
uint32_t frame_sum(uint32_t sum, const uint8_t *bytes, size_t length);
uint16_t frame_sum_finish(uint32_t sum);

#endif
