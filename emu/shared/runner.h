/* SPDX-License-Identifier: BSD-3-Clause */
/* runner.h - which process runs an event of a shared fabric, and running it. */
#ifndef EMU_SHARED_RUNNER_H
#define EMU_SHARED_RUNNER_H

#include "emu/fabric/fabric.h"

/* Run the first event of the queue, here or in the process that has to; there is one. */
void emu_run_first(struct emu_world *w);
/* Run an event that another process left in this one's inbox. */
void emu_run_left(struct emu_world *w, struct emu_event *event);
/* Leave an event to a process, or put it back on the queue. */
void emu_run_at(struct emu_world *w, uint16_t process, const struct emu_event *event);

#endif /* EMU_SHARED_RUNNER_H */
