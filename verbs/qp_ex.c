/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qp_ex.c - the calls of struct ibv_qp_ex: requests are put together one by one (ibv_wr_xxx), and
 * ibv_wr_complete posts them all.
 *
 * The requests wait in the QP's batch, which has room for a full send queue. What a request cannot
 * be is found before any is posted, so that ibv_wr_complete posts all of them or none. Inline
 * payload goes to its slot at once (post.c). A queue pair has one slot more than its send queue has
 * entries, so the first request always finds one; find_room has checked that the others do.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>

#include "quick.h"
#include "trace.h"
#include "vb.h"

#define OPS                                                                                   \
	((uint64_t)IBV_QP_EX_WITH_RDMA_WRITE | (uint64_t)IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 (uint64_t)IBV_QP_EX_WITH_SEND | (uint64_t)IBV_QP_EX_WITH_SEND_WITH_IMM |             \
	 (uint64_t)IBV_QP_EX_WITH_RDMA_READ | (uint64_t)IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |   \
	 (uint64_t)IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | (uint64_t)IBV_QP_EX_WITH_LOCAL_INV | \
	 (uint64_t)IBV_QP_EX_WITH_BIND_MW | (uint64_t)IBV_QP_EX_WITH_SEND_WITH_INV)
#define OPS_UD ((uint64_t)IBV_QP_EX_WITH_SEND | (uint64_t)IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                          \
	(OPS_UD | (uint64_t)IBV_QP_EX_WITH_RDMA_WRITE | \
	 (uint64_t)IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

static struct vb_qp *qp_of(struct ibv_qp_ex *ex)
{
	return nic_container_of(ex, struct vb_qp, ex);
}

/* ---- the batch ---- */

/* From ibv_wr_start to ibv_wr_complete, as a device's driver locks its queue. */
static void batch_lock(struct vb_batch *batch)
{
	bool lock = !__libc_single_threaded;

	if (lock)
		pthread_mutex_lock(&batch->mutex);
	batch->locked = lock;
}

static void batch_unlock(struct vb_batch *batch)
{
	batch->n = 0;
	if (batch->locked)
		pthread_mutex_unlock(&batch->mutex);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct vb_qp *qp = qp_of(ex);
	struct vb_batch *batch = qp->batch;

	batch_lock(batch);
	batch->room = qp->init.cap.max_send_wr > 0;
	batch->n = 0;
	batch->err = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct vb_qp *qp = qp_of(ex);
	struct vb_batch *batch = qp->batch;
	int err = batch->err;

	if (err)
		vb_obj_asked(qp->ibv.context, &qp->obj, "ibv_wr_complete", err);
	else
		err = -__atomic_load_n(&qp->obj.context->post_batch, __ATOMIC_RELAXED)(qp, batch);
	batch_unlock(batch);
	return -err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct vb_qp *qp = qp_of(ex);

	if (vb_note_begin(qp->ibv.context)) {
		vb_obj_trace(&qp->obj, "ibv_wr_abort requests=%u", qp->batch->n);
		vb_note_end(qp->ibv.context);
	}
	batch_unlock(qp->batch);
}

/*
 * The room of the send queue counts from the second request on: all are posted, or none is. Whether
 * there is room for one alone is found when it is posted.
 */
static void find_room(struct vb_qp *qp, struct vb_batch *batch)
{
	struct nic_qp_counts counts;

	vb_enter(qp->ibv.context);
	qp->nic->nic->ops->qp_query(qp->nic, &counts);
	vb_leave(qp->obj.context);
	batch->room = qp->init.cap.max_send_wr - counts.send_posted;
}

/* A further request; NULL: an earlier error, or no room. */
static struct vb_wr *next_wr(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct vb_qp *qp = qp_of(ex);
	struct vb_batch *batch = qp->batch;
	struct vb_wr *wr;

	if (batch->n == 1)
		find_room(qp, batch);
	if (!batch->err && batch->n >= batch->room)
		batch->err = -ENOMEM;
	if (batch->err)
		return NULL;
	wr = &batch->wrs[batch->n];
	wr->in_slot = false;
	wr->ibv = (struct ibv_send_wr){
		.wr_id = ex->wr_id,
		.sg_list = batch->sge + (size_t)batch->n * qp->init.cap.max_send_sge,
		.opcode = opcode,
		.send_flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE,
	};
	batch->n++;
	return wr;
}

/* The request whose payload is being set; NULL: an earlier error. */
static struct vb_wr *last_wr(struct vb_batch *batch)
{
	if (!batch->err && batch->n == 0)
		batch->err = -EINVAL;
	return batch->err ? NULL : &batch->wrs[batch->n - 1];
}

/* ---- operations ---- */

static void wr_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		    __be32 imm)
{
	struct vb_wr *wr = next_wr(ex, opcode);

	if (!wr)
		return;
	wr->ibv.imm_data = imm;
	wr->ibv.wr.rdma.remote_addr = addr;
	wr->ibv.wr.rdma.rkey = rkey;
}

