/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which notifications wake another process. A CNO without a waiting thread makes none: else each
 * message would wake the helper thread of a program that polls an EVD with a CNO.
 */

#include "emu/cq.h"
#include "emu/fabric/spare.h"
#include "lib/evd/evd.h"
#include "lib/object.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	OWNER = 2,   /* the process that the CQ belongs to */
	ADAPTER = 1, /* of OWNER */
	CQ = 1,
};

/* ---- in the fabric ---- */

static struct emu_world *world;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_join(config);
	world->fab->adapters[ADAPTER].process = OWNER;
	world->fab->cq[CQ] = (struct emu_cq){ .adapter = ADAPTER, .put = 1 };
	world->membership->to_wake = 0;
}

static void teardown_fabric(void)
{
	emu_process(world, OWNER)->inbox = 0;
	emu_process(world, OWNER)->sleepers = 0;
	world->fab->cq[CQ] = (struct emu_cq){ .put = 0 };
	lone_leave(world);
}

/* Is the owner woken for a completion? It finds the notification in its inbox, or not. */
static bool wakes_owner(enum emu_armed armed, uint32_t sleepers)
{
	struct emu_process *owner = emu_process(world, OWNER);
	bool woken;

	owner->inbox = 0;
	owner->sleepers = sleepers;
	world->fab->cq[CQ].armed = (uint8_t)armed;
	emu_cq_notify(world, CQ);
	ck_assert_uint_eq(world->fab->cq[CQ].armed, EMU_ARMED_NOT);
	ck_assert_uint_ne(owner->inbox, 0);
	woken = world->membership->to_wake & 1ul << (OWNER - 1);
	world->membership->to_wake = 0;
	return woken;
}

START_TEST(a_patient_notification_wakes_threads_that_wait_only)
{
	ck_assert(!wakes_owner(EMU_ARMED_PATIENT, 0));
	ck_assert(wakes_owner(EMU_ARMED_PATIENT, 1));
	ck_assert(wakes_owner(EMU_ARMED_ANY, 0));
	ck_assert(wakes_owner(EMU_ARMED_ANY, 1));
}
END_TEST

/* ---- above the door ---- */

static enum emu_armed armed_of(DAT_EVD_HANDLE handle)
{
	struct evd *evd = obj_as(struct evd, (struct obj *)handle_slot(handle)->object);

	return (enum emu_armed)emu_local_cq(evd->cq)->entry->armed;
}

static void ignore_call(void *instance, DAT_EVD_HANDLE evd)
{
	(void)instance;
	(void)evd;
}

START_TEST(an_EVD_is_patient_while_its_CNO_has_no_agent)
{
	const DAT_OS_WAIT_PROXY_AGENT agent = { .proxy_agent_func = ignore_call },
				      none = { .proxy_agent_func = NULL };
	DAT_CNO_HANDLE cno = quiet_cno(&w.a);

	ck_assert_int_eq(armed_of(w.a.recv), EMU_ARMED_NOT);
	must(dat_evd_modify_cno(w.a.recv, cno));
	ck_assert_int_eq(armed_of(w.a.recv), EMU_ARMED_PATIENT);
	must(dat_cno_modify_agent(cno, agent));
	ck_assert_int_eq(armed_of(w.a.recv), EMU_ARMED_ANY);
	must(dat_cno_modify_agent(cno, none));
	ck_assert_int_eq(armed_of(w.a.recv), EMU_ARMED_PATIENT);
	must(dat_evd_modify_cno(w.a.recv, NO_HANDLE));
	must(dat_cno_free(cno));
}
END_TEST

static void fill(Suite *suite)
{
	TCase *fabric = tcase_create("fabric"), *calls = tcase_create("calls");

	tcase_add_checked_fixture(fabric, setup, teardown_fabric);
	tcase_add_test(fabric, a_patient_notification_wakes_threads_that_wait_only);
	suite_add_tcase(suite, fabric);
	tcase_add_checked_fixture(calls, setup_sides, teardown);
	tcase_add_test(calls, an_EVD_is_patient_while_its_CNO_has_no_agent);
	suite_add_tcase(suite, calls);
}

UNIT_SUITE_OF_PROCESSES("notifications between processes")
