/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h - what a fabric is made with: its parameters and its generator. */
#ifndef EMU_FABRIC_CONFIG_H
#define EMU_FABRIC_CONFIG_H

#include "fabric.h"

/* Set the parameters of a new fabric, before anything happens in it. */
void emu_configure(struct emu_world *w, const struct nic_config *config);
/*
 * Copy the parameters of a fabric that another process made. False: they are none that a fabric can
 * have, so its arena is damaged.
 */
bool emu_config_adopt(struct emu_world *w);

/* The fabric's random generator (xoshiro256**); no other is used. */
uint64_t emu_random(struct emu_world *w);

#endif /* EMU_FABRIC_CONFIG_H */
