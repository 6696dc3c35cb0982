/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting and disconnecting Endpoints. */
#include <netinet/in.h>

#include "tests/sweep/sweep.h"

/* Valid arguments of dat_ep_connect; a row changes one of them. */
static struct {
	DAT_IA_ADDRESS_PTR remote;
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	void *data;
	int qos, flags;
} given;

static void sound(void)
{
	w.a.ep = plain_ep(&w.a);
	given.remote = address(&w.b);
	given.timeout = 1000;
	given.size = 0;
	given.data = NULL;
	given.qos = DAT_QOS_BEST_EFFORT;
	given.flags = DAT_CONNECT_DEFAULT_FLAG;
}

static DAT_RETURN try_it(void)
{
	return TRY(dat_ep_connect(w.a.ep, given.remote, QUAL, given.timeout, given.size, given.data,
				  (DAT_QOS)given.qos, (DAT_CONNECT_FLAGS)given.flags));
}

/* Everything is valid except one argument. */
#define PROVOKE_CONNECT(how, change) \
	static DAT_RETURN how(void)  \
	{                            \
		sound();             \
		change;              \
		return try_it();     \
	}

static char data[1024];

PROVOKE_CONNECT(no_address, given.remote = NULL)
PROVOKE_CONNECT(no_time, given.timeout = 0)
PROVOKE_CONNECT(negative_private_data, given.size = -1)
PROVOKE_CONNECT(too_much_private_data, (given.size = 257, given.data = data))
PROVOKE_CONNECT(no_private_data, given.size = 8)
PROVOKE_CONNECT(unknown_quality, given.qos = 0x100)
PROVOKE_CONNECT(unknown_flag, given.flags = 0x10)
PROVOKE_CONNECT(another_quality, given.qos = DAT_QOS_LOW_LATENCY)
PROVOKE_CONNECT(multipath, given.flags = DAT_CONNECT_MULTIPATH_FLAG)

static DAT_RETURN another_family(void)
{
	DAT_SOCK_ADDR local = { .sa_family = AF_UNIX };

	sound();
	given.remote = &local;
	return try_it();
}

static DAT_RETURN no_host_address(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	sound();
	given.remote = (DAT_IA_ADDRESS_PTR)&any;
	return try_it();
}

static DAT_RETURN in_state(DAT_EP_STATE state)
{
	DAT_EP_HANDLE ep = ep_in_state(state);

	sound();
	w.a.ep = ep;
	return try_it();
}

static DAT_RETURN connected(void)
{
	return in_state(DAT_EP_STATE_CONNECTED);
}

