/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses and ports that ids of librdmacm are bound to, and which of several ids listens. */
#include "cm_ids.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

START_TEST(an_id_is_bound_once_to_an_address_that_is_here)
{
	struct sockaddr odd = { .sa_family = AF_UNIX };

	begin();
	REFUSED(bind_to(a, "192.0.2.1", PORT), EADDRNOTAVAIL);
	REFUSED(rdma_bind_addr(a, &odd), EINVAL);
	REFUSED(rdma_resolve_addr(a, NULL, &odd, 1000), EINVAL);
	REFUSED(rdma_bind_addr(a, NULL), EINVAL);
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	ck_assert_str_eq(ibv_get_device_name(a->verbs->device), "emu1");
	ck_assert_uint_eq(a->port_num, 1);
	REFUSED(bind_to(a, EMU1, PORT + 1), EINVAL);
	ck_assert_uint_eq(rdma_get_src_port(a), htons(PORT));
	end();
}
END_TEST

START_TEST(each_address_of_loopback_is_here)
{
	begin();
	ck_assert_int_eq(bind_to(a, "127.1.2.3", PORT), 0);
	ck_assert_str_eq(ibv_get_device_name(a->verbs->device), "emu0");
	end();
}
END_TEST

/* The device is given back, so the next call is in another fabric, where the fault is to come. */
START_TEST(a_bind_that_fails_gives_its_device_back)
{
	setenv("DATSIM_FAULTS", "line=1 spoil=fail api=verbs call=rdma_bind_addr error=1 nth=1;",
	       1);
	begin();
	for (int i = 0; i < 2; i++)
		REFUSED(bind_to(a, _i ? EMU1 : EMU0, PORT), EPERM);
	ck_assert_ptr_null(a->verbs);
	end();
}
END_TEST

START_TEST(a_resolve_that_fails_gives_its_device_back)
{
	setenv("DATSIM_FAULTS", "line=1 spoil=fail api=verbs call=rdma_resolve_addr error=1 nth=1;",
	       1);
	begin();
	for (int i = 0; i < 2; i++)
		REFUSED(resolve_to(a, EMU1), EPERM);
	ck_assert_ptr_null(a->verbs);
	end();
}
END_TEST

START_TEST(an_id_has_the_whole_address_that_it_is_bound_to)
{
	struct sockaddr_in6 here = { .sin6_family = AF_INET6,
				     .sin6_port = htons(PORT),
				     .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	begin();
	ck_assert_int_eq(rdma_bind_addr(a, (struct sockaddr *)&here), 0);
	ck_assert_mem_eq(&a->route.addr.src_sin6, &here, sizeof(here));
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
	/* An id that listens no longer shares its port. */
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)),
		EINVAL);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
	set_flag(b, RDMA_OPTION_ID_REUSEADDR);
	REFUSED(bind_to(b, EMU1, PORT), EADDRINUSE);
	end();
}
END_TEST

START_TEST(what_fills_up_an_address_tells_no_two_apart)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	begin();
	ck_assert_int_eq(inet_pton(AF_INET, EMU1, &in.sin_addr), 1);
	memset(in.sin_zero, 'x', sizeof(in.sin_zero));
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	REFUSED(rdma_bind_addr(b, (struct sockaddr *)&in), EADDRINUSE);
	end();
}
END_TEST

START_TEST(a_listen_that_fails_leaves_the_id_bound_and_its_port_shared)
{
	setenv("DATSIM_FAULTS", "line=1 spoil=fail api=verbs call=rdma_listen error=1 nth=1;", 1);
	begin();
	set_flag(a, RDMA_OPTION_ID_REUSEADDR);
	set_flag(b, RDMA_OPTION_ID_REUSEADDR);
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	REFUSED(rdma_listen(a, 1), EPERM);
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	REFUSED(rdma_listen(a, 1), EADDRINUSE);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
	ck_assert_int_eq(rdma_listen(a, 1), 0);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
	end();
}
END_TEST

