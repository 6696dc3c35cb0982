/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process joins a fabric whose arena another one has written garbage into, or where another one
 * has died.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/fabric/spare.h"
#include "emu/fabric/trace.h"
#include "emu/shared/inbox.h"
#include "emu/shared/shared.h"
#include "tests/support/conf.h"
#include "tests/support/mapped.h"
#include "tests/support/runtime.h"

static struct nic_config config = NIC_CONFIG_DEFAULT;
static struct emu_world *world;
static struct emu_fabric *fab;
static struct emu_mapped mapped;
static char path[100];
static int fd;

static void setup(void)
{
	runtime_begin("join");
	config.fabric = "lab";
	world = emu_world_map_bare();
	ck_assert_int_eq(emu_shared_make(world, &config), 0);
	snprintf(path, sizeof(path), "%s/datsim/lab", runtime_folder());
	ck_assert_int_eq(emu_file_open(path, &fd, &fab, &mapped), 0);
}

static void teardown_fabric(void)
{
	emu_file_unmap(fab, &mapped);
	close(fd);
	emu_world_unmap_bare(world);
	ck_assert_int_eq(unlink(path), 0);
	runtime_end();
}

/* All but the tables, of which that of the QPs is first. */
static void clear_world(void)
{
	memset(&world->fab, 0, offsetof(struct emu_world, nics) - offsetof(struct emu_world, fab));
}

static int join(void)
{
	int err;

	clear_world();
	err = emu_shared_join(world, &config);
	return err;
}

static void ask_seed(struct nic_config *asked)
{
	asked->seed = 9;
}

static void ask_mtu(struct nic_config *asked)
{
	asked->mtu = 512;
}

static void ask_latency(struct nic_config *asked)
{
	asked->latency_ns = 77;
}

static void ask_profile(struct nic_config *asked)
{
	asked->profile = "iwarp";
}

static void ask_lockstep(struct nic_config *asked)
{
	asked->lockstep = true;
}

static void ask_trace_last(struct nic_config *asked)
{
	asked->trace_last = 65536;
}

static void ask_trace(struct nic_config *asked)
{
	asked->trace_file = "/nowhere/trace";
}

/* Division by the MTU, an index of a profile, sums of times: none may come from the arena. */
START_TEST(parameters_that_no_fabric_can_have_are_refused)
{
	struct emu_config *c = &fab->config;
	const struct {
		void *word;
		size_t size;
		uint64_t value;
	} wrong[] = {
		{ &c->mtu, 4, 0 },
		{ &c->mtu, 4, 255 },
		{ &c->mtu, 4, UINT32_MAX },
		{ &c->profile, 4, 2 },
		{ &c->latency_ns, 8, UINT64_MAX },
		{ &c->bandwidth_bps, 8, UINT64_MAX },
		{ &c->rnr_timer_ns, 8, UINT64_MAX },
		{ &c->poll_quantum_ns, 8, UINT64_MAX },
		{ &c->retry_timer_ns, 8, 0 },
		{ &c->rnr_retry, 4, 8 },
		{ &c->retry, 4, 8 },
		{ &c->addresses, 4, UINT32_MAX },
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		uint64_t kept = 0;

		memcpy(&kept, wrong[i].word, wrong[i].size);
		memcpy(wrong[i].word, &wrong[i].value, wrong[i].size);
		ck_assert_msg(join() == -EINVAL, "row %zu", i);
		memcpy(wrong[i].word, &kept, wrong[i].size);
	}
	ck_assert_int_eq(join(), 0);
	emu_shared_leave(world);
}
END_TEST

START_TEST(parameters_that_change_later_are_not_read_again)
{
	struct emu_config was;

	ck_assert_int_eq(join(), 0);
	was = world->config;
	memset(&fab->config, 0, sizeof(fab->config));
	ck_assert_mem_eq(&world->config, &was, sizeof(was));
	ck_assert_uint_eq(was.mtu, config.mtu);
	emu_shared_leave(world);
}
END_TEST

/*
 * Joins, and lives on in a child that shares its memory but none of its files: it waits in vfork.
 * The child says its number. It ends by itself if the test fails.
 */
static void __attribute__((noreturn)) join_and_share_memory(int say)
{
	pid_t pid;

	if (join() || vfork() > 0)
		_exit(1);
	pid = getpid();
	close_range(STDERR_FILENO + 1, (unsigned int)say - 1, 0);
	close_range((unsigned int)say + 1, UINT_MAX, 0);
	if (write(say, &pid, sizeof(pid)) == sizeof(pid))
		poll(NULL, 0, 60000);
	_exit(0);
}

START_TEST(a_dead_process_is_gone_though_its_memory_is_still_used)
{
	pid_t pid, sharer = 0;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		join_and_share_memory(ends[1]);
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &sharer, sizeof(sharer)), sizeof(sharer));
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(join(), 0);
	ck_assert_uint_eq(world->process, 1); /* the place of the dead one */
	emu_shared_leave(world);
	kill(sharer, SIGKILL);
	close(ends[0]);
}
END_TEST

