/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_unsupported.c - the entries that a backend does not implement. Optional ones fail with
 * -EOPNOTSUPP. Mandatory ones abort: to reach one is a bug of the backend, not of the program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "nic.h"

static void nic_entry_missing(void)
{
	fputs("libdat: a backend lacks an entry that every backend must have (host/nic.h)\n",
	      stderr);
	abort();
}

#define MISSING(name) .name = (__typeof__(((struct nic_ops *)0)->name))nic_entry_missing

static int no_send_one(struct nic_qp *qp, uint64_t addr, void *request, uint64_t wr_id,
		       uint32_t length, uint32_t lkey)
{
	(void)addr;
	(void)length;
	(void)lkey;
	return qp->nic->up->send_refused(qp, request, wr_id);
}

static int no_recv_one(struct nic_qp *qp, uint64_t addr, void *request, uint64_t wr_id,
		       uint32_t length, uint32_t lkey)
{
	(void)addr;
	(void)length;
	(void)lkey;
	return qp->nic->up->recv_refused(qp, request, wr_id);
}

static int spin_for(struct nic_cq *cq, void *out, __typeof__(cq->nic->up->completed) completed)
{
	struct nic_wc wc;

	if (!cq->nic->ops->cq_spin(cq, &wc))
		return cq->nic->up->no_completion(out);
	return completed(out, cq->ctx, wc.qp, wc.wr_id, wc.length,
			 nic_wc_what(wc.opcode, wc.status));
}

static int no_spin_one(struct nic_cq *cq, void *out)
{
	return spin_for(cq, out, cq->nic->up->completed);
}

static int no_spin_one_traced(struct nic_cq *cq, void *out)
{
	return spin_for(cq, out, cq->nic->up->completed_traced);
}

static int no_mw_alloc(struct nic_pd *pd, struct nic_mw **mw)
{
	(void)pd;
	(void)mw;
	return -EOPNOTSUPP;
}

static int no_mr_change(struct nic_mr *mr, struct nic_pd *pd, uint32_t access)
{
	(void)mr;
	(void)pd;
	(void)access;
	return -EOPNOTSUPP;
}

static uint32_t no_windows(struct nic_mr *mr)
{
	(void)mr;
	return 0;
}

static int no_cq_resize(struct nic_cq *cq, uint32_t depth)
{
	(void)cq;
	(void)depth;
	return -EOPNOTSUPP;
}

static int no_srq_resize(struct nic_srq *srq, uint32_t max_wr)
{
	(void)srq;
	(void)max_wr;
	return -EOPNOTSUPP;
}

static int no_srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name,
			 void *ctx, struct nic_srq **srq)
{
	(void)pd;
	(void)max_wr;
	(void)max_sge;
	(void)name;
	(void)ctx;
	(void)srq;
	return -EOPNOTSUPP;
}

static int no_qp_to(struct nic_qp *qp, const struct nic_qp_path *path)
{
	(void)qp;
	(void)path;
	return -EOPNOTSUPP;
}

static int no_qp_alarm(struct nic_qp *qp, uint64_t after_ns)
{
	(void)qp;
	(void)after_ns;
	return -EOPNOTSUPP;
}

static int no_qp_group(struct nic_qp *qp, const uint8_t gid[NIC_GID], bool join)
{
	(void)qp;
	(void)gid;
	(void)join;
	return -EOPNOTSUPP;
}

static int no_confirm(struct nic_qp *qp, struct nic_qp *messages)
{
	(void)qp;
	(void)messages;
	return -EOPNOTSUPP;
}

static int no_refuse(struct nic_conn *conn, const void *data, uint32_t size)
{
	(void)conn;
	(void)data;
	(void)size;
	return -EOPNOTSUPP;
}

static int no_handoff(struct nic_conn *conn, uint64_t port)
{
	(void)conn;
	(void)port;
	return -EOPNOTSUPP;
}

static void no_wake(struct nic *nic)
{
	(void)nic;
}

static bool no_step(struct nic *nic)
{
	(void)nic;
	return false;
}

static uint32_t no_pending(struct nic *nic, uint64_t *next_ns)
{
	(void)nic;
	(void)next_ns;
	return 0;
}

static uint32_t no_violations(struct nic *nic)
{
	(void)nic;
	return 0;
}

static int no_set_link(struct nic *nic, const char *from, const char *to, uint64_t latency_ns,
		       uint64_t bandwidth_bps)
{
	(void)nic;
	(void)from;
	(void)to;
	(void)latency_ns;
	(void)bandwidth_bps;
	return -EOPNOTSUPP;
}

