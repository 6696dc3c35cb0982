/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating, querying, modifying and ending Endpoints. */
#include "tests/sweep/sweep.h"

/* ---- create ---- */

static DAT_RETURN create(const DAT_EP_ATTR *attr)
{
	return dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, attr, &out.handle);
}

static DAT_RETURN create_on_srq(const DAT_EP_ATTR *attr)
{
	return dat_ep_create_with_srq(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, w.a.srq,
				      attr, &out.handle);
}

typedef DAT_RETURN (*creator)(const DAT_EP_ATTR *attr);

static DAT_RETURN too_many_receives(creator make)
{
	DAT_EP_ATTR attr = ep_attr();

	w.a.srq = make_srq(&w.a, 4, 0);
	attr.max_recv_dtos = ia_attr(&w.a).max_dto_per_ep + 1;
	return TRY(make(&attr));
}

static DAT_RETURN another_quality(creator make)
{
	DAT_EP_ATTR attr = ep_attr();

	w.a.srq = make_srq(&w.a, 4, 0);
	attr.qos = DAT_QOS_PREMIUM;
	return TRY(make(&attr));
}

static DAT_RETURN one_too_many(creator make)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = attr.max_request_dtos = attr.max_recv_iov = attr.max_request_iov = 1;
	w.a.srq = make_srq(&w.a, 4, 0);
	while (make(&attr) == DAT_SUCCESS)
		;
	return TRY(make(&attr));
}

static DAT_RETURN no_output(bool with_srq)
{
	DAT_EP_ATTR attr = ep_attr();

	w.a.srq = make_srq(&w.a, 4, 0);
	if (with_srq)
		return TRY(dat_ep_create_with_srq(w.a.ia, w.a.pz, w.a.recv, w.a.request,
						  w.a.connect, w.a.srq, &attr, NULL));
	return TRY(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr, NULL));
}

/* One function for each way to create an Endpoint */
#define BOTH(what)                                \
	static DAT_RETURN create_##what(void)     \
	{                                         \
		return what(create);              \
	}                                         \
	static DAT_RETURN srq_create_##what(void) \
	{                                         \
		return what(create_on_srq);       \
	}

BOTH(too_many_receives)
BOTH(another_quality)
BOTH(one_too_many)

static DAT_RETURN create_no_output(void)
{
	return no_output(false);
}

static DAT_RETURN srq_create_no_output(void)
{
	return no_output(true);
}

static DAT_RETURN srq_create_no_attributes(void)
{
	w.a.srq = make_srq(&w.a, 4, 0);
	return TRY(create_on_srq(NULL));
}

/* ---- query and status ---- */

static DAT_RETURN with_ep(DAT_RETURN (*call)(DAT_EP_HANDLE ep))
{
	w.a.ep = plain_ep(&w.a);
	return TRY(call(w.a.ep));
}

#define PROVOKE_EP(how, call)                        \
	static DAT_RETURN how##_of(DAT_EP_HANDLE ep) \
	{                                            \
		return call;                         \
	}                                            \
	static DAT_RETURN how(void)                  \
	{                                            \
		return with_ep(how##_of);            \
	}

PROVOKE_EP(query_unknown_bit, dat_ep_query(ep, (DAT_EP_PARAM_MASK)0x800, &out.ep))
PROVOKE_EP(query_no_structure, dat_ep_query(ep, DAT_EP_FIELD_ALL, NULL))
PROVOKE_EP(recv_query_no_output, dat_ep_recv_query(ep, NULL, NULL))
PROVOKE_EP(watermark_soft_negative, dat_ep_set_watermark(ep, -2, 5))
PROVOKE_EP(watermark_hard_negative, dat_ep_set_watermark(ep, 5, -2))

/* ---- modify ---- */

static DAT_EP_PARAM param;

PROVOKE_EP(modify_unknown_bit, dat_ep_modify(ep, (DAT_EP_PARAM_MASK)0x800, &param))
PROVOKE_EP(modify_no_structure, dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, NULL))
PROVOKE_EP(modify_the_state, dat_ep_modify(ep, DAT_EP_FIELD_EP_STATE, &param))

