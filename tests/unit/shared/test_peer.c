/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payload goes to the process that joined the fabric and to no other, whatever the arena says of it
 * and whichever process has its pid now.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/fabric/spare.h"
#include "emu/payload/reach.h"
#include "emu/payload/split.h"
#include "emu/shared/shared.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

enum {
	ROOM = 256 << 10, /* longer than what is copied by pid */
	OWN = 1,          /* this process, in the fabric */
	OTHER = 2,
	STRANGER = 3,
	PAYLOAD = 0x5a,
};

static const uint64_t lengths[] = { 64, 4096, ROOM };

static const struct nic_config config = { .fabric = "lab" };
static struct emu_world *world;
/* Of each process at the same address. */
static uint8_t *mine, *theirs;
static uint64_t token = 0x0123456789abcdef;

/* A path of /proc, and the one that is opened in its place: its pid has been used again. */
static struct {
	char path[64], opens[64];
	bool happened;
} reused;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);

int __wrap_open(const char *path, int flags, mode_t mode)
{
	bool is_it = reused.path[0] && strcmp(path, reused.path) == 0;

	reused.happened |= is_it;
	return __real_open(is_it ? reused.opens : path, flags, mode);
}

static bool join(void)
{
	struct nic_config with = NIC_CONFIG_DEFAULT;

	with.fabric = config.fabric;
	world = emu_world_map_bare();
	return world && emu_shared_join(world, &with) == 0;
}

static uint8_t *map_room(void)
{
	uint8_t *at = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

static void setup(void)
{
	runtime_begin("peer");
	mine = map_room();
	theirs = map_room();
	memset(mine, PAYLOAD, ROOM);
	ck_assert(join());
	ck_assert_uint_eq(world->process, OWN);
	world->range[1] = (struct emu_range){ (uintptr_t)mine, ROOM, 1 << 8 };
	world->range_high = 1;
}

static void teardown_fabric(void)
{
	emu_shared_leave(world);
	emu_world_unmap_bare(world);
	runtime_end();
}

static void live(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* A process that takes part in the fabric as OTHER. */
static pid_t start_other(void)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (join() && write(ready[1], &byte, 1) == 1)
			live();
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* One that does not; pid 0: any. -1: the kernel does not let this process choose a pid. */
static pid_t start_stranger(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&pid,
				   .set_tid_size = 1 };
	/* valgrind has no clone3. */
	pid_t stranger = pid ? (pid_t)syscall(SYS_clone3, &args, sizeof(args)) : fork();

	if (stranger == 0)
		live();
	return stranger;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static bool send_bytes(uint64_t length)
{
	const struct emu_place from = { OWN, (uintptr_t)mine, 0 };
	const struct emu_place to = { OTHER, (uintptr_t)theirs, 0 };

	return emu_reach_copy(world, &to, &from, length) == EMU_COPY_OK;
}

/* The bytes at the start of `theirs` in that process that are PAYLOAD. */
static uint64_t arrived(pid_t pid)
{
	static uint8_t seen[ROOM];
	struct iovec local = { seen, ROOM }, remote = { theirs, ROOM };
	uint64_t n = 0;

	ck_assert_int_eq(process_vm_readv(pid, &local, 1, &remote, 1, 0), ROOM);
	while (n < ROOM && seen[n] == PAYLOAD)
		n++;
	return n;
}

START_TEST(a_changed_pid_in_the_arena_leads_to_no_stranger)
{
	pid_t other = start_other(), stranger = start_stranger(0);

	ck_assert(send_bytes(1));
	emu_process(world, OTHER)->pid = stranger;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		ck_assert(send_bytes(lengths[i]));
		ck_assert_uint_eq(arrived(stranger), 0);
		ck_assert_uint_eq(arrived(other), lengths[i]);
	}
	end(other);
	end(stranger);
}
END_TEST

START_TEST(a_pid_that_is_used_again_leads_to_no_stranger)
{
	pid_t other = start_other(), stranger;

	ck_assert(send_bytes(1));
	end(other);
	stranger = start_stranger(other);
	if (stranger < 0) {
		printf("# skipped: no pid of one's choice: %s\n", strerror(errno));
		return;
	}
	for (size_t i = 0; i < COUNT(lengths); i++) {
		ck_assert(!send_bytes(lengths[i]));
		ck_assert_uint_eq(arrived(stranger), 0);
	}
	end(stranger);
}
END_TEST

/*
 * The kernel gives the pid of a member that ends to another member, between the first look at its
 * memory, which is by pid, and the opening.
 */
START_TEST(a_pid_that_is_used_again_at_the_opening_leads_to_no_other_member)
{
	pid_t other = start_other(), third = start_other();

	snprintf(reused.path, sizeof(reused.path), "/proc/%d/mem", other);
	snprintf(reused.opens, sizeof(reused.opens), "/proc/%d/mem", third);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		send_bytes(lengths[i]);
		ck_assert_uint_eq(arrived(third), 0);
	}
	ck_assert(reused.happened);
	end(other);
	end(third);
}
END_TEST

