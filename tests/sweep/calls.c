/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of calls.h, in the order of the standard's headers. */
#include "tests/sweep/calls.h"

static const DAT_RMR_TRIPLET no_bytes;
static DAT_EVENT software = { .event_number = DAT_SOFTWARE_EVENT };

static DAT_RETURN new_ep(const DAT_HANDLE *h)
{
	DAT_EP_ATTR attr = ep_attr();

	return dat_ep_create(h[0], h[1], h[2], h[3], h[4], &attr, &out.handle);
}

static DAT_RETURN new_srq_ep(const DAT_HANDLE *h)
{
	DAT_EP_ATTR attr = ep_attr();

	return dat_ep_create_with_srq(h[0], h[1], h[2], h[3], h[4], h[5], &attr, &out.handle);
}

static DAT_RETURN new_lmr(const DAT_HANDLE *h)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };

	return dat_lmr_create(h[0], DAT_MEM_TYPE_VIRTUAL, region, 64, h[1], DAT_MEM_PRIV_ALL_FLAG,
			      &out.more.handle, &out.more.lmr, &out.more.rmr, &out.more.length,
			      &out.more.address);
}

static DAT_RETURN new_srq(const DAT_HANDLE *h)
{
	DAT_SRQ_ATTR attr = { 4, 4, 0 };

	return dat_srq_create(h[0], h[1], &attr, &out.handle);
}

static DAT_RETURN modify(const DAT_HANDLE *h)
{
	DAT_EP_PARAM param = { .ep_attr.max_recv_dtos = 5 };

	return dat_ep_modify(h[0], DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param);
}

static DAT_RETURN dequeue(const DAT_HANDLE *h)
{
	(void)dat_evd_post_se(kit.evd, &software);
	return dat_evd_dequeue(h[0], &out.event);
}

static DAT_RETURN cno_wait(const DAT_HANDLE *h)
{
	(void)dat_evd_post_se(kit.evd, &software);
	return dat_cno_wait(h[0], 10, &out.handle);
}

static DAT_RETURN wait(const DAT_HANDLE *h)
{
	(void)dat_evd_post_se(kit.evd, &software);
	return dat_evd_wait(h[0], 10, 1, &out.event, NULL);
}

#define CALL(name, body)                            \
	static DAT_RETURN name(const DAT_HANDLE *h) \
	{                                           \
		return body;                        \
	}

#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

