/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mw.h - memory windows (MW): remote keys that are bound and unbound by requests on a send queue.
 *
 * A BIND gets its new key at the post and takes effect when it is the oldest request of the queue.
 * At that moment it completes, the old key becomes invalid, and the new one valid.
 */
#ifndef EMU_MW_H
#define EMU_MW_H

#include "emu/fabric/fabric.h"

int emu_mw_alloc(struct nic_pd *pd, struct nic_mw **mw);
void emu_mw_free(struct nic_mw *mw);
void emu_mw_query(struct nic_mw *mw, struct nic_mw_state *state);

/* Allocate the new key of a BIND that is being posted. */
uint32_t emu_mw_key(struct emu_world *w, const struct nic_send_wr *wr);
/* The same, and store range, region and access in the work request. */
void emu_mw_post(struct emu_world *w, const struct nic_send_wr *wr, struct emu_swqe *wqe);
/* Execute a BIND. False: the region, the MW or its PD changed since the post. */
bool emu_mw_bind(struct emu_world *w, uint32_t pd, const struct emu_swqe *wqe);

#endif /* EMU_MW_H */
