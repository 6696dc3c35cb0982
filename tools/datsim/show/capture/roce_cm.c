/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the datagrams (MADs) of InfiniBand's connection management, class version 2. */
#include "roce.h"

#include <string.h>

#define MAD_HEADER   24u
#define CLASS_CM     0x07
#define METHOD_SEND  0x03
#define PKEY_DEFAULT 0xffff
#define REQ_PRIVATE  92
#define TIMEOUT      20 /* 4.096 us times 2 to the power of 20 */

static void mad_put24(uint8_t *at, uint32_t n)
{
	at[0] = (uint8_t)(n >> 16);
	frame_put16(at + 1, n);
}

/* An IPv4-mapped GID. */
static void put_gid(uint8_t *at, uint32_t address)
{
	frame_put16(at + 10, 0xffff);
	frame_put32(at + 12, address);
}

/* The code of an MTU: 256 is 1, 4096 is 5. */
static uint8_t mtu_code(uint32_t mtu)
{
	uint8_t code = 1;

	while (code < 5 && mtu > 128u << code)
		code++;
	return code;
}

static void put_req(uint8_t *at, const struct cm_message *message)
{
	frame_put64(at + 8, message->service_id);
	frame_put64(at + 16, message->from);
	mad_put24(at + 32, message->qpn);
	at[35] = message->reads_in;
	at[39] = message->reads_out;
	at[43] = TIMEOUT << 3; /* of the answer; the service is reliable connected */
	mad_put24(at + 44, message->psn);
	at[47] = (uint8_t)(TIMEOUT << 3 | (message->retry & 7));
	frame_put16(at + 48, PKEY_DEFAULT);
	at[50] = (uint8_t)(mtu_code(message->mtu) << 4 | (message->rnr_retry & 7));
	at[51] = 15 << 4; /* retries of a datagram */
	frame_put16(at + 52, 0xffff);
	frame_put16(at + 54, 0xffff);
	put_gid(at + 56, message->from);
	put_gid(at + 72, message->to);
	at[93] = 64; /* hop limit */
	at[95] = TIMEOUT << 3;
	memcpy(at + 140, message->private, REQ_PRIVATE);
}

static void put_rep(uint8_t *at, const struct cm_message *message)
{
	mad_put24(at + 12, message->qpn);
	mad_put24(at + 20, message->psn);
	at[24] = message->reads_in;
	at[25] = message->reads_out;
	at[27] = (uint8_t)((message->rnr_retry & 7) << 5);
	frame_put64(at + 28, message->from);
	memcpy(at + 36, message->private, CM_PRIVATE);
}

static void put_rej(uint8_t *at, const struct cm_message *message)
{
	at[8] = (uint8_t)(message->rejected << 6);
	frame_put16(at + 10, message->reason);
}

void cm_build(const struct cm_message *message, uint8_t mad[ROCE_MAD])
{
	uint8_t *at = mad + MAD_HEADER;

	memset(mad, 0, ROCE_MAD);
	mad[0] = 1;
	mad[1] = CLASS_CM;
	mad[2] = 2;
	mad[3] = METHOD_SEND;
	frame_put64(mad + 8, message->transaction);
	frame_put16(mad + 16, message->attribute);
	frame_put32(at, message->local_id);
	if (message->attribute != CM_REQ)
		frame_put32(at + 4, message->remote_id);
	switch (message->attribute) {
	case CM_REQ:
		put_req(at, message);
		break;
	case CM_REP:
		put_rep(at, message);
		break;
	case CM_REJ:
		put_rej(at, message);
		break;
	case CM_DREQ:
		mad_put24(at + 8, message->qpn);
		break;
	case CM_RTU:
		break;
	}
}