/* clang-format off */
CALL(ia_query, dat_ia_query(h[0], &out.handle, DAT_IA_FIELD_ALL, &out.ia, 0, NULL))
CALL(ia_close, dat_ia_close(h[0], DAT_CLOSE_GRACEFUL_FLAG))
CALL(set_context, dat_set_consumer_context(h[0], cookie(1)))
CALL(get_context, dat_get_consumer_context(h[0], &out.context))
CALL(get_type, dat_get_handle_type(h[0], &out.type))
CALL(cr_query, dat_cr_query(h[0], DAT_CR_FIELD_ALL, &out.cr))
CALL(cr_accept, dat_cr_accept(h[0], h[1], 0, NULL))
CALL(cr_reject, dat_cr_reject(h[0]))
CALL(evd_create, dat_evd_create(h[0], 4, h[1], DAT_EVD_DTO_FLAG, &out.handle))
CALL(evd_modify_cno, dat_evd_modify_cno(h[0], h[1]))
CALL(evd_resize, dat_evd_resize(h[0], 8))
CALL(evd_post_se, dat_evd_post_se(h[0], &software))
CALL(evd_query, dat_evd_query(h[0], DAT_EVD_FIELD_ALL, &out.evd))
CALL(evd_free, dat_evd_free(h[0]))
CALL(evd_enable, dat_evd_enable(h[0]))
CALL(evd_disable, dat_evd_disable(h[0]))
CALL(evd_set_unwaitable, dat_evd_set_unwaitable(h[0]))
CALL(evd_clear_unwaitable, dat_evd_clear_unwaitable(h[0]))
CALL(cno_create, dat_cno_create(h[0], DAT_OS_WAIT_PROXY_AGENT_NULL, &out.handle))
CALL(cno_modify_agent, dat_cno_modify_agent(h[0], DAT_OS_WAIT_PROXY_AGENT_NULL))
CALL(cno_query, dat_cno_query(h[0], DAT_CNO_FIELD_ALL, &out.cno))
CALL(cno_free, dat_cno_free(h[0]))
CALL(ep_query, dat_ep_query(h[0], DAT_EP_FIELD_ALL, &out.ep))
CALL(ep_connect, dat_ep_connect(h[0], peer, QUAL, 10, 0, NULL, DAT_QOS_BEST_EFFORT, 0))
CALL(ep_disconnect, dat_ep_disconnect(h[0], DAT_CLOSE_ABRUPT_FLAG))
CALL(ep_post_send, dat_ep_post_send(h[0], 0, NULL, cookie(0), DEFAULT))
CALL(ep_post_recv, dat_ep_post_recv(h[0], 0, NULL, cookie(0), DEFAULT))
CALL(ep_get_status, dat_ep_get_status(h[0], &out.more.state, &out.more.idle[0], &out.more.idle[1]))
CALL(ep_free, dat_ep_free(h[0]))
CALL(ep_reset, dat_ep_reset(h[0]))
CALL(ep_recv_query, dat_ep_recv_query(h[0], &out.more.count, &out.more.count2))
CALL(ep_set_watermark, dat_ep_set_watermark(h[0], 1, 1))
CALL(lmr_query, dat_lmr_query(h[0], DAT_LMR_FIELD_ALL, &out.lmr))
CALL(lmr_free, dat_lmr_free(h[0]))
CALL(psp_create, dat_psp_create(h[0], QUAL + 7, h[1], DAT_PSP_CONSUMER_FLAG, &out.handle))
CALL(psp_create_any,
     dat_psp_create_any(h[0], &out.qual, h[1], DAT_PSP_CONSUMER_FLAG, &out.more.handle))
CALL(rsp_create, dat_rsp_create(h[0], QUAL + 7, h[1], h[2], &out.handle))
CALL(rsp_query, dat_rsp_query(h[0], DAT_RSP_FIELD_ALL, &out.rsp))
CALL(rsp_free, dat_rsp_free(h[0]))
CALL(cr_handoff, dat_cr_handoff(h[0], QUAL + 3))
CALL(ep_dup_connect, dat_ep_dup_connect(h[0], h[1], 10, 0, NULL, DAT_QOS_BEST_EFFORT))
CALL(sync_read, dat_lmr_sync_rdma_read(h[0], &in_region, 1))
CALL(sync_write, dat_lmr_sync_rdma_write(h[0], &in_region, 1))
CALL(rmr_create, dat_rmr_create(h[0], &out.handle))
CALL(rmr_query, dat_rmr_query(h[0], DAT_RMR_FIELD_ALL, &out.rmr))
CALL(rmr_bind, dat_rmr_bind(h[0], &in_region, DAT_MEM_PRIV_REMOTE_READ_FLAG, h[1], cookie(0),
			    DEFAULT, &out.more.rmr))
CALL(rmr_free, dat_rmr_free(h[0]))
CALL(rdma_read, dat_ep_post_rdma_read(h[0], 0, NULL, cookie(0), &no_bytes, DEFAULT))
CALL(rdma_write, dat_ep_post_rdma_write(h[0], 0, NULL, cookie(0), &no_bytes, DEFAULT))
CALL(psp_query, dat_psp_query(h[0], DAT_PSP_FIELD_ALL, &out.psp))
CALL(psp_free, dat_psp_free(h[0]))
CALL(pz_create, dat_pz_create(h[0], &out.handle))
CALL(pz_query, dat_pz_query(h[0], DAT_PZ_FIELD_ALL, &out.pz))
CALL(pz_free, dat_pz_free(h[0]))
CALL(srq_free, dat_srq_free(h[0]))
CALL(srq_post_recv, dat_srq_post_recv(h[0], 0, NULL, cookie(0)))
CALL(srq_query, dat_srq_query(h[0], DAT_SRQ_FIELD_ALL, &out.srq))
CALL(srq_resize, dat_srq_resize(h[0], 8))
CALL(srq_set_lw, dat_srq_set_lw(h[0], 1))