static int no_hold_link(struct nic *nic, const char *from, const char *to, uint32_t packets)
{
	(void)nic;
	(void)from;
	(void)to;
	(void)packets;
	return -EOPNOTSUPP;
}

static int no_release_link(struct nic *nic, const char *from, const char *to)
{
	(void)nic;
	(void)from;
	(void)to;
	return -EOPNOTSUPP;
}

static void no_port(struct nic *nic, bool up)
{
	(void)nic;
	(void)up;
}

static int no_hold_message(struct nic_qp *qp, uint64_t message, uint32_t packets)
{
	(void)qp;
	(void)message;
	(void)packets;
	return -EOPNOTSUPP;
}

static int no_release_message(struct nic_qp *qp, uint64_t message)
{
	(void)qp;
	(void)message;
	return -EOPNOTSUPP;
}

static void no_sim_trace(struct nic *nic, bool on)
{
	(void)nic;
	(void)on;
}

static int no_trace_read(struct nic *nic, const char **text, size_t *length)
{
	(void)nic;
	(void)text;
	(void)length;
	return -EOPNOTSUPP;
}

static void no_trace(struct nic *nic, const char *format, va_list args)
{
	(void)nic;
	(void)format;
	(void)args;
}

static void no_trace_event(struct nic *nic, enum nic_trace_kind kind, uint32_t name, uint32_t a,
			   uint32_t b, uint32_t c)
{
	(void)nic;
	(void)kind;
	(void)name;
	(void)a;
	(void)b;
	(void)c;
}

static int no_packet_rule(struct nic *nic, const struct nic_packet_rule *rule, uint32_t *id)
{
	(void)nic;
	(void)rule;
	(void)id;
	return -EOPNOTSUPP;
}

static int no_packet_rule_fired(struct nic *nic, uint32_t id, uint64_t *fired)
{
	(void)nic;
	(void)id;
	(void)fired;
	return -EOPNOTSUPP;
}

static void no_packet_rules_clear(struct nic *nic)
{
	(void)nic;
}

const struct nic_ops nic_unsupported = {
	.size = sizeof(struct nic_ops),
	MISSING(close),
	MISSING(query),
	MISSING(pd_alloc),
	MISSING(pd_free),
	MISSING(mr_reg),
	MISSING(mr_dereg),
	MISSING(mr_base),
	.mr_change = no_mr_change,
	.mr_windows = no_windows,
	.mw_alloc = no_mw_alloc,
	MISSING(mw_free),
	MISSING(mw_query),
	MISSING(cq_create),
	.cq_resize = no_cq_resize,
	MISSING(cq_destroy),
	MISSING(cq_poll),
	MISSING(cq_spin),
	.spin_one = no_spin_one,
	.spin_one_traced = no_spin_one_traced,
	MISSING(cq_count),
	MISSING(cq_limit),
	MISSING(cq_arm),
	MISSING(cq_arm_solicited),
	.srq_create = no_srq_create,
	.srq_resize = no_srq_resize,
	MISSING(srq_destroy),
	MISSING(srq_post),
	MISSING(srq_limit),
	MISSING(srq_count),
	MISSING(qp_create),
	MISSING(qp_modify),
	MISSING(qp_reset),
	MISSING(qp_destroy),
	MISSING(qp_query),
	MISSING(qp_taken_limit),

	MISSING(qp_break),
	.qp_to = no_qp_to,
	.qp_group = no_qp_group,
	MISSING(qp_fail),
	.qp_alarm = no_qp_alarm,
	MISSING(post_send),
	MISSING(post_recv),
	.send_one = no_send_one,
	.recv_one = no_recv_one,
	MISSING(listen),
	MISSING(unlisten),
	MISSING(connect),
	MISSING(accept),
	.confirm = no_confirm,
	.refuse = no_refuse,
	MISSING(reject),
	.handoff = no_handoff,
	MISSING(disconnect),
	MISSING(now),
	MISSING(wait),
	.wake = no_wake,
	.sim_step = no_step,
	.sim_pending = no_pending,
	.sim_violations = no_violations,
	.sim_set_link = no_set_link,
	.sim_hold_link = no_hold_link,
	.sim_release_link = no_release_link,
	.sim_port = no_port,
	.sim_hold_message = no_hold_message,
	.sim_release_message = no_release_message,
	.sim_trace = no_sim_trace,
	.sim_trace_read = no_trace_read,
	.trace = no_trace,
	.trace_event = no_trace_event,
	.packet_rule_add = no_packet_rule,
	.packet_rule_fired = no_packet_rule_fired,
	.packet_rules_clear = no_packet_rules_clear,
};
