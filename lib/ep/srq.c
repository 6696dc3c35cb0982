/* SPDX-License-Identifier: BSD-3-Clause */
/* srq.c - shared receive queues: create, post, query, resize, free, and the low watermark. */
#include <string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/api.h"
#include "host/fault_door.h"
#include "lib/memory/lmr.h"
#include "lib/memory/pz.h"
#include "lib/path/quick_hw.h"
#include "dto.h"
#include "srq.h"

#define BAD_SRQ DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)

static const struct nic_ops *srq_ops(const struct srq *srq)
{
	return srq->nic->nic->ops;
}

DAT_COUNT srq_available(const struct srq *srq)
{
	return (DAT_COUNT)srq_ops(srq)->srq_count(srq->nic);
}

void srq_trace_counts(const struct srq *srq, char *text, size_t size)
{
	char name[64];

	obj_name(&srq->obj, name, sizeof(name));
	snprintf(text, size, " srq=%s available=%d outstanding=%d", name, srq_available(srq),
		 srq->outstanding);
}

/* ---- the low watermark ---- */

static void srq_low(struct srq *srq)
{
	if (!srq->armed)
		return;
	srq->armed = false;
	async_send(srq->obj.ia, &srq->low, &srq->obj, DAT_ASYNC_SRQ_LOW_WATERMARK,
		   DAT_SRQ_LOW_WATERMARK_EVENT);
}

void srq_on_limit(void *srq_ctx)
{
	struct srq *srq = srq_ctx;

	srq->reached = true;
	srq_low(srq);
}

static void srq_set_mark(struct srq *srq, DAT_COUNT low_watermark)
{
	async_drop(&srq->low);
	srq->low_watermark = low_watermark;
	srq->armed = low_watermark > 0;
	if (srq_available(srq) < low_watermark)
		srq_low(srq);
}

/* Rulings L1-L4: a new setting drops the event that an earlier one may still have pending. */
static DAT_RETURN srq_arm(struct srq *srq, DAT_COUNT low_watermark)
{
	bool low = srq_available(srq) < low_watermark, armed = srq->armed;
	int err;

	/* For which setting the NIC reports in its call is known when that has returned. */
	srq->armed = srq->reached = false;
	err = srq_ops(srq)->srq_limit(srq->nic, low ? 0 : (uint32_t)low_watermark);
	if (!err) {
		obj_trace(srq, "set_lw low=%d available=%d outstanding=%d", low_watermark,
			  srq_available(srq), srq->outstanding);
		srq_set_mark(srq, low_watermark);
		return DAT_SUCCESS;
	}
	srq->armed = armed;
	if (srq->reached)
		srq_low(srq);
	return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
}

/* ---- create and free ---- */

static DAT_RETURN srq_check_attr(const struct dat_adapter *adapter, const DAT_SRQ_ATTR *attr)
{
	if (!attr)
		return BAD_ARG(3);
	if (attr->max_recv_dtos < 1 || attr->max_recv_dtos > adapter->base.attr.max_srq_wr)
		return BAD_ARG(3);
	if (attr->max_recv_iov < 1 || attr->max_recv_iov > adapter->base.attr.max_sge)
		return BAD_ARG(3);
	if (attr->low_watermark < 0 || attr->low_watermark > attr->max_recv_dtos)
		return BAD_ARG(3);
	return DAT_SUCCESS;
}

