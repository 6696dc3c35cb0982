/* SPDX-License-Identifier: BSD-3-Clause */
/* fabrics.h - shared fabrics by name: make, list, inspect and end them from outside. */
#ifndef EMU_SHARED_FABRICS_H
#define EMU_SHARED_FABRICS_H

#include "emu/fabric/fabric.h"

/* The last group of struct nic_backend (host/nic_backend.h). */
int emu_fabric_make(const struct nic_config *config);
int emu_fabric_end(const char *name);
int emu_fabric_next(char *name, size_t size);
int emu_fabric_member(const char *name, unsigned int i, struct nic_member *member);
int emu_fabric_hold(const char *name, bool held);
int emu_fabric_note(const char *name, const char *text);
int emu_fabric_trace(const char *name, void **reader, const char **text, size_t *length);

#endif /* EMU_SHARED_FABRICS_H */
