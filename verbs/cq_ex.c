/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cq_ex.c - the calls of struct ibv_cq_ex: completions one by one, each field by a call.
 *
 * The clock of completions is virtual time, when the completion was polled.
 */
#include <stdlib.h>
#include <sys/single_threaded.h>

#include "trace.h"
#include "vb.h"

#define WC_FLAGS                                                                           \
	((uint64_t)IBV_WC_STANDARD_FLAGS | (uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
	 (uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define WC_TIME                                          \
	((uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
	 (uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/* The completion that ibv_start_poll or ibv_next_poll found. */
struct vb_cursor {
	struct ibv_wc wc;
	uint64_t when;
	bool timed, single_threaded, locked;
	pthread_mutex_t mutex; /* from ibv_start_poll to ibv_end_poll */
};

static struct vb_cursor *cursor_of(struct ibv_cq_ex *ex)
{
	return nic_container_of(ex, struct vb_cq, ex)->cursor;
}

/* ---- polling ---- */

static int next_poll(struct ibv_cq_ex *ex)
{
	struct vb_cursor *c = cursor_of(ex);
	int n;

	n = ibv_poll_cq(ibv_cq_ex_to_cq(ex), 1, &c->wc);
	if (n <= 0)
		return n == 0 ? ENOENT : EINVAL;
	ex->wr_id = c->wc.wr_id;
	ex->status = c->wc.status;
	if (c->timed)
		c->when = vb_now(ex->context);
	return 0;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct vb_cursor *c = cursor_of(ex);

	if (c->locked)
		pthread_mutex_unlock(&c->mutex);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vb_cursor *c = cursor_of(ex);
	bool lock = !c->single_threaded && !__libc_single_threaded;
	int err;

	if (attr->comp_mask)
		return EINVAL;
	if (lock)
		pthread_mutex_lock(&c->mutex);
	c->locked = lock;
	err = next_poll(ex);
	if (err)
		end_poll(ex);
	return err;
}

/* ---- fields ---- */

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->wc.dlid_path_bits;
}

static uint64_t read_when(struct ibv_cq_ex *ex)
{
	return cursor_of(ex)->when;
}

/* ---- creation ---- */

static void fill_calls(struct ibv_cq_ex *ex)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
	ex->read_completion_ts = read_when;
	ex->read_completion_wallclock_ns = read_when;
}

void vb_cq_free_cursor(struct vb_cq *cq)
{
	static struct vb_cursor gone = { .single_threaded = true }; /* without a lock */

	if (!cq->cursor)
		return;
	pthread_mutex_destroy(&cq->cursor->mutex);
	free(cq->cursor);
	cq->cursor = &gone;
}

struct ibv_cq_ex *vb_create_cq_ex(struct ibv_context *ibv, struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct vb_cursor *cursor;
	struct vb_cq *cq;

	if ((attr->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
	    (attr->wc_flags & ~WC_FLAGS) || (flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return vb_failed(vb_asked(ibv, "ibv_create_cq_ex", -EOPNOTSUPP));
	cursor = calloc(1, sizeof(*cursor));
	if (!cursor)
		return vb_failed(-ENOMEM);
	cq = vb_cq_create(ibv, attr);
	if (!cq) {
		free(cursor);
		return NULL;
	}
	cursor->timed = attr->wc_flags & WC_TIME;
	cursor->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	pthread_mutex_init(&cursor->mutex, NULL);
	cq->cursor = cursor;
	fill_calls(&cq->ex);
	return &cq->ex;
}
