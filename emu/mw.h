/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mw.h - memory windows: keys for the peer that come and go on a send queue.
 *
 * A BIND gets its key when it is posted and takes effect in its turn, when all requests before it are
 * complete: the old key dies and the new one is born at the moment of the completion.
 */
#ifndef EMU_MW_H
#define EMU_MW_H

#include "fabric.h"

int emu_mw_alloc(struct nic_pd *pd, struct nic_mw **mw);
void emu_mw_free(struct nic_mw *mw);
void emu_mw_query(struct nic_mw *mw, struct nic_mw_state *state);

/* Deal out the key of a bind that is being posted. */
uint32_t emu_mw_key(struct emu_world *w, const struct nic_send_wr *wr);
/* The same, and note down in the work request what it is to do. */
void emu_mw_post(struct emu_world *w, const struct nic_send_wr *wr, struct emu_swqe *wqe);
/* Do it. False: the region, the window or its PD are not what they were. */
bool emu_mw_bind(struct emu_world *w, uint32_t pd, const struct emu_swqe *wqe);

#endif /* EMU_MW_H */
