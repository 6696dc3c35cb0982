/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting RDMA: the same mistakes with Reads and Writes. */
#include "tests/sweep/sweep.h"

/* Valid arguments of a post; a row changes one of them. */
static struct {
	DAT_COUNT segments;
	DAT_LMR_TRIPLET iov[8], *list;
	DAT_RMR_TRIPLET target, *remote;
	int flags;
} given;

static DAT_RETURN read_it(void)
{
	return dat_ep_post_rdma_read(w.a.ep, given.segments, given.list, cookie(0), given.remote,
				     (DAT_COMPLETION_FLAGS)given.flags);
}

static DAT_RETURN write_it(void)
{
	return dat_ep_post_rdma_write(w.a.ep, given.segments, given.list, cookie(0), given.remote,
				      (DAT_COMPLETION_FLAGS)given.flags);
}

typedef DAT_RETURN (*poster)(void);

static void sound_on(DAT_EP_HANDLE ep)
{
	int i;

	w.a.ep = ep;
	for (i = 0; i < 8; i++)
		given.iov[i] = segment(&w.a, i, SHORT);
	given.list = given.iov;
	given.segments = 1;
	given.target.rmr_context = w.b.rmr_context;
	given.target.target_address = (DAT_VADDR)(uintptr_t)slot(&w.b, 0);
	given.target.segment_length = SHORT;
	given.remote = &given.target;
	given.flags = DAT_COMPLETION_DEFAULT_FLAG;
}

static DAT_EP_ATTR small_attr(void)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_rdma_read_iov = attr.max_rdma_write_iov = 4;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 2;
	attr.max_rdma_size = SLOT_SIZE;
	return attr;
}

static void sound(void)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_HANDLE ep = plain_ep_with(&w.a, &attr);

	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, ep, &w.b, w.b.ep);
	sound_on(ep);
}

/* One function for a Read and one for a Write; everything is valid except one argument. */
#define BOTH(what, change)                   \
	static DAT_RETURN read_##what(void)  \
	{                                    \
		sound();                     \
		change;                      \
		return TRY(read_it());       \
	}                                    \
	static DAT_RETURN write_##what(void) \
	{                                    \
		sound();                     \
		change;                      \
		return TRY(write_it());      \
	}

BOTH(fewer_than_no_segments, given.segments = -1)
BOTH(too_many_segments, given.segments = 5)
BOTH(no_segments, given.list = NULL)
BOTH(outside_the_region, given.iov[0].virtual_address += SLOTS * SLOT_SIZE)
BOTH(no_remote_buffer, given.remote = NULL)
BOTH(unknown_flag, given.flags = 0x40)
BOTH(solicited, given.flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG)
BOTH(unsignalled, given.flags = DAT_COMPLETION_UNSIGNALLED_FLAG)
BOTH(of_no_region, given.iov[0].lmr_context = 0x7fffffff)

static DAT_RETURN read_into_too_little(void)
{
	sound();
	given.target.segment_length = SHORT + 1;
	return TRY(read_it());
}

static DAT_RETURN write_into_too_little(void)
{
	sound();
	given.target.segment_length = SHORT - 1;
	return TRY(write_it());
}

/*
 * Above max_rdma_size: the remote buffer gives the length of a Read, the segments that of a Write
 */
static void sound_but_large(void)
{
	sound();
	given.segments = 2;
	given.iov[0].segment_length = given.iov[1].segment_length = SLOT_SIZE;
	given.target.segment_length = 2 * SLOT_SIZE;
}

static DAT_RETURN read_too_much(void)
{
	sound_but_large();
	return TRY(read_it());
}

static DAT_RETURN write_too_much(void)
{
	sound_but_large();
	return TRY(write_it());
}

/* ---- protection ---- */

static void of_a_region(DAT_PZ_HANDLE pz, int privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, &lmr, &given.iov[0].lmr_context, NULL,
			    NULL, NULL));
}

static void of_another_zone(void)
{
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	of_a_region(pz, DAT_MEM_PRIV_ALL_FLAG);
}

BOTH(of_another_zone, of_another_zone())