static DAT_RETURN connecting(void)
{
	return in_state(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}

static DAT_RETURN disconnected(void)
{
	return in_state(DAT_EP_STATE_DISCONNECTED);
}

/* ---- disconnect ---- */

static DAT_RETURN disconnect_unknown_flag(void)
{
	plain_pair();
	return TRY(dat_ep_disconnect(w.a.ep, (DAT_CLOSE_FLAGS)2));
}

static DAT_RETURN disconnect_unconnected(void)
{
	w.a.ep = plain_ep(&w.a);
	return TRY(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
}

#define DISCONNECT(what, state)                                               \
	static DAT_RETURN disconnect_##what(void)                             \
	{                                                                     \
		w.a.ep = ep_in_state(DAT_EP_STATE_##state);                   \
		return TRY(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG)); \
	}

DISCONNECT(reserved, RESERVED)
DISCONNECT(passive, PASSIVE_CONNECTION_PENDING)
DISCONNECT(tentative, TENTATIVE_CONNECTION_PENDING)

/* ---- to the service point of a connected Endpoint ---- */

static DAT_EP_HANDLE model;

static void sound_dup(void)
{
	plain_pair();
	model = w.a.ep;
	sound();
}

static DAT_RETURN try_dup(void)
{
	return TRY(dat_ep_dup_connect(w.a.ep, model, given.timeout, given.size, given.data,
				      (DAT_QOS)given.qos));
}

#define PROVOKE_DUP(how, change)    \
	static DAT_RETURN how(void) \
	{                           \
		sound_dup();        \
		change;             \
		return try_dup();   \
	}

PROVOKE_DUP(dup_no_time, given.timeout = 0)
PROVOKE_DUP(dup_negative_private_data, given.size = -1)
PROVOKE_DUP(dup_too_much_private_data, (given.size = 257, given.data = data))
PROVOKE_DUP(dup_no_private_data, given.size = 8)
PROVOKE_DUP(dup_unknown_quality, given.qos = 0x100)
PROVOKE_DUP(dup_another_quality, given.qos = DAT_QOS_ECONOMY)
PROVOKE_DUP(dup_of_an_unconnected_one, model = plain_ep(&w.a))
PROVOKE_DUP(dup_of_itself, w.a.ep = model)

/* clang-format off */
static const struct sweep_row rows[] = {
	ROW_ARG(dat_ep_connect, 2, no_address),
	ROW_ARG(dat_ep_connect, 4, no_time),
	ROW_ARG(dat_ep_connect, 5, negative_private_data),
	ROW_ARG(dat_ep_connect, 5, too_much_private_data),
	ROW_ARG(dat_ep_connect, 6, no_private_data),
	ROW_ARG(dat_ep_connect, 7, unknown_quality),
	ROW_ARG(dat_ep_connect, 8, unknown_flag),
	ROW(dat_ep_connect, INVALID_ADDRESS, INVALID_ADDRESS_UNSUPPORTED, another_family),
	ROW(dat_ep_connect, INVALID_ADDRESS, INVALID_ADDRESS_MALFORMED, no_host_address),
	ROW(dat_ep_connect, INVALID_STATE, INVALID_STATE_EP_CONNECTED, connected),
	ROW(dat_ep_connect, INVALID_STATE, INVALID_STATE_EP_ACTCONNPENDING, connecting),
	ROW(dat_ep_connect, INVALID_STATE, INVALID_STATE_EP_DISCONNECTED, disconnected),
	ROW(dat_ep_connect, MODEL_NOT_SUPPORTED, NO_SUBTYPE, another_quality),
	ROW(dat_ep_connect, MODEL_NOT_SUPPORTED, NO_SUBTYPE, multipath),
	ROW_ARG(dat_ep_disconnect, 2, disconnect_unknown_flag),
	ROW(dat_ep_disconnect, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED, disconnect_unconnected),
	ROW(dat_ep_disconnect, INVALID_STATE, INVALID_STATE_EP_RESERVED, disconnect_reserved),
	ROW(dat_ep_disconnect, INVALID_STATE, INVALID_STATE_EP_PASSCONNPENDING, disconnect_passive),
	ROW(dat_ep_disconnect, INVALID_STATE, INVALID_STATE_EP_TENTCONNPENDING,
	    disconnect_tentative),
	ROW_ARG(dat_ep_dup_connect, 3, dup_no_time),
	ROW_ARG(dat_ep_dup_connect, 4, dup_negative_private_data),
	ROW_ARG(dat_ep_dup_connect, 4, dup_too_much_private_data),
	ROW_ARG(dat_ep_dup_connect, 5, dup_no_private_data),
	ROW_ARG(dat_ep_dup_connect, 6, dup_unknown_quality),
	ROW(dat_ep_dup_connect, MODEL_NOT_SUPPORTED, NO_SUBTYPE, dup_another_quality),
	ROW(dat_ep_dup_connect, INVALID_STATE, INVALID_STATE_EP_UNCONNECTED,
	    dup_of_an_unconnected_one),
	ROW(dat_ep_dup_connect, INVALID_STATE, INVALID_STATE_EP_CONNECTED, dup_of_itself),
};
/* clang-format on */

SWEEP_TABLE(sweep_connect);
