/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a shared fabric: two processes make one of the same name at the same time, or there
 * is no room for it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/shared/shared_file.h"
#include "tests/support/conf.h"
#include "tests/support/support.h"

struct maker {
	struct emu_new_file file;
	struct emu_fabric *fab;
	struct emu_mapped mapped;
};

static char folder[] = "/tmp/libdat-file-XXXXXX";
static char path[64];

/* How many shared mappings fail; the linker puts this function in front of libc's. */
static int refusals;

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (!(flags & MAP_SHARED) || refusals == 0)
		return __real_mmap(at, size, prot, flags, fd, offset);
	refusals--;
	errno = ENOMEM;
	return MAP_FAILED;
}

/* How many allocations a signal interrupts. */
static int interruptions;

int __real_fallocate(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size);

int __wrap_fallocate(int fd, int mode, off_t offset, off_t size)
{
	if (interruptions == 0)
		return __real_fallocate(fd, mode, offset, size);
	interruptions--;
	errno = EINTR;
	return -1;
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/lab", folder);
}

static void end_folder(void)
{
	unlink(path);
	ck_assert_msg(rmdir(folder) == 0, "files are left in %s", folder);
}

static void make(struct maker *m)
{
	ck_assert_int_eq(emu_file_make(path, &m->file, &m->fab, &m->mapped), 0);
}

static void end(struct maker *m)
{
	emu_file_unmap(m->fab, &m->mapped);
	close(m->file.fd);
}

/*
 * In two pid namespaces two processes have the same pid, as these two makers have. What the one
 * makes must not become the other's.
 */
START_TEST(a_file_is_published_by_its_maker_even_if_another_has_the_same_pid)
{
	struct maker first, second;
	struct stat made, named;

	make(&first);
	make(&second);
	ck_assert_int_eq(emu_file_publish(&first.file, path), 0);
	ck_assert_int_eq(emu_file_publish(&second.file, path), -EEXIST);
	ck_assert_int_eq(fstat(first.file.fd, &made), 0);
	ck_assert_int_eq(stat(path, &named), 0);
	ck_assert_uint_eq(made.st_ino, named.st_ino);
	end(&first);
	end(&second);
	end_folder();
}
END_TEST

START_TEST(a_file_that_cannot_be_mapped_whole_gets_a_smaller_pool)
{
	size_t pool = EMU_POOL_BYTES >> 2 * _i;
	struct maker maker;
	struct stat made;

	refusals = _i;
	make(&maker);
	ck_assert_int_eq(refusals, 0);
	ck_assert_uint_eq(maker.mapped.size, sizeof(struct emu_fabric) + pool);
	ck_assert_uint_eq(maker.fab->size, maker.mapped.size);
	ck_assert_uint_eq(maker.fab->pool_end, pool / EMU_POOL_UNIT);
	ck_assert_int_eq(fstat(maker.file.fd, &made), 0);
	ck_assert_uint_eq((size_t)made.st_size, maker.mapped.size);
	end(&maker);
	end_folder();
}
END_TEST

START_TEST(a_file_that_cannot_be_mapped_at_all_is_an_error)
{
	struct maker maker;

	refusals = INT_MAX;
	ck_assert_int_eq(emu_file_make(path, &maker.file, &maker.fab, &maker.mapped), -ENOMEM);
	ck_assert_int_lt(refusals, INT_MAX);
	end_folder();
}
END_TEST

START_TEST(a_signal_while_blocks_are_allocated_does_not_make_the_pool_smaller)
{
	struct maker maker;

	interruptions = 3;
	make(&maker);
	ck_assert_int_eq(interruptions, 0);
	ck_assert_uint_eq(maker.mapped.size, sizeof(struct emu_fabric) + EMU_POOL_BYTES);
	end(&maker);
	end_folder();
}
END_TEST

/* It is one of this fabric's otherwise, but would be mapped over other memory. */
START_TEST(a_file_that_is_longer_than_the_reserved_range_is_refused)
{
	struct emu_mapped mapped;
	struct emu_fabric *fab;
	struct maker maker;
	int fd;

	make(&maker);
	ck_assert_int_eq(emu_file_publish(&maker.file, path), 0);
	if (ftruncate(maker.file.fd, (off_t)(EMU_REACH + EMU_PAGE)) == 0) {
		said_start();
		ck_assert_int_eq(emu_file_open(path, &fd, &fab, &mapped), -EINVAL);
		ck_assert_said(said_stop(), "this is none, or one of another version of libdat");
	}
	end(&maker);
	end_folder();
}
END_TEST

/* On a disk the kernel reads ahead: it would zero 32 pages, and free them in the end. */
START_TEST(a_page_that_is_touched_brings_no_other_one_into_memory)
{
	enum {
		AROUND = 64
	};
	unsigned char there[AROUND];
	struct maker maker;
	char *at;
	int count = 0;

	make(&maker);
	at = (char *)maker.fab + (maker.mapped.size / 2 & -(size_t)(AROUND * EMU_PAGE));
	at[AROUND / 2 * EMU_PAGE] = 1;
	ck_assert_int_eq(mincore(at, sizeof(there) * EMU_PAGE, there), 0);
	for (int i = 0; i < AROUND; i++)
		count += there[i] & 1;
	ck_assert_int_eq(count, 1);
	end(&maker);
	end_folder();
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("file");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_file_is_published_by_its_maker_even_if_another_has_the_same_pid);
	tcase_add_loop_test(tcase, a_file_that_cannot_be_mapped_whole_gets_a_smaller_pool, 0, 3);
	tcase_add_test(tcase, a_file_that_cannot_be_mapped_at_all_is_an_error);
	tcase_add_test(tcase, a_signal_while_blocks_are_allocated_does_not_make_the_pool_smaller);
	tcase_add_test(tcase, a_page_that_is_touched_brings_no_other_one_into_memory);
	tcase_add_test(tcase, a_file_that_is_longer_than_the_reserved_range_is_refused);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("file of a shared fabric")
