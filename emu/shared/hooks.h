/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.h - the hooks of emu/fabric/sharing.h, as a fabric of several processes fills them in. */
#ifndef EMU_SHARED_HOOKS_H
#define EMU_SHARED_HOOKS_H

#include "emu/fabric/sharing.h"

extern const struct emu_sharing emu_shared_hooks;

#endif /* EMU_SHARED_HOOKS_H */
