/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stalled.h - requests that nothing brings on: no packet of them or of their answer is in flight,
 * and no timer of their QP is armed. Outside recovery there is none (emu/tx.h says why). And
 * connections that nothing ends, though their other end is gone.
 *
 * A process that dies with the fabric's lock can leave some. It may have been moving the packets of
 * all connections at that moment (emu_observe, a hold that is released), and recovery drops the
 * events of a change that is half done. The connections of two processes that live go on, so their
 * requests are retransmitted; on a stream (iwarp), which cannot do so, the connection breaks.
 */
#ifndef EMU_SHARED_STALLED_H
#define EMU_SHARED_STALLED_H

#include "emu/fabric/fabric.h"

/* Start the retry timer of each QP whose requests are stalled. Returns how many there are. */
uint32_t emu_stalled_resume(struct emu_world *w);

/*
 * After the dead process has been cleaned up: break each connection whose other end is gone, and
 * refuse each request for one that nothing answers, if no event is queued or held that will do so.
 * A connection whose end a fault has lost stays as it is.
 */
void emu_stalled_end(struct emu_world *w);

#endif /* EMU_SHARED_STALLED_H */
