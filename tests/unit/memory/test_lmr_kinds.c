/* SPDX-License-Identifier: BSD-3-Clause */
/* LMRs of LMRs and of shared memory: rulings A3, A4, G2, G3; "page_": the pages. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/support.h"

struct registration {
	DAT_RETURN ret;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN length;
	DAT_VADDR address;
};

static struct registration reg_at(DAT_IA_HANDLE ia, int type, DAT_REGION_DESCRIPTION region,
				  DAT_VLEN length, DAT_PZ_HANDLE pz, int privileges)
{
	struct registration r;

	memset(&r, 0xee, sizeof(r));
	r.ret = dat_lmr_create(ia, (DAT_MEM_TYPE)type, region, length, pz,
			       (DAT_MEM_PRIV_FLAGS)privileges, &r.lmr, &r.lmr_context,
			       &r.rmr_context, &r.length, &r.address);
	return r;
}

static void expect_nothing_written(const struct registration *r)
{
	struct registration poison;

	memset(&poison, 0xee, sizeof(poison));
	ck_assert_mem_eq(&r->lmr, &poison.lmr, sizeof(r->lmr));
	ck_assert_uint_eq(r->lmr_context, poison.lmr_context);
	ck_assert_uint_eq(r->length, poison.length);
}

static DAT_LMR_TRIPLET triplet(const struct registration *r, DAT_VLEN length)
{
	DAT_LMR_TRIPLET t = { .lmr_context = r->lmr_context,
			      .virtual_address = r->address,
			      .segment_length = length };

	return t;
}

static DAT_PZ_HANDLE make_pz(DAT_IA_HANDLE ia)
{
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(ia, &pz));
	return pz;
}

/* ---- an LMR of an LMR ---- */

static struct registration lmr_of(DAT_LMR_HANDLE lmr, DAT_PZ_HANDLE pz, int privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = lmr };

	return reg_at(w.a.ia, DAT_MEM_TYPE_LMR, region, 0, pz, privileges);
}

START_TEST(page_an_LMR_of_an_LMR_covers_the_same_pages)
{
	struct registration r = lmr_of(w.a.lmr, make_pz(w.a.ia), DAT_MEM_PRIV_LOCAL_READ_FLAG);

	must(r.ret);
	ck_assert_ptr_ne(r.lmr, w.a.lmr);
	ck_assert_uint_ne(r.lmr_context, w.a.context);
	ck_assert_uint_eq(r.rmr_context, 0);
	ck_assert_uint_eq(r.address, (uintptr_t)slot(&w.a, 0));
	ck_assert_uint_eq(r.length, SLOTS * SLOT_SIZE);
}
END_TEST

