/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids of librdmacm without a connection: channels, addresses, ports, options, wrong states. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/support/support.h"

#define EMU0 "198.18.0.1"
#define EMU1 "198.18.0.2"
#define PORT 7471

static struct rdma_event_channel *channel;
static struct rdma_cm_id *a, *b;

#define REFUSED(call, why)                      \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

static void begin(void)
{
	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(rdma_create_id(channel, &a, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
}

static void end(void)
{
	ck_assert_int_eq(rdma_destroy_id(a), 0);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
	rdma_destroy_event_channel(channel);
}

static int bind_to(struct rdma_cm_id *id, const char *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return rdma_bind_addr(id, (struct sockaddr *)&in);
}

static int resolve_to(struct rdma_cm_id *id, const char *ip)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 1000);
}

static void take(struct rdma_event_channel *from, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(from, &event), 0);
	ck_assert_str_eq(rdma_event_str(event->event), rdma_event_str(type));
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
}

static bool is_readable(const struct rdma_event_channel *from)
{
	struct pollfd pfd = { .fd = from->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* ---- channels ---- */

START_TEST(a_channel_is_readable_while_it_has_events)
{
	struct rdma_cm_event *event;

	begin();
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	REFUSED(rdma_get_cm_event(channel, &event), EAGAIN);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert(is_readable(channel));
		take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	}
	ck_assert(!is_readable(channel));
	REFUSED(rdma_get_cm_event(channel, NULL), EINVAL);
	REFUSED(rdma_ack_cm_event(NULL), EINVAL);
	end();
}
END_TEST

/* The program may change them at that moment. O_APPEND has no effect on such a descriptor. */
START_TEST(a_fetched_event_leaves_the_flags_of_the_descriptor_alone)
{
	begin();
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_APPEND), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(fcntl(channel->fd, F_GETFL), O_APPEND | O_RDWR);
	end();
}
END_TEST

START_TEST(a_migrated_id_takes_its_events_along)
{
	struct rdma_event_channel *other = rdma_create_event_channel();

	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(a, other), 0);
	ck_assert_ptr_eq(a->channel, other);
	take(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(other));
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	ck_assert(is_readable(other));
	end();
	rdma_destroy_event_channel(other);
}
END_TEST

START_TEST(a_migrated_id_takes_its_events_from_behind_others)
{
	struct rdma_event_channel *other = rdma_create_event_channel();

	begin();
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(a, other), 0);
	ck_assert(is_readable(other));
	take(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	end();
	rdma_destroy_event_channel(other);
}
END_TEST

/* An event that is moved to the end of the queue it was in would be found again, without end. */
START_TEST(an_id_that_stays_on_its_channel_keeps_its_events_in_order)
{
	struct rdma_cm_id *alone;

	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(a, channel), 0);
	ck_assert_ptr_eq(a->channel, channel);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_create_id(NULL, &alone, NULL, RDMA_PS_TCP), 0);
	REFUSED(rdma_migrate_id(alone, alone->channel), EINVAL);
	ck_assert_int_eq(resolve_to(alone, EMU1), 0);
	ck_assert_ptr_nonnull(alone->event);
	ck_assert_int_eq(rdma_destroy_id(alone), 0);
	end();
}
END_TEST

/* LeakSanitizer reports an event that was not freed. */
START_TEST(a_channel_that_goes_before_its_ids_takes_its_events_along)
{
	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	rdma_destroy_event_channel(channel);
	ck_assert_int_eq(rdma_destroy_id(a), 0);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
}
END_TEST

