/* SPDX-License-Identifier: BSD-3-Clause */
/* A process joins a fabric whose arena another one has written garbage into. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/fabric/spare.h"
#include "emu/shared/shared.h"
#include "tests/support/support.h"

static char folder[] = "/tmp/libdat-join-XXXXXX";
static struct nic_config config = NIC_CONFIG_DEFAULT;
static struct emu_world *world;
static struct emu_fabric *fab;
static struct emu_mapped mapped;
static char path[100];
static int fd;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	config.fabric = "lab";
	world = emu_world_map_bare();
	ck_assert_int_eq(emu_shared_make(world, &config), 0);
	snprintf(path, sizeof(path), "%s/datsim/lab", folder);
	ck_assert_int_eq(emu_file_open(path, &fd, &fab, &mapped), 0);
}

static void teardown_fabric(void)
{
	emu_file_unmap(fab, &mapped);
	close(fd);
	emu_world_unmap_bare(world);
	ck_assert_int_eq(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static int join(void)
{
	int err;

	memset(world, 0, offsetof(struct emu_world, nics));
	err = emu_shared_join(world, &config);
	return err;
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

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("join");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, parameters_that_no_fabric_can_have_are_refused);
	tcase_add_test(tcase, parameters_that_change_later_are_not_read_again);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("joining a shared fabric")