static DAT_RETURN modify_to_a_bad_zone(void)
{
	w.a.ep = plain_ep(&w.a);
	param.pz_handle = w.a.recv;
	return TRY(dat_ep_modify(w.a.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
}

static DAT_RETURN modify_to_a_bad_value(void)
{
	w.a.ep = plain_ep(&w.a);
	param.ep_attr.max_recv_dtos = -5;
	return TRY(dat_ep_modify(w.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
}

static DAT_RETURN modify_a_connected_one(void)
{
	plain_pair();
	param.ep_attr.max_recv_dtos = 8;
	return TRY(dat_ep_modify(w.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
}

static DAT_RETURN modify_receive_flags_after_a_post(void)
{
	w.a.ep = plain_ep(&w.a);
	post_recv(&w.a, w.a.ep, 0);
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	return TRY(dat_ep_modify(w.a.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
}

static DAT_RETURN modify_below_what_is_posted(void)
{
	w.a.ep = plain_ep(&w.a);
	post_recvs(&w.a, w.a.ep, 0, 3);
	param.ep_attr.max_recv_dtos = 2;
	return TRY(dat_ep_modify(w.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
}

/* ---- reset ---- */

static DAT_RETURN reset_in(DAT_EP_STATE state)
{
	w.a.ep = ep_in_state(state);
	return TRY(dat_ep_reset(w.a.ep));
}

static DAT_RETURN free_in(DAT_EP_STATE state)
{
	w.a.ep = ep_in_state(state);
	return TRY(dat_ep_free(w.a.ep));
}

#define REFUSED_IN(call, what, state)                   \
	static DAT_RETURN call##_##what(void)           \
	{                                               \
		return call##_in(DAT_EP_STATE_##state); \
	}

REFUSED_IN(reset, connected, CONNECTED)
REFUSED_IN(reset, connecting, ACTIVE_CONNECTION_PENDING)
REFUSED_IN(reset, accepting, COMPLETION_PENDING)
REFUSED_IN(reset, disconnecting, DISCONNECT_PENDING)
REFUSED_IN(reset, reserved, RESERVED)
REFUSED_IN(reset, passive, PASSIVE_CONNECTION_PENDING)
REFUSED_IN(reset, tentative, TENTATIVE_CONNECTION_PENDING)
REFUSED_IN(free, reserved, RESERVED)
REFUSED_IN(free, passive, PASSIVE_CONNECTION_PENDING)
REFUSED_IN(free, tentative, TENTATIVE_CONNECTION_PENDING)

/* clang-format off */
static const struct sweep_row rows[] = {
	ROW_ARG(dat_ep_create, 6, create_too_many_receives),
	ROW_ARG(dat_ep_create, 7, create_no_output),
	ROW(dat_ep_create, MODEL_NOT_SUPPORTED, NO_SUBTYPE, create_another_quality),
	ROW(dat_ep_create, INSUFFICIENT_RESOURCES, RESOURCE_TEP, create_one_too_many),
	ROW_ARG(dat_ep_create_with_srq, 7, srq_create_too_many_receives),
	ROW_ARG(dat_ep_create_with_srq, 7, srq_create_no_attributes),
	ROW_ARG(dat_ep_create_with_srq, 8, srq_create_no_output),
	ROW(dat_ep_create_with_srq, MODEL_NOT_SUPPORTED, NO_SUBTYPE, srq_create_another_quality),
	ROW(dat_ep_create_with_srq, INSUFFICIENT_RESOURCES, RESOURCE_TEP, srq_create_one_too_many),
	ROW_ARG(dat_ep_query, 2, query_unknown_bit),
	ROW_ARG(dat_ep_query, 3, query_no_structure),
	ROW_ARG(dat_ep_recv_query, 2, recv_query_no_output),
	ROW_ARG(dat_ep_set_watermark, 2, watermark_soft_negative),
	ROW_ARG(dat_ep_set_watermark, 3, watermark_hard_negative),
	ROW_ARG(dat_ep_modify, 2, modify_unknown_bit),
	ROW_ARG(dat_ep_modify, 2, modify_the_state),
	ROW_ARG(dat_ep_modify, 3, modify_no_structure),
	ROW_ARG(dat_ep_modify, 3, modify_to_a_bad_zone),
	ROW_ARG(dat_ep_modify, 3, modify_to_a_bad_value),
	ROW(dat_ep_modify, INVALID_STATE, INVALID_STATE_EP_CONNECTED, modify_a_connected_one),
	ROW(dat_ep_modify, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED,
	    modify_receive_flags_after_a_post),
	ROW(dat_ep_modify, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED,
	    modify_below_what_is_posted),
	ROW(dat_ep_reset, INVALID_STATE, INVALID_STATE_EP_CONNECTED, reset_connected),
	ROW(dat_ep_reset, INVALID_STATE, INVALID_STATE_EP_ACTCONNPENDING, reset_connecting),
	ROW(dat_ep_reset, INVALID_STATE, INVALID_STATE_EP_COMPLPENDING, reset_accepting),
	ROW(dat_ep_reset, INVALID_STATE, INVALID_STATE_EP_DISCPENDING, reset_disconnecting),
	ROW(dat_ep_reset, INVALID_STATE, INVALID_STATE_EP_RESERVED, reset_reserved),
	ROW(dat_ep_reset, INVALID_STATE, INVALID_STATE_EP_PASSCONNPENDING, reset_passive),
	ROW(dat_ep_reset, INVALID_STATE, INVALID_STATE_EP_TENTCONNPENDING, reset_tentative),
	ROW(dat_ep_free, INVALID_STATE, INVALID_STATE_EP_RESERVED, free_reserved),
	ROW(dat_ep_free, INVALID_STATE, INVALID_STATE_EP_PASSCONNPENDING, free_passive),
	ROW(dat_ep_free, INVALID_STATE, INVALID_STATE_EP_TENTCONNPENDING, free_tentative),
};
/* clang-format on */

SWEEP_TABLE(sweep_ep);
