/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mw.h - memory windows (MW): remote keys that are bound and unbound by requests on a send queue.
 *
 * A BIND gets its new key at the post and takes effect when it is the oldest request of the queue.
 * At that moment it completes, the old key becomes invalid, and the new one valid.
 *
 * A window whose key is given by the program (type 2 of verbs) serves one QP, and is invalidated by
 * requests of that QP and of its peer.
 */
#ifndef EMU_MW_H
#define EMU_MW_H

#include "emu/fabric/fabric.h"
#include "emu/wire/cause.h"

/* In place of the segments of a BIND. remote_addr is the start of the range, rkey the new key. */
struct emu_bind {
	uint64_t length;
	uint32_t lkey;
	uint32_t access; /* NIC_ACCESS_xxx, EMU_BIND_xxx */
};

#define EMU_BIND_KEY_GIVEN  (1u << 31)
#define EMU_BIND_INVALIDATE (1u << 30)

int emu_mw_alloc(struct nic_pd *pd, struct nic_mw **mw);
void emu_mw_free(struct nic_mw *mw);
void emu_mw_query(struct nic_mw *mw, struct nic_mw_state *state);

/* Allocate the new key of a BIND that is being posted. */
uint32_t emu_mw_key(struct emu_world *w, const struct nic_send_wr *wr);
/* The same, and store range, region and access in the work request. */
void emu_mw_post(struct emu_world *w, const struct nic_send_wr *wr, struct emu_swqe *wqe);
/* Execute a BIND, or the invalidation that it stands for. The cause if that cannot be. */
enum emu_cause emu_mw_bind(struct emu_world *w, const struct emu_qp *qp,
			   const struct emu_swqe *wqe);
/* May a request of qp, or of its peer, invalidate that key? */
bool emu_mw_may_invalidate(struct emu_world *w, const struct emu_qp *qp, uint32_t rkey);
void emu_mw_invalidate(struct emu_world *w, uint32_t rkey);
/* The QP is destroyed: unbind the windows that serve it alone. */
void emu_mw_forget_qp(struct emu_world *w, uint32_t qp);

#endif /* EMU_MW_H */