static void wr_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_rdma(ex, IBV_WR_RDMA_WRITE, rkey, addr, 0);
}

static void wr_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	wr_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr, imm);
}

static void wr_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	wr_rdma(ex, IBV_WR_RDMA_READ, rkey, addr, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	next_wr(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	struct vb_wr *wr = next_wr(ex, IBV_WR_SEND_WITH_IMM);

	if (wr)
		wr->ibv.imm_data = imm;
}

static void wr_invalidate(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey)
{
	struct vb_wr *wr = next_wr(ex, opcode);

	if (wr)
		wr->ibv.invalidate_rkey = rkey;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	wr_invalidate(ex, IBV_WR_SEND_WITH_INV, rkey);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	wr_invalidate(ex, IBV_WR_LOCAL_INV, rkey);
}

static void wr_bind(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info)
{
	struct vb_wr *wr = next_wr(ex, IBV_WR_BIND_MW);

	if (!wr)
		return;
	wr->ibv.bind_mw.mw = mw;
	wr->ibv.bind_mw.rkey = rkey;
	wr->ibv.bind_mw.bind_info = *info;
}

static void wr_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		      uint64_t compare_add, uint64_t swap)
{
	struct vb_wr *wr = next_wr(ex, opcode);

	if (!wr)
		return;
	wr->ibv.wr.atomic.remote_addr = addr;
	wr->ibv.wr.atomic.rkey = rkey;
	wr->ibv.wr.atomic.compare_add = compare_add;
	wr->ibv.wr.atomic.swap = swap;
}

static void wr_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
		       uint64_t swap)
{
	wr_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void wr_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	wr_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

/* Of a QP of type UD. The post looks at the address. */
static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct vb_qp *qp = qp_of(ex);
	struct vb_wr *wr = last_wr(qp->batch);

	if (!wr)
		return;
	if (qp->ibv.qp_type != IBV_QPT_UD) {
		qp->batch->err = -EINVAL;
		return;
	}
	wr->ibv.wr.ud.ah = ah;
	wr->ibv.wr.ud.remote_qpn = qpn;
	wr->ibv.wr.ud.remote_qkey = qkey;
}

/* ---- payload ---- */

static void set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct vb_qp *qp = qp_of(ex);
	struct vb_wr *wr = last_wr(qp->batch);

	if (!wr)
		return;
	if (n > qp->init.cap.max_send_sge) {
		qp->batch->err = -EINVAL;
		return;
	}
	memcpy(wr->ibv.sg_list, list, n * sizeof(*list));
	wr->ibv.num_sge = (int)n;
	wr->in_slot = false;
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	set_sge_list(ex, 1, &sge);
}

static void set_inline_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct vb_qp *qp = qp_of(ex);
	struct vb_batch *batch = qp->batch;
	struct vb_wr *wr = last_wr(batch);
	size_t length = 0, most = qp->init.cap.max_inline_data;
	uint8_t *slot;

	if (!wr)
		return;
	/* The sum of lengths beyond that may be anything. */
	for (size_t i = 0; i < n && length <= most; i++)
		length = list[i].length > most ? list[i].length : length + list[i].length;
	if (length > most || vb_post_fetches(wr->ibv.opcode)) {
		batch->err = -EINVAL;
		return;
	}
	wr->in_slot = length > 0;
	wr->ibv.num_sge = 0;
	if (length == 0)
		return;
	slot = vb_inline_slot(qp, batch->n - 1);
	wr->slot = (struct ibv_sge){ (uintptr_t)slot, (uint32_t)length, qp->inline_mr->lkey };
	for (size_t i = 0; i < n; i++) {
		memcpy(slot, list[i].addr, list[i].length);
		slot += list[i].length;
	}
}

