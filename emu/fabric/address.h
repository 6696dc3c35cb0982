/* SPDX-License-Identifier: BSD-3-Clause */
/* address.h - where the packets of QPs without a connection manager go, a part of layout.h. */
#ifndef EMU_FABRIC_ADDRESS_H
#define EMU_FABRIC_ADDRESS_H

#include <stdint.h>

#include "host/nic_work.h"

/* The path of a QP that is connected by number: struct nic_qp_path. */
struct emu_path {
	uint32_t to; /* number of the peer's QP, if it exists */
	uint32_t sq_psn, rq_psn;
	uint32_t access, qkey;
	uint32_t pause_at; /* of a paused QP: requests from here on wait */
	uint64_t retry_timer_ns, rnr_timer_ns;
	uint16_t adapter; /* number of the peer's adapter */
	uint8_t retry, rnr_retry;
	uint8_t sends;   /* 0: false */
	uint8_t waits;   /* likewise */
	uint8_t stopped; /* likewise: a request failed, of a QP that is never answered */
	/* placement=...: of the last packet that this QP has sent, see unreliable_land.h. */
	uint8_t landing; /* stages of its payload that are placed */
	uint32_t land_index, land_packet;
	uint64_t landed_ns; /* when all of it is placed */
};

/* A QP is in a multicast group. */
struct emu_member {
	uint32_t qp; /* index; 0: free */
	uint8_t gid[NIC_GID];
};

#endif /* EMU_FABRIC_ADDRESS_H */
