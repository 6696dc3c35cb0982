/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every limit of an adapter: a test makes objects alternately through two instances of it until one
 * is refused (ruling G9). Also attributes above a limit (rulings G3a, E8).
 */
#include <stddef.h>
#include <stdlib.h>

#include <sys/mman.h>

#include "tests/support/support.h"

static char emu0[] = "emu0";

/* ---- numbers of objects ---- */

/* Two instances of emu0 (w.a and another) and one of emu1, with the objects that makers need */
enum {
	FIRST,
	SECOND,
	OTHER,
	OPENINGS
};

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr;
	DAT_LMR_HANDLE lmr;
	DAT_SRQ_HANDLE srq;
	unsigned char memory[64];
} o[OPENINGS];

static DAT_RETURN make_ep(int i, DAT_HANDLE *out)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = attr.max_request_dtos = attr.max_recv_iov = attr.max_request_iov = 1;
	return dat_ep_create(o[i].ia, o[i].pz, NO_HANDLE, NO_HANDLE, NO_HANDLE, &attr, out);
}

static DAT_RETURN make_srq_ep(int i, DAT_HANDLE *out)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = attr.max_request_dtos = attr.max_recv_iov = attr.max_request_iov = 1;
	return dat_ep_create_with_srq(o[i].ia, o[i].pz, NO_HANDLE, NO_HANDLE, NO_HANDLE, o[i].srq,
				      &attr, out);
}

static DAT_RETURN make_soft_evd(int i, DAT_HANDLE *out)
{
	return dat_evd_create(o[i].ia, 1, NO_HANDLE, DAT_EVD_SOFTWARE_FLAG, out);
}

static DAT_RETURN make_dto_evd(int i, DAT_HANDLE *out)
{
	return dat_evd_create(o[i].ia, 1, NO_HANDLE, DAT_EVD_DTO_FLAG, out);
}

static DAT_RETURN make_srq_of_one(int i, DAT_HANDLE *out)
{
	DAT_SRQ_ATTR attr = { 1, 1, 0 };

	return dat_srq_create(o[i].ia, o[i].pz, &attr, out);
}

static DAT_RETURN make_pz(int i, DAT_HANDLE *out)
{
	return dat_pz_create(o[i].ia, out);
}

static DAT_RETURN make_lmr(int i, DAT_HANDLE *out)
{
	DAT_REGION_DESCRIPTION region = { .for_va = o[i].memory };

	return dat_lmr_create(o[i].ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(o[i].memory), o[i].pz,
			      DAT_MEM_PRIV_ALL_FLAG, out, NULL, NULL, NULL, NULL);
}

static DAT_RETURN make_lmr_of_lmr(int i, DAT_HANDLE *out)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = o[i].lmr };

	return dat_lmr_create(o[i].ia, DAT_MEM_TYPE_LMR, region, 0, o[i].pz, DAT_MEM_PRIV_ALL_FLAG,
			      out, NULL, NULL, NULL, NULL);
}

static DAT_RETURN make_psp(int i, DAT_HANDLE *out)
{
	static DAT_CONN_QUAL qual;

	return dat_psp_create(o[i].ia, ++qual, o[i].cr, DAT_PSP_CONSUMER_FLAG, out);
}

static DAT_RETURN make_rsp(int i, DAT_HANDLE *out)
{
	static DAT_CONN_QUAL qual = 0x100000;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	must(make_ep(i, &ep));
	ret = dat_rsp_create(o[i].ia, ++qual, ep, o[i].cr, out);
	if (ret != DAT_SUCCESS)
		must(dat_ep_free(ep));
	return ret;
}

static DAT_RETURN make_one_rmr(int i, DAT_HANDLE *out)
{
	return dat_rmr_create(o[i].pz, out);
}

static DAT_RETURN make_cno(int i, DAT_HANDLE *out)
{
	return dat_cno_create(o[i].ia, DAT_OS_WAIT_PROXY_AGENT_NULL, out);
}

/* If no attribute tells the limit, it is the number at which the first round was refused. */
#define NO_ATTRIBUTE SIZE_MAX
#define LIMIT(field) offsetof(DAT_IA_ATTR, field)

