/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ruling G2 on a device: a program that uses all of the passthrough runs again and again, and each
 * time one more verbs call, allocation or system call of the passthrough fails once. The call of
 * DAT that needed it fails, or the connection does, and nothing else: it succeeds when made again,
 * the program comes to its end, and nothing of verbs is left.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/again.h"
#include "tests/support/support.h"

enum {
	MOST = 400 /* uses of one call by the program */
};

static const struct refused_call {
	const char *name;
	int error;
	DAT_RETURN type;    /* of the call of DAT that fails */
	DAT_RETURN or_type; /* or this one */
} refused_calls[] = {
	{ "ibv_get_device_list", ENOMEM, DAT_PROVIDER_NOT_FOUND, 0 },
	{ "ibv_query_device", EIO, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_query_port", EIO, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_alloc_pd", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_reg_mr", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_alloc_mw", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_bind_mw", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_create_comp_channel", EMFILE, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_create_cq", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_resize_cq", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_create_srq", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_modify_srq", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_modify_srq max_wr", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_create_qp", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_modify_qp", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_post_send", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_post_recv", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "ibv_post_srq_recv", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_create_event_channel", EMFILE, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_create_id", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_bind_addr", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_init_qp_attr", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_listen", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_resolve_addr", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_resolve_route", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_connect", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_accept", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_reject", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "rdma_disconnect", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "getifaddrs", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "malloc", ENOMEM, DAT_INSUFFICIENT_RESOURCES, DAT_INTERRUPTED_CALL },
	{ "mmap", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "eventfd", EMFILE, DAT_INSUFFICIENT_RESOURCES, DAT_INTERRUPTED_CALL },
	{ "fcntl", ENOMEM, DAT_INSUFFICIENT_RESOURCES, 0 },
	{ "pthread_create", EAGAIN, DAT_INSUFFICIENT_RESOURCES, 0 },
};

static const struct refused_call *row;

/* ---- calls of libc; the passthrough finds these in place of libc's ---- */

/* They are called before AddressSanitizer has begun. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))
#define EXPORTED  __attribute__((visibility("default"))) UNCHECKED

static _Atomic bool armed;
static _Atomic int sleeps; /* calls of ppoll */

static UNCHECKED bool is_passthrough(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "passthrough.so");
}

/* 0, or the error that the row of the table asks for */
static UNCHECKED int refuses(const char *name, const void *caller)
{
	if (!atomic_load(&armed) || strcmp(row->name, name) != 0 || !is_passthrough(caller))
		return 0;
	return stub_refuses(name);
}

static UNCHECKED void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Keeps the address of libc's function in `real`. */
#define FIND(real, name)                                                             \
	do {                                                                         \
		if (!(real))                                                         \
			memcpy(&(real), &(void *){ next_of(name) }, sizeof(void *)); \
	} while (0)

#define CALLER __builtin_return_address(0)

EXPORTED void *malloc(size_t size)
{
	static void *(*real)(size_t);

	FIND(real, "malloc");
	return refuses("malloc", CALLER) ? NULL : real(size);
}

EXPORTED void *calloc(size_t n, size_t size)
{
	static void *(*real)(size_t, size_t);

	FIND(real, "calloc");
	return refuses("malloc", CALLER) ? NULL : real(n, size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	static void *(*real)(size_t, size_t);

	FIND(real, "aligned_alloc");
	return refuses("malloc", CALLER) ? NULL : real(alignment, size);
}

EXPORTED void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);

	FIND(real, "mmap");
	return refuses("mmap", CALLER) ? MAP_FAILED : real(at, size, prot, flags, fd, offset);
}

EXPORTED int eventfd(unsigned int count, int flags)
{
	static int (*real)(unsigned int, int);

	FIND(real, "eventfd");
	return refuses("eventfd", CALLER) ? -1 : real(count, flags);
}

EXPORTED int fcntl(int fd, int command, ...)
{
	static int (*real)(int, int, ...);
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	FIND(real, "fcntl");
	return refuses("fcntl", CALLER) ? -1 : real(fd, command, arg);
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			    void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int error;

	FIND(real, "pthread_create");
	error = refuses("pthread_create", CALLER);
	return error ? error : real(thread, attr, start, arg);
}

EXPORTED int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		   const sigset_t *mask)
{
	static int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	int error = refuses("ppoll", CALLER);

	FIND(real, "ppoll");
	atomic_fetch_add(&sleeps, 1);
	if (!error)
		return real(fds, n, timeout, mask);
	errno = error;
	return -1;
}

/* ---- the program ---- */

/* Has the call of the row failed in this life of the program? */
static bool has_failed(void)
{
	return stub_failed(row->name) > 0;
}

