/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.c - what calls of verbs write into a trace: doc/trace.md. The NIC writes the rest, and
 * calls these objects by the same words.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "quick.h"
#include "trace.h"

#define LINE 192

static const char *const nouns[VB_KINDS] = {
	[VB_PD] = "pd",           [VB_MR] = "mr",   [VB_MW] = "mw", [VB_CHANNEL] = "channel",
	[VB_CQ] = "cq",           [VB_SRQ] = "srq", [VB_QP] = "qp", [VB_AH] = "ah",
	[VB_LISTENER] = "listen", [VB_CONN] = "id",
};

const char *vb_obj_noun(const struct vb_obj *obj)
{
	return nouns[obj->kind];
}

void vb_obj_trace(const struct vb_obj *obj, const char *format, ...)
{
	struct nic *nic = obj->host.nic;
	char text[LINE];
	va_list args;

	if (!nic->tracing)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	nic_trace(nic, "%s.%s%u %s", nic->label, nouns[obj->kind], obj->id, text);
}

void vb_context_trace(const struct vb_context *context, const char *format, ...)
{
	struct nic *nic = context->nic;
	char text[LINE];
	va_list args;

	if (!nic->tracing)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	nic_trace(nic, "%s %s", nic->label, text);
}

static const char *error_word(int err)
{
	const char *name = strerrorname_np(-err);

	return name ? name : "?";
}

int vb_refuse(const struct vb_obj *obj, const char *call, int err)
{
	if (err)
		vb_obj_trace(obj, "refuse call=%s error=%s", call, error_word(err));
	return err;
}

int vb_context_refuse(const struct vb_context *context, const char *call, int err)
{
	if (err)
		vb_context_trace(context, "refuse call=%s error=%s", call, error_word(err));
	return err;
}

bool vb_note_begin(struct ibv_context *ibv)
{
	struct vb_context *context = vb_context_of(ibv);

	if (!context->nic || !context->nic->tracing)
		return false;
	backend_enter(vb_backend(context));
	return true;
}

void vb_note_end(struct ibv_context *ibv)
{
	backend_unlock(vb_backend(vb_context_of(ibv)));
}

int vb_asked(struct ibv_context *ibv, const char *call, int err)
{
	const struct vb_context *context = vb_context_of(ibv);

	if (!vb_note_begin(ibv))
		return err;
	if (!vb_context_refuse(context, call, err))
		vb_context_trace(context, "%s", call);
	vb_note_end(ibv);
	return err;
}

int vb_obj_asked(struct ibv_context *ibv, const struct vb_obj *obj, const char *call, int err)
{
	if (!vb_note_begin(ibv))
		return err;
	if (!vb_refuse(obj, call, err))
		vb_obj_trace(obj, "%s", call);
	vb_note_end(ibv);
	return err;
}

/* ---- states ---- */

const char *vb_state_word(enum ibv_qp_state state)
{
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(states) / sizeof(states[0]) ? states[state] : "?";
}

void vb_qp_enter(struct vb_qp *qp, enum ibv_qp_state to, const char *by)
{
	if (to == qp->ibv.state)
		return;
	vb_obj_trace(&qp->obj, "state from=%s to=%s by=%s", vb_state_word(qp->ibv.state),
		     vb_state_word(to), by);
	qp->ibv.state = to;
	vb_qp_choose_quick(qp);
}

/* ---- requests and completions ---- */

/* One that needs more bits is probably an address, which would make equal runs differ. */
static const char *id_text(char text[32], uint64_t wr_id)
{
	text[0] = '\0';
	if (wr_id <= UINT32_MAX)
		snprintf(text, 32, " wr_id=%" PRIu64, wr_id);
	return text;
}

void vb_trace_recv(const struct vb_obj *obj, const struct ibv_recv_wr *wr, uint64_t bytes)
{
	struct nic *nic = obj->host.nic;
	char id[32];

	if (obj->kind == VB_QP && bytes <= UINT32_MAX && wr->wr_id <= UINT32_MAX) {
		nic->ops->trace_event(nic, NIC_TRACE_QP_RECV, obj->id, (uint32_t)bytes,
				      (uint32_t)wr->num_sge, (uint32_t)wr->wr_id);
		return;
	}
	vb_obj_trace(obj, "ibv_post_recv bytes=%" PRIu64 " segments=%d%s", bytes, wr->num_sge,
		     id_text(id, wr->wr_id));
}

void vb_trace_srq_recv(const struct vb_srq *srq, const struct ibv_recv_wr *wr, uint64_t bytes)
{
	struct nic *nic = srq->obj.host.nic;
	uint32_t available = srq->nic->nic->ops->srq_count(srq->nic);
	char id[32];

	if (wr->num_sge == 1 && bytes <= UINT32_MAX && wr->wr_id <= UINT32_MAX) {
		nic->ops->trace_event(nic, NIC_TRACE_IBV_SRQ_RECV, srq->obj.id, (uint32_t)bytes,
				      available, (uint32_t)wr->wr_id);
		return;
	}
	vb_obj_trace(&srq->obj, "ibv_post_srq_recv bytes=%" PRIu64 " segments=%d available=%u%s",
		     bytes, wr->num_sge, available, id_text(id, wr->wr_id));
}

