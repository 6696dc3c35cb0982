/* SPDX-License-Identifier: BSD-3-Clause */
/* libdat-turns.so alone: random numbers, names of temporary files, and the table itself. */
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include "turns_table.h"

/* ---- values ---- */

/* Newer than the oldest libc, whose <stdlib.h> does not declare it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
uint32_t arc4random(void) __attribute__((weak));
#pragma GCC diagnostic pop

static size_t by_getrandom(void *to, size_t n)
{
	return (size_t)syscall(SYS_getrandom, to, n, 0);
}

static size_t by_arc4random(void *to, size_t n)
{
	uint32_t words[4];

	for (int i = 0; i < 4; i++)
		words[i] = arc4random();
	memcpy(to, words, sizeof(words));
	return n;
}

static size_t by_fread(void *to, size_t n)
{
	FILE *file = fopen("/dev/urandom", "r");

	return fread(to, 1, 8, file) + fread((char *)to + 8, n - 8, 1, file) * (n - 8);
}

/* The byte that was pushed back comes first. */
static size_t by_getc(void *to, size_t n)
{
	FILE *file = fopen("/dev/random", "r");
	size_t done = 0;

	ungetc('x', file);
	while (done < n)
		((unsigned char *)to)[done++] = (unsigned char)getc(file);
	return done;
}

/* In a child: each begins with the same ones, as processes with the same seed and id do. */
static void draw(size_t (*by)(void *, size_t), unsigned char to[16])
{
	siginfo_t info;

	book = (struct nic_book){ 0 }; /* the ids are the same in each child */
	if (fork() == 0) {
		unsigned char drawn[16] = { 0 };
		bool good = by(drawn, sizeof(drawn)) == sizeof(drawn) &&
			    syscall(SYS_write, wire[1], drawn, sizeof(drawn)) == sizeof(drawn);

		syscall(SYS_exit_group, !good);
	}
	ck_assert_int_eq(syscall(SYS_waitid, P_ALL, 0, &info, WEXITED, NULL), 0);
	ck_assert_int_eq(info.si_status, 0);
	ck_assert_int_eq(syscall(SYS_read, wire[0], to, 16), 16);
}

START_TEST(random_numbers_are_of_the_seed_however_they_are_read)
{
	unsigned char a[16], b[16];

	begin();
	ck_assert_int_eq(pipe(wire), 0);
	draw(by_getrandom, a);
	draw(by_fread, b);
	ck_assert_mem_eq(a, b, 16);
	if (arc4random) {
		draw(by_arc4random, b);
		ck_assert_mem_eq(a, b, 4);
		ck_assert_mem_eq(a + 8, b + 4, 4); /* each takes a number of 64 bits */
	}
	draw(by_getc, a);
	draw(by_getc, b);
	ck_assert_mem_eq(a, b, 16);
	ck_assert_int_eq(a[0], 'x');
}
END_TEST

START_TEST(random_numbers_with_flags_that_linux_refuses_are_refused)
{
	static const unsigned int bad[] = { 8, 0x100, GRND_RANDOM | 4 };
	static const unsigned int good[] = { 0, GRND_NONBLOCK, GRND_RANDOM, 4 };
	char byte;

	begin();
	for (size_t i = 0; i < COUNT(bad); i++) {
		ck_assert_int_eq(getrandom(&byte, 1, bad[i]), -1);
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_int_eq(syscall(SYS_getrandom, &byte, 1, bad[i]), -1);
		ck_assert_int_eq(errno, EINVAL);
	}
	for (size_t i = 0; i < COUNT(good); i++) {
		ck_assert_int_eq(getrandom(&byte, 1, good[i]), 1);
		ck_assert_int_eq(syscall(SYS_getrandom, &byte, 1, good[i]), 1);
	}
}
END_TEST

/* A process that has drawn some: its child does not draw what it draws next. */
START_TEST(a_child_draws_other_random_numbers_than_its_parent)
{
	uint64_t own, theirs;
	siginfo_t info;

	begin();
	ck_assert_int_eq(pipe(wire), 0);
	ck_assert_int_eq(getrandom(&own, sizeof(own), 0), sizeof(own));
	if (fork() == 0) {
		getrandom(&theirs, sizeof(theirs), 0);
		syscall(SYS_write, wire[1], &theirs, sizeof(theirs));
		syscall(SYS_exit_group, 0);
	}
	ck_assert_int_eq(syscall(SYS_waitid, P_ALL, 0, &info, WEXITED, NULL), 0);
	ck_assert_int_eq(syscall(SYS_read, wire[0], &theirs, sizeof(theirs)), sizeof(theirs));
	ck_assert_int_eq(getrandom(&own, sizeof(own), 0), sizeof(own));
	ck_assert_uint_ne(own, theirs);
}
END_TEST

START_TEST(entropy_of_more_than_256_bytes_is_refused)
{
	char bytes[257];

	begin();
	ck_assert_int_eq(getentropy(bytes, 256), 0);
	ck_assert_int_eq(getentropy(bytes, sizeof(bytes)), -1);
	ck_assert_int_eq(errno, EIO);
}
END_TEST

/* ---- queues and semaphores of System V ---- */

