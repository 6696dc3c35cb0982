/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c - the world a program is in, and the objects it makes and frees. */
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prog.h"
#include "tests/support/asserts.h"

#define FOR_EVER_NS UINT64_C(2000000000)
#define ASYNC_QLEN  64

/* Of one program at a time */
static uint8_t memory[SIDES][MEMORY];

static const DAT_EVD_HANDLE none = DAT_HANDLE_NULL;

/* ---- adapters ---- */

static void register_memory(struct prog *p, struct side *side)
{
	DAT_REGION_DESCRIPTION region = { .for_va = side->memory };

	ok(p, "dat_lmr_create",
	   dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, MEMORY, side->pz,
			  DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->lkey, &side->rkey, NULL, NULL));
}

void side_open(struct prog *p, int s)
{
	struct side *side = &p->side[s];
	DAT_IA_ATTR attr;

	side->async = none;
	ok(p, "dat_ia_open", dat_ia_open(side->name, ASYNC_QLEN, &side->async, &side->ia));
	ok(p, "dat_ia_query",
	   dat_ia_query(side->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	memcpy(&side->address, attr.ia_address_ptr,
	       attr.ia_address_ptr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
							 : sizeof(struct sockaddr_in6));
	ok(p, "dat_pz_create", dat_pz_create(side->ia, &side->pz));
	ok(p, "dat_cno_create", dat_cno_create(side->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &side->cno));
	register_memory(p, side);
	/* Requests in flight are for the adapter that was closed. */
	for (int n = 0; n < CONNS; n++)
		if (p->conn[n].used && p->conn[n].to == s && p->conn[n].unreachable)
			p->conn[n].may_be_refused = true;
}

/* Every object of this adapter goes with it. */
void side_close_abruptly(struct prog *p, int s)
{
	struct side *side = &p->side[s];

	for (int e = 0; e < EPS; e++) {
		if (!p->ep[e].handle || p->ep[e].side != s)
			continue;
		if (!p->ep[e].dead) {
			dto_void(p, e);
			model_free(p, e);
		}
		p->ep[e].handle = none;
	}
	for (int r = 0; r < REQUESTS; r++)
		if (p->request[r].handle && p->request[r].side == s) {
			p->conn[p->request[r].conn].may_be_refused = true;
			p->conn[p->request[r].conn].at_program = false;
			p->request[r].handle = none;
		}
	/* What its peers are reading is gone. */
	for (int n = 0; n < CONNS; n++)
		if (p->conn[n].used && (p->conn[n].side[0] == s || p->conn[n].side[1] == s))
			p->conn[n].causes |= ACCESS;
	/* Requests not read yet are refused; those in flight find no listener. */
	for (int n = 0; n < CONNS; n++)
		if (p->conn[n].used && p->conn[n].to == s && p->conn[n].answer == UNANSWERED)
			p->conn[n].may_be_refused = p->conn[n].unreachable = true;
	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].side == s)
			p->evd[v].handle = none;
	for (int q = 0; q < SRQS; q++)
		if (p->srq[q].handle && p->srq[q].side == s) {
			p->srq[q].handle = none;
			for (int d = 0; d < DTOS; d++)
				if (p->dto[d].kind != DTO_FREE && p->dto[d].srq == q)
					p->dto[d].kind = DTO_FREE;
		}
	for (int l = 0; l < PSPS; l++)
		if (p->psp[l].side == s)
			p->psp[l].handle = none;
	for (int m = 0; m < RMRS; m++)
		if (p->rmr[m].side == s)
			p->rmr[m].handle = none;
	ok(p, "dat_ia_close", dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG));
	side->ia = none;
	p->count[N_ADAPTERS]++;
}

void world_create(struct prog *p, DAT_SIM_PROFILE profile, bool trace)
{
	DAT_SIM_CONFIG *config = &p->config;

	ck_assert_uint_eq(dat_sim_config_init(config), DAT_SUCCESS);
	config->profile = profile;
	config->mtu = MTU;
	config->rnr_retry = 2;
	config->poll_quantum_ns = 0;
	config->trace = trace ? DAT_TRUE : DAT_FALSE;
	ok(p, "dat_sim_create", dat_sim_create(config, &p->sim));
}

void world_end(struct prog *p)
{
	ok(p, "dat_sim_destroy", dat_sim_destroy(p->sim));
	p->sim = none;
}