static const char *opcode_word(enum ibv_wc_opcode opcode)
{
	switch (opcode) {
	case IBV_WC_SEND:
		return "SEND";
	case IBV_WC_RDMA_WRITE:
		return "RDMA_WRITE";
	case IBV_WC_RDMA_READ:
		return "RDMA_READ";
	case IBV_WC_COMP_SWAP:
		return "COMP_SWAP";
	case IBV_WC_FETCH_ADD:
		return "FETCH_ADD";
	case IBV_WC_BIND_MW:
		return "BIND_MW";
	case IBV_WC_LOCAL_INV:
		return "LOCAL_INV";
	case IBV_WC_RECV:
		return "RECV";
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return "RECV_RDMA_WITH_IMM";
	default:
		return "?";
	}
}

static const char *status_word(enum ibv_wc_status status)
{
	static const char *const words[] = {
		[IBV_WC_SUCCESS] = "SUCCESS",
		[IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[IBV_WC_LOC_EEC_OP_ERR] = "LOC_EEC_OP_ERR",
		[IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[IBV_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[IBV_WC_MW_BIND_ERR] = "MW_BIND_ERR",
		[IBV_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[IBV_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
		[IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[IBV_WC_REM_OP_ERR] = "REM_OP_ERR",
		[IBV_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
		[IBV_WC_LOC_RDD_VIOL_ERR] = "LOC_RDD_VIOL_ERR",
		[IBV_WC_REM_INV_RD_REQ_ERR] = "REM_INV_RD_REQ_ERR",
		[IBV_WC_REM_ABORT_ERR] = "REM_ABORT_ERR",
		[IBV_WC_INV_EECN_ERR] = "INV_EECN_ERR",
		[IBV_WC_INV_EEC_STATE_ERR] = "INV_EEC_STATE_ERR",
		[IBV_WC_FATAL_ERR] = "FATAL_ERR",
		[IBV_WC_RESP_TIMEOUT_ERR] = "RESP_TIMEOUT_ERR",
		[IBV_WC_GENERAL_ERR] = "GENERAL_ERR",
		[IBV_WC_TM_ERR] = "TM_ERR",
		[IBV_WC_TM_RNDV_INCOMPLETE] = "TM_RNDV_INCOMPLETE",
	};

	return status < sizeof(words) / sizeof(words[0]) && words[status] ? words[status] : "?";
}

/* The completion of a Send or Receive, as every message has it. False: it is another one. */
static bool trace_ordinary_wc(const struct vb_cq *cq, const struct vb_obj *obj,
			      const struct ibv_wc *wc)
{
	struct nic *nic = obj->host.nic;

	if (obj->kind != VB_QP || wc->status != IBV_WC_SUCCESS || wc->wr_id > UINT32_MAX ||
	    (wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)) ||
	    (wc->opcode != IBV_WC_RECV && wc->opcode != IBV_WC_SEND))
		return false;
	nic->ops->trace_event(
		nic, wc->opcode == IBV_WC_RECV ? NIC_TRACE_QP_POLL_RECV : NIC_TRACE_QP_POLL_SEND,
		obj->id, cq->obj.id, wc->byte_len, (uint32_t)wc->wr_id);
	return true;
}

void vb_trace_wc(const struct vb_cq *cq, const struct nic_qp *nic_qp, const struct ibv_wc *wc)
{
	char id[32], flag[32] = "";

	if (trace_ordinary_wc(cq, nic_qp->ctx, wc))
		return;
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		snprintf(flag, sizeof(flag), " imm=%u", be32toh(wc->imm_data));
	else if (wc->wc_flags & IBV_WC_WITH_INV)
		snprintf(flag, sizeof(flag), " invalidate=%u", wc->invalidated_rkey);
	vb_obj_trace(nic_qp->ctx,
		     "ibv_poll_cq cq=cq%u opcode=IBV_WC_%s status=IBV_WC_%s bytes=%u%s%s",
		     cq->obj.id, opcode_word(wc->opcode), status_word(wc->status), wc->byte_len,
		     flag, id_text(id, wc->wr_id));
}

/* ---- asynchronous events ---- */

static const char *event_word(enum ibv_event_type event)
{
	static const char *const words[] = {
		[IBV_EVENT_CQ_ERR] = "CQ_ERR",
		[IBV_EVENT_QP_FATAL] = "QP_FATAL",
		[IBV_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
		[IBV_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
		[IBV_EVENT_COMM_EST] = "COMM_EST",
		[IBV_EVENT_SQ_DRAINED] = "SQ_DRAINED",
		[IBV_EVENT_DEVICE_FATAL] = "DEVICE_FATAL",
		[IBV_EVENT_PORT_ACTIVE] = "PORT_ACTIVE",
		[IBV_EVENT_PORT_ERR] = "PORT_ERR",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ_LIMIT_REACHED",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "QP_LAST_WQE_REACHED",
	};

	return event < sizeof(words) / sizeof(words[0]) && words[event] ? words[event] : "?";
}

static const struct vb_obj *object_of(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return &VB_OF(event->element.qp, qp)->obj;
	case IBV_EVENT_CQ_ERR:
		return &VB_OF(event->element.cq, cq)->obj;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return &VB_OF(event->element.srq, srq)->obj;
	default:
		return NULL; /* of the device */
	}
}

void vb_trace_async(const struct vb_context *context, const char *verb,
		    const struct ibv_async_event *event)
{
	const struct vb_obj *obj = object_of(event);
	const char *word = event_word(event->event_type);

	if (obj)
		vb_obj_trace(obj, "%s number=IBV_EVENT_%s", verb, word);
	else
		vb_context_trace(context, "%s number=IBV_EVENT_%s", verb, word);
}
