/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared_file.h - where the arenas of shared fabrics are: one file each, named as the fabric, in a folder
 * of the user's own, $XDG_RUNTIME_DIR/datsim or /dev/shm/datsim-<uid>. Nobody else may look in.
 */
#ifndef EMU_SHARED_FILE_H
#define EMU_SHARED_FILE_H

#include "fabric.h"

/* The path of a fabric's file. -EINVAL: a name must not be so; -EACCES: the folder is not safe. */
int emu_file_path(const char *name, char *path, size_t size);
/* Open it and map it, checked. *fab stays for ever at that place in this process. -ENOENT: none. */
int emu_file_open(const char *path, int *fd, struct emu_fabric **fab, size_t *size);
/* Make one that has no name yet, zeroed but for its size. */
int emu_file_make(const char *path, int *fd, struct emu_fabric **fab, size_t *size);
/* Give it its name. -EEXIST: another was quicker. */
int emu_file_publish(const char *path);

#endif /* EMU_SHARED_FILE_H */
