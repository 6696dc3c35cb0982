/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ruling G2 for system calls: a program opens two adapters of a fabric, its own or a shared one,
 * passes a message and closes them, once for each use of each system call, which fails that once.
 * The call of DAT that needed it fails and succeeds when made again, or it did without; no
 * descriptor and no file is left. The linker puts the functions of this file in front of libc's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/again.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

enum {
	MOST = 200, /* uses of one call by the program */
	PATIENCE_US = 60000000
};

enum fabric {
	OWN,
	SHARED
};

static const struct refused {
	enum fabric fabric;
	const char *name;
	int error;
} rows[] = {
	{ OWN, "mmap", ENOMEM },         { OWN, "open", EMFILE },
	{ OWN, "fstat", EIO },           { OWN, "ftruncate", ENOSPC },
	{ OWN, "madvise", EINVAL },      { OWN, "sigaction", EINVAL },
	{ SHARED, "mmap", ENOMEM },      { SHARED, "open", EMFILE },
	{ SHARED, "ftruncate", ENOSPC }, { SHARED, "fallocate", ENOSPC },
	{ SHARED, "fcntl", ENOLCK },     { SHARED, "linkat", EACCES },
	{ SHARED, "lstat", EACCES },     { SHARED, "mkdir", EACCES },
	{ SHARED, "access", ENOENT },    { SHARED, "madvise", EINVAL },
	{ SHARED, "sigaction", EINVAL }, { SHARED, "pthread_create", EAGAIN },
};

/* Of the thread that makes them: a fabric has threads of its own. */
static __thread struct {
	const char *name;
	int nth, error, times;
} refusal;

static bool refuses(const char *name)
{
	if (!refusal.name || strcmp(refusal.name, name) != 0 || --refusal.nth != 0)
		return false;
	refusal.times++;
	errno = refusal.error;
	return true;
}

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __real_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st);
int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __real_fallocate(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size);
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __real_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);
int __real_sigaction(int number, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *arg);

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return refuses("mmap") ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return refuses("open") ? -1 : __real_open(path, flags, mode);
}

int __wrap_fstat(int fd, struct stat *st)
{
	return refuses("fstat") ? -1 : __real_fstat(fd, st);
}

int __wrap_lstat(const char *path, struct stat *st)
{
	return refuses("lstat") ? -1 : __real_lstat(path, st);
}

int __wrap_ftruncate(int fd, off_t size)
{
	return refuses("ftruncate") ? -1 : __real_ftruncate(fd, size);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t size)
{
	return refuses("fallocate") ? -1 : __real_fallocate(fd, mode, offset, size);
}

int __wrap_fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return refuses("fcntl") ? -1 : __real_fcntl(fd, command, arg);
}

int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	return refuses("linkat") ? -1 : __real_linkat(from_fd, from, to_fd, to, flags);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	return refuses("mkdir") ? -1 : __real_mkdir(path, mode);
}

int __wrap_access(const char *path, int mode)
{
	return refuses("access") ? -1 : __real_access(path, mode);
}

int __wrap_madvise(void *at, size_t size, int advice)
{
	return refuses("madvise") ? -1 : __real_madvise(at, size, advice);
}

int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return refuses("sigaction") ? -1 : __real_sigaction(number, action, before);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *arg)
{
	return refuses("pthread_create") ? refusal.error
					 : __real_pthread_create(thread, attr, start, arg);
}

/* ---- the program ---- */

static void expect_refusal(const char *what, DAT_RETURN ret)
{
	ck_assert_msg(refusal.times > 0, "%s: %s, though nothing has failed", what, ret_text(ret));
	ck_assert_msg(is_failure(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE) ||
			      is_failure(ret, DAT_INVALID_PARAMETER, ANY_SUBTYPE) ||
			      is_failure(ret, DAT_INVALID_ADDRESS, ANY_SUBTYPE),
		      "%s: %s for want of %s", what, ret_text(ret), refusal.name);
}

