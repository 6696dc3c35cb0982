/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits of an adapter (ruling G9), on devices of tests/stubverbs that count as real ones do:
 * what is advertised can be had, and one more is refused and leaves nothing in the device.
 */
#include <string.h>
#include <sys/resource.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

static const struct {
	const char *profile;
	int max_qp_wr, max_recv_wr;
	int dtos; /* that it can make with as many segments as it has; 0: max_qp_wr */
} devices[] = {
	{ "plain", 0, 0, 0 },
	{ "plain", 65536, 0, 0 },
	{ "plain", 65536, 20000, 20000 },
	/* 192 bytes of control and 4 segments of 16 are 4 blocks of 64. */
	{ "mlx5", 4096, 0, 1024 },
	{ "mlx5", 32768, 0, 8192 },
	{ "irdma", 0, 0, 0 },
};

static void open_device(int i)
{
	const struct stub_config *profile = stub_profile(devices[i].profile);

	stub_config = profile ? *profile : (struct stub_config){ .max_srq_sge = 0 };
	stub_config.max_qp_wr = devices[i].max_qp_wr;
	stub_config.max_recv_wr = devices[i].max_recv_wr;
	setup_sides();
}

/* ---- sizes ---- */

static DAT_RETURN create_ep(const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;
	DAT_RETURN ret =
		dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, attr, &ep);

	if (ret == DAT_SUCCESS)
		must(dat_ep_free(ep));
	return ret;
}

/* Of an Endpoint that has everything else that is advertised, too */
static DAT_EP_ATTR largest_ep(const DAT_IA_ATTR *ia)
{
	DAT_EP_ATTR attr = ep_attr();

	attr.max_recv_dtos = attr.max_request_dtos = ia->max_dto_per_ep;
	attr.max_recv_iov = attr.max_request_iov = ia->max_iov_segments_per_dto;
	attr.max_rdma_read_in = ia->max_rdma_read_per_ep_in;
	attr.max_rdma_read_out = ia->max_rdma_read_per_ep_out;
	attr.max_rdma_read_iov = ia->max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = ia->max_iov_segments_per_rdma_write;
	return attr;
}

#define EP_SIZE(name, field)                                           \
	static DAT_RETURN name(const DAT_IA_ATTR *ia, DAT_COUNT above) \
	{                                                              \
		DAT_EP_ATTR attr = largest_ep(ia);                     \
                                                                       \
		attr.field += above;                                   \
		return create_ep(&attr);                               \
	}
EP_SIZE(recv_dtos, max_recv_dtos)
EP_SIZE(request_dtos, max_request_dtos)
EP_SIZE(recv_iov, max_recv_iov)
EP_SIZE(request_iov, max_request_iov)
EP_SIZE(reads_in, max_rdma_read_in)
EP_SIZE(reads_out, max_rdma_read_out)
EP_SIZE(read_iov, max_rdma_read_iov)
EP_SIZE(write_iov, max_rdma_write_iov)

/* The smallest requests of a queue are longer by what they may carry inline. */
static DAT_RETURN dtos_of_one_segment(const DAT_IA_ATTR *ia, DAT_COUNT above)
{
	DAT_EP_ATTR attr = largest_ep(ia);

	attr.max_recv_iov = attr.max_request_iov = 1;
	attr.max_rdma_read_iov = attr.max_rdma_write_iov = 1;
	attr.max_request_dtos += above;
	return create_ep(&attr);
}

static DAT_RETURN evd_length(const DAT_IA_ATTR *ia, DAT_COUNT above)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret =
		dat_evd_create(w.a.ia, ia->max_evd_qlen + above, NO_HANDLE, DAT_EVD_DTO_FLAG, &evd);

	if (ret == DAT_SUCCESS)
		must(dat_evd_free(evd));
	return ret;
}

static DAT_RETURN evd_resize(const DAT_IA_ATTR *ia, DAT_COUNT above)
{
	DAT_EVD_HANDLE evd = make_evd(&w.a, 8, DAT_EVD_DTO_FLAG);
	DAT_RETURN ret = dat_evd_resize(evd, ia->max_evd_qlen + above);

	must(dat_evd_free(evd));
	return ret;
}

