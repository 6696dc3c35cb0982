/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp.h - iWARP as bytes: RDMAP and DDP headers in MPA's frames (RFC 5040, 5041, 5044, 6581),
 * with CRC32c and without markers, in TCP segments.
 */
#ifndef DATSIM_IWARP_H
#define DATSIM_IWARP_H

#include <stdbool.h>

#include "frame.h"

/* The largest payload of a DDP segment that fits an IPv4 packet, a multiple of four. */
#define IWARP_PAYLOAD_MAX 65464u
#define TCP_PAYLOAD_MAX   (65535u - FRAME_IPV4 - 24u)

enum rdmap_opcode {
	RDMAP_WRITE = 0,
	RDMAP_READ_REQUEST = 1,
	RDMAP_READ_RESPONSE = 2,
	RDMAP_SEND = 3,
	RDMAP_TERMINATE = 7
};

/* The queue numbers of untagged segments. */
#define DDP_QUEUE_SEND      0u
#define DDP_QUEUE_READ      1u
#define DDP_QUEUE_TERMINATE 2u

struct ddp_segment {
	enum rdmap_opcode opcode;
	bool last;
	uint32_t queue, msn; /* untagged */
	uint64_t offset;     /* in the message or the region; the STag is 0 */
	const uint8_t *data; /* NULL: zeros */
	uint32_t length;     /* at most IWARP_PAYLOAD_MAX */
};

/* The segment as an MPA frame: length, headers, data, padding, CRC. */
size_t fpdu_bytes(enum rdmap_opcode opcode, uint32_t length);
size_t fpdu_build(const struct ddp_segment *segment, uint8_t *at);

#define READ_REQUEST_BYTES 28u
#define TERMINATE_MAX      (4u + 2u + 18u + READ_REQUEST_BYTES)

/* The payload of a Read Request; keys and addresses are 0. */
void read_request_build(uint32_t length, uint8_t data[READ_REQUEST_BYTES]);

enum terminate_layer {
	LAYER_RDMAP = 0,
	LAYER_DDP = 1
};

/* A Terminate message: the reason, and the peer's segment at fault or NULL. Returns the length. */
struct terminate {
	enum terminate_layer layer;
	uint8_t type, code;
};
size_t terminate_build(const struct terminate *why, const struct ddp_segment *at_fault,
		       uint8_t data[TERMINATE_MAX]);

/* MPA request and reply frames, revision 2: they carry the IRD and ORD of each side. */
#define MPA_READS_UNKNOWN 0x3fffu
#define MPA_PRIVATE_MAX   512u
#define MPA_FRAME_MAX     (24u + MPA_PRIVATE_MAX)

struct mpa_frame {
	bool reply, rejected;
	uint32_t reads_in, reads_out;
	const uint8_t *data; /* private data; NULL: none */
	uint32_t length;
};

size_t mpa_build(const struct mpa_frame *mpa, uint8_t *at);

/* The CRC of MPA and iSCSI, which is sent with the lowest byte first. */
uint32_t crc32c(const uint8_t *bytes, size_t length);

#define TCP_FIN  0x01u
#define TCP_SYN  0x02u /* with options */
#define TCP_RST  0x04u
#define TCP_PUSH 0x08u
#define TCP_ACK  0x10u

struct tcp_segment {
	uint32_t from, to; /* IPv4 addresses */
	uint32_t from_port, to_port;
	uint32_t sequence, ack;
	uint8_t flags;
	bool corrupt; /* give it a wrong checksum */
	const uint8_t *data;
	size_t length; /* at most TCP_PAYLOAD_MAX */
};

/* Returns the length of the frame. */
size_t tcp_build(const struct tcp_segment *segment, uint8_t frame[FRAME_MAX]);

#endif
