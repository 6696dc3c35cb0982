/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_model.h - what the model does with an event, and with a message that arrives. */
#ifndef EMU_NIC_MODEL_H
#define EMU_NIC_MODEL_H

#include "emu/fabric/fabric.h"

/* Run an event of any kind. */
void emu_dispatch(struct emu_world *w, struct emu_event *event);

#endif /* EMU_NIC_MODEL_H */