START_TEST(an_id_that_gets_a_channel_closes_its_own)
{
	struct rdma_cm_id *id;
	int own;

	begin();
	ck_assert_int_eq(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	own = id->channel->fd;
	ck_assert_int_eq(resolve_to(id, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(id, channel), 0);
	ck_assert_ptr_eq(id->channel, channel);
	ck_assert_ptr_null(id->event);
	REFUSED(fcntl(own, F_GETFD), EBADF);
	ck_assert_int_eq(rdma_resolve_route(id, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	end();
}
END_TEST

START_TEST(rdma_destroy_ep_takes_the_queue_pair_along)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_context **devices;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;

	begin();
	devices = rdma_get_devices(NULL);
	ck_assert_ptr_nonnull(devices);
	pd = ibv_alloc_pd(devices[0]);
	ck_assert_ptr_nonnull(pd);
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&id, info, pd, &init), 0);
	ck_assert_ptr_nonnull(id->qp);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	rdma_destroy_ep(id);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	rdma_freeaddrinfo(info);
	rdma_free_devices(devices);
	end();
}
END_TEST

/* That of the listener, which rdma_create_ep was given. */
START_TEST(a_request_gets_a_queue_pair_in_the_listeners_protection_domain)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct rdma_cm_id *listener, *child;
	struct rdma_conn_param param = { 0 };
	struct ibv_context **devices;
	struct rdma_addrinfo *info;
	struct ibv_pd *pd;

	begin();
	devices = rdma_get_devices(NULL);
	ck_assert_ptr_nonnull(devices);
	pd = ibv_alloc_pd(devices[1]);
	ck_assert_ptr_nonnull(pd);
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&listener, info, pd, &init), 0);
	ck_assert_ptr_eq(listener->pd, pd);
	ck_assert_int_eq(rdma_listen(listener, 1), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	param.qp_num = 1;
	ck_assert_int_eq(rdma_connect(a, &param), 0);
	ck_assert_int_eq(rdma_get_request(listener, &child), 0);
	ck_assert_ptr_eq(child->qp->pd, pd);
	ck_assert_ptr_eq(child->pd, pd);
	rdma_destroy_ep(child);
	rdma_destroy_ep(listener);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	rdma_freeaddrinfo(info);
	rdma_free_devices(devices);
	end();
}
END_TEST

START_TEST(an_id_without_a_channel_waits_itself)
{
	struct rdma_cm_id *id;

	ck_assert_int_eq(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(resolve_to(id, EMU1), 0);
	ck_assert_ptr_nonnull(id->event);
	ck_assert_int_eq((int)id->event->event, (int)RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(id, 1000), 0);
	ck_assert_int_eq((int)id->event->event, (int)RDMA_CM_EVENT_ROUTE_RESOLVED);
	REFUSED(rdma_migrate_id(id, NULL), EINVAL);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
}
END_TEST

START_TEST(unfetched_events_go_with_their_id)
{
	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_destroy_id(a), 0);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_create_id(channel, &a, NULL, RDMA_PS_TCP), 0);
	end();
}
END_TEST

START_TEST(every_event_has_a_name)
{
	ck_assert_str_eq(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			 "RDMA_CM_EVENT_ADDR_RESOLVED");
	ck_assert_str_eq(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			 "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	ck_assert_str_eq(rdma_event_str((enum rdma_cm_event_type)16), "UNKNOWN EVENT");
}
END_TEST

/* ---- addresses ---- */

START_TEST(an_id_is_bound_once_to_an_address_that_is_here)
{
	struct sockaddr odd = { .sa_family = AF_UNIX };

	begin();
	REFUSED(bind_to(a, "192.0.2.1", PORT), EADDRNOTAVAIL);
	REFUSED(rdma_bind_addr(a, &odd), EAFNOSUPPORT);
	REFUSED(rdma_bind_addr(a, NULL), EINVAL);
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	ck_assert_str_eq(ibv_get_device_name(a->verbs->device), "emu1");
	ck_assert_uint_eq(a->port_num, 1);
	REFUSED(bind_to(a, EMU1, PORT + 1), EINVAL);
	ck_assert_uint_eq(rdma_get_src_port(a), htons(PORT));
	end();
}
END_TEST

/* No interface has this address, so one with a link is merely not here. */
START_TEST(a_link_local_address_needs_its_link)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_port = htons(PORT),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *local = (struct sockaddr *)&in6;

	begin();
	ck_assert_int_eq(inet_pton(AF_INET6, "fe80::dead:beef:1234", &in6.sin6_addr), 1);
	REFUSED(rdma_bind_addr(a, local), EINVAL);
	REFUSED(rdma_resolve_addr(a, local, (struct sockaddr *)&to, 1000), EINVAL);
	in6.sin6_scope_id = 1;
	REFUSED(rdma_bind_addr(a, local), EADDRNOTAVAIL);
	end();
}
END_TEST

