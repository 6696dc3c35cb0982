/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to the memory of another process, bound to the address space that joined the fabric.
 */
#include "peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emu/hostile/posted.h"
#include "emu/mem.h"
#include "host/nic_process.h"
#include "emu/shared/shared.h"

#define LONG_BYTES 65536u /* from here on process_vm_writev is faster, with the look before it */

/* ---- does the address space map this arena? ---- */

/* A line of /proc/PID/maps: "start-end perms offset dev inode path". */
struct mapping {
	uint64_t start;
	char file[64]; /* device and inode */
};

static bool next_mapping(FILE *maps, struct mapping *mapping)
{
	unsigned long start, end, offset, inode;
	char perms[8], device[32];
	int c, n;

	n = fscanf(maps, "%lx-%lx %7s %lx %31s %lu", &start, &end, perms, &offset, device, &inode);
	if (n != 6)
		return false;
	do
		c = fgetc(maps);
	while (c != '\n' && c != EOF);
	mapping->start = start;
	snprintf(mapping->file, sizeof(mapping->file), "%s %lu", device, inode);
	return true;
}

static FILE *open_maps(const char *process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/maps", process);
	return process_fopen(path);
}

/* Device and inode of the arena as the kernel prints them: stat's may differ. */
static bool find_own_file(const struct emu_world *w, struct mapping *own)
{
	FILE *maps = open_maps("self");
	bool found = false;

	while (maps && !found && next_mapping(maps, own))
		found = own->start == (uintptr_t)w->fab;
	if (maps)
		fclose(maps);
	return found;
}

bool emu_peer_maps_arena(const struct emu_world *w, int32_t pid)
{
	struct mapping own, one;
	bool found = false;
	char process[16];
	FILE *maps;

	snprintf(process, sizeof(process), "%d", pid);
	maps = find_own_file(w, &own) ? open_maps(process) : NULL;
	while (maps && !found && next_mapping(maps, &one))
		found = strcmp(one.file, own.file) == 0;
	if (maps)
		fclose(maps);
	return found;
}

/* ---- the first access ---- */

static int open_memory(int32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return process_open(path, O_RDWR, 0);
}

static bool read_by_pid(const struct emu_peer *peer, uint64_t from, void *to, uint64_t length)
{
	struct iovec local = { to, length }, remote = { emu_memory(from), length };

	return process_vm_readv(peer->pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

static bool write_by_pid(const struct emu_peer *peer, uint64_t to, const void *from,
			 uint64_t length)
{
	struct iovec local = { emu_memory((uintptr_t)from), length };
	struct iovec remote = { emu_memory(to), length };

	return process_vm_writev(peer->pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

/* Is the address space still the one that joined, and in use? */
static bool is_there(const struct emu_peer *peer)
{
	uint64_t nonce = 0;

	return syscall(SYS_pread64, peer->memory, &nonce, sizeof(nonce), (off_t)peer->probe) ==
		       sizeof(nonce) &&
	       nonce == peer->nonce;
}

/* Where process_vm_readv is refused, a policy forbids what the descriptor might still permit. */
static bool is_permitted(const struct emu_peer *peer)
{
	uint64_t nonce = 0;

	return read_by_pid(peer, peer->probe, &nonce, sizeof(nonce)) && nonce == peer->nonce;
}

static void open_peer(struct emu_world *w, struct emu_peer *peer, uint16_t process)
{
	const struct emu_process *p = emu_process(w, process);

	if (peer->memory)
		close(peer->memory);
	*peer = (struct emu_peer){ .tried = true,
				   .pid = p->pid,
				   .generation = p->generation,
				   .probe = p->probe,
				   .nonce = p->nonce };
	if (!peer->nonce || peer->pid <= 0 || !is_permitted(peer))
		return;
	peer->memory = open_memory(peer->pid);
	if (peer->memory >= 0 && emu_peer_maps_arena(w, peer->pid) && is_there(peer))
		return;
	if (peer->memory >= 0)
		close(peer->memory);
	peer->memory = 0;
}

static void try_to_reach(struct emu_world *w, struct emu_peer *peer, uint16_t process)
{
	int cancel = process_cancel_hold();

	open_peer(w, peer, process);
	process_cancel_release(cancel);
}

bool emu_peer_reach(struct emu_world *w, uint16_t process)
{
	struct emu_membership *m = w->membership;
	struct emu_peer *peer = &m->peer[process <= EMU_PROCESSES ? process : 0];

	if (!process || process > EMU_PROCESSES)
		return false;
	if (process == w->process)
		return true;
	if (m->bounce || (w->config.hostile & EMU_HOSTILE_OWN))
		return false;
	if (!peer->tried || peer->generation != emu_process(w, process)->generation)
		try_to_reach(w, peer, process);
	return peer->memory > 0;
}

/* ---- copying ---- */

bool emu_peer_read(struct emu_world *w, uint16_t process, uint64_t from, void *to, uint64_t length)
{
	const struct emu_peer *peer = &w->membership->peer[process];

	if (length >= LONG_BYTES && is_there(peer) && read_by_pid(peer, from, to, length))
		return is_there(peer);
	return syscall(SYS_pread64, peer->memory, to, length, (off_t)from) == (ssize_t)length;
}

bool emu_peer_write(struct emu_world *w, uint16_t process, uint64_t to, const void *from,
		    uint64_t length)
{
	const struct emu_peer *peer = &w->membership->peer[process];

	if (length >= LONG_BYTES && is_there(peer) && write_by_pid(peer, to, from, length))
		return is_there(peer);
	return syscall(SYS_pwrite64, peer->memory, from, length, (off_t)to) == (ssize_t)length;
}

bool emu_peer_read_piece(struct emu_world *w, uint16_t process, uint64_t from, void *to,
			 uint64_t length)
{
	struct emu_peer *peer = &w->membership->peer[process];

	if (is_there(peer) && read_by_pid(peer, from, to, length))
		return true;
	peer->fails = true;
	return false;
}

bool emu_peer_write_piece(struct emu_world *w, uint16_t process, uint64_t to, const void *from,
			  uint64_t length)
{
	const struct emu_peer *peer = &w->membership->peer[process];

	return is_there(peer) && write_by_pid(peer, to, from, length);
}

bool emu_peer_is_there(struct emu_world *w, uint16_t process)
{
	return is_there(&w->membership->peer[process]);
}

void emu_peer_forget_all(struct emu_world *w)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		struct emu_peer *peer = &w->membership->peer[i];

		if (peer->memory > 0)
			close(peer->memory);
		*peer = (struct emu_peer){ 0 };
	}
}