static void set_inline(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	set_inline_list(ex, 1, &buf);
}

/* ---- creation ---- */

static int make_batch(struct vb_qp *qp)
{
	static const pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	size_t n = qp->init.cap.max_send_wr, sges = n * qp->init.cap.max_send_sge;
	struct vb_batch *batch = calloc(1, sizeof(*batch) + n * sizeof(struct vb_wr));

	if (!batch)
		return -ENOMEM;
	batch->sge = calloc(sges ? sges : 1, sizeof(struct ibv_sge));
	if (!batch->sge) {
		free(batch);
		return -ENOMEM;
	}
	batch->mutex = recursive; /* the thread of a batch may post beside it */
	qp->batch = batch;
	return 0;
}

static void gone_start(struct ibv_qp_ex *ex)
{
	(void)ex;
}

static int gone_complete(struct ibv_qp_ex *ex)
{
	(void)ex;
	return EINVAL;
}

void vb_qp_free_batch(struct vb_qp *qp)
{
	static struct vb_batch gone = { .err = -EINVAL }; /* takes no request, so it stays so */

	if (!qp->batch)
		return;
	pthread_mutex_destroy(&qp->batch->mutex);
	free(qp->batch->sge);
	free(qp->batch);
	qp->batch = &gone;
	qp->ex.wr_start = qp->ex.wr_abort = gone_start;
	qp->ex.wr_complete = gone_complete;
}

static void fill_calls(struct ibv_qp_ex *ex)
{
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_rdma_write = wr_write;
	ex->wr_rdma_write_imm = wr_write_imm;
	ex->wr_rdma_read = wr_read;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind;
	ex->wr_atomic_cmp_swp = wr_cmp_swp;
	ex->wr_atomic_fetch_add = wr_fetch_add;
	ex->wr_set_ud_addr = set_ud_addr;
	ex->wr_set_sge = set_sge;
	ex->wr_set_sge_list = set_sge_list;
	ex->wr_set_inline_data = set_inline;
	ex->wr_set_inline_data_list = set_inline_list;
}

/* What RNICs do not have. */
#define OPS_INFINIBAND                                                       \
	(IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static uint64_t ops_of(enum ibv_qp_type type)
{
	if (vb_setting_iwarp())
		return OPS & ~(uint64_t)OPS_INFINIBAND;
	return type == IBV_QPT_UD ? OPS_UD : type == IBV_QPT_UC ? OPS_UC : OPS;
}

struct ibv_qp *vb_create_qp_ex(struct ibv_context *ibv, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	bool ops = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || attr->pd->context != ibv)
		return vb_failed(vb_asked(ibv, "ibv_create_qp_ex", -EINVAL));
	if ((attr->comp_mask & ~known) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) ||
	    (ops && (attr->send_ops_flags & ~ops_of(attr->qp_type))))
		return vb_failed(vb_asked(ibv, "ibv_create_qp_ex", -EOPNOTSUPP));
	qp = ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
	if (!qp || !ops)
		return qp;
	if (make_batch(VB_OF(qp, qp))) {
		ibv_destroy_qp(qp);
		return vb_failed(-ENOMEM);
	}
	fill_calls(&VB_OF(qp, qp)->ex);
	return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct vb_qp *qp = VB_OF(ibv, qp);

	return qp->batch ? &qp->ex : NULL;
}

/* ---- enhanced connection establishment: there is nothing to agree about ---- */

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)ece;
	return -vb_obj_asked(qp->context, &VB_OF(qp, qp)->obj, "ibv_query_ece", -EOPNOTSUPP);
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	int err = ece->comp_mask ? -EINVAL : -EOPNOTSUPP;

	return -vb_obj_asked(qp->context, &VB_OF(qp, qp)->obj, "ibv_set_ece", err);
}
