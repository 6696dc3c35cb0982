/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains, memory regions, memory windows. Windows are of type 1: as RMRs, they are of a
 * protection domain and not of a connection, and may be bound again while bound.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cm.h"

#define ANCHOR_SIZE sizeof(uint64_t)

/* True: the device has released the region. */
static bool mr_dereg(struct hw_mr *mr)
{
	if (mr->verbs && ibv_dereg_mr(mr->verbs))
		return false;
	if (mr->verbs)
		hw_nic(mr->base.nic)->mrs--;
	mr->verbs = NULL;
	return true;
}

static void free_mr(struct hw_mr *mr)
{
	LIST_REMOVE(mr, in_pd);
	free(mr);
}

/* Free a region that lib has deregistered, when the last window and bind on it are gone. */
static void mr_release_dead(struct hw_mr *mr)
{
	if (mr->dead && mr->windows == 0 && mr->binding == 0 && mr_dereg(mr))
		free_mr(mr);
}

static void pd_release_dead(struct hw_pd *pd)
{
	struct hw_mr *mr, *next;

	for (mr = LIST_FIRST(&pd->dead); mr; mr = next) {
		next = LIST_NEXT(mr, in_pd);
		mr_release_dead(mr);
	}
}

int hw_pd_alloc(struct nic *nic, struct nic_pd **out)
{
	struct hw_nic *n = hw_nic(nic);
	struct hw_pd *pd;

	if (n->pds >= n->attr.max_pd)
		return -ENOMEM;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return -ENOMEM;
	pd->base.nic = nic;
	pd->verbs = ibv_alloc_pd(n->verbs);
	if (!pd->verbs) {
		free(pd);
		return -ENOMEM;
	}
	n->pds++;
	*out = &pd->base;
	return 0;
}

static void destroy_pd(struct hw_deferred *deferred)
{
	ibv_dealloc_pd(nic_container_of(deferred, struct hw_pd, deferred)->verbs);
}

static void release_pd(struct hw_deferred *deferred)
{
	free(nic_container_of(deferred, struct hw_pd, deferred));
}

void hw_pd_free(struct nic_pd *base)
{
	struct hw_pd *pd = hw_pd(base);

	pd_release_dead(pd);
	while (!LIST_EMPTY(&pd->dead))
		free_mr(LIST_FIRST(&pd->dead));
	hw_nic(base->nic)->pds--;
	if (pd->anchor) {
		ibv_dereg_mr(pd->anchor);
		munmap(pd->anchor_page, ANCHOR_SIZE);
	}
	pd->deferred = (struct hw_deferred){ .destroy = destroy_pd, .release = release_pd };
	hw_destroy_after(&pd->deferred);
}

/* ---- regions ---- */

