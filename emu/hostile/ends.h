/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ends.h - ends=device and retry=spurious: what the seed decides where devices leave it open.
 *
 * Which of its two ends hears first that a connection has broken, and by what, is a race on
 * devices: an end that finds out itself is told BROKEN, one that gets its peer's disconnect request
 * first DISCONNECTED. That request is a datagram, and may be lost; it comes again after the retry
 * timeout, and until then the end knows of nothing.
 *
 * A retry timer fires although nothing was lost, because the acknowledgement is late: the request
 * is sent again, and the responder meets a duplicate. Until one of the two acknowledgements arrives
 * the request has not completed, although the peer may have answered the message long ago.
 */
#ifndef EMU_HOSTILE_ENDS_H
#define EMU_HOSTILE_ENDS_H

#include "emu/fabric/fabric.h"

/* How an end hears of a break that its peer caused, or that has already been told to that. */
enum nic_conn_end emu_ends_told(struct emu_world *w, enum nic_conn_end why);
/* Is this packet one that ends a connection, and lost? It comes again. */
bool emu_ends_loses(struct emu_world *w, const struct emu_event *event);

/* Is the ACK of all requests before rx_next late? Then this has scheduled it. */
bool emu_retry_is_spurious(struct emu_world *w, struct emu_qp *qp);
/* Event RETRY_EARLY. */
void emu_retry_early(struct emu_world *w, const struct emu_event *event);

#endif /* EMU_HOSTILE_ENDS_H */