static void open_side(struct side *side, const char *adapter)
{
	DAT_EVD_HANDLE *const evds[] = { &side->recv, &side->request, &side->connect, &side->cr };
	static const int flags[] = { DAT_EVD_DTO_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG,
				     DAT_EVD_CR_FLAG };
	DAT_REGION_DESCRIPTION region = { .for_va = slot(side, 0) };
	DAT_EP_ATTR attr = ep_attr();
	char name[DAT_NAME_MAX_LENGTH];

	snprintf(name, sizeof(name), "%s", adapter);
	side->async = NO_HANDLE;
	again(dat_ia_open(name, EVD_LENGTH, &side->async, &side->ia));
	again(dat_pz_create(side->ia, &side->pz));
	for (size_t i = 0; i < COUNT(evds); i++)
		again(dat_evd_create(side->ia, EVD_LENGTH, NO_HANDLE, (DAT_EVD_FLAGS)flags[i],
				     evds[i]));
	again(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, SLOTS * SLOT_SIZE, side->pz,
			     DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->context, &side->rmr_context,
			     NULL, NULL));
	again(dat_ep_create(side->ia, side->pz, side->recv, side->request, side->connect, &attr,
			    &side->ep));
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	again(dat_evd_wait(evd, PATIENCE_US, 1, &event, &more));
	return event;
}

static void expect_next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	ck_assert_int_eq(next_event(evd).event_number, number);
}

static void pass_a_message(void)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, 0, SLOT_SIZE);
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	again(dat_psp_create(w.b.ia, QUAL, w.b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	again(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	event = next_event(w.b.cr);
	again(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, w.b.ep, 0, NULL));
	expect_next(w.a.connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_next(w.b.connect, DAT_CONNECTION_EVENT_ESTABLISHED);
	again(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	again(try_send(&w.a, w.a.ep, 1, SHORT));
	expect_next(w.b.recv, DAT_DTO_COMPLETION_EVENT);
	expect_next(w.a.request, DAT_DTO_COMPLETION_EVENT);
	again(dat_psp_free(psp));
}

static void live(void)
{
	open_side(&w.a, "emu0");
	open_side(&w.b, "emu1");
	pass_a_message();
	again(dat_ia_close(w.a.ia, DAT_CLOSE_ABRUPT_FLAG));
	again(dat_ia_close(w.b.ia, DAT_CLOSE_ABRUPT_FLAG));
	w.a.ia = w.b.ia = NO_HANDLE;
}

/* ---- what is left ---- */

static int entries(const char *folder)
{
	DIR *dir = opendir(folder);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static char trace[96];

static void begin(enum fabric fabric)
{
	runtime_begin("refused");
	snprintf(trace, sizeof(trace), "%s/trace", runtime_folder());
	if (fabric == SHARED)
		setenv("DATSIM_FABRIC", "lab", 1);
	else
		setenv("DATSIM_TRACE", trace, 1);
}

static void end(void)
{
	unlink(trace);
	runtime_end_any();
}

START_TEST(G2_a_system_call_that_fails_once_fails_one_call_of_DAT)
{
	const struct refused *row = &rows[_i];
	bool failed = true;
	int open_files, n;

	begin(row->fabric);
	live();
	open_files = entries("/proc/self/fd");
	for (n = 1; failed && n < MOST; n++) {
		refusal.nth = n;
		refusal.error = row->error;
		refusal.times = 0;
		refusal.name = row->name;
		live();
		failed = refusal.times > 0;
		refusal.name = NULL;
		ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
		ck_assert_int_eq(entries("/proc/self/fd"), open_files);
		mark_point();
	}
	ck_assert_msg(n > 2 && n < MOST, "%s is called %d times", row->name, n - 2);
	end();
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, G2_a_system_call_that_fails_once_fails_one_call_of_DAT, (int)COUNT(rows),
		 setup_nothing);
}

UNIT_SUITE_OF_PROCESSES("refused")