void world_open(struct prog *p)
{
	for (int s = 0; s < SIDES; s++) {
		p->side[s].memory = memory[s];
		source_fill(p, s);
		snprintf(p->side[s].name, sizeof(p->side[s].name), "emu%d", s);
		side_open(p, s);
	}
}

static void side_close(struct prog *p, int s)
{
	struct side *side = &p->side[s];

	if (!side->ia)
		return;
	ok(p, "dat_cno_free", dat_cno_free(side->cno));
	ok(p, "dat_lmr_free", dat_lmr_free(side->lmr));
	ok(p, "dat_pz_free", dat_pz_free(side->pz));
	ok(p, "dat_ia_close", dat_ia_close(side->ia, DAT_CLOSE_GRACEFUL_FLAG));
	side->ia = none;
}

void world_close(struct prog *p)
{
	DAT_COUNT left = NONE;

	release_all(p);
	for (int r = 0; r < REQUESTS; r++)
		if (p->request[r].handle)
			request_reject(p, r);
	for (int l = 0; l < PSPS; l++)
		if (p->psp[l].handle)
			drop_psp(p, l);
	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle && !p->ep[e].dead)
			drop_ep(p, e);
	for (int q = 0; q < SRQS; q++)
		if (p->srq[q].handle)
			drop_srq(p, q);
	for (int m = 0; m < RMRS; m++)
		if (p->rmr[m].handle)
			drop_rmr(p, m);
	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].handle)
			drop_evd(p, v);
	for (int s = 0; s < SIDES; s++)
		side_close(p, s);
	ok(p, "dat_sim_count_objects", dat_sim_count_objects(DAT_SIM_ALL_HANDLE_TYPES, &left));
	if (left != 0)
		fails(p, "%d objects are left", left);
	for (int d = 0; d < DTOS; d++)
		if (p->dto[d].kind != DTO_FREE)
			fails(p, "dto %d is left", d);
}

/* ---- time ---- */

void settle(struct prog *p)
{
	DAT_RETURN ret = dat_sim_run_until_quiet(p->sim, FOR_EVER_NS);

	if (ret != DAT_SUCCESS)
		fails(p, "the network does not come to rest");
}

void release_all(struct prog *p)
{
	for (int n = 0; n < SIDES * SIDES; n++) {
		const struct side *from = &p->side[n / SIDES], *to = &p->side[n % SIDES];

		if (from->ia && to->ia)
			ok(p, "dat_sim_release_link",
			   dat_sim_release_link(p->sim, from->name, to->name));
	}
	for (int n = 0; n < p->holds; n++)
		for (int e = 0; e < EPS; e++)
			if (p->ep[e].handle == p->hold[n].ep && !p->ep[e].dead)
				ok(p, "dat_sim_release_message",
				   dat_sim_release_message(p->hold[n].ep, p->hold[n].message));
	p->holds = 0;
}

void advance(struct prog *p, DAT_UINT64 ns)
{
	ok(p, "dat_sim_advance", dat_sim_advance(p->sim, ns));
}

/* ---- making ---- */

int new_evd(struct prog *p, int s, unsigned int flags, int qlen)
{
	for (int v = 0; v < EVDS; v++) {
		struct evd *evd = &p->evd[v];

		if (evd->handle)
			continue;
		*evd = (struct evd){ .side = s, .flags = flags, .qlen = qlen };
		evd->attached = chance(p, 40);
		ok(p, "dat_evd_create",
		   dat_evd_create(p->side[s].ia, qlen, evd->attached ? p->side[s].cno : none,
				  (DAT_EVD_FLAGS)flags, &evd->handle));
		return v;
	}
	return NONE;
}

int new_srq(struct prog *p, int s, int max)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = max, .max_recv_iov = 2 };

	for (int q = 0; q < SRQS; q++) {
		struct srq *srq = &p->srq[q];

		if (srq->handle)
			continue;
		*srq = (struct srq){ .side = s, .count.limit = INT_MAX, .shortest = SLOT };
		oracle_srq_create(&srq->count, max, DAT_SRQ_LW_DEFAULT);
		ok(p, "dat_srq_create",
		   dat_srq_create(p->side[s].ia, p->side[s].pz, &attr, &srq->handle));
		return q;
	}
	return NONE;
}

