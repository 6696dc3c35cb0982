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
int vb_context_refuse(const struct vb_context *context, const char *call, int err);
/*
 * For the line of a call that needs no lock otherwise: if something is traced, takes the lock. A
 * turn of lockstep (host/turn.h) does not count such a call, so that programs run as they do
 * without a trace.
 */
bool vb_note_begin(struct ibv_context *ibv);
void vb_note_end(struct ibv_context *ibv);
/*
 * Without the lock: returns err, and writes a line of the device, or of its object: the name of the
 * call, or that it was refused.
 */
int vb_asked(struct ibv_context *ibv, const char *call, int err);
int vb_obj_asked(struct ibv_context *ibv, const struct vb_obj *obj, const char *call, int err);
const char *vb_state_word(enum ibv_qp_state state);
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
