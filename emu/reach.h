/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reach.h - moving payload between the memories of processes.
 *
 * Where the kernel permits it (process_vm_readv, process_vm_writev), whoever runs an event copies directly.
 * Where not, the sender's process runs it, and leaves what goes into another's memory in the arena and in
 * that process's inbox: the receiver puts it in place before it sees the completion.
 */
#ifndef EMU_REACH_H
#define EMU_REACH_H

#include "fabric.h"

struct emu_place {
	uint16_t process;
	uint64_t addr;
};

/* Within this process; whoever looks at the last bytes without a call sees the others before them. */
void emu_reach_place(uint64_t to, const void *from, uint64_t length);
/* Does this process reach the memory of that one? Found out once. */
bool emu_reach_process(struct emu_world *w, uint16_t process);
/* False: one of them is not there, or no room was left on the way. */
bool emu_reach_copy(struct emu_world *w, const struct emu_place *to, const struct emu_place *from,
		    uint64_t length);

#endif /* EMU_REACH_H */
