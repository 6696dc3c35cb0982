/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting data transfers: the same mistakes with each call that posts. */
#include "tests/sweep/sweep.h"

/* Valid arguments of a post; a row changes one of them. */
static struct {
	DAT_COUNT segments;
	DAT_LMR_TRIPLET iov[8], *list;
	int flags;
} given;

static DAT_RETURN send_it(void)
{
	return dat_ep_post_send(w.a.ep, given.segments, given.list, cookie(0),
				(DAT_COMPLETION_FLAGS)given.flags);
}

static DAT_RETURN recv_it(void)
{
	return dat_ep_post_recv(w.a.ep, given.segments, given.list, cookie(0),
				(DAT_COMPLETION_FLAGS)given.flags);
}

static DAT_RETURN srq_recv_it(void)
{
	return dat_srq_post_recv(w.a.srq, given.segments, given.list, cookie(0));
}

typedef DAT_RETURN (*poster)(void);

static void sound(void)
{
	int i;

	plain_pair();
	w.a.srq = make_srq(&w.a, 4, 0);
	for (i = 0; i < 8; i++)
		given.iov[i] = segment(&w.a, i, SHORT);
	given.list = given.iov;
	given.segments = 1;
	given.flags = DAT_COMPLETION_DEFAULT_FLAG;
}

/* ---- bad arguments ---- */

static DAT_RETURN fewer_than_no_segments(poster post)
{
	sound();
	given.segments = -1;
	return TRY(post());
}

static DAT_RETURN too_many_segments(poster post)
{
	sound();
	given.segments = 5;
	return TRY(post());
}

static DAT_RETURN no_segments(poster post)
{
	sound();
	given.list = NULL;
	return TRY(post());
}

static DAT_RETURN outside_the_region(poster post)
{
	sound();
	given.iov[0].virtual_address += SLOTS * SLOT_SIZE;
	return TRY(post());
}

static DAT_RETURN unknown_flag(poster post)
{
	sound();
	given.flags = 0x40;
	return TRY(post());
}

/* Ruling A2: allowed only if the Endpoint was created for it */
static DAT_RETURN unsignalled(poster post)
{
	sound();
	given.flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	return TRY(post());
}

static DAT_RETURN longer_than_any_message(void)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_message_size = 100;
	w.a.ep = plain_ep_with(&w.a, &attr);
	given.iov[0] = segment(&w.a, 0, 101);
	given.list = given.iov;
	given.segments = 1;
	given.flags = DAT_COMPLETION_DEFAULT_FLAG;
	return TRY(send_it());
}

/* ---- protection ---- */

static DAT_RETURN of_no_region(poster post)
{
	sound();
	given.iov[0].lmr_context = 0x7fffffff;
	return TRY(post());
}

static void of_a_region(DAT_PZ_HANDLE pz, int privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, pz,
			    (DAT_MEM_PRIV_FLAGS)privileges, &lmr, &given.iov[0].lmr_context, NULL,
			    NULL, NULL));
}

static DAT_RETURN without_the_privilege(poster post)
{
	sound();
	of_a_region(w.a.pz,
		    post == send_it ? DAT_MEM_PRIV_NONE_FLAG : DAT_MEM_PRIV_LOCAL_READ_FLAG);
	return TRY(post());
}

