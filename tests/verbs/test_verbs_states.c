/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of queue pairs of types RC, UC and UD, by ibv_modify_qp: every pair of states,
 * with every attribute missing or superfluous. What each transition needs and allows is written
 * here a second time, from the tables of the InfiniBand specification (11.2.5.2).
 */
#include <errno.h>
#include <string.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

#define STATES   7
#define ALL_BITS 26 /* IBV_QP_RATE_LIMIT is the last */

struct row {
	const char *from_to;
	int must, may;
};

static const struct row rows[] = {
	{ "RESET INIT", IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ "INIT INIT", 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ "INIT RTR",
	  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ "RTR RTS",
	  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		  IBV_QP_MAX_QP_RD_ATOMIC,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
		  IBV_QP_PATH_MIG_STATE },
	{ "RTS RTS", 0,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
		  IBV_QP_PATH_MIG_STATE },
	{ "RTS SQD", 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ "SQD RTS", 0,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
		  IBV_QP_PATH_MIG_STATE },
	{ "SQD SQD", 0,
	  IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
		  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER |
		  IBV_QP_PATH_MIG_STATE },
	{ NULL, 0, 0 },
};

static const struct row uc_rows[] = {
	{ "RESET INIT", IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	{ "INIT INIT", 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ "INIT RTR", IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	{ "RTR RTS", IBV_QP_SQ_PSN,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE },
	{ "RTS RTS", 0,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE },
	{ "RTS SQD", 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ "SQD RTS", 0,
	  IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE },
	{ "SQD SQD", 0,
	  IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
		  IBV_QP_PATH_MIG_STATE },
	{ "SQE RTS", 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS },
	{ NULL, 0, 0 },
};

static const struct row ud_rows[] = {
	{ "RESET INIT", IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0 },
	{ "INIT INIT", 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
	{ "INIT RTR", 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ "RTR RTS", IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ "RTS RTS", 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ "RTS SQD", 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ "SQD RTS", 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ "SQD SQD", 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ "SQE RTS", 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ NULL, 0, 0 },
};

static const char *const names[STATES] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

static const struct row *find_row(enum ibv_qp_type type, int from, int to)
{
	const struct row *table = type == IBV_QPT_UD   ? ud_rows
				  : type == IBV_QPT_UC ? uc_rows
						       : rows;
	static const struct row none;
	char pair[16];

	snprintf(pair, sizeof(pair), "%s %s", names[from], names[to]);
	for (size_t i = 0; table[i].from_to; i++)
		if (!strcmp(pair, table[i].from_to))
			return &table[i];
	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
		return &none;
	return NULL;
}

/* A request whose key is no good. */
static void fail_request(struct verbs_end *a, const struct verbs_end *b)
{
	struct ibv_sge sge = { (uintptr_t)a->buffer, 8, 0 };
	struct ibv_send_wr wr = verbs_wr(b, IBV_WR_RDMA_WRITE, &sge), *bad;
	struct ibv_ah_attr to = { .dlid = a->port.lid, .port_num = 1 };
	struct ibv_wc wc;

	if (a->type == IBV_QPT_UD) {
		wr.opcode = IBV_WR_SEND;
		wr.wr.ud.ah = ibv_create_ah(a->pd, &to);
	}
	ck_assert_int_eq(ibv_post_send(a->qp, &wr, &bad), 0);
	ck_assert(verbs_poll(a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_LOC_PROT_ERR);
	if (a->type == IBV_QPT_UD)
		ck_assert_int_eq(ibv_destroy_ah(wr.wr.ud.ah), 0);
}

static void bring_to(struct verbs_end *a, const struct verbs_end *b, int state)
{
	ck_assert_int_eq(verbs_modify(a, b, IBV_QPS_RESET), 0);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS && i <= state; i++)
		ck_assert_int_eq(verbs_modify(a, b, (enum ibv_qp_state)i), 0);
	if (state == IBV_QPS_ERR || state == IBV_QPS_SQD)
		ck_assert_int_eq(verbs_modify(a, b, (enum ibv_qp_state)state), 0);
	if (state == IBV_QPS_SQE)
		fail_request(a, b);
	ck_assert_int_eq((int)a->qp->state, state);
}

/* Ask for it with this mask; the answer is 0 or EINVAL, and nothing changes by the latter. */
static void expect_answer(struct verbs_end *a, const struct verbs_end *b, int from, int to,
			  int mask, bool good)
{
	struct ibv_qp_attr attr, after;
	struct ibv_qp_init_attr init;
	int err;

	bring_to(a, b, from);
	attr = verbs_attr(a, b);
	attr.qp_state = (enum ibv_qp_state)to;
	err = ibv_modify_qp(a->qp, &attr, mask | IBV_QP_STATE);
	ck_assert_msg(err == (good ? 0 : EINVAL), "%s to %s with mask %#x: %d", names[from],
		      names[to], mask, err);
	ck_assert_int_eq(ibv_query_qp(a->qp, &after, IBV_QP_STATE, &init), 0);
	ck_assert_int_eq((int)after.qp_state, good ? to : from);
}

static void sweep_pair(struct verbs_end *a, const struct verbs_end *b, int from, int to)
{
	const struct row *row = find_row(a->qp->qp_type, from, to);
	int must = row ? row->must : 0, may = row ? row->may : 0;

	expect_answer(a, b, from, to, must, row);
	for (int bit = 1; bit < ALL_BITS; bit++) {
		int mask = 1 << bit;

		if (must & mask)
			expect_answer(a, b, from, to, must & ~mask, false);
		else
			expect_answer(a, b, from, to, must | mask, row && (may & mask));
	}
}

START_TEST(each_transition_needs_and_allows_its_attributes)
{
	static const int from[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
				    IBV_QPS_SQD,   IBV_QPS_ERR,  IBV_QPS_SQE };
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static struct verbs_end a, b;

	for (int type = 0; type < 3; type++) {
		verbs_open(&a, 0);
		verbs_open(&b, 1);
		a.type = b.type = types[type];
		verbs_make_qp(&a);
		verbs_make_qp(&b);
		bring_to(&b, &a, IBV_QPS_RTS); /* a request that is sent to no QP succeeds */
		/* A QP of type RC never enters SQE. */
		for (int i = 0; i < (types[type] == IBV_QPT_RC ? 6 : 7); i++)
			for (int to = 0; to < STATES; to++)
				sweep_pair(&a, &b, from[i], to);
		verbs_end_all(&a, &b);
	}
}
END_TEST

START_TEST(a_value_out_of_range_changes_nothing)
{
	static struct verbs_end a, b;
	struct ibv_qp_attr attr;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	bring_to(&a, &b, IBV_QPS_INIT);
#define BAD(field, value)                                                                      \
	do {                                                                                   \
		attr = verbs_attr(&a, &b);                                                     \
		attr.qp_state = IBV_QPS_RTR;                                                   \
		attr.field = (value);                                                          \
		ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, verbs_mask(IBV_QPS_RTR)), EINVAL); \
		ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_INIT);                         \
	} while (0)
	BAD(path_mtu, (enum ibv_mtu)0);
	BAD(path_mtu, (enum ibv_mtu)6);
	BAD(dest_qp_num, 1u << 24);
	BAD(min_rnr_timer, 32);
	BAD(max_dest_rd_atomic, 129);
	BAD(ah_attr.port_num, 2);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(the_largest_values_are_taken)
{
	static struct verbs_end a, b;
	struct ibv_qp_attr attr;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	bring_to(&a, &b, IBV_QPS_INIT);
	attr = verbs_attr(&a, &b);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_4096;
	attr.dest_qp_num = 0xffffff;
	attr.min_rnr_timer = 31;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, verbs_mask(IBV_QPS_RTR)), 0);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 31;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, verbs_mask(IBV_QPS_RTS)), 0);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_transition_needs_and_allows_its_attributes, 1, NULL);
	unit_add(suite, a_value_out_of_range_changes_nothing, 1, NULL);
	unit_add(suite, the_largest_values_are_taken, 1, NULL);
}

UNIT_SUITE("verbs_states")