static DAT_RETURN read_into_what_is_not_to_be_written(void)
{
	sound();
	of_a_region(w.a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	return TRY(read_it());
}

static DAT_RETURN write_from_what_is_not_to_be_read(void)
{
	sound();
	of_a_region(w.a.pz, DAT_MEM_PRIV_NONE_FLAG);
	return TRY(write_it());
}

/* ---- resources and state ---- */

static DAT_RETURN one_too_many(poster post)
{
	sound();
	hold_link("emu0", "emu1");
	while (post() == DAT_SUCCESS)
		;
	return TRY(post());
}

static DAT_RETURN read_one_too_many(void)
{
	return one_too_many(read_it);
}

static DAT_RETURN write_one_too_many(void)
{
	return one_too_many(write_it);
}

static DAT_RETURN read_where_no_Read_may_go_out(void)
{
	DAT_EP_ATTR attr = small_attr();
	DAT_EP_HANDLE ep;

	attr.max_rdma_read_out = 0;
	ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, ep, &w.b, w.b.ep);
	sound_on(ep);
	return TRY(read_it());
}

#define IN_STATE(what, state)                                \
	static DAT_RETURN read_##what(void)                  \
	{                                                    \
		sound_on(ep_in_state(DAT_EP_STATE_##state)); \
		return TRY(read_it());                       \
	}                                                    \
	static DAT_RETURN write_##what(void)                 \
	{                                                    \
		sound_on(ep_in_state(DAT_EP_STATE_##state)); \
		return TRY(write_it());                      \
	}

IN_STATE(unconnected, UNCONNECTED)
IN_STATE(connecting, ACTIVE_CONNECTION_PENDING)
IN_STATE(disconnecting, DISCONNECT_PENDING)

/* clang-format off */
#define ROWS(call, prefix) \
	ROW_ARG(call, 2, prefix##_fewer_than_no_segments), \
	ROW_ARG(call, 2, prefix##_too_many_segments), \
	ROW_ARG(call, 3, prefix##_no_segments), \
	ROW_ARG(call, 3, prefix##_outside_the_region), \
	ROW_ARG(call, 5, prefix##_no_remote_buffer), \
	ROW_ARG(call, 6, prefix##_unknown_flag), \
	ROW_ARG(call, 6, prefix##_solicited), \
	ROW_ARG(call, 6, prefix##_unsignalled), \
	ROW(call, LENGTH_ERROR, NO_SUBTYPE, prefix##_into_too_little), \
	ROW(call, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED, prefix##_unconnected), \
	ROW(call, INVALID_STATE, INVALID_STATE_EP_ACTCONNPENDING, prefix##_connecting), \
	ROW(call, INVALID_STATE, INVALID_STATE_EP_DISCPENDING, prefix##_disconnecting), \
	ROW(call, INSUFFICIENT_RESOURCES, RESOURCE_TEP, prefix##_one_too_many)

static const struct sweep_row rows[] = {
	ROWS(dat_ep_post_rdma_read, read),
	ROW_ARG(dat_ep_post_rdma_read, 5, read_too_much),
	ROW(dat_ep_post_rdma_read, INSUFFICIENT_RESOURCES, RESOURCE_TEP,
	    read_where_no_Read_may_go_out),
	ROW(dat_ep_post_rdma_read, PRIVILEGES_VIOLATION, PRIVILEGES_WRITE, read_of_no_region),
	ROW(dat_ep_post_rdma_read, PRIVILEGES_VIOLATION, PRIVILEGES_WRITE,
	    read_into_what_is_not_to_be_written),
	ROW(dat_ep_post_rdma_read, PROTECTION_VIOLATION, PROTECTION_WRITE, read_of_another_zone),
	ROWS(dat_ep_post_rdma_write, write),
	ROW_ARG(dat_ep_post_rdma_write, 3, write_too_much),
	ROW(dat_ep_post_rdma_write, PRIVILEGES_VIOLATION, PRIVILEGES_READ, write_of_no_region),
	ROW(dat_ep_post_rdma_write, PRIVILEGES_VIOLATION, PRIVILEGES_READ,
	    write_from_what_is_not_to_be_read),
	ROW(dat_ep_post_rdma_write, PROTECTION_VIOLATION, PROTECTION_READ, write_of_another_zone),
};
/* clang-format on */

SWEEP_TABLE(sweep_rdma);
