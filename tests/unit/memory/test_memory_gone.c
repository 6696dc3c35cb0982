/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is not there: refused by dat_lmr_create as an adapter refuses it; gone after its
 * registration, a protection error for what uses it, and neither a success nor a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/support.h"

#define PAGE  4096ul
#define PAGES 4ul
#define LARGE (1ul << 20) /* more than is made present page by page */

#define WRITABLE (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define READABLE (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)

static bool old_kernel; /* it cannot be asked for a mapping by address: its list is read */
static int answers;     /* mappings that it gave */

/* In place of libc's. */
int ioctl(int fd, unsigned long request, ...)
{
	int result = -1;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!old_kernel || _IOC_TYPE(request) != 'f')
		result = (int)syscall(SYS_ioctl, fd, request, arg);
	else
		errno = ENOTTY;
	answers += result == 0;
	return result;
}

static unsigned char *map(size_t bytes, int right)
{
	void *at = mmap(NULL, bytes, right, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

struct region {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	unsigned char *at;
};

static DAT_RETURN reg(struct side *side, void *at, size_t bytes, DAT_MEM_PRIV_FLAGS privileges,
		      struct region *region)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = at };

	region->at = at;
	return dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, desc, bytes, side->pz, privileges,
			      &region->lmr, &region->context, &region->rmr_context, NULL, NULL);
}

static struct region reg_page(struct side *side)
{
	struct region region;

	must(reg(side, map(PAGES * PAGE, PROT_READ | PROT_WRITE), PAGES * PAGE,
		 DAT_MEM_PRIV_ALL_FLAG, &region));
	return region;
}

/* As large as that the kernel is asked for pages, and as large as that it is asked for mappings. */
static void refuse(void *at, DAT_MEM_PRIV_FLAGS privileges)
{
	static const size_t sizes[] = { 1, PAGES * PAGE, LARGE };
	struct region region = { 0 };

	for (size_t i = 0; i < COUNT(sizes); i++) {
		must_fail(reg(&w.a, at, sizes[i], privileges, &region), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG3);
		ck_assert_ptr_null(region.lmr);
	}
}

static void accept_all(void *at, DAT_MEM_PRIV_FLAGS privileges)
{
	static const size_t sizes[] = { 1, PAGES * PAGE, LARGE };
	struct region region;

	for (size_t i = 0; i < COUNT(sizes); i++) {
		errno = 0;
		must(reg(&w.a, at, sizes[i], privileges, &region));
		ck_assert_int_eq(errno, 0);
		must(dat_lmr_free(region.lmr));
	}
}