static void expect_refusal(const char *what, DAT_RETURN ret)
{
	bool expected = is_failure(ret, row->type, ANY_SUBTYPE) ||
			(row->or_type && is_failure(ret, row->or_type, ANY_SUBTYPE));

	ck_assert_msg(has_failed(), "%s: %s, though nothing has failed", what, ret_text(ret));
	ck_assert_msg(expected, "%s: %s for want of %s", what, ret_text(ret), row->name);
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	memset(&event, 0, sizeof(event));
	again(dat_evd_wait(evd, device_patience_us(), 1, &event, &more));
	return event;
}

static void expect_done(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = next_event(evd);

	if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		ck_assert_int_eq(event.event_data.rmr_completion_event_data.status,
				 DAT_RMR_BIND_SUCCESS);
	else
		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
}

static void open_side(struct side *side)
{
	static const int flags[] = { DAT_EVD_DTO_FLAG, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				     DAT_EVD_CONNECTION_FLAG, DAT_EVD_CR_FLAG };
	DAT_EVD_HANDLE *const evds[] = { &side->recv, &side->request, &side->connect, &side->cr };
	DAT_REGION_DESCRIPTION region = { .for_va = slot(side, 0) };
	char name[] = "emu0";

	memset(side->memory, 0, sizeof(side->memory));
	side->async = NO_HANDLE;
	device_count_threads();
	again(dat_ia_open(name, EVD_LENGTH, &side->async, &side->ia));
	again(dat_pz_create(side->ia, &side->pz));
	for (size_t i = 0; i < COUNT(evds); i++)
		again(dat_evd_create(side->ia, EVD_LENGTH, NO_HANDLE, (DAT_EVD_FLAGS)flags[i],
				     evds[i]));
	again(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, SLOTS * SLOT_SIZE, side->pz,
			     DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->context, &side->rmr_context,
			     NULL, NULL));
}

/* w.b's Endpoint takes its Receives from an SRQ. */
static void make_endpoints(void)
{
	DAT_SRQ_ATTR srq = { .max_recv_dtos = 8, .max_recv_iov = 2 };
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_PARAM param = { .ep_attr.max_recv_dtos = 7 };

	attr.max_rdma_read_in = attr.max_rdma_read_out = 2;
	again(dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, &attr, &w.a.ep));
	again(dat_ep_modify(w.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	again(dat_srq_create(w.b.ia, w.b.pz, &srq, &w.b.srq));
	again(dat_srq_set_lw(w.b.srq, 2));
	again(dat_ep_create_with_srq(w.b.ia, w.b.pz, w.b.recv, w.b.request, w.b.connect, w.b.srq,
				     &attr, &w.b.ep));
}

static DAT_RETURN post_to_srq(int n)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, n, SLOT_SIZE);

	return dat_srq_post_recv(w.b.srq, 1, &iov, cookie(n));
}

static DAT_RETURN post_to_ep(int n)
{
	DAT_LMR_TRIPLET iov = segment(&w.a, n, SLOT_SIZE);

	return dat_ep_post_recv(w.a.ep, 1, &iov, cookie(n), DAT_COMPLETION_DEFAULT_FLAG);
}

