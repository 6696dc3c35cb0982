/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace that goes to a file, seen by who reads the file while it grows: a zero byte is behind the
 * last line only, never where room for more lines has just been made. The program's own pwritev
 * and posix_fallocate look at the end of the file after each call, where another process may look.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/conf.h"

static char folder[] = "/tmp/libdat-file-XXXXXX", path[64];
static unsigned int grown; /* calls that have made the trace longer */
static bool zero_at_end;
static off_t size;

static void look_at_end(int fd)
{
	struct stat st, trace;
	char last = '\0';

	if (!path[0] || fstat(fd, &st) || stat(path, &trace) || st.st_ino != trace.st_ino ||
	    st.st_dev != trace.st_dev || st.st_size <= size)
		return;
	size = st.st_size;
	grown++;
	zero_at_end |= pread(fd, &last, 1, size - 1) != 1 || last == '\0';
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	static ssize_t (*next)(int, const struct iovec *, int, off_t);
	ssize_t n;

	if (!next)
		next = (ssize_t(*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT,
										"pwritev");
	n = next(fd, parts, count, offset);
	look_at_end(fd);
	return n;
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
	static int (*next)(int, off_t, off_t);
	int err;

	if (!next)
		next = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
	err = next(fd, offset, length);
	look_at_end(fd);
	return err;
}

static void name_file(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	setenv("DATSIM_TRACE", path, 1);
	unsetenv("DATSIM_FABRIC");
}

START_TEST(E11_no_zero_bytes_are_at_the_end_of_a_trace_that_grows)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	unsigned int at_first;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	must(dat_ia_open(name, 8, &async, &ia));
	at_first = grown;
	ck_assert_uint_gt(at_first, 0);
	for (int i = 0; i < 5000; i++) {
		must(dat_pz_create(ia, &pz));
		must(dat_pz_free(pz));
	}
	ck_assert_uint_gt(grown, at_first);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ck_assert(!zero_at_end);
	unlink(path);
	rmdir(folder);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, E11_no_zero_bytes_are_at_the_end_of_a_trace_that_grows, 1, name_file);
}

UNIT_SUITE_OF_PROCESSES("trace_file")