START_TEST(memory_that_is_not_mapped_is_refused)
{
	unsigned char *at = map(LARGE, PROT_READ | PROT_WRITE);
	struct region region;

	old_kernel = _i;
	munmap(at, LARGE);
	refuse(at, READABLE);
	refuse(at, WRITABLE);
	refuse((void *)8, READABLE);
	refuse((void *)0xffff800000000000ul, READABLE); /* the kernel's */
	refuse((void *)0x4141414141414141ul, READABLE); /* no processor's */
	/* The last page only */
	at = map(LARGE + PAGE, PROT_READ | PROT_WRITE);
	munmap(at + LARGE, PAGE);
	accept_all(at, WRITABLE);
	must_fail(reg(&w.a, at, LARGE + 1, WRITABLE, &region), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(reg(&w.a, at + LARGE - 1, 2, WRITABLE, &region), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	munmap(at, LARGE);
}
END_TEST

START_TEST(memory_without_the_access_is_refused)
{
	unsigned char *none = map(LARGE, PROT_NONE), *read = map(LARGE, PROT_READ);

	old_kernel = _i;
	refuse(none, READABLE);
	refuse(none, WRITABLE);
	refuse(read, WRITABLE);
	refuse(read, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	accept_all(read, READABLE);
	munmap(none, LARGE);
	munmap(read, LARGE);
}
END_TEST

/* A page in the middle; the kernel is asked for each mapping. */
START_TEST(large_memory_of_several_mappings_is_refused_if_one_lacks_the_access)
{
	unsigned char *at = map(LARGE, PROT_READ | PROT_WRITE), *middle = at + LARGE / 2;
	struct region region;

	old_kernel = _i;
	ck_assert_int_eq(mprotect(middle, PAGE, PROT_READ), 0);
	answers = 0;
	must(reg(&w.a, at, LARGE, READABLE, &region));
	ck_assert(answers == 0 || (answers == 3 && !old_kernel));
	must(dat_lmr_free(region.lmr));
	must_fail(reg(&w.a, at, LARGE, WRITABLE, &region), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must(reg(&w.a, at, LARGE / 2, WRITABLE, &region));
	must(dat_lmr_free(region.lmr));
	must(reg(&w.a, middle + PAGE, LARGE / 2 - PAGE, WRITABLE, &region));
	must(dat_lmr_free(region.lmr));
	munmap(middle, PAGE);
	must_fail(reg(&w.a, at, LARGE, READABLE, &region), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	munmap(at, LARGE);
}
END_TEST

START_TEST(a_page_behind_the_end_of_a_file_is_refused)
{
	int fd = memfd_create("short", MFD_CLOEXEC);
	struct region region;
	unsigned char *at;

	ck_assert_int_eq(ftruncate(fd, PAGE), 0);
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(reg(&w.a, at, PAGE, WRITABLE, &region));
	must_fail(reg(&w.a, at, PAGE + 1, WRITABLE, &region), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	munmap(at, 2 * PAGE);
	close(fd);
}
END_TEST

/* ---- memory that goes away ---- */

enum {
	UNMAPPED,
	NO_ACCESS,
	UNREADABLE_WAYS,
	READ_ONLY = UNREADABLE_WAYS,
	UNWRITABLE_WAYS
};

static void take_away(struct region *region, int way)
{
	int right = way == NO_ACCESS ? PROT_NONE : PROT_READ;

	if (way == UNMAPPED)
		ck_assert_int_eq(munmap(region->at, PAGES * PAGE), 0);
	else
		ck_assert_int_eq(mprotect(region->at, PAGES * PAGE, right), 0);
}

static DAT_LMR_TRIPLET piece(const struct region *region, size_t bytes)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = region->context,
				  .virtual_address = (uintptr_t)region->at,
				  .segment_length = bytes };
}

static DAT_RMR_TRIPLET far(const struct region *region, size_t bytes)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = region->rmr_context,
				  .target_address = (uintptr_t)region->at,
				  .segment_length = bytes };
}

static const size_t lengths[] = { 1, 3, 7, 15, 31, SHORT, 100, LONG, 2 * PAGE };

START_TEST(send_from_memory_that_is_gone_is_a_local_protection_error)
{
	size_t bytes = lengths[_i / UNREADABLE_WAYS];
	struct region region, target;
	DAT_LMR_TRIPLET iov;

	plain_pair();
	region = reg_page(&w.a);
	target = reg_page(&w.b);
	take_away(&region, _i % UNREADABLE_WAYS);
	iov = piece(&target, bytes);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
	iov = piece(&region, bytes);
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_ERR_FLUSHED);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(receive_into_memory_that_is_gone_is_a_local_protection_error)
{
	size_t bytes = lengths[_i / UNWRITABLE_WAYS];
	struct region region, source;
	DAT_LMR_TRIPLET iov;

	plain_pair();
	region = reg_page(&w.b);
	source = reg_page(&w.a);
	iov = piece(&region, bytes);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
	take_away(&region, _i % UNWRITABLE_WAYS);
	iov = piece(&source, bytes);
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_RESPONDER);
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_ERR_LOCAL_PROTECTION);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* What the model undoes when the copy fails, it does again step by step: it takes one buffer. */
START_TEST(receive_into_memory_that_is_gone_is_taken_once)
{
	struct region region;
	DAT_LMR_TRIPLET iov;

	plain_pair();
	region = reg_page(&w.b);
	iov = piece(&region, SHORT);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
	take_away(&region, UNMAPPED);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	must(dat_ep_set_watermark(w.b.ep, 1, DAT_WATERMARK_INFINITE));
	expect_no_event(w.b.async);
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_ERR_LOCAL_PROTECTION);
}
END_TEST