static DAT_RETURN srq_create_locked(struct ia *ia, DAT_PZ_HANDLE pz_handle,
				    const DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *out)
{
	struct dat_adapter *adapter = ia->adapter;
	struct pz *pz =
		obj_as(struct pz, obj_find(adapter->base.backend, pz_handle, DAT_HANDLE_TYPE_PZ));
	struct srq *srq;
	DAT_RETURN ret;
	int err;

	if (!pz || pz->obj.ia != ia)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!(adapter->base.nic->caps & NIC_CAP_SRQ))
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ret = srq_check_attr(adapter, attr);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!out)
		return BAD_ARG(4);
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	srq = nic_calloc(adapter->base.nic, 1, sizeof(*srq), "srq");
	if (!srq)
		goto fail;
	srq->pz = pz;
	srq->max_recv_dtos = attr->max_recv_dtos;
	srq->max_recv_iov = attr->max_recv_iov;
	err = adapter->base.nic->ops->srq_create(pz->nic, (uint32_t)attr->max_recv_dtos,
						 (uint32_t)attr->max_recv_iov,
						 adapter->last_id[DAT_HANDLE_TYPE_SRQ] + 1, srq,
						 &srq->nic);
	ret = nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	if (err)
		goto free_srq;
	ret = obj_init(&srq->obj, ia, DAT_HANDLE_TYPE_SRQ);
	if (ret != DAT_SUCCESS)
		goto destroy_nic;
	quick_hw_calls(&srq->obj);
	pz->users++;
	obj_trace(srq, "create max=%d low=%d", srq->max_recv_dtos, attr->low_watermark);
	/* Nothing is posted, so a mark is reached at once (L6), and the NIC need not watch it. */
	srq_set_mark(srq, attr->low_watermark);
	*out = srq->obj.handle;
	return DAT_SUCCESS;

destroy_nic:
	adapter->base.nic->ops->srq_destroy(srq->nic);
free_srq:
	free(srq);
fail:
	return ret;
}

DAT_RETURN dat__srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_srq_create",
			 srq_create_locked(obj_as(struct ia, obj), pz, attr, srq));
}

void srq_destroy(struct srq *srq)
{
	obj_trace(srq, "free");
	async_drop(&srq->low);
	lmr_range_close(&srq->range);
	srq_ops(srq)->srq_destroy(srq->nic);
	srq->pz->users--;
	obj_fini(&srq->obj);
	free(srq);
}

DAT_RETURN dat__srq_free(DAT_SRQ_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_SRQ, &b);
	struct srq *srq = obj_as(struct srq, obj);

	if (!obj)
		return BAD_SRQ;
	if (srq->eps > 0)
		return obj_leave(b, obj, "dat_srq_free",
				 DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE));
	srq_destroy(srq);
	backend_leave(b);
	return DAT_SUCCESS;
}

/* ---- posting ---- */

static void srq_trace_recv(const struct srq *srq, DAT_VLEN length, DAT_COUNT segments)
{
	struct nic *nic = obj_nic(&srq->obj);

	if (segments == 1 && length <= UINT32_MAX)
		nic->ops->trace_event(nic, NIC_TRACE_SRQ_RECV, srq->obj.id, (uint32_t)length,
				      (uint32_t)srq_available(srq), (uint32_t)srq->outstanding);
	else
		obj_trace_line(&srq->obj,
			       "post_recv bytes=%lu segments=%d available=%d outstanding=%d",
			       length, segments, srq_available(srq), srq->outstanding);
}

static DAT_RETURN srq_post_locked(struct srq *srq, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie)
{
	struct nic_sge sge[LMR_SEGMENTS_MAX];
	struct nic_recv_wr wr = { .wr_id = cookie.as_64, .sge = sge };
	struct lmr_need need = { .pz = srq->pz, .privileges = LMR_NEED_WRITE, .first_arg = 2 };
	DAT_VLEN length;
	DAT_RETURN ret;
	int err;

	if (segments < 0 || segments > srq->max_recv_iov)
		return BAD_ARG(2);
	ret = lmr_translate(srq->obj.ia->adapter, need, segments, iov, sge, &length);
	if (ret != DAT_SUCCESS)
		return ret;
	if (srq->outstanding >= srq->max_recv_dtos)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	wr.num_sge = (uint16_t)segments;
	err = srq_ops(srq)->srq_post(srq->nic, &wr);
	if (err)
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	srq->outstanding++;
	backend_busy(srq->obj.nic);
	if (__builtin_expect(obj_nic(&srq->obj)->tracing, 0))
		srq_trace_recv(srq, length, segments);
	return DAT_SUCCESS;
}

COLD bool srq_move_range(struct srq *srq, const DAT_LMR_TRIPLET *iov)
{
	struct lmr_need need = { .pz = srq->pz, .privileges = LMR_NEED_WRITE };
	const struct dat_adapter *adapter = obj_adapter(&srq->obj);

	return lmr_range_move(&srq->range, adapter, &need, adapter->base.attr.max_msg_size, iov);
}

