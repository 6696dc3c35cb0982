/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared_file.h - where the arenas of shared fabrics are: one file each, named as the fabric, in a folder
 * of the user's own, $XDG_RUNTIME_DIR/datsim or /dev/shm/datsim-<uid>, or /tmp/datsim-<uid>. Nobody else may look in.
 */
#ifndef EMU_SHARED_FILE_H
#define EMU_SHARED_FILE_H

#include "fabric.h"

/* The path of a fabric's file. -EINVAL: a name must not be so; -EACCES: the folder is not safe. */
int emu_file_path(const char *name, char *path, size_t size);
/*
 * Memory of this process's own follows the arena, so far that no index or offset of 32 bits that is read there,
 * times what it counts, leads beyond: whoever wrote nonsense into the arena makes others read nonsense, and
 * touch nothing else of theirs.
 */
#define EMU_REACH (1ul << 41)

/* An arena in this process. */
struct emu_mapped {
	size_t size; /* of the file */
	size_t all;  /* EMU_REACH, or, where that much is not to be had, size */
};

/* Open it and map it, checked. *fab stays for ever at that place in this process. -ENOENT: none. */
int emu_file_open(const char *path, int *fd, struct emu_fabric **fab, struct emu_mapped *mapped);
/* Make one that has no name yet, zeroed but for its size. */
int emu_file_make(const char *path, int *fd, struct emu_fabric **fab, struct emu_mapped *mapped);
void emu_file_unmap(struct emu_fabric *fab, const struct emu_mapped *mapped);
/*
 * There is memory for those bytes of it, in the file system that may be full: a store into a page that it has none
 * for ends the process. False: there is not.
 */
bool emu_file_back(int fd, uint64_t offset, uint64_t bytes);
/* Give it its name. -EEXIST: another was quicker. */
int emu_file_publish(const char *path);

#endif /* EMU_SHARED_FILE_H */
