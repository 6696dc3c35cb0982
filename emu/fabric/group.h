/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.h - multicast groups: which QPs get a copy of a datagram. A group exists while a QP is in
 * it.
 */
#ifndef EMU_FABRIC_GROUP_H
#define EMU_FABRIC_GROUP_H

#include "fabric.h"

int emu_group_change(struct nic_qp *qp, const uint8_t gid[NIC_GID], bool join);
bool emu_group_has(struct emu_world *w, uint32_t qp, const uint8_t gid[NIC_GID]);
/* The QP is about to be freed: it leaves all groups. */
void emu_group_forget(struct emu_world *w, uint32_t qp);
/*
 * The next QP of a group, and its place behind `*place`, which is 0 at first; 0: there is none.
 */
uint32_t emu_group_next(const struct emu_world *w, const uint8_t gid[NIC_GID], uint32_t *place);

#endif /* EMU_FABRIC_GROUP_H */