/* A child that joins as this node, and dies with the fabric's lock if it is to. */
static pid_t member(const char *node, bool with_the_lock)
{
	int ends[2];
	char word;
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		config.node = (char *)node;
		if (join())
			_exit(1);
		if (with_the_lock)
			emu_shared_take(world);
		if (write(ends[1], "", 1) == 1)
			poll(NULL, 0, 60000);
		_exit(0);
	}
	ck_assert_int_eq(read(ends[0], &word, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

START_TEST(the_dead_are_cleaned_up_in_one_order_whoever_had_the_lock)
{
	const char *first, *second, *text;
	size_t length;
	pid_t pid[2];

	fab->trace_on = true;
	pid[0] = member("one", false);
	pid[1] = member("two", true);
	for (int i = 1; i >= 0; i--) {
		kill(pid[i], SIGKILL);
		ck_assert_int_eq(waitpid(pid[i], NULL, 0), pid[i]);
	}
	ck_assert_int_eq(join(), 0);
	ck_assert_int_eq(emu_trace_text(world, &text, &length), 0);
	first = strstr(text, ", one, is gone");
	second = strstr(text, ", two, is gone");
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_nonnull(second);
	ck_assert(first < second);
	emu_shared_leave(world);
}
END_TEST

/* What a process asks for and does not get is said, unless it is a default. */
START_TEST(settings_without_effect_are_said)
{
	static const struct {
		const char *says;
		void (*ask)(struct nic_config *asked);
	} rows[] = {
		{ "DATSIM_SEED=9 ", ask_seed },
		{ "DATSIM_MTU=512 ", ask_mtu },
		{ "DATSIM_TRACE_LAST=65536 ", ask_trace_last },
		{ "DATSIM_LATENCY_NS=77 ", ask_latency },
		{ "DATSIM_PROFILE=iwarp has no effect: it was made with ib", ask_profile },
		{ "DATSIM_LOCKSTEP has no effect", ask_lockstep },
		{ "DATSIM_TRACE=/nowhere/trace has no effect: it was made with no trace",
		  ask_trace },
	};
	struct nic_config asked = config;
	const char *said;

	if (_i < (int)COUNT(rows))
		rows[_i].ask(&asked);
	said_start();
	clear_world();
	ck_assert_int_eq(emu_shared_join(world, &asked), 0);
	emu_shared_leave(world);
	said = said_stop();
	if (_i < (int)COUNT(rows))
		ck_assert_said(said, rows[_i].says);
	else
		ck_assert_str_eq(said, "");
}
END_TEST

/* An event that was left to it is put back, for the others. */
START_TEST(a_process_that_leaves_gives_back_what_it_was_to_do)
{
	struct emu_event event = { .order = EMU_EV_ACK, .index = 7 };
	uint32_t processes;

	ck_assert_int_eq(join(), 0);
	emu_shared_take(world);
	ck_assert(emu_inbox_run(world, world->process, &event));
	processes = fab->shared.processes;
	emu_shared_release(world);
	emu_shared_leave(world);
	ck_assert_uint_eq(fab->events, 1);
	ck_assert_uint_eq(fab->heap[0].index, 7);
	ck_assert_uint_eq(fab->shared.processes, processes - 1);
}
END_TEST

START_TEST(a_fabric_that_is_made_and_not_joined_leaves_no_mapping)
{
	long before;

	ck_assert_int_eq(emu_shared_make(world, &config), -EEXIST);
	before = pages_mapped();
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(emu_shared_make(world, &config), -EEXIST);
	ck_assert_int_lt(pages_mapped(), before + 20);
}
END_TEST

/* Killed between the two: no process could take part in a fabric of that name again. */
START_TEST(a_fabric_whose_end_was_cut_short_makes_room_for_another)
{
	struct emu_shared *old = &fab->shared;
	char trace[100];

	snprintf(trace, sizeof(trace), "%s/trace", runtime_folder());
	memcpy(old->trace_path, trace, sizeof(trace));
	old->gone = true;
	ck_assert_int_eq(join(), 0);
	ck_assert_uint_eq(world->process, 1);
	ck_assert_uint_eq(old->processes, 0);
	emu_shared_leave(world);
	ck_assert_int_eq(unlink(trace), 0);
	clear_world();
	ck_assert_int_eq(emu_shared_make(world, &config), 0);
}
END_TEST

static int look(struct emu_world *guest, void *arg)
{
	(void)guest;
	(void)arg;
	return 0;
}

START_TEST(a_look_at_a_fabric_whose_end_was_cut_short_removes_its_name)
{
	fab->shared.gone = true;
	clear_world();
	ck_assert_int_eq(emu_shared_look(world, &config, true, look, NULL), -ENOENT);
	ck_assert_int_eq(access(path, F_OK), -1);
	clear_world();
	ck_assert_int_eq(emu_shared_make(world, &config), 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("join");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, parameters_that_no_fabric_can_have_are_refused);
	tcase_add_test(tcase, parameters_that_change_later_are_not_read_again);
	tcase_add_test(tcase, a_dead_process_is_gone_though_its_memory_is_still_used);
	tcase_add_test(tcase, the_dead_are_cleaned_up_in_one_order_whoever_had_the_lock);
	tcase_add_loop_test(tcase, settings_without_effect_are_said, 0, 8);
	tcase_add_test(tcase, a_process_that_leaves_gives_back_what_it_was_to_do);
	tcase_add_test(tcase, a_fabric_that_is_made_and_not_joined_leaves_no_mapping);
	tcase_add_test(tcase, a_fabric_whose_end_was_cut_short_makes_room_for_another);
	tcase_add_test(tcase, a_look_at_a_fabric_whose_end_was_cut_short_removes_its_name);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("joining a shared fabric")
