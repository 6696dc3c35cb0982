/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared_file.h - the files that hold the arenas of shared fabrics.
 *
 * There is one file for each fabric, with the fabric's name, in a directory that only this user may
 * enter: $XDG_RUNTIME_DIR/datsim, or /dev/shm/datsim-<uid>, or /tmp/datsim-<uid>.
 */
#ifndef EMU_SHARED_SHARED_FILE_H
#define EMU_SHARED_SHARED_FILE_H

#include "emu/fabric/fabric.h"

/*
 * The path of a fabric's file. -EINVAL: no fabric can have that name; -EACCES: the directory is not
 * safe.
 */
int emu_file_path(const char *name, char *path, size_t size);
/*
 * Bytes of address space reserved for the arena and private memory behind it. Any 32-bit index or
 * offset read from the arena, multiplied by the size of its entries, stays within. So garbage in
 * the arena makes a process read garbage, but never touch its own other memory.
 */
#define EMU_REACH (1ul << 41)

/* The mapping of an arena in this process. */
struct emu_mapped {
	size_t size; /* of the file */
	size_t all;  /* EMU_REACH, or `size` if so much cannot be reserved */
};

/* Open, check and map a file. -ENOENT: there is none. */
int emu_file_open(const char *path, int *fd, struct emu_fabric **fab, struct emu_mapped *mapped);
/* A file that is not published yet: without a name, or with a temporary one. */
struct emu_new_file {
	int fd;
	char name[256]; /* empty: none */
};

/* Make the file that is to get the name `path`; all zero but for the sizes. */
int emu_file_make(const char *path, struct emu_new_file *file, struct emu_fabric **fab,
		  struct emu_mapped *mapped);
void emu_file_unmap(struct emu_fabric *fab, const struct emu_mapped *mapped);
/*
 * Allocate file blocks for a range. False: the file system is full, and a store would be a SIGBUS.
 */
bool emu_file_back(int fd, uint64_t offset, uint64_t bytes);
/* Give the file its name. -EEXIST: another process made one first. */
int emu_file_publish(const struct emu_new_file *file, const char *path);

#endif /* EMU_SHARED_SHARED_FILE_H */