static void set_flag(struct rdma_cm_id *id, int option)
{
	int on = 1;

	ck_assert_int_eq(rdma_set_option(id, RDMA_OPTION_ID, option, &on, sizeof(on)), 0);
}

START_TEST(a_port_belongs_to_one_id_of_an_address)
{
	int on = 1;

	begin();
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	REFUSED(bind_to(b, EMU1, PORT), EADDRINUSE);
	REFUSED(bind_to(b, "0.0.0.0", PORT), EADDRNOTAVAIL);
	set_flag(b, RDMA_OPTION_ID_REUSEADDR);
	REFUSED(bind_to(b, EMU1, PORT), EADDRINUSE);
	set_flag(a, RDMA_OPTION_ID_REUSEADDR);
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	REFUSED(rdma_listen(a, 1), EADDRINUSE);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
	ck_assert_int_eq(rdma_listen(a, 1), 0);
	/* One that listens shares its port no more. */
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)),
		EINVAL);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
	set_flag(b, RDMA_OPTION_ID_REUSEADDR);
	REFUSED(bind_to(b, EMU1, PORT), EADDRINUSE);
	end();
}
END_TEST

static int bind_everywhere(struct rdma_cm_id *id, bool ipv6)
{
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };

	return ipv6 ? rdma_bind_addr(id, (struct sockaddr *)&any6) : bind_to(id, "0.0.0.0", PORT);
}

/* Without AFONLY an id of IPv6 has the port of IPv4, too. */
START_TEST(a_port_of_IPv6_may_be_one_of_IPv4_too)
{
	begin();
	ck_assert_int_eq(bind_everywhere(a, true), 0);
	REFUSED(bind_everywhere(b, false), EADDRNOTAVAIL);
	set_flag(a, RDMA_OPTION_ID_AFONLY);
	ck_assert_int_eq(bind_everywhere(b, false), 0);
	ck_assert_int_eq(rdma_listen(a, 1), 0);
	ck_assert_int_eq(rdma_listen(b, 1), 0);
	end();
}
END_TEST

static void expect_request_at(const struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .qp_num = 77 };
	struct rdma_cm_id *client, *request;
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(resolve_to(client, EMU1), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(client, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq((int)event->event, (int)RDMA_CM_EVENT_CONNECT_REQUEST);
	ck_assert_ptr_eq(event->listen_id, listener);
	request = event->id;
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(rdma_destroy_id(request), 0);
	ck_assert_int_eq(rdma_destroy_id(client), 0);
}

/* The first one hears requests until it ends, then the second one does. _i: it is of IPv6. */
START_TEST(of_two_ids_at_a_port_one_listens_for_both)
{
	begin();
	set_flag(a, RDMA_OPTION_ID_AFONLY);
	set_flag(b, RDMA_OPTION_ID_AFONLY);
	ck_assert_int_eq(bind_everywhere(a, _i), 0);
	ck_assert_int_eq(bind_everywhere(b, !_i), 0);
	ck_assert_int_eq(rdma_listen(a, 1), 0);
	ck_assert_int_eq(rdma_listen(b, 1), 0);
	expect_request_at(a);
	ck_assert_int_eq(rdma_destroy_id(a), 0);
	ck_assert_int_eq(rdma_create_id(channel, &a, NULL, RDMA_PS_TCP), 0);
	expect_request_at(b);
	end();
}
END_TEST

START_TEST(an_id_of_datagrams_takes_no_requests_for_connections)
{
	begin();
	ck_assert_int_eq(rdma_destroy_id(b), 0);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_UDP), 0);
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	ck_assert_int_eq(rdma_listen(b, 1), 0);
	ck_assert_int_eq(rdma_listen(a, 1), 0);
	expect_request_at(a);
	end();
}
END_TEST