static DAT_RETURN create_srq(DAT_COUNT dtos, DAT_COUNT iov)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = dtos, .max_recv_iov = iov };
	DAT_SRQ_HANDLE srq;
	DAT_RETURN ret = dat_srq_create(w.a.ia, w.a.pz, &attr, &srq);

	if (ret == DAT_SUCCESS)
		must(dat_srq_free(srq));
	return ret;
}

static DAT_RETURN srq_dtos(const DAT_IA_ATTR *ia, DAT_COUNT above)
{
	return create_srq(ia->max_recv_per_srq + above, ia->max_iov_segments_per_dto);
}

static DAT_RETURN srq_iov(const DAT_IA_ATTR *ia, DAT_COUNT above)
{
	return create_srq(ia->max_recv_per_srq, ia->max_iov_segments_per_dto + above);
}

static const struct {
	const char *name;
	DAT_RETURN (*create)(const DAT_IA_ATTR *ia, DAT_COUNT above);
} sizes[] = {
	{ "Receives of an EP", recv_dtos },
	{ "requests of an EP", request_dtos },
	{ "segments of a Receive", recv_iov },
	{ "segments of a request", request_iov },
	{ "Reads in", reads_in },
	{ "Reads out", reads_out },
	{ "segments of a Read", read_iov },
	{ "segments of a Write", write_iov },
	{ "requests of one segment", dtos_of_one_segment },
	{ "events of an EVD", evd_length },
	{ "events of an EVD that grows", evd_resize },
	{ "Receives of an SRQ", srq_dtos },
	{ "segments of an SRQ's Receive", srq_iov },
};

START_TEST(G9_each_advertised_size_can_be_had_and_one_more_is_refused)
{
	DAT_IA_ATTR ia;
	int before;

	open_device(_i);
	ia = ia_attr(&w.a);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		DAT_RETURN ret = sizes[i].create(&ia, 0);

		device_await_destroyed();
		ck_assert_msg(ret == DAT_SUCCESS, "%s: %s", sizes[i].name, ret_text(ret));
		before = stub_objects();
		ret = sizes[i].create(&ia, 1);
		ck_assert_msg(is_failure(ret, DAT_INVALID_PARAMETER, ANY_SUBTYPE) ||
				      is_failure(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE),
			      "%s, one more: %s", sizes[i].name, ret_text(ret));
		device_await_destroyed();
		ck_assert_msg(stub_objects() == before, "%s: something is left", sizes[i].name);
	}
}
END_TEST

/* Held against the arithmetic, and not only against what the device says. */
START_TEST(G9_the_DTOs_of_an_EP_are_as_many_as_its_queues_can_make)
{
	int expected;

	open_device(_i);
	expected = devices[_i].dtos ? devices[_i].dtos : (int)stub_max_qp_wr();
	ck_assert_int_eq(ia_attr(&w.a).max_dto_per_ep, expected);
}
END_TEST

/* NetPIPE asks for so many. */
START_TEST(an_EP_of_20000_Receives_takes_as_many)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	open_device(1);
	attr.max_recv_dtos = attr.max_request_dtos = 20000;
	ep = plain_ep_with(&w.a, &attr);
	for (int i = 0; i < 20000; i++)
		post_recv(&w.a, ep, i % SLOTS);
	must(dat_ep_free(ep));
}
END_TEST

/* ---- numbers of objects ---- */

static DAT_RETURN one_pz(void)
{
	DAT_PZ_HANDLE pz;

	return dat_pz_create(w.a.ia, &pz);
}

static DAT_RETURN one_evd(void)
{
	DAT_EVD_HANDLE evd;

	return dat_evd_create(w.a.ia, 8, NO_HANDLE, DAT_EVD_DTO_FLAG, &evd);
}

static DAT_RETURN one_srq(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;

	return dat_srq_create(w.a.ia, w.a.pz, &attr, &srq);
}

static DAT_RETURN one_ep(void)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep;

	attr.max_recv_dtos = attr.max_request_dtos = 1;
	return dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr, &ep);
}

static DAT_RETURN one_lmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_HANDLE lmr;

	return dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, SHORT, w.a.pz,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, NULL, NULL, NULL, NULL);
}

