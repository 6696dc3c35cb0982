/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices unlike those of the lab, as tests/stubverbs can imitate them: libdat replaces a missing
 * feature, or refuses it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/conf.h"

static const struct stub_config kinds[] = {
	{ .no_inline = true },
	{ .no_windows = true },
	{ .max_srq_sge = 2 },
	{ .negative = true },
	{ .iwarp = true },
	{
		.iwarp = true,
		.no_inline = true,
		.no_windows = true,
		.max_srq_sge = 1,
		.negative = true,
	},
};

static void be(int kind)
{
	stub_config = kinds[kind];
	setup_sides();
}

START_TEST(messages_pass_on_every_kind_of_device)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE a, b;

	be(_i);
	attr.max_recv_iov = attr.max_request_iov = 1;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep_with(&w.b, &attr);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int i = 0; i < 3; i++) {
		post_recv(&w.b, w.b.ep, i);
		post_send(&w.a, w.a.ep, i, SHORT);
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
	}
	a = plain_ep_with(&w.a, &attr);
	must(dat_srq_create(w.b.ia, w.b.pz, &srq_attr, &w.b.srq));
	b = srq_ep_with(&w.b, w.b.srq, &attr);
	connect_eps(&w.a, a, &w.b, b);
	post_srqs(&w.b, 0, 3);
	post_send(&w.a, a, 0, SHORT);
	expect_dto(w.b.recv, b, 0, DAT_DTO_SUCCESS);
	must(dat_srq_resize(w.b.srq, 8));
	srq_counts(w.b.srq, 8, 2, 2);
}
END_TEST

/* The features that the attributes promise work; calls of the other ones are refused. */
START_TEST(attributes_say_what_the_device_has)
{
	DAT_IA_ATTR attr;
	DAT_RMR_HANDLE rmr;

	be(_i);
	attr = ia_attr(&w.a);
	if (kinds[_i].no_windows) {
		ck_assert_int_eq(attr.max_rmrs, 0);
		must_fail(dat_rmr_create(w.a.pz, &rmr), DAT_MODEL_NOT_SUPPORTED, ANY_SUBTYPE);
	} else {
		ck_assert_int_gt(attr.max_rmrs, 0);
		must(dat_rmr_create(w.a.pz, &rmr));
		must(dat_rmr_free(rmr));
	}
	if (kinds[_i].max_srq_sge)
		ck_assert_int_le(attr.max_iov_segments_per_dto, kinds[_i].max_srq_sge);
	if (kinds[_i].iwarp)
		ck_assert_int_eq(attr.max_iov_segments_per_rdma_read, 1);
}
END_TEST

/* A device that counts blocks of memory makes fewer requests than it reports. */
START_TEST(G9_an_Endpoint_can_have_what_the_limits_promise_together)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	DAT_IA_ATTR ia;

	stub_config = *stub_profile("mlx5");
	setup_sides();
	ia = ia_attr(&w.a);
	attr = ep_attr();
	attr.max_request_dtos = attr.max_recv_dtos = ia.max_dto_per_ep;
	attr.max_request_iov = attr.max_recv_iov = ia.max_iov_segments_per_dto;
	ep = plain_ep_with(&w.a, &attr);
	must(dat_ep_free(ep));
	ck_assert_int_ge(ia.max_dto_per_ep, 1024);
	attr.max_request_dtos++;
	must_fail(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr, &ep),
		  DAT_INVALID_PARAMETER, ANY_SUBTYPE);
}
END_TEST

START_TEST(that_fork_is_not_safe_is_said)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	stub_fail("ibv_fork_init", 1, ENOSYS, true);
	said_start();
	must(dat_ia_open((DAT_NAME_PTR) "stub0", 8, &async, &ia));
	ck_assert_said(said_stop(), "fork");
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

/* ---- names ---- */

/* What an adapter is called, and the address that it has then. */
static const struct {
	const char *name;
	const char *address;
} names[] = {
	{ "stub0", "192.0.2.2" }, /* the device: the first of its addresses of the best kind */
	{ "stub2", "192.0.2.2" }, { "192.0.2.1", "192.0.2.1" }, { "2001:db8::1", "2001:db8::1" },
	{ "fe80::1", "fe80::1" }, { "stub1", "2001:db8::1" }, /* global before link-local */
};

static const char *address_text(struct side *side)
{
	static char text[INET6_ADDRSTRLEN];
	const struct sockaddr *addr = (const struct sockaddr *)address(side);
	const void *bytes = &((const struct sockaddr_in *)addr)->sin_addr;

	if (addr->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)addr)->sin6_addr;
	return inet_ntop(addr->sa_family, bytes, text, sizeof(text));
}

START_TEST(an_adapter_is_a_device_an_interface_or_an_address)
{
	stub_config.addresses = true;
	side_open(&w.a, names[_i].name);
	side_open(&w.b, names[_i].address);
	ck_assert_str_eq(address_text(&w.a), names[_i].address);
	ck_assert_str_eq(address_text(&w.b), names[_i].address);
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

static const char *const names_by_gid[] = { "stub0", "192.0.2.1" };

/* As on the simulated fabric, whose adapters have addresses that no interface has. */
START_TEST(an_address_that_no_interface_has_is_found_among_the_GIDs)
{
	const char *name = names_by_gid[_i];

	stub_config.by_gid = true;
	side_open(&w.a, name);
	side_open(&w.b, name);
	ck_assert_str_eq(address_text(&w.a), "192.0.2.1");
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

static const char *const no_names[] = { "eth9", "203.0.113.9", "lo", "127.0.0.1", "tun0", "::1" };

START_TEST(an_interface_of_another_device_is_no_adapter)
{
	const char *said;

	stub_config.addresses = true;
	must_fail(open_and_close(no_names[_i], &said), DAT_PROVIDER_NOT_FOUND, ANY_SUBTYPE);
	ck_assert_said(said, "stub0");
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_adapter_is_a_device_an_interface_or_an_address, COUNT(names),
		 setup_fabric);
	unit_add(suite, an_address_that_no_interface_has_is_found_among_the_GIDs,
		 COUNT(names_by_gid), setup_fabric);
	unit_add(suite, an_interface_of_another_device_is_no_adapter, COUNT(no_names),
		 setup_fabric);
	unit_add(suite, messages_pass_on_every_kind_of_device, COUNT(kinds), setup_fabric);
	unit_add(suite, attributes_say_what_the_device_has, COUNT(kinds), setup_fabric);
	unit_add(suite, G9_an_Endpoint_can_have_what_the_limits_promise_together, 1, setup_fabric);
	unit_test_bare(suite, that_fork_is_not_safe_is_said);
}

int main(void)
{
	return unit_run_on_stub("devices", fill);
}
