/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace that keeps its end (DATSIM_TRACE_LAST), in memory and in a file: what it keeps is the end
 * of the trace that the same program has without the limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/model.h"
#include "tests/support/conf.h"
#include "tests/support/support.h"

#define LAST     "65536"
#define MESSAGES 4000
#define DROPPED                                                                       \
	" - note the trace keeps its end (DATSIM_TRACE_LAST): lines before this one " \
	"are missing\n"

static char folder[32];
static char path[64];

/* ---- mappings of a file in place of another one: some succeed, then some are refused ---- */

static int good_mappings, refused_mappings;

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (refused_mappings > 0 && (flags & MAP_FIXED) && (flags & MAP_SHARED) &&
	    good_mappings-- <= 0) {
		refused_mappings--;
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, bytes, protection, flags, fd, offset);
}

/* ---- the traces ---- */

static void setup_folder(const char *in)
{
	snprintf(folder, sizeof(folder), "%s/libdat-last-XXXXXX", in);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	umask(027);
}

/* A fabric, with these settings unless they are NULL. */
static void begin(const char *last, const char *file)
{
	if (last)
		setenv("DATSIM_TRACE_LAST", last, 1);
	if (file)
		setenv("DATSIM_TRACE", file, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv("DATSIM_TRACE_LAST");
	unsetenv("DATSIM_TRACE");
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	must(dat_sim_trace(w.sim, DAT_TRUE));
}

static void end(void)
{
	side_close(&w.a);
	side_close(&w.b);
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
}

static void messages(int n)
{
	for (int i = 0; i < n; i++) {
		post_recv(&w.b, w.b.ep, 0);
		post_send(&w.a, w.a.ep, 1, 8);
		run_quiet();
		expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_SUCCESS);
	}
}

/* The text of the trace of those messages in memory. The caller frees it. */
static char *traced(const char *last, int n)
{
	const char *text;
	size_t length;
	char *copy;

	begin(last, NULL);
	messages(n);
	must(dat_sim_trace_read(w.sim, &text, &length));
	copy = strdup(text);
	end();
	return copy;
}

