/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event of a whole adapter goes to each of its async EVDs: ruling W2. No call makes an adapter
 * fail yet, so a test reports the failure itself by the upcall of the NIC.
 */
#include "tests/support/support.h"

#include "lib/object.h"

static void fail_adapter(DAT_IA_HANDLE ia)
{
	struct nic *nic = ((struct handle_slot *)ia)->object->nic;

	nic->up->adapter_failed(nic->ctx);
}

static DAT_IA_HANDLE open_again(DAT_EVD_HANDLE *async)
{
	char name[] = "emu0";
	DAT_IA_HANDLE ia = NO_HANDLE;

	must(dat_ia_open(name, 2, async, &ia));
	return ia;
}

#define expect_catastrophe(evd, ia) \
	expect_async((evd), DAT_ASYNC_ERROR_IA_CATASTROPHIC, (ia), DAT_IA_CATASTROPHIC_ERROR)

START_TEST(W2_a_failed_adapter_tells_every_async_EVD_once)
{
	DAT_EVD_HANDLE own = NO_HANDLE, shared = w.a.async, elsewhere = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia[] = { open_again(&own), open_again(&shared), open_again(&elsewhere) };

	fail_adapter(w.a.ia);
	expect_catastrophe(w.a.async, w.a.ia);
	expect_no_event(w.a.async);
	expect_catastrophe(own, ia[0]);
	expect_no_event(own);
	expect_no_event(w.b.async);
	fail_adapter(w.a.ia); /* reported once */
	expect_no_event(w.a.async);
	for (size_t i = COUNT(ia); i-- > 0;)
		must(dat_ia_close(ia[i], DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(W2_it_waits_for_room_and_is_dropped_with_the_instance)
{
	DAT_EVD_HANDLE own = NO_HANDLE;
	DAT_IA_HANDLE ia = open_again(&own);

	ck_assert_int_eq(stuff(own), 2);
	ck_assert_int_eq(stuff(w.a.async), EVD_LENGTH);
	fail_adapter(ia);
	expect_event(own, DAT_SOFTWARE_EVENT);
	expect_event(own, DAT_SOFTWARE_EVENT);
	expect_catastrophe(own, ia);
	expect_no_event(own);
	/* The event of w.a is still queued. */
	side_close(&w.a);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(C1_it_notifies_a_CNO)
{
	DAT_EVD_HANDLE notified = NO_HANDLE;
	DAT_CNO_HANDLE cno;

	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must(dat_evd_modify_cno(w.a.async, cno));
	fail_adapter(w.a.ia);
	must(dat_cno_wait(cno, 0, &notified));
	ck_assert_ptr_eq(notified, w.a.async);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, W2_a_failed_adapter_tells_every_async_EVD_once);
	unit_test(suite, W2_it_waits_for_room_and_is_dropped_with_the_instance);
	unit_test(suite, C1_it_notifies_a_CNO);
}

UNIT_SUITE("adapter_fails")
