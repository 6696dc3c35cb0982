/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer.h - the memory of another process of the fabric: is it the one that joined, and access to
 * it.
 *
 * The arena says which pid a process has, but any process may write there, and the kernel gives a
 * pid to another process soon after its owner has ended. Both are therefore used once. When a
 * process is accessed for the first time, its /proc/PID/mem is opened. That descriptor stays with
 * one address space: after the process has ended, or has called exec, each access through it fails.
 * The address space is accepted if it maps this arena, and if the nonce that the process published
 * in the arena is where it said. From then on, nothing that the arena says of the process is
 * believed.
 *
 * A short payload is copied through the descriptor. A long one would take 1.5 to 1.8 times as long
 * there as with process_vm_readv and process_vm_writev, which take a pid (doc/security.md). These
 * are therefore used for it, after a look through the descriptor has shown that the address space
 * is still in use.
 *
 * Lock: the library's, since the table of peers is this process's own.
 */
#ifndef EMU_PAYLOAD_PEER_H
#define EMU_PAYLOAD_PEER_H

#include "emu/fabric/fabric.h"

/* What this process knows of the memory of another one; all zero: nothing yet. */
struct emu_peer {
	int memory; /* descriptor of its address space; 0: none */
	bool tried; /* without `memory`: it cannot be accessed */
	bool fails; /* a piece of one of its payloads could not be read */
	int32_t pid;
	uint32_t generation; /* of the entry of the process's table that this is about */
	uint64_t probe, nonce;
};

/* Can this process access the memory of that one? Tried once for each process that joins. */
bool emu_peer_reach(struct emu_world *w, uint16_t process);
/* Copy; emu_peer_reach is true. False: the process has ended, or there is no such memory. */
bool emu_peer_read(struct emu_world *w, uint16_t process, uint64_t from, void *to, uint64_t length);
bool emu_peer_write(struct emu_world *w, uint16_t process, uint64_t to, const void *from,
		    uint64_t length);
/*
 * The same for one piece of a long payload, without a look behind it: emu_peer_is_there is asked
 * after the last one.
 */
bool emu_peer_read_piece(struct emu_world *w, uint16_t process, uint64_t from, void *to,
			 uint64_t length);
bool emu_peer_write_piece(struct emu_world *w, uint16_t process, uint64_t to, const void *from,
			  uint64_t length);
bool emu_peer_is_there(struct emu_world *w, uint16_t process);
/* Does the process of that pid or thread map this arena? False also if it cannot be told. */
bool emu_peer_maps_arena(const struct emu_world *w, int32_t pid);
/* This process leaves the fabric: close all descriptors. */
void emu_peer_forget_all(struct emu_world *w);

#endif /* EMU_PAYLOAD_PEER_H */