/* It has the pid and the nonce that the arena promises, at the right address. */
START_TEST(a_process_that_does_not_map_the_arena_is_not_written_to)
{
	const struct emu_place from = { OWN, (uintptr_t)mine, 0 };
	const struct emu_place to = { STRANGER, (uintptr_t)theirs, 0 };
	pid_t stranger = start_stranger(0);

	*emu_process(world, STRANGER) = (struct emu_process){ .pid = stranger,
							      .generation = 1,
							      .probe = (uintptr_t)&token,
							      .nonce = token };
	for (size_t i = 0; i < COUNT(lengths); i++) {
		emu_reach_copy(world, &to, &from, lengths[i]);
		ck_assert_uint_eq(arrived(stranger), 0);
	}
	end(stranger);
}
END_TEST

/* A late copy of the receiver, from a sender that has died, would go over the new payload. */
START_TEST(a_receiver_that_still_helps_is_offered_nothing)
{
	const struct emu_split_way way = { .to = OTHER,
					   .to_addr = (uintptr_t)theirs,
					   .from_addr = (uintptr_t)mine,
					   .length = ROOM };
	struct emu_cq *cq = &world->fab->cq[1];
	pid_t other = start_other();

	cq->head.live = 1;
	ck_assert_int_eq(emu_inline_init(world, cq), 0);
	emu_process(world, OTHER)->helps = true;
	ck_assert_int_eq(emu_split_place(world, cq, &way), EMU_SPLIT_NOT);
	ck_assert_uint_eq(arrived(other), 0);
	emu_process(world, OTHER)->helps = false;
	ck_assert_int_eq(emu_split_place(world, cq, &way), EMU_SPLIT_PLACED);
	ck_assert_uint_eq(arrived(other), ROOM);
	ck_assert_uint_eq(emu_inline_at(world, cq, cq->put)->rest.length, 0);
	emu_inline_fini(world, cq);
	cq->head.live = 0;
	end(other);
}
END_TEST

static struct emu_split *offer(uint64_t from_addr)
{
	struct emu_split *split = &world->fab->shared.split;

	*split = (struct emu_split){ .claims = ((split->claims >> 32) + 1) << 32,
				     .from = OTHER,
				     .generation = emu_process(world, OTHER)->generation,
				     .to = OWN,
				     .from_addr = from_addr,
				     .to_addr = (uintptr_t)mine,
				     .to_lkey = 1 << 8,
				     .length = ROOM };
	return split;
}

/* Its entry may have another process now, and be the same in everything else. */
START_TEST(what_another_process_than_the_sender_has_is_not_read)
{
	pid_t other = start_other();

	offer((uintptr_t)theirs)->generation++;
	ck_assert(!emu_split_help(world));
	offer((uintptr_t)theirs);
	emu_split_withdraw(world);
	ck_assert(!emu_split_help(world));
	offer((uintptr_t)theirs);
	emu_process(world, OWN)->exits = true; /* without the library's lock */
	ck_assert(!emu_split_help(world));
	emu_process(world, OWN)->exits = false;
	ck_assert_uint_eq(mine[0], PAYLOAD);
	ck_assert_uint_eq(mine[ROOM - 1], PAYLOAD);
	offer((uintptr_t)theirs);
	ck_assert(emu_split_help(world));
	ck_assert_uint_eq(mine[0], 0);
	ck_assert_uint_eq(mine[ROOM - 1], 0);
	end(other);
}
END_TEST

START_TEST(a_sender_whose_memory_cannot_be_read_is_not_helped_again)
{
	struct emu_process *own = emu_process(world, OWN);
	pid_t other = start_other();
	uint64_t number = offer(EMU_PAGE)->claims >> 32;

	ck_assert(emu_split_help(world));
	ck_assert_uint_eq(own->help_failed, number);
	ck_assert(!own->helps);
	offer((uintptr_t)theirs);
	ck_assert(!emu_split_help(world));
	ck_assert_uint_eq(mine[0], PAYLOAD);
	end(other);
}
END_TEST

/* Nothing of a process that exited, or died while it helped, is said of the next one. */
START_TEST(an_entry_that_is_used_again_begins_anew)
{
	struct emu_process *process = emu_process(world, OTHER);
	pid_t other;

	process->exits = process->helps = true;
	other = start_other();
	ck_assert(!process->exits);
	ck_assert(!process->helps);
	end(other);
}
END_TEST

/* Descriptor 0 is the program's; a process without an entry has none. */
START_TEST(who_leaves_closes_no_descriptor_of_the_program)
{
	int null = open("/dev/null", O_RDWR);
	struct stat before, after;

	ck_assert_int_ge(dup2(null, 0), 0);
	ck_assert_int_eq(fstat(0, &before), 0);
	emu_peer_forget_all(world);
	ck_assert_int_eq(fstat(0, &after), 0);
	ck_assert_uint_eq(after.st_rdev, before.st_rdev);
	if (null > 0)
		close(null);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("peer");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, a_changed_pid_in_the_arena_leads_to_no_stranger);
	tcase_add_test(tcase, a_pid_that_is_used_again_leads_to_no_stranger);
	tcase_add_test(tcase, a_pid_that_is_used_again_at_the_opening_leads_to_no_other_member);
	tcase_add_test(tcase, a_process_that_does_not_map_the_arena_is_not_written_to);
	tcase_add_test(tcase, a_receiver_that_still_helps_is_offered_nothing);
	tcase_add_test(tcase, what_another_process_than_the_sender_has_is_not_read);
	tcase_add_test(tcase, a_sender_whose_memory_cannot_be_read_is_not_helped_again);
	tcase_add_test(tcase, an_entry_that_is_used_again_begins_anew);
	tcase_add_test(tcase, who_leaves_closes_no_descriptor_of_the_program);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("memory of other processes")