/* Verbs requires local write for remote write. lib checks local access itself. */
static int verbs_access(const struct hw_nic *n, uint32_t access)
{
	int flags = 0;

	if (access & (NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE))
		flags |= IBV_ACCESS_LOCAL_WRITE;
	if (access & NIC_ACCESS_REMOTE_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if (access & NIC_ACCESS_REMOTE_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (n->base.caps & NIC_CAP_MW)
		flags |= IBV_ACCESS_MW_BIND;
	return flags;
}

/*
 * The kernel takes permission to bind windows for one to write, which read-only memory does not
 * have. Such a region is registered without: no window can be bound to it.
 */
static struct ibv_mr *mr_reg_verbs(struct nic_pd *pd, uint64_t addr, uint64_t length, int flags,
				   bool *bindless)
{
	struct ibv_mr *verbs = ibv_reg_mr(hw_pd(pd)->verbs, (void *)(uintptr_t)addr, length, flags);

	if (verbs || errno != EFAULT || !(flags & IBV_ACCESS_MW_BIND) ||
	    (flags & IBV_ACCESS_LOCAL_WRITE))
		return verbs;
	flags &= ~IBV_ACCESS_MW_BIND;
	*bindless = true;
	return ibv_reg_mr(hw_pd(pd)->verbs, (void *)(uintptr_t)addr, length, flags);
}

int hw_mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
	      struct nic_mr **out)
{
	struct hw_nic *n = hw_nic(pd->nic);
	struct hw_mr *mr;
	int err;

	if (n->mrs >= n->attr.max_mr)
		return -ENOMEM;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	errno = 0;
	mr->verbs = mr_reg_verbs(pd, addr, length, verbs_access(n, access), &mr->bindless);
	if (!mr->verbs) {
		err = hw_explain_no_memory(hw_errno());
		free(mr);
		return err;
	}
	mr->pd = hw_pd(pd);
	mr->base =
		(struct nic_mr){ .nic = pd->nic, .lkey = mr->verbs->lkey, .rkey = mr->verbs->rkey };
	n->mrs++;
	*out = &mr->base;
	return 0;
}

void hw_mr_dereg(struct nic_mr *base)
{
	struct hw_mr *mr = hw_mr(base);

	base->ctx = NULL;
	mr->dead = true;
	LIST_INSERT_HEAD(&mr->pd->dead, mr, in_pd);
	mr_dereg(mr);
	mr_release_dead(mr);
}

/* The completion of a bind may still be in a CQ. */
uint32_t hw_mr_windows(struct nic_mr *base)
{
	struct hw_mr *mr = hw_mr(base);
	struct hw_qp *qp;

	if (mr->binding == 0)
		return mr->windows;
	LIST_FOREACH(qp, &hw_nic(base->nic)->all_qps, in_nic)
	hw_qp_drain(qp);
	return mr->windows;
}

/* ---- windows ---- */

/*
 * An unbind is a bind of length 0; some drivers (rxe) require a region even then. It has a page of
 * its own: where the kernel does not copy pinned pages at fork, the page is missing in a child.
 */
static int make_anchor(struct hw_pd *pd)
{
	void *page;

	if (pd->anchor)
		return 0;
	page = mmap(NULL, ANCHOR_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	pd->anchor = ibv_reg_mr(pd->verbs, page, ANCHOR_SIZE,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	if (!pd->anchor) {
		munmap(page, ANCHOR_SIZE);
		return -ENOMEM;
	}
	pd->anchor_page = page;
	return 0;
}

int hw_mw_alloc(struct nic_pd *pd, struct nic_mw **out)
{
	struct hw_nic *n = hw_nic(pd->nic);
	struct hw_mw *mw;

	if (!(n->base.caps & NIC_CAP_MW))
		return -EOPNOTSUPP;
	if (n->mws >= n->attr.max_mw || make_anchor(hw_pd(pd)))
		return -ENOMEM;
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return -ENOMEM;
	mw->base.nic = pd->nic;
	mw->pd = hw_pd(pd);
	mw->verbs = ibv_alloc_mw(hw_pd(pd)->verbs, IBV_MW_TYPE_1);
	if (!mw->verbs) {
		free(mw);
		return -ENOMEM;
	}
	n->mws++;
	*out = &mw->base;
	return 0;
}

static void mw_set_state(struct hw_mw *mw, const struct nic_mw_state *state)
{
	struct nic_mr *before = mw->state.mr;

	mw->state = *state;
	if (state->mr)
		hw_mr(state->mr)->windows++;
	if (before) {
		hw_mr(before)->windows--;
		mr_release_dead(hw_mr(before));
	}
}

void hw_mw_free(struct nic_mw *base)
{
	static const struct nic_mw_state none;
	struct hw_mw *mw = nic_container_of(base, struct hw_mw, base);

	hw_nic(base->nic)->mws--;
	ibv_dealloc_mw(mw->verbs);
	mw_set_state(mw, &none);
	/*
	 * If it was bound and that completion was not polled, the device releases the region only
	 * now.
	 */
	pd_release_dead(mw->pd);
	mw->dead = true;
	if (mw->queued == 0)
		free(mw);
}

void hw_mw_query(struct nic_mw *mw, struct nic_mw_state *state)
{
	*state = nic_container_of(mw, struct hw_mw, base)->state;
}

/* ---- binding ---- */

static int bind_access(uint32_t access)
{
	int flags = 0;

	if (access & NIC_ACCESS_REMOTE_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (access & NIC_ACCESS_REMOTE_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	return flags;
}

int hw_post_bind(struct hw_qp *qp, struct hw_wqe *wqe, const struct nic_send_wr *wr)
{
	struct hw_mw *mw = nic_container_of(wr->mw, struct hw_mw, base);
	bool unbind = wr->bind_length == 0;
	struct ibv_mw_bind bind = { .wr_id = (uintptr_t)wqe, .send_flags = IBV_SEND_SIGNALED };
	struct hw_bind *keep;
	int err;

	if (!unbind && hw_mr(wr->mr)->bindless)
		return -EACCES;
	keep = malloc(sizeof(*keep));
	if (!keep)
		return -ENOMEM;
	if (wr->flags & NIC_WR_FENCE)
		bind.send_flags |= IBV_SEND_FENCE;
	bind.bind_info.mr = mw->pd->anchor;
	bind.bind_info.addr = (uintptr_t)mw->pd->anchor_page;
	if (!unbind) {
		bind.bind_info.mr = hw_mr(wr->mr)->verbs;
		bind.bind_info.addr = wr->bind_addr;
		bind.bind_info.length = wr->bind_length;
		bind.bind_info.mw_access_flags = (unsigned int)bind_access(wr->bind_access);
	}
	err = qp->verbs ? ibv_bind_mw(qp->verbs, mw->verbs, &bind) : EINVAL;
	if (err) {
		free(keep);
		return hw_error(err);
	}
	mw->base.rkey = unbind ? 0 : mw->verbs->rkey;
	mw->queued++;
	*keep = (struct hw_bind){ .mw = mw };
	if (!unbind) {
		hw_mr(wr->mr)->binding++;
		keep->state = (struct nic_mw_state){ .mr = wr->mr,
						     .addr = wr->bind_addr,
						     .length = wr->bind_length,
						     .access = wr->bind_access,
						     .rkey = mw->base.rkey };
	}
	wqe->own = keep;
	return 0;
}

void hw_bind_done(struct hw_wqe *wqe, bool success)
{
	struct hw_bind *bind = wqe->own;
	struct hw_mw *mw;

	/* None: the bind was never in verbs. */
	if (!bind)
		return;
	mw = bind->mw;
	mw->queued--;
	if (bind->state.mr)
		hw_mr(bind->state.mr)->binding--;
	if (success && !mw->dead)
		mw_set_state(mw, &bind->state);
	if (bind->state.mr)
		mr_release_dead(hw_mr(bind->state.mr));
	if (mw->dead && mw->queued == 0)
		free(mw);
	free(bind);
	wqe->own = NULL;
}