START_TEST(page_a_query_tells_the_LMR_it_is_of)
{
	DAT_PZ_HANDLE pz = make_pz(w.a.ia);
	struct registration r = lmr_of(w.a.lmr, pz, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_PARAM param;

	memset(&param, 0xee, sizeof(param));
	must(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
	ck_assert_int_eq(param.mem_type, DAT_MEM_TYPE_LMR);
	ck_assert_ptr_eq(param.region_desc.for_lmr_handle, w.a.lmr);
	ck_assert_uint_eq(param.length, SLOTS * SLOT_SIZE);
	ck_assert_ptr_eq(param.pz_handle, pz);
	ck_assert_int_eq(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	ck_assert_uint_eq(param.lmr_context, r.lmr_context);
	ck_assert_uint_eq(param.rmr_context, r.rmr_context);
	ck_assert_uint_ne(r.rmr_context, 0);
	ck_assert_uint_eq(param.registered_size, r.length);
	ck_assert_uint_eq(param.registered_address, r.address);
}
END_TEST

/* The length argument is ignored, even for A4; an LMR of an LMR takes its lengths from that LMR. */
START_TEST(page_the_length_of_an_LMR_of_an_LMR_is_ignored)
{
	static const DAT_VLEN lengths[] = { 0, 1, UINT64_MAX };
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = w.a.lmr };
	struct registration r = reg_at(w.a.ia, DAT_MEM_TYPE_LMR, region, lengths[_i], w.a.pz,
				       DAT_MEM_PRIV_ALL_FLAG);

	must(r.ret);
	ck_assert_uint_eq(r.length, SLOTS * SLOT_SIZE);
}
END_TEST

/* One memory in two zones: each LMR works with the endpoints of its own zone. */
START_TEST(page_an_LMR_of_an_LMR_has_its_own_zone)
{
	DAT_PZ_HANDLE pz = make_pz(w.a.ia);
	struct registration r = lmr_of(w.a.lmr, pz, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET theirs = triplet(&r, SHORT), ours = segment(&w.a, 0, SHORT);
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	must(dat_ep_create(w.a.ia, pz, w.a.recv, w.a.request, w.a.connect, &attr, &ep));
	must(dat_ep_post_recv(ep, 1, &theirs, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	must_fail(dat_ep_post_recv(ep, 1, &ours, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	w.a.ep = plain_ep(&w.a);
	must_fail(dat_ep_post_recv(w.a.ep, 1, &theirs, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
}
END_TEST

START_TEST(A3_an_LMR_of_an_LMR_has_its_own_privileges)
{
	struct registration reads = lmr_of(w.a.lmr, w.a.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	struct registration writes = lmr_of(reads.lmr, w.a.pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	struct registration none = lmr_of(writes.lmr, w.a.pz, DAT_MEM_PRIV_NONE_FLAG);
	DAT_LMR_TRIPLET iov;

	plain_pair();
	iov = triplet(&reads, SHORT);
	must_fail(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	iov = triplet(&writes, SHORT);
	must(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	iov = triplet(&none, SHORT);
	must_fail(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
}
END_TEST

/* Remote access, too: w.b registers memory that it may write as readable only. */
START_TEST(page_an_LMR_of_an_LMR_has_its_own_remote_privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = w.b.lmr };
	struct registration read =
		reg_at(w.b.ia, DAT_MEM_TYPE_LMR, region, 0, w.b.pz, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	struct registration write =
		reg_at(w.b.ia, DAT_MEM_TYPE_LMR, region, 0, w.b.pz, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_LMR_TRIPLET iov = segment(&w.a, 0, SHORT);
	DAT_RMR_TRIPLET remote = { .rmr_context = write.rmr_context,
				   .target_address = write.address,
				   .segment_length = SHORT };

	must(read.ret);
	must(write.ret);
	plain_pair();
	fill_slot(&w.a, 0, 9);
	must(dat_ep_post_rdma_write(w.a.ep, 1, &iov, cookie(0), &remote,
				    DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b, 0, 9, SHORT));
	remote.rmr_context = read.rmr_context;
	must(dat_ep_post_rdma_write(w.a.ep, 1, &iov, cookie(1), &remote,
				    DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS);
}
END_TEST

/* Either LMR may be freed first; the other one still works. */
START_TEST(page_an_LMR_outlives_the_one_it_is_of)
{
	struct registration first = lmr_of(w.a.lmr, w.a.pz, DAT_MEM_PRIV_ALL_FLAG);
	struct registration second = lmr_of(first.lmr, w.a.pz, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET iov = triplet(&second, SHORT);
	DAT_LMR_PARAM param;

	plain_pair();
	must(dat_lmr_free(first.lmr));
	must(dat_lmr_query(second.lmr, DAT_LMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.region_desc.for_lmr_handle, first.lmr); /* its original */
	fill_slot(&w.a, 0, 7);
	post_recv(&w.b, w.b.ep, 0);
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b, 0, 7, SHORT));
	must(dat_lmr_free(second.lmr));
	must_fail(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	post_recv(&w.b, w.b.ep, 1);
	deliver(&w.a, w.a.ep, 1); /* w.a.lmr is unchanged */
}
END_TEST

START_TEST(G3_an_LMR_of_what_is_none_is_an_invalid_handle)
{
	static char emu0[] = "emu0";
	DAT_EVD_HANDLE async = NO_HANDLE;
	struct registration gone = lmr_of(w.a.lmr, w.a.pz, DAT_MEM_PRIV_ALL_FLAG), r;
	DAT_HANDLE bad[] = { NO_HANDLE, w.a.pz,         w.b.lmr,
			     gone.lmr,  (DAT_HANDLE)&w, (DAT_HANDLE)UINTPTR_MAX };
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = w.a.lmr };
	DAT_IA_HANDLE second;
	size_t i;

	must(dat_lmr_free(gone.lmr));
	for (i = 0; i < COUNT(bad); i++) {
		r = lmr_of(bad[i], w.a.pz, DAT_MEM_PRIV_ALL_FLAG);
		must_fail(r.ret, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
		expect_nothing_written(&r);
	}
	/* As with a PZ, an LMR belongs to one instance of the adapter. */
	must(dat_ia_open(emu0, 8, &async, &second));
	r = reg_at(second, DAT_MEM_TYPE_LMR, region, 0, make_pz(second), DAT_MEM_PRIV_ALL_FLAG);
	must_fail(r.ret, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	must(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
	r = lmr_of(w.a.lmr, w.a.pz, 0x200);
	must_fail(r.ret, DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	must_fail(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_LMR, region, 0, w.a.pz, DAT_MEM_PRIV_ALL_FLAG,
				 NULL, NULL, NULL, NULL, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_LMR), 2);
}
END_TEST

/* ---- shared memory ---- */

enum {
	SHARED = 3 * 4096
};

static char cookie_a[DAT_LMR_COOKIE_SIZE] = "one cookie", cookie_b[DAT_LMR_COOKIE_SIZE];

static void *map_shared(int fd)
{
	void *at = mmap(NULL, SHARED, PROT_READ | PROT_WRITE,
			MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

static struct registration share(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *at, DAT_VLEN length,
				 char *bytes)
{
	DAT_REGION_DESCRIPTION region;

	memset(&region, 0, sizeof(region));
	region.for_shared_memory.virtual_address = at;
	region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)(void *)bytes;
	return reg_at(ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, length, pz, DAT_MEM_PRIV_ALL_FLAG);
}

static struct registration share_a(void *at, DAT_VLEN length, char *bytes)
{
	return share(w.a.ia, w.a.pz, at, length, bytes);
}

START_TEST(page_shared_memory_is_registered)
{
	unsigned char *at = map_shared(-1);
	struct registration r = share_a(at, SHARED, cookie_a);
	DAT_LMR_TRIPLET iov;
	DAT_LMR_PARAM param;

	must(r.ret);
	ck_assert_uint_le(r.address, (uintptr_t)at);
	ck_assert_uint_ge(r.address + r.length, (uintptr_t)at + SHARED);
	must(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
	ck_assert_ptr_eq(param.region_desc.for_shared_memory.virtual_address, at);
	ck_assert_mem_eq(*param.region_desc.for_shared_memory.shared_memory_id, cookie_a,
			 DAT_LMR_COOKIE_SIZE);
	ck_assert_uint_eq(param.length, SHARED);
	ck_assert_uint_eq(param.registered_size, r.length);
	ck_assert_uint_eq(param.registered_address, r.address);
	plain_pair();
	iov = triplet(&r, SHORT);
	memset(at, 0x5a, SHORT);
	post_recv(&w.b, w.b.ep, 0);
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(slot(&w.b, 0), at, SHORT);
	munmap(at, SHARED);
}
END_TEST

/* Later changes of the program's copy of the cookie have no effect. */
START_TEST(page_a_query_shows_the_cookie_that_was_given)
{
	char mine[DAT_LMR_COOKIE_SIZE];
	unsigned char *at = map_shared(-1);
	struct registration r;
	DAT_LMR_PARAM param;

	memcpy(mine, cookie_a, sizeof(mine));
	r = share_a(at, SHARED, mine);
	must(r.ret);
	memset(mine, 'x', sizeof(mine));
	must(dat_lmr_query(r.lmr, DAT_LMR_FIELD_REGION_DESC, &param));
	ck_assert_mem_eq(*param.region_desc.for_shared_memory.shared_memory_id, cookie_a,
			 DAT_LMR_COOKIE_SIZE);
	munmap(at, SHARED);
}
END_TEST

/* Two mappings of one segment, in two instances and on two adapters: three LMRs, one cookie. */
START_TEST(page_sharers_register_one_piece_under_one_cookie)
{
	static char emu0[] = "emu0";
	int fd = memfd_create("shared", MFD_CLOEXEC);
	DAT_EVD_HANDLE async = NO_HANDLE;
	struct registration first, second, third;
	DAT_IA_HANDLE ia;
	void *here, *there;

	ck_assert_int_eq(ftruncate(fd, SHARED), 0);
	here = map_shared(fd);
	there = map_shared(fd);
	must(dat_ia_open(emu0, 8, &async, &ia));
	first = share_a(here, SHARED, cookie_a);
	second = share(ia, make_pz(ia), there, SHARED, cookie_a);
	third = share(w.b.ia, w.b.pz, there, SHARED, cookie_a);
	must(first.ret);
	must(second.ret);
	must(third.ret);
	ck_assert_uint_ne(first.lmr_context, second.lmr_context);
	must(dat_lmr_free(first.lmr));
	must(share_a(here, SHARED, cookie_a).ret);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	munmap(here, SHARED);
	munmap(there, SHARED);
	close(fd);
}
END_TEST

START_TEST(page_the_cookie_is_compared_whole)
{
	void *one = map_shared(-1), *other = map_shared(-1);
	struct registration r = share_a(one, SHARED, cookie_a), s;
	int i;

	must(r.ret);
	for (i = 0; i < DAT_LMR_COOKIE_SIZE; i++) {
		memcpy(cookie_b, cookie_a, sizeof(cookie_b));
		s = share_a(other, SHARED, cookie_b);
		must_fail(s.ret, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
		expect_nothing_written(&s);
		cookie_b[i] ^= 1;
		s = share_a(other, SHARED, cookie_b);
		must(s.ret);
		must(dat_lmr_free(s.lmr));
	}
	/* Once all are freed, the cookie may name another segment. */
	must(dat_lmr_free(r.lmr));
	must(share_a(other, SHARED, cookie_a).ret);
	munmap(one, SHARED);
	munmap(other, SHARED);
}
END_TEST

START_TEST(page_memory_that_is_not_shared_is_an_invalid_state)
{
	unsigned char *at = map_shared(-1), *holed = map_shared(-1);
	void *private =
		mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct registration r = share_a(slot(&w.a, 0), SLOT_SIZE, cookie_a);

	must_fail(r.ret, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	expect_nothing_written(&r);
	must_fail(share_a(private, SHARED, cookie_a).ret, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	/* From a shared page into an unmapped one, and with a private page in the middle */
	ck_assert_int_eq(munmap(at + SHARED - 4096, 4096), 0);
	must_fail(share_a(at, SHARED, cookie_a).ret, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	must(share_a(at, SHARED - 4096, cookie_a).ret);
	ck_assert_ptr_eq(mmap(at + 4096, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 at + 4096);
	must_fail(share_a(at, SHARED - 4096, cookie_b).ret, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	ck_assert_int_eq(munmap(holed + 4096, 4096), 0);
	must_fail(share_a(holed, SHARED, cookie_b).ret, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	must_fail(share_a((void *)8, 8, cookie_b).ret, DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	munmap(at, SHARED - 4096);
	munmap(holed, SHARED);
	munmap(private, SHARED);
}
END_TEST

START_TEST(page_bad_arguments_of_shared_memory)
{
	void *at = map_shared(-1);
	struct registration r = share_a(NULL, SHARED, cookie_a);

	must_fail(r.ret, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	expect_nothing_written(&r);
	must_fail(share_a(at, SHARED, NULL).ret, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(share_a(at, 0, cookie_a).ret, DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	must_fail(share_a(at, UINT64_MAX, cookie_a).ret, DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	must_fail(share(w.a.ia, w.b.pz, at, SHARED, cookie_a).ret, DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_PZ);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_LMR), 2);
	munmap(at, SHARED);
}
END_TEST

START_TEST(page_all_memory_types_are_supported)
{
	DAT_PROVIDER_ATTR attr;

	must(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	ck_assert_int_eq(attr.lmr_mem_types_supported,
			 DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, page_an_LMR_of_an_LMR_covers_the_same_pages);
	unit_test(suite, page_a_query_tells_the_LMR_it_is_of);
	unit_test_loop(suite, page_the_length_of_an_LMR_of_an_LMR_is_ignored, 3);
	unit_test(suite, page_an_LMR_of_an_LMR_has_its_own_zone);
	unit_test(suite, A3_an_LMR_of_an_LMR_has_its_own_privileges);
	unit_test(suite, page_an_LMR_of_an_LMR_has_its_own_remote_privileges);
	unit_test(suite, page_an_LMR_outlives_the_one_it_is_of);
	unit_test(suite, G3_an_LMR_of_what_is_none_is_an_invalid_handle);
	unit_test(suite, page_shared_memory_is_registered);
	unit_test(suite, page_a_query_shows_the_cookie_that_was_given);
	unit_test(suite, page_sharers_register_one_piece_under_one_cookie);
	unit_test(suite, page_the_cookie_is_compared_whole);
	unit_test(suite, page_memory_that_is_not_shared_is_an_invalid_state);
	unit_test(suite, page_bad_arguments_of_shared_memory);
	unit_test(suite, page_all_memory_types_are_supported);
}

UNIT_SUITE("lmr_kinds")
