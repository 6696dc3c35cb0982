/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared Receive Queues; posting on one is in dto.c. */
#include "tests/sweep/sweep.h"

/* ---- create ---- */

static DAT_RETURN create(DAT_COUNT dtos, DAT_COUNT iov, DAT_COUNT low)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = dtos, .max_recv_iov = iov, .low_watermark = low };

	return dat_srq_create(w.a.ia, w.a.pz, &attr, &out.handle);
}

static DAT_RETURN create_no_output(void)
{
	DAT_SRQ_ATTR attr = { 4, 4, 0 };

	return TRY(dat_srq_create(w.a.ia, w.a.pz, &attr, NULL));
}

static DAT_RETURN create_one_too_many(void)
{
	while (create(1, 1, 0) == DAT_SUCCESS)
		;
	return TRY(create(1, 1, 0));
}

PROVOKE(create_no_attributes, dat_srq_create(w.a.ia, w.a.pz, NULL, &out.handle))
PROVOKE(create_of_no_size, create(0, 1, 0))
PROVOKE(create_of_no_segment, create(1, 0, 0))
PROVOKE(create_too_large, create(ia_attr(&w.a).max_recv_per_srq + 1, 1, 0))
PROVOKE(create_mark_above_the_size, create(4, 1, 5))
PROVOKE(create_negative_mark, create(4, 1, -1))

/* ---- an SRQ of eight buffers, three of which are taken and unreaped ---- */

static void in_use(void)
{
	srq_pair(8);
	post_srqs(&w.b, 0, 5);
	deliver(&w.a, w.a.ep, 3);
}

#define PROVOKE_SRQ(how, call)      \
	static DAT_RETURN how(void) \
	{                           \
		in_use();           \
		return TRY(call);   \
	}

PROVOKE_SRQ(free_in_use, dat_srq_free(w.b.srq))
PROVOKE_SRQ(query_unknown_bit, dat_srq_query(w.b.srq, (DAT_SRQ_PARAM_MASK)0x100, &out.srq))
PROVOKE_SRQ(query_no_structure, dat_srq_query(w.b.srq, DAT_SRQ_FIELD_ALL, NULL))
PROVOKE_SRQ(resize_to_nothing, dat_srq_resize(w.b.srq, 0))
PROVOKE_SRQ(resize_negative, dat_srq_resize(w.b.srq, -1))
PROVOKE_SRQ(resize_too_large, dat_srq_resize(w.b.srq, ia_attr(&w.b).max_recv_per_srq + 1))
PROVOKE_SRQ(resize_below_outstanding, dat_srq_resize(w.b.srq, 4))
PROVOKE_SRQ(mark_above_the_size, dat_srq_set_lw(w.b.srq, 9))
PROVOKE_SRQ(mark_negative, dat_srq_set_lw(w.b.srq, -1))
PROVOKE_SRQ(mark_unknown, dat_srq_set_lw(w.b.srq, DAT_VALUE_UNKNOWN))

static DAT_RETURN resize_below_the_mark(void)
{
	w.a.srq = make_srq(&w.a, 8, 6);
	return TRY(dat_srq_resize(w.a.srq, 5));
}

/* clang-format off */
static const struct sweep_row rows[] = {
	ROW_ARG(dat_srq_create, 3, create_no_attributes),
	ROW_ARG(dat_srq_create, 3, create_of_no_size),
	ROW_ARG(dat_srq_create, 3, create_of_no_segment),
	ROW_ARG(dat_srq_create, 3, create_too_large),
	ROW_ARG(dat_srq_create, 3, create_mark_above_the_size),
	ROW_ARG(dat_srq_create, 3, create_negative_mark),
	ROW_ARG(dat_srq_create, 4, create_no_output),
	ROW(dat_srq_create, INSUFFICIENT_RESOURCES, RESOURCE_SRQ, create_one_too_many),
	ROW(dat_srq_free, INVALID_STATE, INVALID_STATE_SRQ_IN_USE, free_in_use),
	ROW_ARG(dat_srq_query, 2, query_unknown_bit),
	ROW_ARG(dat_srq_query, 3, query_no_structure),
	ROW_ARG(dat_srq_resize, 2, resize_to_nothing),
	ROW_ARG(dat_srq_resize, 2, resize_negative),
	ROW_ARG(dat_srq_resize, 2, resize_too_large),
	ROW_ANY(dat_srq_resize, INVALID_STATE, resize_below_outstanding),
	ROW_ANY(dat_srq_resize, INVALID_STATE, resize_below_the_mark),
	ROW_ARG(dat_srq_set_lw, 2, mark_above_the_size),
	ROW_ARG(dat_srq_set_lw, 2, mark_negative),
	ROW_ARG(dat_srq_set_lw, 2, mark_unknown),
};
/* clang-format on */

SWEEP_TABLE(sweep_srq);
