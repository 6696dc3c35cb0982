/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated adapters share one finite memory: one adapter can use it up for the others. */
#include <sys/prctl.h>

#include "tests/sweep/sweep.h"

/*
 * Shared Receive Queues of w.b, each as large as still fits. Small pages, because otherwise the
 * kernel clears one of 2 MiB for each queue when it is freed.
 */
static void fill_memory(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_iov = ia_attr(&w.b).max_iov_segments_per_dto };
	DAT_SRQ_HANDLE srq;

	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	attr.max_recv_dtos = ia_attr(&w.b).max_recv_per_srq;
	for (; attr.max_recv_dtos > 0; attr.max_recv_dtos /= 2)
		while (dat_srq_create(w.b.ia, w.b.pz, &attr, &srq) == DAT_SUCCESS)
			;
}

static DAT_RETURN full_evd_create(void)
{
	fill_memory();
	return TRY(dat_evd_create(w.a.ia, 5000, NO_HANDLE, DAT_EVD_DTO_FLAG, &out.handle));
}

static DAT_RETURN full_evd_resize(void)
{
	fill_memory();
	return TRY(dat_evd_resize(w.a.recv, 5000));
}

static DAT_RETURN full_ep_create(void)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = attr.max_request_dtos = 1000;
	fill_memory();
	return TRY(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr,
				 &out.handle));
}

static DAT_RETURN full_ep_modify(void)
{
	static const DAT_EP_PARAM param = { .ep_attr.max_recv_dtos = 1000 };

	w.a.ep = plain_ep(&w.a);
	fill_memory();
	return TRY(dat_ep_modify(w.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
}

static DAT_RETURN full_srq_create(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1000, .max_recv_iov = 4 };

	fill_memory();
	return TRY(dat_srq_create(w.a.ia, w.a.pz, &attr, &out.handle));
}

static DAT_RETURN full_srq_resize(void)
{
	w.a.srq = make_srq(&w.a, 1, 0);
	fill_memory();
	return TRY(dat_srq_resize(w.a.srq, 1000));
}

static const struct sweep_row rows[] = {
	ROW(dat_evd_create, INSUFFICIENT_RESOURCES, RESOURCE_TEVD, full_evd_create),
	ROW(dat_evd_resize, INSUFFICIENT_RESOURCES, RESOURCE_TEVD, full_evd_resize),
	ROW(dat_ep_create, INSUFFICIENT_RESOURCES, RESOURCE_TEP, full_ep_create),
	ROW(dat_ep_modify, INSUFFICIENT_RESOURCES, RESOURCE_TEP, full_ep_modify),
	ROW(dat_srq_create, INSUFFICIENT_RESOURCES, RESOURCE_SRQ, full_srq_create),
	ROW(dat_srq_resize, INSUFFICIENT_RESOURCES, RESOURCE_SRQ, full_srq_resize),
};

SWEEP_TABLE(sweep_full);
