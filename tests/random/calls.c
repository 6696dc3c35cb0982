/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c - connecting and answering, and the calls that must be refused. */
#include "prog.h"

/* A listener with room for every request that may come (E4) */
bool anybody_listens(const struct prog *p, int s, DAT_CONN_QUAL qual)
{
	for (int l = 0; l < PSPS; l++)
		if (p->psp[l].handle && p->psp[l].side == s && p->psp[l].qual == qual)
			return p->psp[l].kind != PSP_RESERVED &&
			       p->evd[p->psp[l].evd].qlen >= REQUESTS;
	return false;
}

void ep_connect_to(struct prog *p, int e, int s, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	int n = conn_new(p);
	struct conn *c = &p->conn[n];

	says(p, "connect: ep %d to side %d qualifier %d, connection %d", e, s, (int)qual, n);
	c->to = s;
	c->qual = qual;
	c->unreachable = !p->side[s].ia;
	c->may_be_refused = p->side[s].ia && !anybody_listens(p, s, qual);
	c->may_time_out = timeout != DAT_TIMEOUT_INFINITE;
	ok(p, "dat_ep_connect",
	   dat_ep_connect(p->ep[e].handle, (DAT_IA_ADDRESS_PTR)&p->side[s].address, qual, timeout,
			  sizeof(c->id), &c->id, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	model_connect(p, e, n);
}

static void answered(struct prog *p, int r, enum answer answer)
{
	struct conn *c = &p->conn[p->request[r].conn];

	c->answer = answer;
	c->at_program = false;
	p->request[r].handle = DAT_HANDLE_NULL;
}

void ep_dup_connect_to(struct prog *p, int e, int like)
{
	const struct conn *other = conn_of(p, like);
	int n = conn_new(p);
	struct conn *c = &p->conn[n];

	says(p, "connect: ep %d as ep %d, connection %d", e, like, n);
	c->to = other->to;
	c->qual = other->qual;
	c->unreachable = !p->side[c->to].ia;
	c->may_be_refused = p->side[c->to].ia && !anybody_listens(p, c->to, c->qual);
	ok(p, "dat_ep_dup_connect",
	   dat_ep_dup_connect(p->ep[e].handle, p->ep[like].handle, DAT_TIMEOUT_INFINITE,
			      sizeof(c->id), &c->id, DAT_QOS_BEST_EFFORT));
	model_connect(p, e, n);
}

void request_accept(struct prog *p, int r, int e)
{
	int n = p->request[r].conn;
	uint32_t id = ~p->conn[n].id;
	/* NULL names the request's own. */
	bool unnamed = p->request[r].ep == e && chance(p, 50);

	says(p, "accept: connection %d with ep %d", n, e);
	ok(p, "dat_cr_accept",
	   dat_cr_accept(p->request[r].handle, unnamed ? DAT_HANDLE_NULL : p->ep[e].handle,
			 sizeof(id), &id));
	answered(p, r, ACCEPTED);
	model_accept(p, e, n);
	model_starves(p, e);
}

/*
 * The Endpoint of a request that was refused: that of an RSP is the program's again, one made for
 * the request is gone.
 */
static void return_ep(struct prog *p, int r)
{
	int e = p->request[r].ep;

	if (e == NONE)
		return;
	if (state_of(p, e) == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING) {
		model_release(p, e);
		return;
	}
	refused(p, "dat_ep_get_status", dat_ep_get_status(p->ep[e].handle, NULL, NULL, NULL),
		DAT_INVALID_HANDLE);
	dto_void(p, e);
	evd_use(p, p->ep[e].recv, -1);
	evd_use(p, p->ep[e].request, -1);
	evd_use(p, p->ep[e].connect, -1);
	p->ep[e].handle = DAT_HANDLE_NULL;
}

void request_reject(struct prog *p, int r)
{
	says(p, "reject: connection %d", p->request[r].conn);
	ok(p, "dat_cr_reject", dat_cr_reject(p->request[r].handle));
	return_ep(p, r);
	answered(p, r, REJECTED);
}

void request_hand_off(struct prog *p, int r, int s, DAT_CONN_QUAL qual)
{
	struct conn *c = &p->conn[p->request[r].conn];
	bool listened = false;
	DAT_RETURN ret;

	for (int l = 0; l < PSPS; l++)
		listened |= p->psp[l].handle && p->psp[l].side == s && p->psp[l].qual == qual;
	says(p, "hand off connection %d to qualifier %d", p->request[r].conn, (int)qual);
	ret = dat_cr_handoff(p->request[r].handle, qual);
	/* A listener that would refuse the request does not count. */
	if (!listened || (ret != DAT_SUCCESS && !anybody_listens(p, s, qual))) {
		refused(p, "dat_cr_handoff", ret, DAT_INVALID_PARAMETER);
		return;
	}
	ok(p, "dat_cr_handoff", ret);
	return_ep(p, r);
	answered(p, r, UNANSWERED);
	c->qual = qual;
	c->handed_off = true;
	c->may_be_refused |= !anybody_listens(p, s, qual);
}

void ep_configure(struct prog *p, int e, int recv, int request, int connect)
{
	struct ep *ep = &p->ep[e];
	DAT_EP_PARAM param = { .pz_handle = p->side[ep->side].pz,
			       .recv_evd_handle = p->evd[recv].handle,
			       .request_evd_handle = p->evd[request].handle,
			       .connect_evd_handle = p->evd[connect].handle };

	says(p, "configure ep %d: evds %d %d %d", e, recv, request, connect);
	ok(p, "dat_ep_modify",
	   dat_ep_modify(ep->handle,
			 DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			 &param));
	evd_use(p, ep->recv, -1);
	evd_use(p, ep->request, -1);
	evd_use(p, ep->connect, -1);
	evd_use(p, ep->recv = recv, 1);
	evd_use(p, ep->request = request, 1);
	evd_use(p, ep->connect = connect, 1);
}

/* ---- refusals: nothing may change, which the next look shows ---- */

static void refusals_ep(struct prog *p, int e)
{
	DAT_EP_HANDLE ep = p->ep[e].handle;
	DAT_EP_STATE state = state_of(p, e);

	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		refused(p, "dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG),
			DAT_INVALID_STATE);
		ok(p, "dat_ep_reset", dat_ep_reset(ep));
		break;
	case DAT_EP_STATE_DISCONNECTED:
		ok(p, "dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
		ok(p, "dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case DAT_EP_STATE_RESERVED:
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		refused(p, "dat_ep_free", dat_ep_free(ep), DAT_INVALID_STATE);
		refused(p, "dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG),
			DAT_INVALID_STATE);
		refused(p, "dat_ep_reset", dat_ep_reset(ep), DAT_INVALID_STATE);
		break;
	default:
		refused(p, "dat_ep_reset", dat_ep_reset(ep), DAT_INVALID_STATE);
	}
	if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED)
		refused(p, "dat_ep_post_send",
			dat_ep_post_send(ep, 0, NULL, dto_cookie(p, 0),
					 DAT_COMPLETION_DEFAULT_FLAG),
			DAT_INVALID_STATE);
	if (state != DAT_EP_STATE_UNCONNECTED)
		refused(p, "dat_ep_connect",
			dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&p->side[0].address, 1,
				       DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				       DAT_CONNECT_DEFAULT_FLAG),
			DAT_INVALID_STATE);
	if (state == DAT_EP_STATE_DISCONNECT_PENDING)
		ok(p, "dat_ep_disconnect", dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static void refusals_side(struct prog *p, int s)
{
	if (!p->side[s].ia)
		return;
	refused(p, "dat_ia_close", dat_ia_close(p->side[s].ia, DAT_CLOSE_GRACEFUL_FLAG),
		DAT_INVALID_STATE);
	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].handle && p->evd[v].side == s && p->evd[v].attached) {
			refused(p, "dat_cno_free", dat_cno_free(p->side[s].cno), DAT_INVALID_STATE);
			break;
		}
	refused(p, "dat_pz_free", dat_pz_free(p->side[s].pz), DAT_INVALID_STATE);
}

void refusals(struct prog *p)
{
	for (int e = 0; e < EPS; e++) {
		if (!p->ep[e].handle)
			continue;
		if (p->ep[e].dead)
			refused(p, "dat_ep_get_status",
				dat_ep_get_status(p->ep[e].handle, NULL, NULL, NULL),
				DAT_INVALID_HANDLE);
		else
			refusals_ep(p, e);
	}
	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].handle && p->evd[v].users > 0)
			refused(p, "dat_evd_free", dat_evd_free(p->evd[v].handle),
				DAT_INVALID_STATE);
	for (int q = 0; q < SRQS; q++)
		if (p->srq[q].handle && p->srq[q].users > 0)
			refused(p, "dat_srq_free", dat_srq_free(p->srq[q].handle),
				DAT_INVALID_STATE);
	for (int s = 0; s < SIDES; s++)
		refusals_side(p, s);
}