START_TEST(port_0_is_any_free_port)
{
	begin();
	ck_assert_int_eq(bind_to(a, "0.0.0.0", 0), 0);
	ck_assert_ptr_null(a->verbs);
	ck_assert_int_eq(bind_to(b, "0.0.0.0", 0), 0);
	ck_assert_uint_ge(ntohs(rdma_get_src_port(a)), 1024);
	ck_assert_uint_ne(rdma_get_src_port(a), rdma_get_src_port(b));
	end();
}
END_TEST

/* Processes of a fabric are one machine, so no two of them may get the same port. */
START_TEST(each_adapter_gives_out_ports_of_its_own)
{
	int ports[2];

	begin();
	ck_assert_int_eq(bind_to(a, EMU0, 0), 0);
	ck_assert_int_eq(bind_to(b, EMU1, 0), 0);
	ports[0] = ntohs(rdma_get_src_port(a));
	ports[1] = ntohs(rdma_get_src_port(b));
	ck_assert_int_gt(ports[1] - ports[0], 500);
	end();
}
END_TEST

START_TEST(resolving_binds_to_a_device)
{
	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_str_eq(ibv_get_device_name(a->verbs->device), "emu0");
	ck_assert_uint_eq(a->route.addr.src_sin.sin_addr.s_addr, inet_addr(EMU0));
	ck_assert_uint_eq(rdma_get_dst_port(a), htons(PORT));
	ck_assert_ptr_nonnull(a->pd);
	ck_assert_ptr_eq(a->pd->context, a->verbs);
	REFUSED(resolve_to(a, EMU1), EINVAL);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	ck_assert_int_eq(a->route.num_paths, 1);
	ck_assert_uint_eq(a->route.path_rec->slid, htons(1));
	ck_assert_uint_eq(a->route.path_rec->dlid, htons(2));
	end();
}
END_TEST

static int resolve_from(struct rdma_cm_id *id, sa_family_t from, sa_family_t to)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(PORT),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr any = { .sa_family = from };

	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return rdma_resolve_addr(id, from ? &any : NULL,
				 to == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
				 1000);
}

START_TEST(both_addresses_are_of_one_family)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };

	begin();
	REFUSED(resolve_from(a, AF_INET, AF_INET6), EINVAL);
	ck_assert_int_eq(bind_to(a, EMU0, 0), 0);
	REFUSED(resolve_from(a, 0, AF_INET6), EINVAL);
	ck_assert_int_eq(resolve_from(a, AF_INET6, AF_INET), 0); /* `from` is of no use then */
	ck_assert_int_eq(rdma_bind_addr(b, (struct sockaddr *)&any), 0);
	REFUSED(resolve_from(b, 0, AF_INET), EINVAL);
	ck_assert_int_eq(resolve_from(b, 0, AF_INET6), 0);
	end();
}
END_TEST

/* ---- refusals ---- */

