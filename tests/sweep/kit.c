/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/sweep/calls.h"

struct kit kit;
DAT_LMR_TRIPLET in_region;
DAT_IA_ADDRESS_PTR peer;

DAT_HANDLE kit_member(const struct kit *from, size_t offset)
{
	DAT_HANDLE handle;

	memcpy(&handle, (const char *)from + offset, sizeof(handle));
	return handle;
}

void kit_make(struct kit *k, const char *adapter)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[8];

	snprintf(name, sizeof(name), "%s", adapter);
	k->ia = w.a.ia;
	must(dat_ia_open(name, 4, &async, &k->empty_ia));
	k->pz = w.a.pz;
	must(dat_pz_create(w.a.ia, &k->unused_pz));
	k->lmr = w.a.lmr;
	k->recv = w.a.recv;
	k->request = w.a.request;
	k->connect = w.a.connect;
	k->cr_evd = w.a.cr;
	k->evd = make_evd(&w.a, 8, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG);
	attr.max_rdma_read_in = attr.max_rdma_read_out = 1;
	k->connected = plain_ep_with(&w.a, &attr);
	connect_eps(&w.a, k->connected, &w.b, plain_ep_with(&w.b, &attr));
	k->ep = w.a.ep = plain_ep(&w.a);
	k->srq = w.a.srq = make_srq(&w.a, 4, 0);
	k->cr = request(plain_ep(&w.b), &w.a, QUAL);
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &k->cno));
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &k->unused_cno));
	must(dat_evd_modify_cno(k->evd, k->cno));
	k->rsp = reserve(&w.a, QUAL + 4, plain_ep(&w.a));
	k->psp = listen_at(&w.a, QUAL + 3);
	must(dat_rmr_create(w.a.pz, &k->rmr));
	peer = address(&w.b);
	in_region = segment(&w.a, 0, 8);
}

void kit_handles(const struct call *call, DAT_HANDLE *h)
{
	size_t i;

	for (i = 0; call->args[i].number; i++)
		h[i] = kit_member(&kit, call->args[i].member);
}