static const struct kind {
	const char *name;
	DAT_RETURN (*make)(int opening, DAT_HANDLE *out);
	DAT_RETURN (*drop)(DAT_HANDLE handle);
	DAT_HANDLE_TYPE type;
	size_t limit;
	DAT_UINT32 subtype;
} kinds[] = {
	{ "EP", make_ep, dat_ep_free, DAT_HANDLE_TYPE_EP, LIMIT(max_eps), DAT_RESOURCE_TEP },
	{ "EP with SRQ", make_srq_ep, dat_ep_free, DAT_HANDLE_TYPE_EP, LIMIT(max_eps),
	  DAT_RESOURCE_TEP },
	{ "EVD", make_soft_evd, dat_evd_free, DAT_HANDLE_TYPE_EVD, LIMIT(max_evds),
	  DAT_RESOURCE_TEVD },
	{ "EVD for DTOs", make_dto_evd, dat_evd_free, DAT_HANDLE_TYPE_EVD, LIMIT(max_evds),
	  DAT_RESOURCE_TEVD },
	{ "SRQ", make_srq_of_one, dat_srq_free, DAT_HANDLE_TYPE_SRQ, LIMIT(max_srqs),
	  DAT_RESOURCE_SRQ },
	{ "PZ", make_pz, dat_pz_free, DAT_HANDLE_TYPE_PZ, LIMIT(max_pzs),
	  DAT_RESOURCE_PROTECTION_DOMAIN },
	{ "LMR", make_lmr, dat_lmr_free, DAT_HANDLE_TYPE_LMR, LIMIT(max_lmrs),
	  DAT_RESOURCE_MEMORY_REGION },
	{ "LMR of LMR", make_lmr_of_lmr, dat_lmr_free, DAT_HANDLE_TYPE_LMR, LIMIT(max_lmrs),
	  DAT_RESOURCE_MEMORY_REGION },
	{ "PSP", make_psp, dat_psp_free, DAT_HANDLE_TYPE_PSP, NO_ATTRIBUTE, DAT_RESOURCE_DEVICE },
	{ "RSP", make_rsp, dat_rsp_free, DAT_HANDLE_TYPE_RSP, NO_ATTRIBUTE, DAT_RESOURCE_DEVICE },
	{ "RMR", make_one_rmr, dat_rmr_free, DAT_HANDLE_TYPE_RMR, LIMIT(max_rmrs),
	  DAT_RESOURCE_MEMORY_REGION },
	{ "CNO", make_cno, dat_cno_free, DAT_HANDLE_TYPE_CNO, NO_ATTRIBUTE, DAT_RESOURCE_DEVICE },
};

static void open_opening(int i, DAT_IA_HANDLE ia)
{
	DAT_SRQ_ATTR attr = { 1, 1, 0 };

	o[i].ia = ia;
	must(dat_pz_create(ia, &o[i].pz));
	must(dat_evd_create(ia, 4, NO_HANDLE, DAT_EVD_CR_FLAG, &o[i].cr));
	must(dat_srq_create(ia, o[i].pz, &attr, &o[i].srq));
	must(make_lmr(i, &o[i].lmr));
}

static void open_all(void)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	open_opening(FIRST, w.a.ia);
	must(dat_ia_open(emu0, 8, &async, &ia));
	open_opening(SECOND, ia);
	open_opening(OTHER, w.b.ia);
}

/* How many objects of the kind the other adapter has; they do not count for emu0. */
static DAT_COUNT on_emu1(const struct kind *kind)
{
	switch (kind->type) {
	case DAT_HANDLE_TYPE_EVD:
		return 5 + 1; /* those of the side and one of this test */
	case DAT_HANDLE_TYPE_PZ:
	case DAT_HANDLE_TYPE_LMR:
		return 1 + 1;
	case DAT_HANDLE_TYPE_SRQ:
		return 1;
	default:
		return 0;
	}
}

/* Makes objects alternately through the instances of emu0 until refused; returns their number. */
static DAT_COUNT make_until_refused(const struct kind *kind, DAT_HANDLE *last)
{
	DAT_HANDLE handle = NO_HANDLE;
	DAT_COUNT n = 0;
	DAT_RETURN ret;

	while ((ret = kind->make(n % 2 ? SECOND : FIRST, &handle)) == DAT_SUCCESS) {
		last[n % 2] = handle;
		n++;
		ck_assert_int_lt(n, 1000000);
	}
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, kind->subtype);
	return n;
}

