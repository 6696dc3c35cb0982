/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nic_ops of the fault layer: entries that a rule can fail, passed on to the backend's table
 * below; and creation and destruction of the layer.
 */
#include <errno.h>
#include <stdlib.h>

#include "fault.h"

/* The error with which an entry of the table must fail; 0: none. */
static int entry_error(struct nic *nic, const struct nic_qp *qp, uint32_t entry, const char *at)
{
	struct nic_faults *f = fault_of(nic);
	const struct fault_rule *rule;

	if (!(entry & NIC_ENTRY_POSTS) && fault_is_dead(f, nic))
		return -EIO;
	rule = fault_match_entry(f, nic, qp, entry, at);
	return rule ? rule->match.error : 0;
}

#define BELOW(nic) (fault_of(nic)->below)

/* ---- creating and changing objects ---- */

static int pd_alloc(struct nic *nic, struct nic_pd **pd)
{
	int err = entry_error(nic, NULL, NIC_ENTRY_PD_ALLOC, "pd_alloc");

	return err ? err : BELOW(nic)->pd_alloc(nic, pd);
}

static int mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
		  struct nic_mr **mr)
{
	int err = entry_error(pd->nic, NULL, NIC_ENTRY_MR_REG, "mr_reg");

	return err ? err : BELOW(pd->nic)->mr_reg(pd, addr, length, access, mr);
}

static int mw_alloc(struct nic_pd *pd, struct nic_mw **mw)
{
	int err = entry_error(pd->nic, NULL, NIC_ENTRY_MW_ALLOC, "mw_alloc");

	return err ? err : BELOW(pd->nic)->mw_alloc(pd, mw);
}

static int cq_create(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq)
{
	int err = entry_error(nic, NULL, NIC_ENTRY_CQ_CREATE, "cq_create");

	if (!err)
		err = BELOW(nic)->cq_create(nic, depth, ctx, cq);
	if (err || fault_cq_begin(*cq, depth))
		return err;
	BELOW(nic)->cq_destroy(*cq);
	return -ENOMEM;
}

/* Completions that wait in this layer need room too. */
static int cq_resize(struct nic_cq *cq, uint32_t depth)
{
	int err = entry_error(cq->nic, NULL, NIC_ENTRY_CQ_RESIZE, "cq_resize");

	if (!err && fault_cq_count(cq) > depth)
		err = -EINVAL;
	return err ? err : BELOW(cq->nic)->cq_resize(cq, depth);
}

static int srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name,
		      void *ctx, struct nic_srq **srq)
{
	int err = entry_error(pd->nic, NULL, NIC_ENTRY_SRQ_CREATE, "srq_create");

	return err ? err : BELOW(pd->nic)->srq_create(pd, max_wr, max_sge, name, ctx, srq);
}

static int srq_resize(struct nic_srq *srq, uint32_t max_wr)
{
	int err = entry_error(srq->nic, NULL, NIC_ENTRY_SRQ_RESIZE, "srq_resize");

	return err ? err : BELOW(srq->nic)->srq_resize(srq, max_wr);
}

static int srq_limit(struct nic_srq *srq, uint32_t limit)
{
	int err = entry_error(srq->nic, NULL, NIC_ENTRY_SRQ_LIMIT, "srq_limit");

	return err ? err : BELOW(srq->nic)->srq_limit(srq, limit);
}

static int qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **qp)
{
	int err = entry_error(nic, NULL, NIC_ENTRY_QP_CREATE, "qp_create");

	return err ? err : BELOW(nic)->qp_create(nic, init, ctx, qp);
}

static int qp_modify(struct nic_qp *qp, const struct nic_qp_init *init)
{
	int err = entry_error(qp->nic, qp, NIC_ENTRY_QP_MODIFY, "qp_modify");

	return err ? err : BELOW(qp->nic)->qp_modify(qp, init);
}

/* ---- posting ---- */

static int post_send(struct nic_qp *qp, const struct nic_send_wr *wr)
{
	static const struct {
		uint32_t entry;
		const char *at;
	} entries[] = {
		[NIC_OP_SEND] = { NIC_ENTRY_POST_SEND, "post_send" },
		[NIC_OP_WRITE] = { NIC_ENTRY_POST_WRITE, "post_write" },
		[NIC_OP_READ] = { NIC_ENTRY_POST_READ, "post_read" },
		[NIC_OP_BIND] = { NIC_ENTRY_POST_BIND, "post_bind" },
		[NIC_OP_SWAP] = { NIC_ENTRY_POST_READ, "post_compare_swap" },
		[NIC_OP_ADD] = { NIC_ENTRY_POST_READ, "post_fetch_add" },
	};
	int err = entry_error(qp->nic, qp, entries[wr->opcode].entry, entries[wr->opcode].at);

	if (!err)
		err = BELOW(qp->nic)->post_send(qp, wr);
	fault_cq_pull_all(fault_of(qp->nic));
	return err;
}

static int post_recv(struct nic_qp *qp, const struct nic_recv_wr *wr)
{
	int err = entry_error(qp->nic, qp, NIC_ENTRY_POST_RECV, "post_recv");

	if (!err)
		err = BELOW(qp->nic)->post_recv(qp, wr);
	fault_cq_pull_all(fault_of(qp->nic));
	return err;
}

static int srq_post(struct nic_srq *srq, const struct nic_recv_wr *wr)
{
	int err = entry_error(srq->nic, NULL, NIC_ENTRY_SRQ_POST, "srq_post");

	return err ? err : BELOW(srq->nic)->srq_post(srq, wr);
}

