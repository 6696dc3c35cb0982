/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * live.h - datsim run --capture: the packets of programs, written while they run.
 *
 * A program on a private fabric writes its trace to a file, which is followed as it grows; the
 * trace of a shared fabric is read from the fabric. Packets are written as soon as the reader of
 * the capture takes them. A slow reader does not stop the programs. If the reader goes away, the
 * capture ends, and the programs run on.
 */
#ifndef DATSIM_LIVE_H
#define DATSIM_LIVE_H

#include "tools/datsim/program/programs.h"

struct live;

/*
 * Begin a capture of the trace `trace`; without a path there is none, and *live is NULL. `out`: the
 * standard output that the path "-" means. False: it cannot be written, and stderr says why.
 */
bool live_begin(struct live **live, const char *path, int out, const char *trace,
		struct programs *programs);
/* Write what has come since the last call; does not wait. */
void live_look(void *live);
/*
 * All programs have ended: write the rest. False: the capture is not whole, and stderr says why. A
 * reader that went away is no error; stderr said so at once.
 */
bool live_finish(struct live *live, struct ended *ended);

#endif
