/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h - tell a process that joins a fabric which of its settings have no effect. */
#ifndef EMU_SHARED_SETTINGS_H
#define EMU_SHARED_SETTINGS_H

#include "emu/fabric/fabric.h"

/* On stderr. The process has joined, and did not make the fabric. */
void emu_settings_tell(const struct emu_world *w, const struct nic_config *asked);

#endif /* EMU_SHARED_SETTINGS_H */