/* The request, or NO_HANDLE if the attempt has ended before. */
static DAT_CR_HANDLE await_request(void)
{
	DAT_UINT64 until = 0;
	DAT_EVENT event;

	for (;;) {
		if (dat_evd_dequeue(w.b.cr, &event) == DAT_SUCCESS)
			return event.event_data.cr_arrival_event_data.cr_handle;
		if (dat_evd_dequeue(w.a.connect, &event) == DAT_SUCCESS) {
			ck_assert_int_ne(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
			return NO_HANDLE;
		}
		ck_assert(device_again(&until));
	}
}

/* One attempt. False: it has failed, and both Endpoints are as before. */
static bool connects(void)
{
	DAT_CR_HANDLE cr;

	again(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	cr = await_request();
	if (cr) {
		again(dat_cr_accept(cr, w.b.ep, 0, NULL));
		if (next_event(w.b.connect).event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			ck_assert_int_eq(next_event(w.a.connect).event_number,
					 DAT_CONNECTION_EVENT_ESTABLISHED);
			return true;
		}
		ck_assert_int_ne(next_event(w.a.connect).event_number,
				 DAT_CONNECTION_EVENT_ESTABLISHED);
		again(dat_ep_reset(w.b.ep));
	}
	again(dat_ep_reset(w.a.ep));
	ck_assert_msg(has_failed(), "no connection, though nothing has failed");
	return false;
}

/* The peer says no. */
static void is_rejected(void)
{
	DAT_CR_HANDLE cr;

	again(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	cr = await_request();
	if (cr) {
		again(dat_cr_reject(cr));
		ck_assert_int_ne(next_event(w.a.connect).event_number,
				 DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	again(dat_ep_reset(w.a.ep));
}

/* An attempt is given up before the peer has answered. */
static void gives_up(void)
{
	DAT_CR_HANDLE cr;

	again(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	cr = await_request();
	if (cr) {
		again(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		(void)next_event(w.a.connect);
	}
	again(dat_ep_reset(w.a.ep));
	if (cr)
		again(dat_cr_reject(cr));
}

/* The other waits may find their event at once. Nothing comes here, so this one sleeps. */
static void wait_in_vain(void)
{
	int before = atomic_load(&sleeps);
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT more;

	do {
		ret = dat_evd_wait(w.a.recv, 100, 1, &event, &more);
		if (!is_failure(ret, DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE))
			expect_refusal("dat_evd_wait", ret);
	} while (atomic_load(&sleeps) == before && !has_failed());
}

static void exchange(void)
{
	wait_in_vain();
	again(post_to_srq(0));
	again(try_send(&w.a, w.a.ep, 1, SHORT));
	expect_done(w.b.recv);
	expect_done(w.a.request);
	again(post_to_ep(2));
	again(try_send(&w.b, w.b.ep, 3, SHORT));
	expect_done(w.a.recv);
	expect_done(w.b.request);
	again(try_write(&w.a, w.a.ep, 4, remote(&w.b, 5, SHORT), 0));
	expect_done(w.a.request);
	again(try_read(&w.a, w.a.ep, 4, remote(&w.b, 5, SHORT), 0));
	expect_done(w.a.request);
}

static void bind_windows(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	again(dat_rmr_create(w.a.pz, &rmr));
	again(try_bind(rmr, &w.a, w.a.ep, 6, SHORT, DAT_MEM_PRIV_ALL_FLAG, &context));
	expect_done(w.a.request);
	again(try_bind(rmr, &w.a, w.a.ep, 6, 0, 0, &context));
	expect_done(w.a.request);
	again(dat_rmr_free(rmr));
}

static void part(void)
{
	again(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	(void)next_event(w.a.connect);
	(void)next_event(w.b.connect);
	again(dat_ep_reset(w.a.ep));
	again(dat_ep_reset(w.b.ep));
}

static void live(void)
{
	DAT_PSP_HANDLE psp;

	open_side(&w.a);
	open_side(&w.b);
	make_endpoints();
	again(dat_psp_create(w.b.ia, QUAL, w.b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	is_rejected();
	gives_up();
	again(post_to_ep(7));
	if (!connects())
		ck_assert(connects());
	exchange();
	bind_windows();
	again(dat_evd_resize(w.a.recv, 5000));
	again(dat_srq_resize(w.b.srq, 2000));
	part();
	again(dat_psp_free(psp));
	again(dat_ia_close(w.a.ia, DAT_CLOSE_ABRUPT_FLAG));
	again(dat_ia_close(w.b.ia, DAT_CLOSE_ABRUPT_FLAG));
	w.a.ia = w.b.ia = NO_HANDLE;
	device_await_destroyed();
}

/* In a new process the device's descriptor blocks. */
static void renew(const struct ibv_context *context)
{
	ck_assert_int_eq(fcntl(context->async_fd, F_SETFL, 0), 0);
}

START_TEST(G2_what_fails_once_fails_one_call_and_loses_nothing)
{
	int n, before;

	row = &refused_calls[_i];
	before = stub_objects();
	for (n = 1; n < MOST; n++) {
		if (stub_context)
			renew(stub_context);
		stub_fail(row->name, n, row->error, false);
		atomic_store(&armed, true);
		live();
		atomic_store(&armed, false);
		ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
		ck_assert_int_eq(stub_objects(), before);
		if (!has_failed())
			break;
		mark_point();
	}
	ck_assert_msg(n > 1, "the program never calls %s", row->name);
	ck_assert_int_lt(n, MOST);
}
END_TEST

static const struct refused_call signalled = { "ppoll", EINTR, DAT_INTERRUPTED_CALL, 0 };

START_TEST(a_signal_ends_a_wait_and_the_next_wait_goes_on)
{
	DAT_EVENT event;
	DAT_COUNT more;

	row = &signalled;
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	stub_fail(row->name, 1, row->error, false);
	atomic_store(&armed, true);
	must_fail(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more),
		  DAT_INTERRUPTED_CALL, ANY_SUBTYPE);
	atomic_store(&armed, false);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, G2_what_fails_once_fails_one_call_and_loses_nothing,
		 (int)COUNT(refused_calls), setup_nothing);
	unit_test(suite, a_signal_ends_a_wait_and_the_next_wait_goes_on);
}

int main(void)
{
	return unit_run_on_stub("shortage", fill);
}