/* ---- connections ---- */

static int listen_at(struct nic *nic, uint64_t *port, void *ctx, struct nic_listener **listener)
{
	int err = entry_error(nic, NULL, *port ? NIC_ENTRY_LISTEN : NIC_ENTRY_LISTEN_ANY, "listen");

	return err ? err : BELOW(nic)->listen(nic, port, ctx, listener);
}

static int connect_to(struct nic_qp *qp, const struct sockaddr *remote, uint64_t port,
		      uint64_t deadline, const struct nic_conn_param *param)
{
	int err = entry_error(qp->nic, qp, NIC_ENTRY_CONNECT, "connect");

	return err ? err : BELOW(qp->nic)->connect(qp, remote, port, deadline, param);
}

static int accept_conn(struct nic_conn *conn, struct nic_qp *qp, const struct nic_conn_param *param)
{
	int err = entry_error(qp->nic, qp, NIC_ENTRY_ACCEPT, "accept");

	return err ? err : BELOW(qp->nic)->accept(conn, qp, param);
}

static int handoff_conn(struct nic_conn *conn, uint64_t port)
{
	int err = entry_error(conn->nic, NULL, NIC_ENTRY_HANDOFF, "handoff");

	return err ? err : BELOW(conn->nic)->handoff(conn, port);
}

/* If the end of the connection was lost or delayed, lib hears of it now. */
static void disconnect_qp(struct nic_qp *qp, bool abrupt)
{
	struct nic_faults *f = fault_of(qp->nic);

	if (!fault_later_end(f, qp))
		f->below->disconnect(qp, abrupt);
	fault_cq_pull_all(f);
}

/* ---- destroying objects ---- */

static void close_nic(struct nic *nic)
{
	struct nic_faults *f = fault_of(nic);
	struct fault_dead *dead, *next;

	for (dead = LIST_FIRST(&f->dead); dead; dead = next) {
		next = LIST_NEXT(dead, link);
		if (dead->nic == nic) {
			LIST_REMOVE(dead, link);
			free(dead);
		}
	}
	f->below->close(nic);
}

static void srq_destroy(struct nic_srq *srq)
{
	struct nic_faults *f = fault_of(srq->nic);

	fault_later_forget_ctx(f, srq->ctx);
	f->below->srq_destroy(srq);
}

static uint32_t qp_reset(struct nic_qp *qp)
{
	struct nic_faults *f = fault_of(qp->nic);
	uint32_t vanished;

	fault_cq_pull_all(f);
	fault_later_forget_qp(f, qp);
	vanished = f->below->qp_reset(qp) + fault_cq_forget_qp(f, qp);
	fault_qp_clean(f, qp);
	return vanished;
}

static void qp_destroy(struct nic_qp *qp)
{
	struct nic_faults *f = fault_of(qp->nic);

	fault_later_forget_qp(f, qp);
	fault_qp_clean(f, qp);
	f->below->qp_destroy(qp);
}

static void unlisten_at(struct nic_listener *listener)
{
	struct nic_faults *f = fault_of(listener->nic);

	fault_later_unlisten(f, listener);
	f->below->unlisten(listener);
}

/* ---- the layer ---- */

/* Override the entries that faults need; the others stay the backend's. */
static void override_ops(struct nic_ops *ops)
{
	ops->close = close_nic;
	ops->pd_alloc = pd_alloc;
	ops->mr_reg = mr_reg;
	ops->mw_alloc = mw_alloc;
	ops->cq_create = cq_create;
	ops->cq_resize = cq_resize;
	ops->cq_destroy = fault_cq_destroy;
	ops->cq_poll = fault_cq_poll;
	ops->cq_spin = fault_cq_spin;
	ops->cq_count = fault_cq_count;
	ops->cq_limit = fault_cq_limit;
	ops->srq_create = srq_create;
	ops->srq_resize = srq_resize;
	ops->srq_limit = srq_limit;
	ops->srq_destroy = srq_destroy;
	ops->srq_post = srq_post;
	ops->qp_create = qp_create;
	ops->qp_modify = qp_modify;
	ops->qp_reset = qp_reset;
	ops->qp_destroy = qp_destroy;
	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->listen = listen_at;
	ops->unlisten = unlisten_at;
	ops->connect = connect_to;
	ops->accept = accept_conn;
	ops->handoff = handoff_conn;
	ops->disconnect = disconnect_qp;
	ops->wait = fault_wait;
	ops->sim_step = fault_sim_step;
	ops->sim_pending = fault_sim_pending;
}

struct nic_faults *nic_fault_create(const struct nic_ops *below, struct nic *control,
				    const struct nic_fault_host *host, uint64_t seed)
{
	struct nic_faults *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->ops = *below;
	override_ops(&f->ops);
	f->below = below;
	f->control = control;
	f->host = *host;
	f->random = seed;
	TAILQ_INIT(&f->later);
	LIST_INIT(&f->cqs);
	LIST_INIT(&f->qps);
	LIST_INIT(&f->dead);
	return f;
}

void nic_fault_destroy(struct nic_faults *f)
{
	struct fault_later *later;

	while ((later = TAILQ_FIRST(&f->later)) != NULL)
		fault_later_drop(f, later);
	while (!LIST_EMPTY(&f->qps))
		fault_qp_clean(f, LIST_FIRST(&f->qps)->qp);
	fault_cq_free_all(f);
	free(f);
}

const struct nic_ops *nic_fault_ops(struct nic_faults *f)
{
	return &f->ops;
}
