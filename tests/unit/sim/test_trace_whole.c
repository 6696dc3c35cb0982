/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning of a trace and its end, whatever lies between them. */
#include "trace_lines.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/conf.h"

static const struct setting {
	const char *variable, *value, *line;
} settings[] = {
	{ "DATSIM_LATENCY_NS", "77", "# latency_ns=77\n" },
	{ "DATSIM_BANDWIDTH_BPS", "8000000000", "# bandwidth_bps=8000000000\n" },
	{ "DATSIM_MTU", "512", "# mtu=512\n" },
	{ "DATSIM_RNR_RETRY", "3", "# rnr_retry=3\n" },
	{ "DATSIM_RNR_TIMER_NS", "5555", "# rnr_timer_ns=5555\n" },
	{ "DATSIM_RETRY_TIMER_NS", "4444", "# retry_timer_ns=4444\n" },
};

/* The trace lists the settings that differ from their defaults. */
START_TEST(a_trace_begins_with_the_settings_of_its_fabric)
{
	const struct setting *s = &settings[_i];
	const char *text;
	size_t length;

	setenv(s->variable, s->value, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv(s->variable);
	traced();
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_ptr_nonnull(strstr(text, s->line));
	for (size_t i = 0; i < COUNT(settings); i++)
		if (i != (size_t)_i)
			ck_assert_ptr_null(strstr(text, settings[i].line));
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
}
END_TEST

/* The lowest free descriptor is the same again. */
START_TEST(a_trace_that_has_ended_keeps_no_descriptor)
{
	int free_before = dup(STDIN_FILENO), free_after;
	char file[64];

	ck_assert_int_ge(free_before, 0);
	close(free_before);
	snprintf(file, sizeof(file), "trace_whole.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv("DATSIM_TRACE");
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	ck_assert_int_eq(unlink(file), 0);
	free_after = dup(STDIN_FILENO);
	close(free_after);
	ck_assert_int_eq(free_after, free_before);
}
END_TEST

/* The short ways of posts and dequeues, which write no lines, are not taken from the beginning. */
START_TEST(a_fabric_that_begins_traced_has_a_line_for_each_post_and_each_completion)
{
	char file[64];

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	snprintf(file, sizeof(file), "trace_whole.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv("DATSIM_TRACE");
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, 8);
	run_quiet();
	for (int i = 0; i < 3; i++)
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
	ck_assert_int_eq(lines_with(" emu1.ep1 post_recv "), 3);
	ck_assert_int_eq(lines_with(" emu0.ep1 post_send "), 3);
	ck_assert_int_eq(lines_with(" emu1.ep1 reap op=RECV "), 3);
	unlink(file);
}
END_TEST

/* Puts a descriptor that cannot be written in the place of the one of this file. */
static void spoil_descriptor(const char *path)
{
	DIR *folder = opendir("/proc/self/fd");
	char name[300], target[4096];
	struct dirent *entry;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_ptr_nonnull(folder);
	while ((entry = readdir(folder)) != NULL) {
		ssize_t n;

		snprintf(name, sizeof(name), "/proc/self/fd/%s", entry->d_name);
		n = readlink(name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, path) == 0)
			ck_assert_int_ge(dup2(null, atoi(entry->d_name)), 0);
	}
	closedir(folder);
	close(null);
}

START_TEST(a_trace_that_cannot_be_ended_is_told)
{
	char path[] = "/tmp/libdat-trace-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	setenv("DATSIM_TRACE", path, 1);
	side_open(&w.a, "emu0");
	unsetenv("DATSIM_TRACE");
	spoil_descriptor(path);
	said_start();
	side_close(&w.a);
	ck_assert_said(said_stop(), "cannot end the trace");
	unlink(path);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_trace_begins_with_the_settings_of_its_fabric, (int)COUNT(settings), NULL);
	unit_add(suite, a_trace_that_has_ended_keeps_no_descriptor, 1, NULL);
	unit_test_bare(suite,
		       a_fabric_that_begins_traced_has_a_line_for_each_post_and_each_completion);
	unit_test_bare(suite, a_trace_that_cannot_be_ended_is_told);
}

UNIT_SUITE("trace_whole")