static DAT_RETURN of_another_zone(poster post)
{
	DAT_PZ_HANDLE pz;

	sound();
	must(dat_pz_create(w.a.ia, &pz));
	of_a_region(pz, DAT_MEM_PRIV_ALL_FLAG);
	return TRY(post());
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

#define SEND(what)                          \
	static DAT_RETURN send_##what(void) \
	{                                   \
		return what(send_it);       \
	}
#define RECV(what)                          \
	static DAT_RETURN recv_##what(void) \
	{                                   \
		return what(recv_it);       \
	}
#define SRQ_RECV(what)                          \
	static DAT_RETURN srq_recv_##what(void) \
	{                                       \
		return what(srq_recv_it);       \
	}
#define ALL(what) SEND(what) RECV(what) SRQ_RECV(what)

ALL(fewer_than_no_segments)
ALL(too_many_segments)
ALL(no_segments)
ALL(outside_the_region)
ALL(of_no_region)
ALL(without_the_privilege)
ALL(of_another_zone)
ALL(one_too_many)
SEND(unknown_flag)
RECV(unknown_flag)
SEND(unsignalled)
RECV(unsignalled)

static DAT_RETURN send_in(DAT_EP_STATE state)
{
	sound();
	w.a.ep = ep_in_state(state);
	return TRY(send_it());
}

static DAT_RETURN send_unconnected(void)
{
	return send_in(DAT_EP_STATE_UNCONNECTED);
}

static DAT_RETURN send_disconnecting(void)
{
	return send_in(DAT_EP_STATE_DISCONNECT_PENDING);
}

/* Ruling Q5 */
static DAT_RETURN recv_where_an_srq_receives(void)
{
	sound();
	w.a.ep = srq_ep(&w.a, w.a.srq);
	return TRY(recv_it());
}

/* clang-format off */
static const struct sweep_row rows[] = {
	ROW_ARG(dat_ep_post_send, 2, send_fewer_than_no_segments),
	ROW_ARG(dat_ep_post_send, 2, send_too_many_segments),
	ROW_ARG(dat_ep_post_send, 3, send_no_segments),
	ROW_ARG(dat_ep_post_send, 3, send_outside_the_region),
	ROW_ARG(dat_ep_post_send, 3, longer_than_any_message),
	ROW_ARG(dat_ep_post_send, 5, send_unknown_flag),
	ROW_ARG(dat_ep_post_send, 5, send_unsignalled),
	ROW(dat_ep_post_send, PRIVILEGES_VIOLATION, PRIVILEGES_READ, send_of_no_region),
	ROW(dat_ep_post_send, PRIVILEGES_VIOLATION, PRIVILEGES_READ, send_without_the_privilege),
	ROW(dat_ep_post_send, PROTECTION_VIOLATION, PROTECTION_READ, send_of_another_zone),
	ROW(dat_ep_post_send, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED, send_unconnected),
	ROW(dat_ep_post_send, INVALID_STATE, INVALID_STATE_EP_DISCPENDING, send_disconnecting),
	ROW(dat_ep_post_send, INSUFFICIENT_RESOURCES, RESOURCE_TEP, send_one_too_many),
	ROW_ARG(dat_ep_post_recv, 2, recv_fewer_than_no_segments),
	ROW_ARG(dat_ep_post_recv, 2, recv_too_many_segments),
	ROW_ARG(dat_ep_post_recv, 3, recv_no_segments),
	ROW_ARG(dat_ep_post_recv, 3, recv_outside_the_region),
	ROW_ARG(dat_ep_post_recv, 5, recv_unknown_flag),
	ROW_ARG(dat_ep_post_recv, 5, recv_unsignalled),
	ROW(dat_ep_post_recv, PRIVILEGES_VIOLATION, PRIVILEGES_WRITE, recv_of_no_region),
	ROW(dat_ep_post_recv, PRIVILEGES_VIOLATION, PRIVILEGES_WRITE, recv_without_the_privilege),
	ROW(dat_ep_post_recv, PROTECTION_VIOLATION, PROTECTION_WRITE, recv_of_another_zone),
	ROW(dat_ep_post_recv, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED,
	    recv_where_an_srq_receives),
	ROW(dat_ep_post_recv, INSUFFICIENT_RESOURCES, RESOURCE_TEP, recv_one_too_many),
	ROW_ARG(dat_srq_post_recv, 2, srq_recv_fewer_than_no_segments),
	ROW_ARG(dat_srq_post_recv, 2, srq_recv_too_many_segments),
	ROW_ARG(dat_srq_post_recv, 3, srq_recv_no_segments),
	ROW_ARG(dat_srq_post_recv, 3, srq_recv_outside_the_region),
	ROW(dat_srq_post_recv, PRIVILEGES_VIOLATION, PRIVILEGES_WRITE, srq_recv_of_no_region),
	ROW(dat_srq_post_recv, PRIVILEGES_VIOLATION, PRIVILEGES_WRITE,
	    srq_recv_without_the_privilege),
	ROW(dat_srq_post_recv, PROTECTION_VIOLATION, PROTECTION_WRITE, srq_recv_of_another_zone),
	ROW(dat_srq_post_recv, INSUFFICIENT_RESOURCES, RESOURCE_SRQ, srq_recv_one_too_many),
};
/* clang-format on */

SWEEP_TABLE(sweep_dto);
