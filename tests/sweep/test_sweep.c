/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the rows of the tables, each as a test case of its own. */
#include "tests/sweep/sweep.h"

static const struct sweep_table *const tables[] = {
	&sweep_ia,  &sweep_helpers, &sweep_registry, &sweep_pz,  &sweep_lmr, &sweep_evd,
	&sweep_cno, &sweep_rdma,    &sweep_full,     &sweep_rmr, &sweep_ep,  &sweep_connect,
	&sweep_dto, &sweep_sp,      &sweep_cr,       &sweep_srq,
};

START_TEST(returns_what_is_documented_and_changes_nothing)
{
	const struct sweep_row *row = NULL;
	DAT_RETURN ret;
	size_t t, n = (size_t)_i;

	for (t = 0; !row; t++) {
		if (n < tables[t]->count)
			row = &tables[t]->rows[n];
		else
			n -= tables[t]->count;
	}
	ret = row->provoke();
	/* Ruling G1: only DAT_QUEUE_EMPTY comes without its class. */
	if (row->type == DAT_SUCCESS || row->type == DAT_QUEUE_EMPTY)
		ck_assert_msg(ret == row->type, "%s: got %s", row->name, ret_text(ret));
	else
		ck_assert_msg(is_failure(ret, row->type, row->subtype), "%s: got %s", row->name,
			      ret_text(ret));
}
END_TEST

static void fill(Suite *suite)
{
	int n = 0;
	size_t t, i;

	for (t = 0; t < COUNT(tables); t++)
		for (i = 0; i < tables[t]->count; i++, n++)
			unit_add_case(suite, tables[t]->rows[i].name,
				      returns_what_is_documented_and_changes_nothing, n, n + 1,
				      setup_sides);
}

UNIT_SUITE_OF_PROCESSES("sweep")