/* A file's text, which ends with its end mark. The caller frees it. */
static char *text_of_file(const char *name)
{
	FILE *file = fopen(name, "r");
	struct stat st;
	char *text;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fstat(fileno(file), &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	ck_assert_uint_eq(fread(text, 1, (size_t)st.st_size, file), (size_t)st.st_size);
	fclose(file);
	return text;
}

/* Behind the header and the note the text is the end of that of the whole trace. */
static size_t expect_end_of(const char *whole, const char *text)
{
	const char *note = strstr(text, DROPPED), *kept;
	size_t length;

	ck_assert_ptr_nonnull(note);
	ck_assert_int_eq(strncmp(text, whole, (size_t)(strstr(text, "\n# trace_last=") - text)), 0);
	kept = note + strlen(DROPPED);
	length = strlen(kept);
	ck_assert_uint_lt(length, strlen(whole));
	ck_assert_str_eq(kept, whole + strlen(whole) - length);
	/* It begins with a whole line, at whose time the note is. */
	ck_assert_int_eq(whole[strlen(whole) - length - 1], '\n');
	while (note[-1] != '\n')
		note--;
	ck_assert_int_eq(strncmp(note, kept, strcspn(kept, " ") + 1), 0);
	return length;
}

START_TEST(the_end_of_a_trace_in_memory_is_that_of_the_whole_one)
{
	char *whole = traced(NULL, MESSAGES), *text = traced(LAST, MESSAGES);
	char *again = traced(LAST, MESSAGES);

	ck_assert_uint_ge(expect_end_of(whole, text), strtoul(LAST, NULL, 10));
	ck_assert_str_eq(text, again);
	free(whole);
	free(text);
	free(again);
}
END_TEST

START_TEST(a_trace_that_is_short_is_whole)
{
	static const char setting[] = "# trace_last=" LAST "\n";
	char *whole = traced(NULL, 100), *text = traced(LAST, 100);
	size_t head = (size_t)(strstr(text, setting) - text);

	ck_assert_int_eq(strncmp(whole, text, head), 0);
	ck_assert_str_eq(whole + head, text + head + strlen(setting));
	free(whole);
	free(text);
}
END_TEST

/* Each time the text is that of what is kept, whatever was read before. */
START_TEST(a_trace_is_read_while_it_grows)
{
	const char *text;
	size_t length;
	char *whole;

	for (int n = 500; n <= 2500; n += 500) {
		whole = traced(NULL, n);
		begin(LAST, NULL);
		for (int i = 0; i < n; i += 500) {
			messages(500);
			must(dat_sim_trace_read(w.sim, &text, &length));
			ck_assert_uint_eq(length, strlen(text));
		}
		if (n > 1500)
			expect_end_of(whole, text);
		end();
		free(whole);
	}
}
END_TEST

/* Another file takes its place again and again, wherever the program is. */
START_TEST(the_end_of_a_trace_in_a_file_is_that_of_the_whole_one)
{
	char *whole, *text, *live, here[256];
	struct stat st;
	size_t lines = 0;

	setup_folder(_i ? "/dev/shm" : "/tmp");
	begin(NULL, path);
	messages(MESSAGES);
	end();
	whole = text_of_file(path);
	*strstr(whole, "# end lines=") = '\0';
	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	ck_assert_int_eq(chdir(folder), 0);
	begin(LAST, "trace");
	ck_assert_int_eq(chdir("/"), 0);
	messages(MESSAGES);
	live = text_of_file(path);
	end();
	ck_assert_int_eq(chdir(here), 0);
	text = text_of_file(path);
	/* A program that is killed leaves what it has written. */
	ck_assert_ptr_nonnull(strstr(live, DROPPED));
	ck_assert_int_eq(strncmp(text, live, strlen(live)), 0);
	ck_assert_int_eq(live[strlen(live) - 1], '\n');
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	ck_assert_uint_le((size_t)st.st_size, 256ul << 10);
	for (const char *at = strstr(text, DROPPED); (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	ck_assert_uint_eq(strtoul(strstr(text, "# end lines=") + 12, NULL, 10), lines - 1);
	*strstr(text, "# end lines=") = '\0';
	ck_assert_uint_ge(expect_end_of(whole, text), strtoul(LAST, NULL, 10));
	free(whole);
	free(text);
	free(live);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* What the file of the trace is told to be, and how the trace is then. */
static char *file_of(const char *last, const char *file, int n, const char **said)
{
	said_start();
	begin(last, file);
	messages(n);
	end();
	*said = said_stop();
	return text_of_file(path);
}

/* A trace to the file, beside the text of the whole one, which is returned. */
static char *begin_beside_whole(void)
{
	const char *said;
	char *whole;

	setup_folder("/tmp");
	whole = file_of(NULL, path, MESSAGES, &said);
	ck_assert_str_eq(said, "");
	said_start();
	begin(LAST, path);
	return whole;
}

/* Its file has the end of the whole one. Returns what was said, which has to have `told`. */
static const char *end_beside_whole(char *whole, const char *told)
{
	const char *said;
	char *text;

	end();
	said = said_stop();
	ck_assert_said(said, told);
	text = text_of_file(path);
	*strstr(whole, "# end lines=") = *strstr(text, "# end lines=") = '\0';
	expect_end_of(whole, text);
	ck_assert_uint_le(strlen(text), 256ul << 10);
	free(whole);
	free(text);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	return said;
}

/* While no other can take its place it grows, and says so once; then it keeps its end again. */
START_TEST(a_file_that_no_other_can_follow_keeps_more)
{
	char *whole = begin_beside_whole(), *text, away[64];
	const char *said;

	snprintf(away, sizeof(away), "%s.away", folder);
	ck_assert_int_eq(rename(folder, away), 0);
	messages(MESSAGES / 2);
	ck_assert_int_eq(rename(away, folder), 0);
	text = text_of_file(path);
	ck_assert_ptr_null(strstr(text, DROPPED));
	ck_assert_uint_gt(strlen(text), 512ul << 10);
	free(text);
	messages(MESSAGES / 2);
	said = end_beside_whole(whole, "more than its end, no file can take the place of ");
	ck_assert_ptr_null(strstr(strstr(said, "more than") + 1, "more than"));
}
END_TEST

/* It cannot grow any more, but can be replaced at last. */
START_TEST(a_file_at_its_greatest_length_is_replaced)
{
	char *whole = begin_beside_whole(), away[64];

	model_world()->config.trace_bytes = 1ul << 20;
	snprintf(away, sizeof(away), "%s.away", folder);
	ck_assert_int_eq(rename(folder, away), 0);
	while (model_world()->fab->trace_room < 1ul << 20)
		messages(1);
	ck_assert_int_eq(rename(away, folder), 0);
	/* As many as in the whole trace: a message takes one number of the pair. */
	messages((int)(MESSAGES - qp_entry_of(w.a.ep)->sq.put));
	end_beside_whole(whole, "no file can take the place of ");
}
END_TEST

/* A folder has taken its name: the file goes on without one, until it can be replaced again. */
START_TEST(a_name_that_is_taken_is_no_end_of_the_trace)
{
	char *whole = begin_beside_whole();

	messages(MESSAGES / 4);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	messages(MESSAGES / 4);
	ck_assert_int_eq(rmdir(path), 0);
	messages(MESSAGES / 2);
	end_beside_whole(whole, "/trace: Is a directory");
}
END_TEST

/* The old file is still mapped then. */
START_TEST(a_file_that_cannot_be_mapped_is_no_end_of_the_trace)
{
	char *whole = begin_beside_whole();

	messages(MESSAGES / 4);
	good_mappings = 0;
	refused_mappings = 2;
	messages(3 * MESSAGES / 4);
	ck_assert_int_eq(refused_mappings, 0);
	end_beside_whole(whole, "/trace: Cannot allocate memory");
}
END_TEST

/* A standard stream of the program leads to it, under whatever name: it stays that file. */
START_TEST(the_output_of_the_program_is_not_replaced)
{
	struct stat before, after;
	int fd, kept = dup(_i);

	setup_folder("/tmp");
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(dup2(fd, _i), _i);
	close(fd);
	begin(LAST, path);
	messages(MESSAGES);
	end();
	ck_assert_int_eq(dup2(kept, _i), _i);
	close(kept);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_uint_eq(after.st_ino, before.st_ino);
	ck_assert_int_gt(after.st_size, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* The new file was mapped, but cannot have the name, and the old one cannot be mapped again. */
START_TEST(a_trace_without_a_file_ends)
{
	const char *text, *said;
	size_t length;

	setup_folder("/tmp");
	said_start();
	begin(LAST, path);
	messages(MESSAGES / 4);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	good_mappings = refused_mappings = 1;
	messages(MESSAGES / 4);
	ck_assert_int_eq(refused_mappings, 0);
	must(dat_sim_trace(w.sim, DAT_TRUE));
	messages(10);
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_ptr_null(strstr(text, "post_send"));
	end();
	said = said_stop();
	ck_assert_said(said, "the trace ends, no file can be mapped for it: Is a directory");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* A new file that cannot be written whole does not take the place of the old one. */
START_TEST(a_file_whose_successor_is_too_large_is_kept)
{
	struct rlimit before, small;
	const char *said;
	char *text;

	setup_folder("/tmp");
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 100ul << 10, before.rlim_max };
	said_start();
	begin(LAST, path);
	messages(400);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	messages(MESSAGES);
	end();
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	said = said_stop();
	ck_assert_said(said, "no file can take the place of ");
	ck_assert_said(said, "the trace ends early, its file cannot grow: File too large");
	text = text_of_file(path);
	ck_assert_ptr_null(strstr(text, DROPPED));
	ck_assert_uint_gt(strlen(text), 200ul << 10);
	ck_assert_ptr_nonnull(strstr(text, " - note the trace is full"));
	free(text);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* The lowest one that is free: that of the old file or that of the new one. */
START_TEST(files_that_were_replaced_keep_no_descriptor)
{
	int before, after;

	setup_folder("/tmp");
	begin(LAST, path);
	before = dup(STDIN_FILENO);
	close(before);
	messages(MESSAGES);
	after = dup(STDIN_FILENO);
	close(after);
	end();
	ck_assert_int_ge(after, before - 1);
	ck_assert_int_le(after, before + 1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* Neither may the file grow, nor a new one become as long as its half. */
START_TEST(a_file_that_may_not_grow_is_full)
{
	struct rlimit before, small;
	const char *said;
	char *text;

	setup_folder("/tmp");
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 130ul << 10, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	text = file_of(LAST, path, MESSAGES, &said);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_said(said, "the trace ends early, its file cannot grow: File too large");
	ck_assert_ptr_nonnull(strstr(text, " - note the trace is full"));
	free(text);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* It has no name of its own, or that of the program's output: it is written at the end. */
START_TEST(a_file_that_is_not_ours_to_replace_gets_the_end)
{
	static const char output[] = "the program's output\n";
	char *whole, *text, alias[64];
	const char *said;
	int fd;

	setup_folder("/tmp");
	whole = file_of(NULL, path, MESSAGES, &said);
	fd = open(path, O_RDWR | O_TRUNC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, output, strlen(output)), (int)strlen(output));
	snprintf(alias, sizeof(alias), "/proc/self/fd/%d", fd);
	begin(LAST, alias);
	messages(MESSAGES);
	end();
	text = text_of_file(path);
	ck_assert_int_eq(strncmp(text, output, strlen(output)), 0);
	*strstr(whole, "# end lines=") = *strstr(text, "# end lines=") = '\0';
	expect_end_of(whole, text + strlen(output));
	free(text);
	ck_assert_int_eq(unlink(path), 0);
	/* Now it has no name at all. */
	begin(LAST, alias);
	messages(100);
	end();
	ck_assert_int_gt(lseek(fd, 0, SEEK_END), 1000);
	close(fd);
	free(whole);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* Its name stays a link; the file that it leads to is replaced. */
START_TEST(a_link_to_a_trace_stays_a_link)
{
	struct stat st;
	char *text, to[80];

	setup_folder("/tmp");
	snprintf(to, sizeof(to), "%s/real", folder);
	ck_assert_int_eq(symlink("real", path), 0);
	begin(LAST, path);
	messages(MESSAGES);
	end();
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	text = text_of_file(to);
	ck_assert_ptr_nonnull(strstr(text, DROPPED));
	ck_assert_ptr_nonnull(strstr(text, "# end lines="));
	free(text);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(unlink(to), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, the_end_of_a_trace_in_memory_is_that_of_the_whole_one, 1, NULL);
	unit_add(suite, a_trace_that_is_short_is_whole, 1, NULL);
	unit_add(suite, a_trace_is_read_while_it_grows, 1, NULL);
	unit_add(suite, the_end_of_a_trace_in_a_file_is_that_of_the_whole_one, 2, NULL);
	unit_add(suite, a_file_that_no_other_can_follow_keeps_more, 1, NULL);
	unit_add(suite, a_file_at_its_greatest_length_is_replaced, 1, NULL);
	unit_add(suite, the_output_of_the_program_is_not_replaced, 3, NULL);
	unit_add(suite, a_name_that_is_taken_is_no_end_of_the_trace, 1, NULL);
	unit_add(suite, a_file_that_cannot_be_mapped_is_no_end_of_the_trace, 1, NULL);
	unit_add(suite, a_trace_without_a_file_ends, 1, NULL);
	unit_add(suite, a_file_whose_successor_is_too_large_is_kept, 1, NULL);
	unit_add(suite, files_that_were_replaced_keep_no_descriptor, 1, NULL);
	unit_add(suite, a_file_that_may_not_grow_is_full, 1, NULL);
	unit_add(suite, a_file_that_is_not_ours_to_replace_gets_the_end, 1, NULL);
	unit_add(suite, a_link_to_a_trace_stays_a_link, 1, NULL);
}

UNIT_SUITE("trace_last")