START_TEST(G9_objects_of_two_openings_end_at_one_limit)
{
	const struct kind *kind = &kinds[_i];
	DAT_HANDLE last[2] = { NO_HANDLE, NO_HANDLE }, handle = (DAT_HANDLE)&w;
	DAT_COUNT n, there, more;

	open_all();
	n = make_until_refused(kind, last);
	there = objects(kind->type) - on_emu1(kind);
	if (kind->limit != NO_ATTRIBUTE) {
		DAT_IA_ATTR attr = ia_attr(&w.a);
		DAT_COUNT limit;

		memcpy(&limit, (const char *)&attr + kind->limit, sizeof(limit));
		ck_assert_int_eq(there, limit);
	}
	/* The limit is reached for both instances, but not for the other adapter. */
	must_fail(kind->make(FIRST, &handle), DAT_INSUFFICIENT_RESOURCES, kind->subtype);
	must_fail(kind->make(SECOND, &handle), DAT_INSUFFICIENT_RESOURCES, kind->subtype);
	ck_assert_ptr_eq(handle, &w);
	must(kind->make(OTHER, &handle));
	/* Freeing one object makes room for one, whichever instance asks. */
	must(kind->drop(last[0]));
	must(kind->make(SECOND, &handle));
	must_fail(kind->make(FIRST, &handle), DAT_INSUFFICIENT_RESOURCES, kind->subtype);
	/* An instance that closes gives its whole share back. */
	must(dat_ia_close(o[SECOND].ia, DAT_CLOSE_ABRUPT_FLAG));
	for (more = 0; kind->make(FIRST, &handle) == DAT_SUCCESS; more++)
		;
	ck_assert_int_ge(more, n / 2);
	ck_assert_int_eq(objects(kind->type) - on_emu1(kind) - 1, there);
}
END_TEST

START_TEST(G9_openings_end_and_leave_room_when_closed)
{
	DAT_IA_HANDLE ias[1000];
	DAT_EVD_HANDLE async;
	DAT_COUNT n = 0, round;
	DAT_RETURN ret;

	for (round = 0; round < 2; round++) {
		DAT_COUNT before = n;

		for (n = 0;; n++) {
			ck_assert_int_lt(n, COUNT(ias));
			async = NO_HANDLE;
			ret = dat_ia_open(emu0, 1, &async, &ias[n]);
			if (ret != DAT_SUCCESS)
				break;
		}
		must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
		ck_assert_ptr_null(async);
		ck_assert_int_gt(n, 2);
		if (round > 0)
			ck_assert_int_eq(n, before);
		for (DAT_COUNT i = 0; i < n; i++)
			must(dat_ia_close(ias[i], DAT_CLOSE_GRACEFUL_FLAG));
	}
}
END_TEST

