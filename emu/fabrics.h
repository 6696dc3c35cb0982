/* SPDX-License-Identifier: BSD-3-Clause */
/* fabrics.h - shared fabrics seen from outside: made, listed, looked at and ended by name. */
#ifndef EMU_FABRICS_H
#define EMU_FABRICS_H

#include "fabric.h"

/* See lib/nic.h. */
int emu_fabric_make(const struct nic_config *config);
int emu_fabric_end(const char *name);
int emu_fabric_next(char *name, size_t size);
int emu_fabric_member(const char *name, unsigned int i, struct nic_member *member);
int emu_fabric_hold(const char *name, bool held);

#endif /* EMU_FABRICS_H */
