/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_packet.h - packets and their faults as plain data, a part of the door: nic.h includes it.
 */
#ifndef LIB_NIC_PACKET_H
#define LIB_NIC_PACKET_H

#include <stdbool.h>
#include <stdint.h>

/* ---- when a rule acts, be it one of packets or of calls (nic_fault.h) ---- */

/* While the clock is in [since, until); 0: no end. */
static inline bool nic_rule_in_time(uint64_t now, uint64_t since, uint64_t until)
{
	return now >= since && (until == 0 || now < until);
}

/* Of what fits, counted from 1: the ones after so many; of the rest the nth; each so-manieth. 0: any. */
static inline bool nic_rule_in_turn(uint64_t n, uint64_t after, uint64_t nth, uint64_t every)
{
	return n > after && (nth == 0 || n - after == nth) &&
	       (every == 0 || (n - after) % every == 0);
}

/* What a packet is, to those who match it. */
enum nic_packet {
	NIC_PACKET_SEND = 1u << 0,
	NIC_PACKET_WRITE = 1u << 1,
	NIC_PACKET_READ_REQUEST = 1u << 2,
	NIC_PACKET_READ_RESPONSE = 1u << 3,
	NIC_PACKET_ACK = 1u << 4,
	NIC_PACKET_NAK = 1u << 5,
	NIC_PACKET_RNR_NAK = 1u << 6,
	NIC_PACKET_CM = 1u << 7,         /* setting up a connection */
	NIC_PACKET_DISCONNECT = 1u << 8, /* ending one */
	NIC_PACKET_ALL = (1u << 9) - 1
};

#define NIC_PACKET_REQUESTS (NIC_PACKET_SEND | NIC_PACKET_WRITE | NIC_PACKET_READ_REQUEST)

enum nic_part {
	NIC_PART_ANY,
	NIC_PART_FIRST, /* of its message; a packet alone is first and last */
	NIC_PART_LAST,
	NIC_PART_COUNT
};

enum nic_fault {
	NIC_FAULT_PASS, /* only counted */
	NIC_FAULT_DROP,
	NIC_FAULT_CORRUPT, /* its check fails: dropped by who receives it */
	NIC_FAULT_DELAY,   /* by delay_ns, and what follows on the link with it */
	NIC_FAULT_REORDER, /* by delay_ns (0: the link's latency), and what follows overtakes it */
	NIC_FAULT_DUPLICATE,
	NIC_FAULT_RNR,       /* requests: answered as if there was no receive */
	NIC_FAULT_NAK,       /* requests: answered by `nak` */
	NIC_FAULT_LINK_DOWN, /* this packet and all that follow are lost, on this direction of the link */
	NIC_FAULT_LINK_UP,   /* passes, and so do those that follow */
	NIC_FAULT_HOST_DEAD, /* the adapter it was for is silent from now on */
	NIC_FAULT_COUNT
};

/* Codes of a NAK. */
enum nic_nak {
	NIC_NAK_SEQUENCE,        /* a packet before it is missing: send again */
	NIC_NAK_INVALID_REQUEST, /* ends REMOTE_OPERATION, and the connection with it, as the next two */
	NIC_NAK_REMOTE_ACCESS,    /* ends REMOTE_ACCESS */
	NIC_NAK_REMOTE_OPERATION, /* ends REMOTE_OPERATION */
	NIC_NAK_RESERVED,         /* a code that means nothing: BAD_RESPONSE */
	NIC_NAK_COUNT
};

#define NIC_ADAPTER_NAME  32       /* bytes, with the end */
#define NIC_PROBABILITY_1 1000000u /* probabilities are parts of this */

/*
 * Which packets, and what becomes of them. A match left 0 is one with every packet. A packet is shown to
 * the rules in the order in which they were added, when it is about to arrive; the first that has
 * something to do with it wins, and the rest are not asked.
 */
struct nic_packet_rule {
	char from[NIC_ADAPTER_NAME], to[NIC_ADAPTER_NAME]; /* adapters; "": any */
	uint32_t from_qp, to_qp;                           /* nic_qp_init.name of the end; 0: any */
	uint32_t packets;                                  /* enum nic_packet */
	uint32_t part;                                     /* enum nic_part */
	uint64_t since_ns, until_ns; /* while the clock is in [since, until); 0: no end */
	/* Of those packets, counted from 1: */
	uint64_t after, nth,
		every;        /* the ones after so many; of the rest the nth; each so-manieth */
	uint32_t probability; /* of those, by the fabric's generator; 0: all */
	/* What becomes of them: */
	uint32_t fault;               /* enum nic_fault */
	uint32_t nak;                 /* enum nic_nak */
	uint64_t delay_ns, jitter_ns; /* jitter: so much less or more, evenly */
	uint64_t times;               /* so often at most; 0: for ever */
};

#endif /* LIB_NIC_PACKET_H */