#define ARG(n, kind, member, subtype) \
	{ n, kind, offsetof(struct kit, member), DAT_INVALID_HANDLE##subtype, false }
#define NULL_OR(n, kind, member, subtype) \
	{ n, kind, offsetof(struct kit, member), DAT_INVALID_HANDLE##subtype, true }
#define THE_IA ARG(1, IA, ia, _IA)
#define THE_EP ARG(1, EP, ep, _EP)
#define EVDS(first) \
	NULL_OR(first, EVD, recv, _EVD_RECV), NULL_OR(first + 1, EVD, request, _EVD_REQUEST), \
	NULL_OR(first + 2, EVD, connect, _EVD_CONN)

const struct call calls[] = {
	{ "dat_ia_query", ia_query, { THE_IA } },
	{ "dat_ia_close", ia_close, { ARG(1, IA, empty_ia, _IA) } },
	{ "dat_set_consumer_context", set_context, { ARG(1, ANY, ep, 1) } },
	{ "dat_get_consumer_context", get_context, { ARG(1, ANY, ep, 1) } },
	{ "dat_get_handle_type", get_type, { ARG(1, ANY, ep, 1) } },
	{ "dat_cr_query", cr_query, { ARG(1, CR, cr, _CR) } },
	{ "dat_cr_accept", cr_accept, { ARG(1, CR, cr, _CR), ARG(2, EP, ep, _EP) } },
	{ "dat_cr_reject", cr_reject, { ARG(1, CR, cr, _CR) } },
	{ "dat_evd_create", evd_create, { THE_IA, NULL_OR(3, CNO, cno, _CNO) } },
	{ "dat_evd_modify_cno", evd_modify_cno,
	  { ARG(1, EVD, recv, 1), NULL_OR(2, CNO, cno, _CNO) } },
	{ "dat_evd_enable", evd_enable, { ARG(1, EVD, recv, 1) } },
	{ "dat_evd_disable", evd_disable, { ARG(1, EVD, recv, 1) } },
	{ "dat_evd_set_unwaitable", evd_set_unwaitable, { ARG(1, EVD, recv, 1) } },
	{ "dat_evd_clear_unwaitable", evd_clear_unwaitable, { ARG(1, EVD, recv, 1) } },
	{ "dat_cno_create", cno_create, { THE_IA } },
	{ "dat_cno_modify_agent", cno_modify_agent, { ARG(1, CNO, cno, _CNO) } },
	{ "dat_cno_query", cno_query, { ARG(1, CNO, cno, _CNO) } },
	{ "dat_cno_free", cno_free, { ARG(1, CNO, unused_cno, _CNO) } },
	{ "dat_cno_wait", cno_wait, { ARG(1, CNO, cno, _CNO) } },
	{ "dat_evd_resize", evd_resize, { ARG(1, EVD, recv, 1) } },
	{ "dat_evd_post_se", evd_post_se, { ARG(1, EVD, recv, 1) } },
	{ "dat_evd_dequeue", dequeue, { ARG(1, EVD, evd, 1) } },
	{ "dat_evd_wait", wait, { ARG(1, EVD, evd, 1) } },
	{ "dat_evd_query", evd_query, { ARG(1, EVD, recv, 1) } },
	{ "dat_evd_free", evd_free, { ARG(1, EVD, evd, 1) } },
	{ "dat_ep_create", new_ep, { THE_IA, ARG(2, PZ, pz, _PZ), EVDS(3) } },
	{ "dat_ep_create_with_srq", new_srq_ep,
	  { THE_IA, ARG(2, PZ, pz, _PZ), EVDS(3), ARG(6, SRQ, srq, _SRQ) } },
	{ "dat_ep_query", ep_query, { THE_EP } },
	{ "dat_ep_modify", modify, { THE_EP } },
	{ "dat_ep_connect", ep_connect, { THE_EP } },
	{ "dat_ep_disconnect", ep_disconnect, { ARG(1, EP, connected, _EP) } },
	{ "dat_ep_post_send", ep_post_send, { ARG(1, EP, connected, _EP) } },
	{ "dat_ep_post_recv", ep_post_recv, { THE_EP } },
	{ "dat_ep_get_status", ep_get_status, { THE_EP } },
	{ "dat_ep_free", ep_free, { THE_EP } },
	{ "dat_ep_reset", ep_reset, { THE_EP } },
	{ "dat_ep_recv_query", ep_recv_query, { THE_EP } },
	{ "dat_ep_set_watermark", ep_set_watermark, { THE_EP } },
	{ "dat_lmr_create", new_lmr, { THE_IA, ARG(5, PZ, pz, _PZ) } },
	{ "dat_lmr_query", lmr_query, { ARG(1, LMR, lmr, _LMR) } },
	{ "dat_lmr_free", lmr_free, { ARG(1, LMR, lmr, _LMR) } },
	{ "dat_psp_create", psp_create, { THE_IA, ARG(3, EVD, cr_evd, _EVD_CR) } },
	{ "dat_psp_create_any", psp_create_any, { THE_IA, ARG(3, EVD, cr_evd, _EVD_CR) } },
	{ "dat_rsp_create", rsp_create,
	  { THE_IA, NULL_OR(3, EP, ep, _EP), ARG(4, EVD, cr_evd, _EVD_CR) } },
	{ "dat_rsp_query", rsp_query, { ARG(1, RSP, rsp, _RSP) } },
	{ "dat_rsp_free", rsp_free, { ARG(1, RSP, rsp, _RSP) } },
	{ "dat_cr_handoff", cr_handoff, { ARG(1, CR, cr, _CR) } },
	{ "dat_ep_dup_connect", ep_dup_connect, { THE_EP, ARG(2, EP, connected, _EP) } },
	{ "dat_rmr_create", rmr_create, { ARG(1, PZ, pz, _PZ) } },
	{ "dat_rmr_query", rmr_query, { ARG(1, RMR, rmr, _RMR) } },
	{ "dat_rmr_bind", rmr_bind, { ARG(1, RMR, rmr, _RMR), ARG(4, EP, connected, _EP) } },
	{ "dat_rmr_free", rmr_free, { ARG(1, RMR, rmr, _RMR) } },
	{ "dat_ep_post_rdma_read", rdma_read, { ARG(1, EP, connected, _EP) } },
	{ "dat_ep_post_rdma_write", rdma_write, { ARG(1, EP, connected, _EP) } },
	{ "dat_lmr_sync_rdma_read", sync_read, { THE_IA } },
	{ "dat_lmr_sync_rdma_write", sync_write, { THE_IA } },
	{ "dat_psp_query", psp_query, { ARG(1, PSP, psp, _PSP) } },
	{ "dat_psp_free", psp_free, { ARG(1, PSP, psp, _PSP) } },
	{ "dat_pz_create", pz_create, { THE_IA } },
	{ "dat_pz_query", pz_query, { ARG(1, PZ, pz, _PZ) } },
	{ "dat_pz_free", pz_free, { ARG(1, PZ, unused_pz, _PZ) } },
	{ "dat_srq_create", new_srq, { THE_IA, ARG(2, PZ, pz, _PZ) } },
	{ "dat_srq_free", srq_free, { ARG(1, SRQ, srq, _SRQ) } },
	{ "dat_srq_post_recv", srq_post_recv, { ARG(1, SRQ, srq, _SRQ) } },
	{ "dat_srq_query", srq_query, { ARG(1, SRQ, srq, _SRQ) } },
	{ "dat_srq_resize", srq_resize, { ARG(1, SRQ, srq, _SRQ) } },
	{ "dat_srq_set_lw", srq_set_lw, { ARG(1, SRQ, srq, _SRQ) } },
};
/* clang-format on */

const size_t call_count = COUNT(calls);