START_TEST(a_call_in_the_wrong_state_is_refused)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };

	begin();
	REFUSED(rdma_resolve_route(a, 1000), EINVAL);
	REFUSED(rdma_connect(a, &param), EINVAL);
	REFUSED(rdma_accept(a, &param), EINVAL);
	REFUSED(rdma_reject(a, NULL, 0), EINVAL);
	REFUSED(rdma_disconnect(a), EINVAL);
	REFUSED(rdma_establish(a), EINVAL);
	REFUSED(rdma_notify(a, IBV_EVENT_COMM_EST), EINVAL);
	REFUSED(rdma_create_qp(a, NULL, &init), EINVAL);
	ck_assert_int_eq(rdma_listen(a, 0), 0);
	REFUSED(rdma_listen(a, 0), EINVAL);
	REFUSED(resolve_to(a, EMU1), EINVAL);
	REFUSED(rdma_get_request(a, &b), EINVAL);
	end();
}
END_TEST

START_TEST(a_connect_with_bad_parameters_is_refused)
{
	struct rdma_conn_param param = { .private_data = "x", .private_data_len = 57 };

	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	REFUSED(rdma_connect(a, NULL), EINVAL);
	REFUSED(rdma_connect(a, &param), EINVAL);
	param = (struct rdma_conn_param){ .responder_resources = 254 };
	REFUSED(rdma_connect(a, &param), EINVAL);
	param = (struct rdma_conn_param){ .initiator_depth = 254 };
	REFUSED(rdma_connect(a, &param), EINVAL);
	end();
}
END_TEST

START_TEST(an_option_is_known_and_has_its_size)
{
	struct ibv_ece no_vendor = { .options = 1 };
	uint8_t byte = 32;
	int word = 1;

	begin();
	REFUSED(rdma_set_option(a, 7, 0, &byte, 1), ENOSYS);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, 99, &byte, 1), ENOSYS);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &word, 4), EINVAL);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), EINVAL);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &byte, 1), EINVAL);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, (void *)1, 1), EFAULT);
	REFUSED(rdma_set_local_ece(a, &no_vendor), EINVAL);
	ck_assert_int_eq(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1), 0);
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	ck_assert_int_eq(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &word, 4), 0);
	ck_assert_int_eq(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &word, 4), 0);
	word = 0;
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &word, 4), EINVAL);
	/* It is as it was, so another id may have the port. */
	word = 1;
	ck_assert_int_eq(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &word, 4), 0);
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	end();
}
END_TEST

START_TEST(an_unknown_port_space_is_refused)
{
	channel = rdma_create_event_channel();
	REFUSED(rdma_create_id(channel, &a, NULL, (enum rdma_port_space)5), EINVAL);
	rdma_destroy_event_channel(channel);
}
END_TEST

/* ---- names and devices ---- */

START_TEST(addresses_are_found_by_name)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct sockaddr_in own = { .sin_family = AF_INET };
	struct rdma_addrinfo *info;

	ck_assert_int_eq(rdma_getaddrinfo(NULL, "7471", &hints, &info), 0);
	ck_assert_int_eq(info->ai_qp_type, IBV_QPT_RC);
	ck_assert_ptr_nonnull(info->ai_src_addr);
	ck_assert_ptr_null(info->ai_dst_addr);
	rdma_freeaddrinfo(info);
	hints.ai_flags = RAI_NUMERICHOST;
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(info->ai_family, AF_INET);
	ck_assert_uint_eq(((struct sockaddr_in *)info->ai_dst_addr)->sin_port, htons(7471));
	rdma_freeaddrinfo(info);
	hints = (struct rdma_addrinfo){ .ai_family = AF_INET,
					.ai_src_addr = (struct sockaddr *)&own,
					.ai_src_len = sizeof(own) };
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rdma_getaddrinfo(NULL, NULL, &hints, &info), 0);
		ck_assert_int_eq(info->ai_family, AF_INET);
		ck_assert_ptr_nonnull(info->ai_src_addr);
		rdma_freeaddrinfo(info);
		hints.ai_family = AF_UNSPEC;
	}
	hints.ai_flags = RAI_NUMERICHOST;
	ck_assert_int_eq(rdma_getaddrinfo("no number", NULL, &hints, &info), EAI_NONAME);
	REFUSED(rdma_getaddrinfo(NULL, NULL, NULL, &info), EINVAL);
}
END_TEST

