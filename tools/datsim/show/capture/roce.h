/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roce.h - a RoCEv2 packet as bytes: Ethernet, IPv4, UDP, the InfiniBand transport headers of its
 * opcode, the payload, and the invariant CRC.
 *
 * Numbers are in host byte order; QPNs and PSNs have 24 bits.
 */
#ifndef DATSIM_ROCE_H
#define DATSIM_ROCE_H

#include <stdbool.h>

#include "frame.h"

#define ROCE_UDP_PORT 4791
#define ROCE_MAD      256u
/* The largest payload that fits an IPv4 packet after the longest headers, a multiple of four. */
#define ROCE_PAYLOAD_MAX 65464u

enum roce_opcode {
	ROCE_SEND_FIRST = 0x00,
	ROCE_SEND_MIDDLE = 0x01,
	ROCE_SEND_LAST = 0x02,
	ROCE_SEND_ONLY = 0x04,
	ROCE_WRITE_FIRST = 0x06,
	ROCE_WRITE_MIDDLE = 0x07,
	ROCE_WRITE_LAST = 0x08,
	ROCE_WRITE_ONLY = 0x0a,
	ROCE_READ_REQUEST = 0x0c,
	ROCE_READ_RESPONSE_FIRST = 0x0d,
	ROCE_READ_RESPONSE_MIDDLE = 0x0e,
	ROCE_READ_RESPONSE_LAST = 0x0f,
	ROCE_READ_RESPONSE_ONLY = 0x10,
	ROCE_ACK = 0x11,
	ROCE_ATOMIC_ACK = 0x12,
	ROCE_COMPARE_SWAP = 0x13,
	ROCE_FETCH_ADD = 0x14,
	ROCE_SEND_LAST_INVALIDATE = 0x16,
	ROCE_SEND_ONLY_INVALIDATE = 0x17,
	ROCE_UC_SEND_FIRST = 0x20,
	ROCE_UC_SEND_MIDDLE = 0x21,
	ROCE_UC_SEND_LAST = 0x22,
	ROCE_UC_SEND_ONLY = 0x24,
	ROCE_UC_WRITE_FIRST = 0x26,
	ROCE_UC_WRITE_MIDDLE = 0x27,
	ROCE_UC_WRITE_LAST = 0x28,
	ROCE_UC_WRITE_ONLY = 0x2a,
	ROCE_UD_SEND_ONLY = 0x64
};

/* What the last packet of a message has behind its other headers: its opcode is another one. */
enum roce_tail {
	ROCE_TAIL_NONE,
	ROCE_TAIL_IMMEDIATE,
	ROCE_TAIL_INVALIDATE
};

#define ROCE_QKEY_CM 0x80010000u /* the well-known Q_Key of QP 1 */

/* AETH syndromes: a kind; the lower five bits hold a credit count, a timer or a NAK code. */
#define ROCE_SYNDROME_ACK 0x1fu /* no credit count */
#define ROCE_SYNDROME_RNR 0x20u
#define ROCE_SYNDROME_NAK 0x60u

struct roce_packet {
	uint32_t from, to; /* IPv4 addresses */
	enum roce_opcode opcode;
	uint32_t from_qpn, to_qpn;
	uint32_t psn;
	uint32_t dma_length;       /* RETH; its address is 0 */
	uint32_t rkey;             /* RETH, AtomicETH */
	uint64_t operand, compare; /* AtomicETH: the new value, or what is added */
	enum roce_tail tail;
	uint32_t tail_value; /* immediate data, or the key that is invalidated */
	uint32_t qkey;       /* DETH */
	uint8_t syndrome;    /* AETH */
	uint32_t msn;        /* AETH */
	const uint8_t *data; /* NULL: zeros */
	uint32_t length;     /* of the payload */
	bool corrupt;        /* give it a wrong checksum */
};

/* Returns the length of the frame. The payload is cut to ROCE_PAYLOAD_MAX. */
size_t roce_build(const struct roce_packet *packet, uint8_t frame[FRAME_MAX]);
/*
 * The invariant CRC from the IPv4 header up to the CRC itself; it is sent with the lowest byte
 * first.
 */
uint32_t roce_icrc(const uint8_t *ip, size_t length);

/* Messages of connection management. */
enum cm_attribute {
	CM_REQ = 0x10,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15
};

#define CM_REASON_TIMEOUT    4
#define CM_REASON_SERVICE_ID 8
#define CM_REASON_CONSUMER   28

#define CM_PRIVATE 196u

struct cm_message {
	enum cm_attribute attribute;
	uint64_t transaction;
	uint32_t local_id, remote_id;
	uint64_t service_id;         /* REQ */
	uint32_t from, to;           /* REQ: addresses, as GIDs */
	uint32_t qpn;                /* REQ, REP: the sender's; DREQ: the receiver's */
	uint32_t psn;                /* REQ, REP */
	uint32_t mtu;                /* REQ: bytes */
	uint8_t retry, rnr_retry;    /* REQ, REP */
	uint8_t reads_in, reads_out; /* REQ, REP */
	uint8_t private[CM_PRIVATE]; /* REQ (92 bytes of it) and REP */
	uint8_t rejected;            /* REJ: 0 rejects a REQ, 1 a REP */
	uint16_t reason;             /* REJ */
};

void cm_build(const struct cm_message *message, uint8_t mad[ROCE_MAD]);

#endif