/* Sixteen adapters can all be at their limits at the same time. */
START_TEST(G9_the_limits_of_an_adapter_are_its_own)
{
	DAT_IA_HANDLE ias[16];
	DAT_COUNT limit, n, i;

	for (i = 0; i < (DAT_COUNT)COUNT(ias); i++) {
		DAT_EVD_HANDLE async = NO_HANDLE;
		DAT_HANDLE handle;
		char name[16];
		DAT_IA_ATTR attr;

		snprintf(name, sizeof(name), "emu%d", i);
		must(dat_ia_open(name, 1, &async, &ias[i]));
		must(dat_ia_query(ias[i], NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
		limit = attr.max_pzs;
		for (n = 0; n < limit; n++)
			must(dat_pz_create(ias[i], &handle));
		must_fail(dat_pz_create(ias[i], &handle), DAT_INSUFFICIENT_RESOURCES,
			  DAT_RESOURCE_PROTECTION_DOMAIN);
	}
	for (i = 0; i < (DAT_COUNT)COUNT(ias); i++)
		must(dat_ia_close(ias[i], DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

/* ---- sizes and counts inside an object: the limit itself is accepted, one more is not ---- */

static DAT_RETURN ep_with(size_t offset, size_t size, DAT_UINT64 value)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_COUNT count = (DAT_COUNT)value;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	memcpy((char *)&attr + offset, size == sizeof(count) ? (void *)&count : (void *)&value,
	       size);
	ret = dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr, &ep);
	if (ret == DAT_SUCCESS)
		must(dat_ep_free(ep));
	return ret;
}

static const struct {
	size_t field, field_size, limit;
} ep_limits[] = {
#define EP_LIMIT(field, limit)                                                                \
	{                                                                                     \
		offsetof(DAT_EP_ATTR, field), sizeof(((DAT_EP_ATTR *)0)->field), LIMIT(limit) \
	}
	EP_LIMIT(max_recv_dtos, max_dto_per_ep),
	EP_LIMIT(max_request_dtos, max_dto_per_ep),
	EP_LIMIT(max_recv_iov, max_iov_segments_per_dto),
	EP_LIMIT(max_request_iov, max_iov_segments_per_dto),
	EP_LIMIT(max_rdma_read_iov, max_iov_segments_per_rdma_read),
	EP_LIMIT(max_rdma_write_iov, max_iov_segments_per_rdma_write),
	EP_LIMIT(max_rdma_read_in, max_rdma_read_per_ep_in),
	EP_LIMIT(max_rdma_read_out, max_rdma_read_per_ep_out),
	EP_LIMIT(max_message_size, max_message_size),
	EP_LIMIT(max_rdma_size, max_rdma_size),
};

START_TEST(G3a_attributes_of_an_endpoint_end_at_the_adapters)
{
	size_t field = ep_limits[_i].field, size = ep_limits[_i].field_size;
	DAT_IA_ATTR attr = ia_attr(&w.a);
	DAT_UINT64 limit = 0;

	memcpy(&limit, (const char *)&attr + ep_limits[_i].limit, size); /* little endian */
	ck_assert_uint_gt(limit, 0);
	must(ep_with(field, size, limit));
	must_fail(ep_with(field, size, limit + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
}
END_TEST

START_TEST(G3a_attributes_of_an_SRQ_end_at_the_adapters)
{
	DAT_IA_ATTR limits = ia_attr(&w.a);
	DAT_SRQ_ATTR attr = { limits.max_recv_per_srq, limits.max_iov_segments_per_dto, 0 };
	DAT_SRQ_HANDLE srq;

	must(dat_srq_create(w.a.ia, w.a.pz, &attr, &srq));
	must(dat_srq_free(srq));
	attr.max_recv_dtos++;
	must_fail(dat_srq_create(w.a.ia, w.a.pz, &attr, &srq), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	attr.max_recv_dtos--;
	attr.max_recv_iov++;
	must_fail(dat_srq_create(w.a.ia, w.a.pz, &attr, &srq), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
}
END_TEST

START_TEST(E8_the_length_of_an_EVD_ends_at_max_evd_qlen)
{
	DAT_COUNT limit = ia_attr(&w.a).max_evd_qlen;
	DAT_EVD_HANDLE evd = NO_HANDLE;
	DAT_IA_HANDLE ia;

	must(dat_evd_create(w.a.ia, limit, NO_HANDLE, DAT_EVD_SOFTWARE_FLAG, &evd));
	must_fail(dat_evd_resize(evd, limit + 1), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	must(dat_evd_free(evd));
	must_fail(dat_evd_create(w.a.ia, limit + 1, NO_HANDLE, DAT_EVD_SOFTWARE_FLAG, &evd),
		  DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	evd = NO_HANDLE;
	must_fail(dat_ia_open(emu0, limit + 1, &evd, &ia), DAT_INSUFFICIENT_RESOURCES,
		  DAT_RESOURCE_TEVD);
	ck_assert_ptr_null(evd);
	must(dat_ia_open(emu0, limit, &evd, &ia));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G3a_a_region_ends_at_max_lmr_block_size)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_VLEN limit = ia_attr(&w.a).max_lmr_block_size;
	DAT_LMR_HANDLE lmr;

	must_fail(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, limit + 1, w.a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	/* The limit is not what refuses one byte less; that this memory is not there may be. */
	must_fail(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, limit, w.a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	region.for_va = mmap(NULL, limit, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region.for_va == MAP_FAILED)
		return; /* there are fewer addresses, as with a sanitizer */
	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, limit, w.a.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL));
	munmap(region.for_va, limit);
}
END_TEST

/* ---- other attributes of an adapter ---- */

START_TEST(page_every_attribute_of_an_adapter_is_filled)
{
	DAT_IA_ATTR attr;

	memset(&attr, 0xee, sizeof(attr));
	must(dat_ia_query(w.a.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	ck_assert_str_eq(attr.adapter_name, "emu0");
	ck_assert_uint_gt(strnlen(attr.vendor_name, sizeof(attr.vendor_name)), 0);
	ck_assert_uint_lt(strnlen(attr.vendor_name, sizeof(attr.vendor_name)),
			  sizeof(attr.vendor_name));
	ck_assert_uint_lt(attr.hardware_version_major, 1000);
	ck_assert_uint_lt(attr.hardware_version_minor, 1000);
	ck_assert_uint_lt(attr.firmware_version_major, 1000);
	ck_assert_uint_lt(attr.firmware_version_minor, 1000);
	ck_assert_int_eq(attr.max_rdma_read_per_ep_in_guaranteed, DAT_TRUE);
	ck_assert_int_eq(attr.max_rdma_read_per_ep_out_guaranteed, DAT_TRUE);
	/* The limits are guaranteed: all EPs together can have as many as each EP may have. */
	ck_assert_int_eq(attr.max_rdma_read_in / attr.max_eps, attr.max_rdma_read_per_ep_in);
	ck_assert_int_eq(attr.max_rdma_read_out / attr.max_eps, attr.max_rdma_read_per_ep_out);
	ck_assert_int_gt(attr.max_rmrs, 0);
	ck_assert_uint_eq(attr.max_lmr_virtual_address, UINT64_MAX);
	ck_assert_uint_eq(attr.max_rmr_target_address, UINT64_MAX);
	ck_assert_int_eq(attr.num_transport_attr, 0);
	ck_assert_ptr_null(attr.transport_attr);
	ck_assert_int_eq(attr.num_vendor_attr, 0);
	ck_assert_ptr_null(attr.vendor_attr);
}
END_TEST

START_TEST(page_every_attribute_of_the_provider_is_filled)
{
	DAT_PROVIDER_ATTR attr;

	memset(&attr, 0xee, sizeof(attr));
	must(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	ck_assert_str_eq(attr.provider_name, "libdat emu");
	ck_assert_uint_lt(attr.provider_version_major, 1000);
	ck_assert_uint_lt(attr.provider_version_minor, 1000);
	ck_assert_int_eq(attr.iov_ownership_on_return, DAT_IOV_CONSUMER);
	ck_assert_int_eq(attr.dat_qos_supported, DAT_QOS_BEST_EFFORT);
	ck_assert_int_eq(attr.completion_flags_supported, 0x1f);
	ck_assert_int_eq(attr.is_thread_safe, DAT_TRUE);
	ck_assert_int_eq(attr.supports_multipath, DAT_FALSE);
	ck_assert_int_eq(attr.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
	ck_assert_int_eq(attr.pz_support, DAT_PZ_SHAREABLE); /* most tests share one PZ among EPs */
	ck_assert_int_eq(attr.lmr_sync_req, DAT_FALSE);
	ck_assert_int_eq(attr.dto_async_return_guaranteed, DAT_TRUE);
	ck_assert_int_eq(attr.rdma_write_for_rdma_read_req, DAT_FALSE);
	ck_assert_int_eq(attr.num_provider_specific_attr, 0);
	ck_assert_ptr_null(attr.provider_specific_attr);
}
END_TEST

/* Every instance reports the same attributes. */
START_TEST(page_the_attributes_are_the_adapters_not_the_openings)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_ATTR first, second;
	DAT_IA_HANDLE ia;

	must(dat_ia_open(emu0, 8, &async, &ia));
	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	must(dat_ia_query(w.a.ia, NULL, DAT_IA_FIELD_ALL, &first, 0, NULL));
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &second, 0, NULL));
	ck_assert_mem_eq(&first, &second, sizeof(first));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, G9_objects_of_two_openings_end_at_one_limit, COUNT(kinds));
	unit_test_bare(suite, G9_the_limits_of_an_adapter_are_its_own);
	unit_test_bare(suite, G9_openings_end_and_leave_room_when_closed);
	unit_test_loop(suite, G3a_attributes_of_an_endpoint_end_at_the_adapters, COUNT(ep_limits));
	unit_test(suite, G3a_attributes_of_an_SRQ_end_at_the_adapters);
	unit_test(suite, E8_the_length_of_an_EVD_ends_at_max_evd_qlen);
	unit_test(suite, G3a_a_region_ends_at_max_lmr_block_size);
	unit_test(suite, page_every_attribute_of_an_adapter_is_filled);
	unit_test(suite, page_every_attribute_of_the_provider_is_filled);
	unit_test(suite, page_the_attributes_are_the_adapters_not_the_openings);
}

UNIT_SUITE("ia_limits_shared")