static DAT_EVD_HANDLE handle_of(const struct prog *p, int v)
{
	return v == NONE ? none : p->evd[v].handle;
}

void evd_use(struct prog *p, int v, int by)
{
	if (v != NONE)
		p->evd[v].users += by;
}

static DAT_RETURN create(struct prog *p, struct ep *ep, const DAT_EP_ATTR *attr)
{
	struct side *side = &p->side[ep->side];
	DAT_EVD_HANDLE recv = handle_of(p, ep->recv), request = handle_of(p, ep->request),
		       connect = handle_of(p, ep->connect);

	if (ep->srq == NONE)
		return dat_ep_create(side->ia, side->pz, recv, request, connect, attr, &ep->handle);
	return dat_ep_create_with_srq(side->ia, side->pz, recv, request, connect,
				      p->srq[ep->srq].handle, attr, &ep->handle);
}

int new_ep(struct prog *p, int s, int srq, int recv, int request, int connect,
	   DAT_COMPLETION_FLAGS request_flags)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = QUEUE,
		.max_request_dtos = QUEUE,
		.max_recv_iov = 2,
		.max_request_iov = 2,
		.max_rdma_read_in = 8,
		.max_rdma_read_out = 8,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.request_completion_flags = request_flags,
	};

	for (int e = 0; e < EPS_MADE; e++) {
		struct ep *ep = &p->ep[e];

		if (ep->handle)
			continue;
		*ep = (struct ep){ .side = s,
				   .srq = srq,
				   .recv = recv,
				   .request = request,
				   .connect = connect,
				   .request_flags = request_flags,
				   .life[0] = { .conn = NONE },
				   .lives = 1,
				   .shortest = SLOT,
				   .max = QUEUE,
				   .cr_evd = NONE };
		oracle_recv_create(&ep->count, ORACLE_INFINITE);
		ok(p, "dat_ep_create", create(p, ep, &attr));
		evd_use(p, recv, 1);
		evd_use(p, request, 1);
		evd_use(p, connect, 1);
		if (request_flags)
			p->evd[request].selective++;
		if (srq != NONE)
			p->srq[srq].users++;
		return e;
	}
	return NONE;
}

int ep_adopt(struct prog *p, DAT_EP_HANDLE handle)
{
	for (int e = EPS - 1; e >= 0; e--) {
		if (p->ep[e].handle)
			continue;
		p->ep[e] = (struct ep){
			.handle = handle,
			.srq = NONE,
			.recv = NONE,
			.request = NONE,
			.connect = NONE,
			.life[0] = { .conn = NONE,
				     .state = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING },
			.lives = 1,
			.shortest = SLOT,
			.max = 16, /* ruling A1 */
			.cr_evd = NONE
		};
		oracle_recv_create(&p->ep[e].count, ORACLE_INFINITE);
		return e;
	}
	fails(p, "too many Endpoints came with requests");
}

static int free_psp_slot(const struct prog *p)
{
	for (int l = 0; l < PSPS; l++)
		if (!p->psp[l].handle)
			return l;
	return NONE;
}

int new_psp(struct prog *p, int s, int evd, enum psp_kind kind)
{
	DAT_PSP_FLAGS flags = kind == PSP_PROVIDER ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG;
	DAT_EVD_HANDLE handle = p->evd[evd].handle;
	int l = free_psp_slot(p);
	struct psp *psp;

	if (l == NONE)
		return NONE;
	psp = &p->psp[l];
	*psp = (struct psp){ .kind = kind, .side = s, .evd = evd, .ep = NONE };
	if (chance(p, 20)) {
		ok(p, "dat_psp_create_any",
		   dat_psp_create_any(p->side[s].ia, &psp->qual, handle, flags, &psp->handle));
	} else {
		psp->qual = ++p->next_qual;
		ok(p, "dat_psp_create",
		   dat_psp_create(p->side[s].ia, psp->qual, handle, flags, &psp->handle));
	}
	p->evd[evd].users++;
	return l;
}

/* A spent RSP has nothing to do with what becomes of its Endpoint. */
static void forget_ep(struct prog *p, int e)
{
	for (int l = 0; l < PSPS; l++)
		if (p->psp[l].ep == e)
			p->psp[l].ep = NONE;
}

