/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_packet.h - rules for packets and their faults, as plain data: a part of the door, nic.h
 * includes it.
 */
#ifndef HOST_NIC_PACKET_H
#define HOST_NIC_PACKET_H

#include <stdbool.h>
#include <stdint.h>

/* ---- when a rule acts: for rules of packets and of calls (nic_fault.h) ---- */

/* True while the clock is in [since, until); until 0: no end. */
static inline bool nic_rule_in_time(uint64_t now, uint64_t since, uint64_t until)
{
	return now >= since && (until == 0 || now < until);
}

/*
 * True if the rule acts on the n-th match, counted from 1. `after` matches are skipped; of the rest
 * it acts on the `nth`, or on each `every`-th. 0: no restriction.
 */
static inline bool nic_rule_in_turn(uint64_t n, uint64_t after, uint64_t nth, uint64_t every)
{
	return n > after && (nth == 0 || n - after == nth) &&
	       (every == 0 || (n - after) % every == 0);
}

/* The kinds of packet. */
enum nic_packet {
	NIC_PACKET_SEND = 1u << 0,
	NIC_PACKET_WRITE = 1u << 1,
	NIC_PACKET_READ_REQUEST = 1u << 2,
	NIC_PACKET_READ_RESPONSE = 1u << 3,
	NIC_PACKET_ACK = 1u << 4,
	NIC_PACKET_NAK = 1u << 5,
	NIC_PACKET_RNR_NAK = 1u << 6,
	NIC_PACKET_CM = 1u << 7,         /* of a connection's set-up */
	NIC_PACKET_DISCONNECT = 1u << 8, /* of its end */
	NIC_PACKET_ALL = (1u << 9) - 1
};

#define NIC_PACKET_REQUESTS (NIC_PACKET_SEND | NIC_PACKET_WRITE | NIC_PACKET_READ_REQUEST)

enum nic_part {
	NIC_PART_ANY,
	NIC_PART_FIRST, /* of its message; a single packet is first and last */
	NIC_PART_LAST,
	NIC_PART_COUNT
};

enum nic_fault {
	NIC_FAULT_PASS, /* only counted */
	NIC_FAULT_DROP,
	NIC_FAULT_CORRUPT, /* its CRC fails: the receiver drops it */
	NIC_FAULT_DELAY,   /* by delay_ns, together with all later packets on the link */
	NIC_FAULT_REORDER, /* by delay_ns (0: the latency); later packets overtake it */
	NIC_FAULT_DUPLICATE,
	NIC_FAULT_RNR,       /* requests: answered by an RNR NAK, as if no Receive was posted */
	NIC_FAULT_NAK,       /* requests: answered by a NAK with the code `nak` */
	NIC_FAULT_LINK_DOWN, /* this packet and later ones on this link and direction are lost */
	NIC_FAULT_LINK_UP,   /* this packet and all later ones pass */
	NIC_FAULT_HOST_DEAD, /* the destination adapter is silent from now on */
	NIC_FAULT_COUNT
};

/* Codes of a NAK. */
enum nic_nak {
	NIC_NAK_SEQUENCE,         /* an earlier packet is missing: retransmit */
	NIC_NAK_INVALID_REQUEST,  /* ends REMOTE_OPERATION; these three break the connection */
	NIC_NAK_REMOTE_ACCESS,    /* ends REMOTE_ACCESS */
	NIC_NAK_REMOTE_OPERATION, /* ends REMOTE_OPERATION */
	NIC_NAK_RESERVED,         /* an undefined code: BAD_RESPONSE */
	NIC_NAK_COUNT
};

#define NIC_ADAPTER_NAME  32       /* bytes, with the NUL */
#define NIC_PROBABILITY_1 1000000u /* the value that means "always" */

/*
 * A rule: the packets it matches, and the fault it applies. A field left 0 matches every packet.
 * Each packet is shown to the rules in the order in which they were added, just before it arrives;
 * the first rule that acts on it wins, and later rules do not see it.
 */
struct nic_packet_rule {
	char from[NIC_ADAPTER_NAME], to[NIC_ADAPTER_NAME]; /* adapters; "": any */
	uint32_t from_qp, to_qp;                           /* nic_qp_init.name of the end; 0: any */
	uint32_t packets;                                  /* enum nic_packet */
	uint32_t part;                                     /* enum nic_part */
	uint64_t since_ns, until_ns; /* while the clock is in [since, until); 0: no end */
	/* See nic_rule_in_turn: */
	uint64_t after, nth, every;
	uint32_t probability; /* of the packets left, by the fabric's generator; 0: all */
	/* The fault: */
	uint32_t fault;               /* enum nic_fault */
	uint32_t nak;                 /* enum nic_nak */
	uint64_t delay_ns, jitter_ns; /* jitter: up to this much less or more, uniformly */
	uint64_t times;               /* at most this many times; 0: no limit */
};

#endif /* HOST_NIC_PACKET_H */