static DAT_RETURN one_rmr(void)
{
	DAT_RMR_HANDLE rmr;

	return dat_rmr_create(w.a.pz, &rmr);
}

/*
 * `there`: how many the two sides have. They are of one adapter. `more`: the device has more than
 * it said, so that the library alone counts.
 */
static const struct {
	const char *name;
	DAT_RETURN (*create)(void);
	size_t max; /* its field of DAT_IA_ATTR */
	int there;
	bool more;
} numbers[] = {
	{ "PZs", one_pz, offsetof(DAT_IA_ATTR, max_pzs), 2, false },
	{ "EVDs", one_evd, offsetof(DAT_IA_ATTR, max_evds), 10, false },
	{ "SRQs", one_srq, offsetof(DAT_IA_ATTR, max_srqs), 0, false },
	{ "EPs", one_ep, offsetof(DAT_IA_ATTR, max_eps), 0, false },
	{ "EPs of a larger device", one_ep, offsetof(DAT_IA_ATTR, max_eps), 0, true },
	{ "LMRs", one_lmr, offsetof(DAT_IA_ATTR, max_lmrs), 2, false },
	{ "RMRs", one_rmr, offsetof(DAT_IA_ATTR, max_rmrs), 0, false },
};

START_TEST(G9_as_many_objects_as_advertised_can_be_had)
{
	struct rlimit files;
	DAT_IA_ATTR ia;
	DAT_COUNT max;
	int n = 0;

	/* Each EVD of completions takes a descriptor, so their number follows from this one. */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = 256; /* valgrind refuses to change rlim_max */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	stub_config.max_qp = 100;
	setup_sides();
	if (numbers[_i].more)
		stub_config.max_qp = 0;
	ia = ia_attr(&w.a);
	memcpy(&max, (char *)&ia + numbers[_i].max, sizeof(max));
	while (n <= max && numbers[_i].create() == DAT_SUCCESS)
		n++;
	ck_assert_msg(n + numbers[_i].there == max, "%s: %d of %d", numbers[_i].name,
		      n + numbers[_i].there, (int)max);
	must_fail(numbers[_i].create(), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
}
END_TEST

/* ---- objects that are freed make room ---- */

static void pz_again(void)
{
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	must(dat_pz_free(pz));
}

static void evd_again(void)
{
	must(dat_evd_free(make_evd(&w.a, 8, DAT_EVD_DTO_FLAG)));
}

static void srq_again(void)
{
	must(dat_srq_free(make_srq(&w.a, 1, DAT_SRQ_LW_DEFAULT)));
}

static void ep_again(void)
{
	must(dat_ep_free(plain_ep(&w.a)));
}

static void lmr_again(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_HANDLE lmr;

	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, SHORT, w.a.pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, NULL, NULL, NULL, NULL));
	must(dat_lmr_free(lmr));
}

static void rmr_again(void)
{
	must(dat_rmr_free(make_rmr(&w.a)));
}

static void psp_again(void)
{
	must(dat_psp_free(listen_at(&w.a, QUAL)));
}

static void (*const agains[])(void) = { pz_again,  evd_again, srq_again, ep_again,
					lmr_again, rmr_again, psp_again };

/* Half as many as an adapter may have: each that were counted twice would be one too many. */
#define ROUNDS 2100

START_TEST(G9_what_is_freed_makes_room)
{
	stub_config.max_qp = 100;
	setup_sides();
	for (int i = 0; i < ROUNDS; i++)
		agains[_i]();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, G9_each_advertised_size_can_be_had_and_one_more_is_refused, COUNT(devices),
		 setup_fabric);
	unit_add(suite, G9_the_DTOs_of_an_EP_are_as_many_as_its_queues_can_make, COUNT(devices),
		 setup_fabric);
	unit_add(suite, an_EP_of_20000_Receives_takes_as_many, 1, setup_fabric);
	unit_add(suite, G9_as_many_objects_as_advertised_can_be_had, COUNT(numbers), setup_fabric);
	unit_add(suite, G9_what_is_freed_makes_room, COUNT(agains), setup_fabric);
}

int main(void)
{
	return unit_run_on_stub("limits", fill);
}