static enum rdma_cm_event_type outcome_of_connect(const char *ip)
{
	struct rdma_conn_param param = { .qp_num = 77 };
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;

	ck_assert_int_eq(resolve_to(b, ip), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(b, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(rdma_connect(b, &param), 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	type = event->event;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		ck_assert_int_eq(rdma_destroy_id(event->id), 0);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	return type;
}

/* The first device listens by then. */
START_TEST(a_listen_that_fails_at_the_second_device_ends_at_the_first)
{
	setenv("DATSIM_FAULTS", "line=1 spoil=fail api=verbs call=rdma_listen error=1 nth=2;", 1);
	begin();
	ck_assert_int_eq(bind_to(a, "0.0.0.0", PORT), 0);
	REFUSED(rdma_listen(a, 1), EPERM);
	ck_assert_int_eq((int)outcome_of_connect(EMU0), (int)RDMA_CM_EVENT_REJECTED);
	/* Both devices were given back, so that was another fabric, where the fault is to come. */
	REFUSED(rdma_listen(a, 1), EPERM);
	end();
}
END_TEST

START_TEST(a_backlog_of_0_is_as_long_as_one_can_be)
{
	begin();
	ck_assert_int_eq(bind_to(a, EMU0, PORT), 0);
	ck_assert_int_eq(rdma_listen(a, 0), 0);
	ck_assert_int_eq((int)outcome_of_connect(EMU0), (int)RDMA_CM_EVENT_CONNECT_REQUEST);
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

/* As with Linux, where the id of a request has none. */
START_TEST(a_port_is_its_ids_until_that_or_its_channel_is_destroyed)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_conn_param param = { .qp_num = 77 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *request;

	begin();
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	ck_assert_int_eq(rdma_listen(b, 1), 0);
	ck_assert_int_eq(bind_to(a, EMU0, PORT + 1), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(rdma_connect(a, &param), 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	request = event->id;
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
	REFUSED(bind_to(b, EMU0, PORT + 1), EADDRINUSE);
	ck_assert_int_eq(rdma_migrate_id(a, other), 0);
	rdma_destroy_event_channel(other);
	ck_assert_int_eq(bind_to(b, EMU0, PORT + 1), 0);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	ck_assert_int_eq(rdma_destroy_id(request), 0);
	end();
}
END_TEST

/*
 * The first one hears requests until it ends, or its channel does; then the second one does. _i: it
 * is of IPv6.
 */
START_TEST(of_two_ids_at_a_port_one_listens_for_both)
{
	struct rdma_event_channel *other = _i ? rdma_create_event_channel() : NULL;

	begin();
	set_flag(a, RDMA_OPTION_ID_AFONLY);
	set_flag(b, RDMA_OPTION_ID_AFONLY);
	ck_assert_int_eq(bind_everywhere(a, _i), 0);
	ck_assert_int_eq(bind_everywhere(b, !_i), 0);
	ck_assert_int_eq(rdma_listen(a, 1), 0);
	ck_assert_int_eq(rdma_listen(b, 1), 0);
	expect_request_at(a);
	if (_i) {
		ck_assert_int_eq(rdma_migrate_id(a, other), 0);
		rdma_destroy_event_channel(other);
		expect_request_at(b);
	}
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
	for (int i = 0; i < 2; i++) /* one that is fetched makes room for another */
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
	union ibv_gid gid;

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
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:" EMU0, &gid), 1);
	ck_assert_mem_eq(&a->route.path_rec->sgid, &gid, sizeof(gid));
	ck_assert_mem_eq(&a->route.addr.addr.ibaddr.sgid, &gid, sizeof(gid));
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:" EMU1, &gid), 1);
	ck_assert_mem_eq(&a->route.path_rec->dgid, &gid, sizeof(gid));
	ck_assert_mem_eq(&a->route.addr.addr.ibaddr.dgid, &gid, sizeof(gid));
	ck_assert_uint_eq(a->route.path_rec->pkey, 0xffff);
	ck_assert_uint_eq(a->route.addr.addr.ibaddr.pkey, 0xffff);
	ck_assert_int_eq(bind_to(b, "0.0.0.0", PORT + 3), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	ck_assert_uint_eq(rdma_get_src_port(b), htons(PORT + 3));
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

/* What the resolver was asked is not taken from the hints. */
START_TEST(hints_say_what_kind_of_address_is_wanted)
{
	struct sockaddr_in other = { .sin_family = AF_INET, .sin_port = htons(PORT + 1) };
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE | RAI_FAMILY,
				       .ai_family = AF_INET6,
				       .ai_port_space = RDMA_PS_UDP,
				       .ai_src_addr = (struct sockaddr *)&other,
				       .ai_src_len = sizeof(other) };
	struct rdma_addrinfo *info;
	struct sockaddr_in6 *any;

	ck_assert_int_eq(rdma_getaddrinfo(NULL, "7471", &hints, &info), 0);
	any = (struct sockaddr_in6 *)info->ai_src_addr;
	ck_assert_int_eq(any->sin6_family, AF_INET6);
	ck_assert(IN6_IS_ADDR_UNSPECIFIED(&any->sin6_addr));
	ck_assert_uint_eq(any->sin6_port, htons(PORT));
	ck_assert_uint_eq(info->ai_src_len, sizeof(*any));
	ck_assert_int_eq(info->ai_qp_type, IBV_QPT_UD);
	rdma_freeaddrinfo(info);
	hints = (struct rdma_addrinfo){ .ai_qp_type = IBV_QPT_UD,
					.ai_dst_addr = (struct sockaddr *)&other,
					.ai_dst_len = sizeof(other) };
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_uint_eq(((struct sockaddr_in *)info->ai_dst_addr)->sin_port, htons(PORT));
	ck_assert_int_eq(info->ai_port_space, RDMA_PS_UDP);
	rdma_freeaddrinfo(info);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_id_is_bound_once_to_an_address_that_is_here, 1, NULL);
	unit_add(suite, each_address_of_loopback_is_here, 1, NULL);
	unit_add(suite, a_bind_that_fails_gives_its_device_back, 2, NULL);
	unit_add(suite, a_resolve_that_fails_gives_its_device_back, 1, NULL);
	unit_add(suite, an_id_has_the_whole_address_that_it_is_bound_to, 1, NULL);
	unit_add(suite, a_link_local_address_needs_its_link, 1, NULL);
	unit_add(suite, a_port_belongs_to_one_id_of_an_address, 1, NULL);
	unit_add(suite, what_fills_up_an_address_tells_no_two_apart, 1, NULL);
	unit_add(suite, a_listen_that_fails_leaves_the_id_bound_and_its_port_shared, 1, NULL);
	unit_add(suite, a_listen_that_fails_at_the_second_device_ends_at_the_first, 1, NULL);
	unit_add(suite, a_backlog_of_0_is_as_long_as_one_can_be, 1, NULL);
	unit_add(suite, a_port_of_IPv6_may_be_one_of_IPv4_too, 1, NULL);
	unit_add(suite, a_port_is_its_ids_until_that_or_its_channel_is_destroyed, 1, NULL);
	unit_add(suite, of_two_ids_at_a_port_one_listens_for_both, 2, NULL);
	unit_add(suite, an_id_of_datagrams_takes_no_requests_for_connections, 1, NULL);
	unit_add(suite, port_0_is_any_free_port, 1, NULL);
	unit_add(suite, each_adapter_gives_out_ports_of_its_own, 1, NULL);
	unit_add(suite, resolving_binds_to_a_device, 1, NULL);
	unit_add(suite, both_addresses_are_of_one_family, 1, NULL);
	unit_add(suite, addresses_are_found_by_name, 1, NULL);
	unit_add(suite, hints_say_what_kind_of_address_is_wanted, 1, NULL);
}

/* A process each: a device that librdmacm opened keeps its fabric, and its faults, until exit. */
UNIT_SUITE_OF_PROCESSES("rdmacm_addresses")