DAT_RETURN dat__srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_SRQ, &b);

	if (!obj)
		return BAD_SRQ;
	return obj_leave(b, obj, "dat_srq_post_recv",
			 srq_post_locked(obj_as(struct srq, obj), segments, iov, cookie));
}

/* False: the post is not simple, or the NIC refused it. */
static HOT bool srq_post_fast(struct srq *srq, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie)
{
	struct nic_recv_wr wr;
	struct nic_sge sge;

	if (obj_nic(&srq->obj)->tracing ||
	    !dto_is_simple(segments, iov, DAT_COMPLETION_DEFAULT_FLAG) ||
	    srq->outstanding >= srq->max_recv_dtos ||
	    (!lmr_range_covers(&srq->range, iov) && !srq_move_range(srq, iov)))
		return false;
	dto_fill_sge(&sge, iov, &srq->range);
	wr = (struct nic_recv_wr){ .wr_id = cookie.as_64, .sge = &sge, .num_sge = 1 };
	if (srq_ops(srq)->srq_post(srq->nic, &wr))
		return false;
	srq->outstanding++;
	backend_busy(srq->obj.nic);
	return true;
}

DAT_RETURN dat__srq_post_recv_biased(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
				     DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct backend *b;
	struct obj *obj = obj_peek_biased(handle, DAT_HANDLE_TYPE_SRQ, &b);
	bool done = false;

	if (obj) {
		done = srq_post_fast(obj_as(struct srq, obj), segments, iov, cookie);
		obj_unpeek(b);
	}
	return done ? DAT_SUCCESS : dat__srq_post_recv(handle, segments, iov, cookie);
}

/* ---- query, resize, set_lw ---- */

static DAT_RETURN srq_query_locked(struct srq *srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	if (mask & ~DAT_SRQ_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	backend_idle(srq->obj.nic);
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = srq->obj.ia->obj.handle;
	param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
	param->pz_handle = srq->pz->obj.handle;
	param->max_recv_dtos = srq->max_recv_dtos;
	param->max_recv_iov = srq->max_recv_iov;
	param->low_watermark = srq->low_watermark;
	param->available_dto_count = srq_available(srq);
	param->outstanding_dto_count = srq->outstanding;
	return DAT_SUCCESS;
}

DAT_RETURN dat__srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_SRQ, &b);
	struct srq *srq = obj_as(struct srq, obj);
	DAT_RETURN ret;

	if (!obj)
		return BAD_SRQ;
	ret = srq_query_locked(srq, mask, param);
	if (ret == DAT_SUCCESS)
		obj_returns(obj, "dat_srq_query", "available=%d outstanding=%d", srq_available(srq),
			    srq->outstanding);
	return obj_leave(b, obj, "dat_srq_query", ret);
}

static DAT_RETURN srq_resize_locked(struct srq *srq, DAT_COUNT max)
{
	int err;

	if (max < 1 || max > srq->obj.ia->adapter->base.attr.max_srq_wr)
		return BAD_ARG(2);
	if (max < srq->outstanding || max < srq->low_watermark)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_OPERATIONAL);
	err = srq_ops(srq)->srq_resize(srq->nic, (uint32_t)max);
	if (err)
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	srq->max_recv_dtos = max;
	obj_trace(srq, "resize max=%d", max);
	return DAT_SUCCESS;
}

DAT_RETURN dat__srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_SRQ, &b);

	if (!obj)
		return BAD_SRQ;
	return obj_leave(b, obj, "dat_srq_resize", srq_resize_locked(obj_as(struct srq, obj), max));
}

static DAT_RETURN srq_set_lw_locked(struct srq *srq, DAT_COUNT low_watermark)
{
	if (low_watermark < 0 || low_watermark > srq->max_recv_dtos)
		return BAD_ARG(2);
	return srq_arm(srq, low_watermark);
}

DAT_RETURN dat__srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_SRQ, &b);

	if (!obj)
		return BAD_SRQ;
	return obj_leave(b, obj, "dat_srq_set_lw",
			 srq_set_lw_locked(obj_as(struct srq, obj), low_watermark));
}