int new_rsp(struct prog *p, int e, int evd)
{
	int l = free_psp_slot(p);
	struct psp *psp;

	if (l == NONE)
		return NONE;
	psp = &p->psp[l];
	*psp = (struct psp){ .kind = PSP_RESERVED,
			     .side = p->ep[e].side,
			     .evd = evd,
			     .ep = e,
			     .qual = ++p->next_qual };
	ok(p, "dat_rsp_create",
	   dat_rsp_create(p->side[psp->side].ia, psp->qual, p->ep[e].handle, p->evd[evd].handle,
			  &psp->handle));
	p->evd[evd].users++;
	forget_ep(p, e);
	psp->ep = e;
	p->ep[e].cr_evd = evd;
	model_reserve(p, e);
	return l;
}

/* ---- freeing ---- */

/* Taken buffers go with their Endpoint. Their number shows, but not which ones they are. */
void wipe_ep(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];
	const struct conn *c = conn_of(p, e);
	const struct way *way = c ? &c->way[1 - life_of(p, e)->end] : NULL;
	DAT_SRQ_PARAM param;
	int lost;

	dto_void(p, e);
	if (ep->srq == NONE)
		return;
	ok(p, "dat_srq_query", dat_srq_query(p->srq[ep->srq].handle, DAT_SRQ_FIELD_ALL, &param));
	lost = p->srq[ep->srq].count.outstanding - param.outstanding_dto_count;
	if (lost < 0 || lost > (way ? way->sent - way->got : 0))
		fails(p, "ep %d took %d buffers with it", e, lost);
	oracle_srq_throw_away(&p->srq[ep->srq].count, lost);
	oracle_recv_restart(&ep->count);
}

void drop_ep(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];

	ok(p, "dat_ep_free", dat_ep_free(ep->handle));
	wipe_ep(p, e);
	model_free(p, e);
	forget_ep(p, e);
	evd_use(p, ep->recv, -1);
	evd_use(p, ep->request, -1);
	evd_use(p, ep->connect, -1);
	if (ep->request_flags)
		p->evd[ep->request].selective--;
	if (ep->srq != NONE)
		p->srq[ep->srq].users--;
	if (ep->connect == NONE)
		ep->handle = none;
}

void drop_evd(struct prog *p, int v)
{
	struct evd *evd = &p->evd[v];

	ok(p, "dat_evd_free", dat_evd_free(evd->handle));
	evd->handle = none;
	/* What it had still to tell of Endpoints freed before is lost, requests are turned away. */
	for (int e = 0; e < EPS; e++) {
		if (p->ep[e].dead && p->ep[e].connect == v)
			p->ep[e].handle = none;
		if (p->ep[e].handle && !p->ep[e].dead && p->ep[e].cr_evd == v &&
		    state_of(p, e) == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING &&
		    !request_is_held(p, e))
			model_release(p, e);
	}
	for (int n = 0; evd->flags & DAT_EVD_CR_FLAG && n < CONNS; n++)
		if (p->conn[n].used && p->conn[n].to == evd->side && !p->conn[n].at_program &&
		    p->conn[n].answer == UNANSWERED)
			p->conn[n].may_be_refused = true;
}

void drop_srq(struct prog *p, int q)
{
	ok(p, "dat_srq_free", dat_srq_free(p->srq[q].handle));
	p->srq[q].handle = none;
	for (int d = 0; d < DTOS; d++)
		if (p->dto[d].kind != DTO_FREE && p->dto[d].srq == q)
			p->dto[d].kind = DTO_FREE;
}

void drop_psp(struct prog *p, int l)
{
	struct psp *psp = &p->psp[l];

	if (psp->kind == PSP_RESERVED)
		ok(p, "dat_rsp_free", dat_rsp_free(psp->handle));
	else
		ok(p, "dat_psp_free", dat_psp_free(psp->handle));
	psp->handle = none;
	/* The Endpoint of a request that came is pending still (E3). */
	if (psp->ep != NONE && state_of(p, psp->ep) == DAT_EP_STATE_RESERVED)
		model_release(p, psp->ep);
	p->evd[psp->evd].users--;
	for (int n = 0; n < CONNS; n++)
		if (p->conn[n].used && p->conn[n].qual == psp->qual && !p->conn[n].at_program)
			p->conn[n].may_be_refused = true;
}