START_TEST(write_to_memory_that_is_gone_is_a_remote_access_error)
{
	struct region region, source;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET to;

	plain_pair();
	region = reg_page(&w.b);
	source = reg_page(&w.a);
	take_away(&region, _i);
	iov = piece(&source, LONG);
	to = far(&region, LONG);
	must(dat_ep_post_rdma_write(w.a.ep, 1, &iov, cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(read_of_memory_that_is_gone_is_a_remote_access_error)
{
	struct region region, target;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET from;

	rdma_pair(1, 1);
	region = reg_page(&w.b);
	target = reg_page(&w.a);
	take_away(&region, _i);
	iov = piece(&target, LONG);
	from = far(&region, LONG);
	must(dat_ep_post_rdma_read(w.a.ep, 1, &iov, cookie(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(read_into_memory_that_is_gone_is_a_local_protection_error)
{
	struct region region, source;
	DAT_LMR_TRIPLET iov;
	DAT_RMR_TRIPLET from;

	rdma_pair(1, 1);
	region = reg_page(&w.a);
	source = reg_page(&w.b);
	take_away(&region, _i);
	iov = piece(&region, LONG);
	from = far(&source, LONG);
	must(dat_ep_post_rdma_read(w.a.ep, 1, &iov, cookie(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* SIGBUS instead of SIGSEGV */
START_TEST(receive_behind_the_end_of_a_file_that_shrank_is_a_local_protection_error)
{
	int fd = memfd_create("shrinks", MFD_CLOEXEC);
	struct region region;
	DAT_LMR_TRIPLET iov;
	unsigned char *at;

	plain_pair();
	ck_assert_int_eq(ftruncate(fd, PAGE), 0);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(reg(&w.b, at, PAGE, WRITABLE, &region));
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	iov = piece(&region, SHORT);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_RESPONDER);
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_ERR_LOCAL_PROTECTION);
	munmap(at, PAGE);
	close(fd);
}
END_TEST

/* ---- the program's own faults ---- */

static sigjmp_buf back;
static int faults;
static void *fault_at;
static bool blocked;

static void on_fault(int number, siginfo_t *info, void *context)
{
	sigset_t now;

	(void)context;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	blocked = sigismember(&now, number) == 1 && sigismember(&now, SIGUSR1) == 1;
	faults++;
	fault_at = info->si_addr;
	siglongjmp(back, 1);
}

static struct sigaction handle(int number, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO }, before;

	sigaddset(&action.sa_mask, SIGUSR1);
	ck_assert_int_eq(sigaction(number, &action, &before), 0);
	return before;
}

static void touch(unsigned char *at)
{
	if (sigsetjmp(back, 1) == 0)
		*(volatile unsigned char *)at = 1;
}

/* The program's handler was there first; the library's passes on what is not its own. */
START_TEST(fault_of_the_program_reaches_the_handler_of_the_program)
{
	unsigned char *none = map(PAGE, PROT_NONE);
	struct sigaction now, before;
	struct region region;
	DAT_LMR_TRIPLET iov;

	faults = 0;
	before = handle(SIGSEGV, on_fault);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	region = reg_page(&w.b);
	touch(none);
	ck_assert_int_eq(faults, 1);
	ck_assert_ptr_eq(fault_at, none);
	ck_assert(blocked);
	/* A fault of a copy does not. */
	take_away(&region, NO_ACCESS);
	iov = piece(&region, SHORT);
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 7, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_int_eq(faults, 1);
	touch(none);
	ck_assert_int_eq(faults, 2);
	/* The end of the fabric gives the signal back. */
	side_close(&w.a);
	side_close(&w.b);
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	ck_assert_int_eq(sigaction(SIGSEGV, NULL, &now), 0);
	ck_assert(now.sa_sigaction == on_fault);
	sigaction(SIGSEGV, &before, NULL);
	munmap(none, PAGE);
}
END_TEST

static void fill(Suite *suite)
{
	int sends = COUNT(lengths) * UNREADABLE_WAYS, receives = COUNT(lengths) * UNWRITABLE_WAYS;

	unit_test_loop(suite, memory_that_is_not_mapped_is_refused, 2);
	unit_test_loop(suite, memory_without_the_access_is_refused, 2);
	unit_test_loop(suite, large_memory_of_several_mappings_is_refused_if_one_lacks_the_access,
		       2);
	unit_test(suite, a_page_behind_the_end_of_a_file_is_refused);
	unit_test_loop(suite, send_from_memory_that_is_gone_is_a_local_protection_error, sends);
	unit_test_loop(suite, receive_into_memory_that_is_gone_is_a_local_protection_error,
		       receives);
	unit_test(suite, receive_into_memory_that_is_gone_is_taken_once);
	unit_test_loop(suite, write_to_memory_that_is_gone_is_a_remote_access_error,
		       UNWRITABLE_WAYS);
	unit_test_loop(suite, read_of_memory_that_is_gone_is_a_remote_access_error,
		       UNREADABLE_WAYS);
	unit_test_loop(suite, read_into_memory_that_is_gone_is_a_local_protection_error,
		       UNWRITABLE_WAYS);
	unit_test(suite, receive_behind_the_end_of_a_file_that_shrank_is_a_local_protection_error);
	unit_test_bare(suite, fault_of_the_program_reaches_the_handler_of_the_program);
}

UNIT_SUITE("memory_gone")