START_TEST(what_is_set_in_a_queue_or_a_semaphore_is_told)
{
	int queue = msgget(IPC_PRIVATE, 0600), set = semget(IPC_PRIVATE, 1, 0600);
	unsigned short values[1] = { 1 };
	struct msqid_ds ds;

	begin();
	ck_assert_int_eq(msgctl(queue, IPC_STAT, &ds), 0);
	expect("");
	ck_assert_int_eq(msgctl(queue, IPC_SET, &ds), 0);
	expect("tell fd");
	ck_assert_int_eq(semctl(set, 0, SETALL, values), 0);
	expect("tell fd");
	ck_assert_int_eq(semctl(set, 0, GETVAL), 1);
	expect("");
	ck_assert_int_eq(semctl(set, 0, IPC_RMID), 0);
	ck_assert_int_eq(msgctl(queue, IPC_RMID, NULL), 0);
	expect("tell fd, tell fd");
}
END_TEST

/* As many as Linux takes; the last one has to wait. */
START_TEST(a_call_of_500_operations_of_semaphores_is_waited_for)
{
	int set = semget(IPC_PRIVATE, 1, 0600);
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct sembuf ops[500];

	begin();
	for (size_t i = 0; i < COUNT(ops); i++)
		ops[i] = (struct sembuf){ .sem_op = i == COUNT(ops) - 1 ? -1 : 0 };
	ck_assert_int_eq(semtimedop(set, ops, COUNT(ops), &ms), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect("wait fd 1000000");
	ck_assert_int_eq(semctl(set, 0, IPC_RMID), 0);
}
END_TEST

/* ---- names of temporary files ---- */

static char folder[] = "/tmp/turns-names-XXXXXX";
static bool stays; /* the first file */

/* Six letters of a file, six of a folder, and the first random numbers after that. */
static size_t by_name(void *to, size_t n)
{
	char file[64], other[64];
	int fd;

	snprintf(file, sizeof(file), "%s/fXXXXXX.suffix", folder);
	snprintf(other, sizeof(other), "%s/dXXXXXX", folder);
	fd = mkostemps(file, 7, O_CLOEXEC);
	if (fd < 0 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC) ||
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return 0;
	if (!mkdtemp(other) || rmdir(other) || (!stays && unlink(file)))
		return 0;
	memcpy(to, file + strlen(folder) + 2, 6);
	memcpy((char *)to + 6, other + strlen(folder) + 2, 6);
	return 12 + by_getrandom((char *)to + 12, n - 12);
}

START_TEST(names_of_temporary_files_are_of_the_seed_and_pass_over_those_in_use)
{
	unsigned char a[16], b[16];
	char path[64];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	begin();
	ck_assert_int_eq(pipe(wire), 0);
	draw(by_name, a);
	stays = true;
	draw(by_name, b);
	ck_assert_mem_eq(a, b, 16);
	ck_assert_mem_ne(a, a + 6, 6);
	snprintf(path, sizeof(path), "%s/f%.6s.suffix", folder, (char *)a);
	stays = false;
	draw(by_name, b);
	ck_assert_mem_eq(a + 6, b, 6);       /* the second name */
	ck_assert_mem_eq(a + 12, b + 12, 4); /* and no other number for that */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(what_is_no_template_stays_as_it_is)
{
	char shorter[] = "XXXXX", behind[] = "XXXXXXx", nowhere[] = "/nonesuch/XXXXXX";

	begin();
	ck_assert_int_eq(mkstemp(shorter), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(mkstemp(behind), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(mkstemps(behind, -1), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(mkdtemp(nowhere));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(nowhere, "/nonesuch/XXXXXX");
}
END_TEST

/* ---- the table itself ---- */

START_TEST(a_shorter_table_is_not_met_and_one_only_once)
{
	static struct outside older;

	begin();
	older = table;
	older.size = sizeof(older) - 1;
	meet(&older);
	meet(&table);
	older.wait = NULL;
	older.tell = NULL;
	ck_assert_int_eq(usleep(1), 0);
	expect("wait 1000");
	ck_assert_int_eq(give(0, 0), 1);
	expect("tell fd");
}
END_TEST

/* One for libdat, one for libibverbs; a third has no place. */
START_TEST(two_tables_are_met_and_no_more)
{
	static struct outside others[2];

	begin();
	for (int i = 0; i < 2; i++) {
		others[i] = table;
		meet_table(&others[i]);
	}
	ck_assert_int_eq(give(0, 0), 1);
	expect("tell fd, tell fd");
	answer = OUTSIDE_NONE;
	ck_assert_int_eq(usleep(1), 0);
	expect("wait 1000, wait 1000, leave, leave");
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, random_numbers_are_of_the_seed_however_they_are_read, 1, NULL);
	unit_add(suite, random_numbers_with_flags_that_linux_refuses_are_refused, 1, NULL);
	unit_add(suite, a_child_draws_other_random_numbers_than_its_parent, 1, NULL);
	unit_add(suite, entropy_of_more_than_256_bytes_is_refused, 1, NULL);
	unit_add(suite, what_is_set_in_a_queue_or_a_semaphore_is_told, 1, NULL);
	unit_add(suite, a_call_of_500_operations_of_semaphores_is_waited_for, 1, NULL);
	unit_add(suite, names_of_temporary_files_are_of_the_seed_and_pass_over_those_in_use, 1,
		 NULL);
	unit_add(suite, what_is_no_template_stays_as_it_is, 1, NULL);
	unit_add(suite, a_shorter_table_is_not_met_and_one_only_once, 1, NULL);
	unit_add(suite, two_tables_are_met_and_no_more, 1, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return turns_main(argv, "turns_calls", fill);
}
