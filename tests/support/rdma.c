/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA between the two sides. */
#include "tests/support/support.h"

void rdma_pair(DAT_COUNT reads_out, DAT_COUNT reads_in)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_rdma_read_out = reads_out;
	w.a.ep = plain_ep_with(&w.a, &attr);
	attr = ep_attr();
	attr.max_rdma_read_in = reads_in;
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

DAT_RMR_TRIPLET remote(struct side *side, int n, DAT_VLEN length)
{
	DAT_RMR_TRIPLET triplet = {
		.rmr_context = side->rmr_context,
		.target_address = (DAT_VADDR)(uintptr_t)slot(side, n),
		.segment_length = length,
	};

	return triplet;
}

DAT_RETURN try_write(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET to, int flags)
{
	DAT_LMR_TRIPLET iov = segment(side, n, to.segment_length);

	return dat_ep_post_rdma_write(ep, 1, &iov, cookie(n), &to, (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN try_read(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET from, int flags)
{
	DAT_LMR_TRIPLET iov = segment(side, n, from.segment_length);

	return dat_ep_post_rdma_read(ep, 1, &iov, cookie(n), &from, (DAT_COMPLETION_FLAGS)flags);
}

void post_write(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET to)
{
	must(try_write(side, ep, n, to, DAT_COMPLETION_DEFAULT_FLAG));
}

void post_read(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET from)
{
	must(try_read(side, ep, n, from, DAT_COMPLETION_DEFAULT_FLAG));
}

DAT_RMR_HANDLE make_rmr(struct side *side)
{
	DAT_RMR_HANDLE rmr = NO_HANDLE;

	must(dat_rmr_create(side->pz, &rmr));
	return rmr;
}

DAT_RETURN try_bind(DAT_RMR_HANDLE rmr, struct side *side, DAT_EP_HANDLE ep, int n, DAT_VLEN length,
		    int privileges, DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET range = segment(side, n, length);

	return dat_rmr_bind(rmr, &range, (DAT_MEM_PRIV_FLAGS)privileges, ep, cookie(n),
			    DAT_COMPLETION_DEFAULT_FLAG, context);
}

DAT_RMR_CONTEXT post_bind(DAT_RMR_HANDLE rmr, struct side *side, DAT_EP_HANDLE ep, int n,
			  DAT_VLEN length, int privileges)
{
	DAT_RMR_CONTEXT context = 0xeeeeeeee;

	must(try_bind(rmr, side, ep, n, length, privileges, &context));
	return context;
}

void expect_pair_broken(void)
{
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
}
