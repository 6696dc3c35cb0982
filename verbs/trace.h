/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - the lines that calls of verbs write into a trace (doc/trace.md), and the states of QPs,
 * each change of which is one. The lock is held.
 */
#ifndef VERBS_TRACE_H
#define VERBS_TRACE_H

#include "vb.h"

/* "qp", "cq" ... */
const char *vb_obj_noun(const struct vb_obj *obj);
/* A line of the trace, of this object or device. Costs little if nothing is traced. */
void vb_obj_trace(const struct vb_obj *obj, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void vb_context_trace(const struct vb_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns err; a line if the call failed. */
int vb_refuse(const struct vb_obj *obj, const char *call, int err);
/* Change the state of a QP. */
void vb_qp_enter(struct vb_qp *qp, enum ibv_qp_state to, const char *by);
/* Call these only while tracing. */
void vb_trace_recv(const struct vb_obj *obj, const struct ibv_recv_wr *wr, uint64_t bytes);
void vb_trace_srq_recv(const struct vb_srq *srq, const struct ibv_recv_wr *wr, uint64_t bytes);
void vb_trace_wc(const struct vb_cq *cq, const struct nic_qp *nic_qp, const struct ibv_wc *wc);
void vb_trace_async(const struct vb_context *context, const char *verb,
		    const struct ibv_async_event *event);

static inline bool vb_traced(const struct vb_obj *obj)
{
	return __builtin_expect(obj->host.nic->tracing, 0);
}

#endif /* VERBS_TRACE_H */