START_TEST(the_devices_are_those_of_libibverbs)
{
	struct ibv_context **list;
	int n;

	list = rdma_get_devices(&n);
	ck_assert_ptr_nonnull(list);
	ck_assert_int_eq(n, 2);
	ck_assert_str_eq(ibv_get_device_name(list[0]->device), "emu0");
	ck_assert_ptr_null(list[2]);
	begin();
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	ck_assert_ptr_eq(a->verbs, list[1]);
	end();
	rdma_free_devices(list);
}
END_TEST

/* As librpma does it: an id is the way from an address to a device. */
START_TEST(a_device_outlives_the_id_that_found_it)
{
	struct ibv_device_attr attr;
	struct ibv_context *verbs;
	struct ibv_pd *pd;

	begin();
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	verbs = a->verbs;
	end();
	ck_assert_int_eq(ibv_query_device(verbs, &attr), 0);
	pd = ibv_alloc_pd(verbs);
	ck_assert_ptr_nonnull(pd);
	begin();
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	ck_assert_ptr_eq(b->verbs, verbs);
	ck_assert_ptr_nonnull(b->pd);
	end();
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_channel_is_readable_while_it_has_events, 1, NULL);
	unit_add(suite, a_fetched_event_leaves_the_flags_of_the_descriptor_alone, 1, NULL);
	unit_add(suite, a_migrated_id_takes_its_events_along, 1, NULL);
	unit_add(suite, a_migrated_id_takes_its_events_from_behind_others, 1, NULL);
	unit_add(suite, an_id_that_stays_on_its_channel_keeps_its_events_in_order, 1, NULL);
	unit_add(suite, a_channel_that_goes_before_its_ids_takes_its_events_along, 1, NULL);
	unit_add(suite, an_id_that_gets_a_channel_closes_its_own, 1, NULL);
	unit_add(suite, rdma_destroy_ep_takes_the_queue_pair_along, 1, NULL);
	unit_add(suite, a_request_gets_a_queue_pair_in_the_listeners_protection_domain, 1, NULL);
	unit_add(suite, an_id_without_a_channel_waits_itself, 1, NULL);
	unit_add(suite, unfetched_events_go_with_their_id, 1, NULL);
	unit_add(suite, every_event_has_a_name, 1, NULL);
	unit_add(suite, an_id_is_bound_once_to_an_address_that_is_here, 1, NULL);
	unit_add(suite, a_link_local_address_needs_its_link, 1, NULL);
	unit_add(suite, a_port_belongs_to_one_id_of_an_address, 1, NULL);
	unit_add(suite, a_port_of_IPv6_may_be_one_of_IPv4_too, 1, NULL);
	unit_add(suite, of_two_ids_at_a_port_one_listens_for_both, 2, NULL);
	unit_add(suite, an_id_of_datagrams_takes_no_requests_for_connections, 1, NULL);
	unit_add(suite, port_0_is_any_free_port, 1, NULL);
	unit_add(suite, each_adapter_gives_out_ports_of_its_own, 1, NULL);
	unit_add(suite, resolving_binds_to_a_device, 1, NULL);
	unit_add(suite, both_addresses_are_of_one_family, 1, NULL);
	unit_add(suite, a_call_in_the_wrong_state_is_refused, 1, NULL);
	unit_add(suite, a_connect_with_bad_parameters_is_refused, 1, NULL);
	unit_add(suite, an_option_is_known_and_has_its_size, 1, NULL);
	unit_add(suite, an_unknown_port_space_is_refused, 1, NULL);
	unit_add(suite, addresses_are_found_by_name, 1, NULL);
	unit_add(suite, the_devices_are_those_of_libibverbs, 1, NULL);
	unit_add(suite, a_device_outlives_the_id_that_found_it, 1, NULL);
}

UNIT_SUITE("rdmacm_ids")
