/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_model.h - what the model does with an event, and with a message that arrives. */
#ifndef EMU_NIC_MODEL_H
#define EMU_NIC_MODEL_H

#include "emu/fabric/fabric.h"

/* Run an event of any kind. */
void emu_dispatch(struct emu_world *w, struct emu_event *event);
/* Run a DATA event while packets are not observed; the arguments are its fields. */
void emu_rx_data(struct emu_world *w, uint32_t qp, uint32_t epoch, uint32_t index, uint32_t packet,
		 enum emu_event_kind kind);

#endif /* EMU_NIC_MODEL_H */
