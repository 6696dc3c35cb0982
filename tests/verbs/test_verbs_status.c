/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every status of a completion that verbs.h has: how it is brought about here, or why it never
 * comes. doc/verbs.md has the same table for readers.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

#define STATUSES (IBV_WC_TM_RNDV_INCOMPLETE + 1)

static struct verbs_end a, b;
static struct ibv_sge sge;
static struct ibv_send_wr wr;

/* ---- how ---- */

static void change_nothing(void)
{
}

static void use_wrong_local_key(void)
{
	sge.lkey++;
}

static void use_wrong_remote_key(void)
{
	wr.wr.rdma.rkey++;
}

static void send_to_no_receive(void)
{
	wr.opcode = IBV_WR_SEND;
}

static void send_to_wrong_key(void)
{
	struct ibv_sge to = { (uintptr_t)b.buffer, 64, b.mr->lkey + 1 };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad;

	ck_assert_int_eq(ibv_post_recv(b.qp, &recv, &bad), 0);
	wr.opcode = IBV_WR_SEND;
}

static void send_to_short_receive(void)
{
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 4), 0);
	wr.opcode = IBV_WR_SEND;
}

static void aim_beside_alignment(void)
{
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = (uintptr_t)b.buffer + 4;
	wr.wr.atomic.rkey = b.mr->rkey;
}

static void end_own_qp(void)
{
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_ERR), 0);
}

static void end_peer(void)
{
	ck_assert_int_eq(verbs_modify(&b, &a, IBV_QPS_ERR), 0);
}

static void invalidate_a_region(void)
{
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.num_sge = 0;
	wr.invalidate_rkey = a.mr->rkey;
}

/* The region does not permit binds. */
static void bind_a_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);

	ck_assert_ptr_nonnull(mw);
	wr.opcode = IBV_WR_BIND_MW;
	wr.num_sge = 0;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ .mr = a.mr,
					   .addr = (uintptr_t)a.buffer,
					   .length = 64,
					   .mw_access_flags = IBV_ACCESS_REMOTE_READ };
}

#define RESERVED_NAK "verdict=nak nak=reserved times=1"

/* ---- the table ---- */

static const struct row {
	enum ibv_wc_status status;
	void (*how)(void); /* NULL: it never comes */
	bool at_peer;      /* the completion of a Receive */
	const char *faults;
	const char *never;
} rows[] = {
	{ IBV_WC_SUCCESS, change_nothing, false, NULL, NULL },
	{ IBV_WC_LOC_LEN_ERR, send_to_short_receive, true, NULL, NULL },
	{ IBV_WC_LOC_QP_OP_ERR, invalidate_a_region, false, NULL, NULL },
	{ IBV_WC_LOC_EEC_OP_ERR, NULL, false, NULL, "of type RD, which no adapter has" },
	{ IBV_WC_LOC_PROT_ERR, use_wrong_local_key, false, NULL, NULL },
	{ IBV_WC_WR_FLUSH_ERR, end_own_qp, false, NULL, NULL },
	{ IBV_WC_MW_BIND_ERR, bind_a_window, false, NULL, NULL },
	{ IBV_WC_BAD_RESP_ERR, change_nothing, false, RESERVED_NAK, NULL },
	{ IBV_WC_LOC_ACCESS_ERR, NULL, false, NULL, "a refused Write takes no Receive" },
	{ IBV_WC_REM_INV_REQ_ERR, aim_beside_alignment, false, NULL, NULL },
	{ IBV_WC_REM_ACCESS_ERR, use_wrong_remote_key, false, NULL, NULL },
	{ IBV_WC_REM_OP_ERR, send_to_wrong_key, false, NULL, NULL },
	{ IBV_WC_RETRY_EXC_ERR, end_peer, false, NULL, NULL },
	{ IBV_WC_RNR_RETRY_EXC_ERR, send_to_no_receive, false, NULL, NULL },
	{ IBV_WC_LOC_RDD_VIOL_ERR, NULL, false, NULL, "of type RD" },
	{ IBV_WC_REM_INV_RD_REQ_ERR, NULL, false, NULL, "of type RD" },
	{ IBV_WC_REM_ABORT_ERR, NULL, false, NULL, "of type RD" },
	{ IBV_WC_INV_EECN_ERR, NULL, false, NULL, "of type RD" },
	{ IBV_WC_INV_EEC_STATE_ERR, NULL, false, NULL, "of type RD" },
	{ IBV_WC_FATAL_ERR, NULL, false, NULL, "a failed device flushes" },
	{ IBV_WC_RESP_TIMEOUT_ERR, NULL, false, NULL, "of type RD" },
	{ IBV_WC_GENERAL_ERR, NULL, false, NULL, "each error has a status of its own" },
	{ IBV_WC_TM_ERR, NULL, false, NULL, "there is no tag matching" },
	{ IBV_WC_TM_RNDV_INCOMPLETE, NULL, false, NULL, "there is no tag matching" },
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == STATUSES, "a row for each status");

START_TEST(each_status_comes_or_the_table_says_why_not)
{
	const struct row *row = &rows[_i];
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	ck_assert_int_eq((int)row->status, _i);
	ck_assert(row->how ? !row->never : row->never != NULL);
	if (!row->how)
		return;
	if (row->faults)
		setenv("DATSIM_FAULTS", row->faults, 1);
	verbs_begin(&a, &b);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr = verbs_wr(&b, IBV_WR_RDMA_WRITE, &sge);
	row->how();
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(row->at_peer ? &b : &a, &wc));
	ck_assert_int_eq(wc.vendor_err != 0, row->status != IBV_WC_SUCCESS);
	ck_assert_str_eq(ibv_wc_status_str(wc.status), ibv_wc_status_str(row->status));
	if (row->how == bind_a_window)
		ck_assert_int_eq(ibv_dealloc_mw(wr.bind_mw.mw), 0);
	verbs_end_all(&a, &b);
	unsetenv("DATSIM_FAULTS");
}
END_TEST

/* ---- texts and rates ---- */

static const struct rate {
	enum ibv_rate rate;
	int mult, mbps;
} rates[] = {
	{ IBV_RATE_2_5_GBPS, 1, 2500 },       { IBV_RATE_5_GBPS, 2, 5000 },
	{ IBV_RATE_10_GBPS, 4, 10000 },       { IBV_RATE_20_GBPS, 8, 20000 },
	{ IBV_RATE_30_GBPS, 12, 30000 },      { IBV_RATE_40_GBPS, 16, 40000 },
	{ IBV_RATE_60_GBPS, 24, 60000 },      { IBV_RATE_80_GBPS, 32, 80000 },
	{ IBV_RATE_120_GBPS, 48, 120000 },    { IBV_RATE_28_GBPS, 11, 28125 },
	{ IBV_RATE_50_GBPS, 20, 53125 },      { IBV_RATE_400_GBPS, 160, 425000 },
	{ IBV_RATE_600_GBPS, 240, 637500 },   { IBV_RATE_800_GBPS, 320, 850000 },
	{ IBV_RATE_1200_GBPS, 480, 1275000 },
};

START_TEST(a_rate_is_a_multiple_and_a_number_of_megabits)
{
	for (size_t i = 0; i < COUNT(rates); i++) {
		ck_assert_int_eq(ibv_rate_to_mult(rates[i].rate), rates[i].mult);
		ck_assert_int_eq(ibv_rate_to_mbps(rates[i].rate), rates[i].mbps);
		ck_assert_int_eq((int)mult_to_ibv_rate(rates[i].mult), (int)rates[i].rate);
		ck_assert_int_eq((int)mbps_to_ibv_rate(rates[i].mbps), (int)rates[i].rate);
	}
}
END_TEST

START_TEST(other_numbers_are_no_rate)
{
	static const int none[] = { -1, 0, 3, 2501, 1275001 };

	for (size_t i = 0; i < COUNT(none); i++) {
		ck_assert_int_eq((int)mult_to_ibv_rate(none[i]), (int)IBV_RATE_MAX);
		ck_assert_int_eq((int)mbps_to_ibv_rate(none[i]), (int)IBV_RATE_MAX);
	}
	ck_assert_int_eq(ibv_rate_to_mult(IBV_RATE_MAX), -1);
	ck_assert_int_eq(ibv_rate_to_mbps(IBV_RATE_MAX), -1);
	ck_assert_int_eq(ibv_rate_to_mult((enum ibv_rate)9999), -1);
	ck_assert_int_eq(ibv_rate_to_mbps((enum ibv_rate)9999), -1);
	/* 14 Gbit/s is no multiple of 2.5. */
	ck_assert_int_eq(ibv_rate_to_mult(IBV_RATE_14_GBPS), -1);
	ck_assert_int_eq((int)mbps_to_ibv_rate(14062), (int)IBV_RATE_14_GBPS);
}
END_TEST

START_TEST(each_table_of_texts_has_its_first_and_its_last)
{
	ck_assert_str_eq(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	ck_assert_str_eq(ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE), "TM software rendezvous");
	ck_assert_str_eq(ibv_wc_status_str((enum ibv_wc_status)99), "unknown");
	ck_assert_str_eq(ibv_event_type_str(IBV_EVENT_CQ_ERR), "CQ error");
	ck_assert_str_eq(ibv_event_type_str(IBV_EVENT_WQ_FATAL), "WQ fatal");
	ck_assert_str_eq(ibv_event_type_str((enum ibv_event_type)99), "unknown");
	ck_assert_str_eq(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
	ck_assert_str_eq(ibv_node_type_str(IBV_NODE_UNSPECIFIED), "unspecified");
	ck_assert_str_eq(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	ck_assert_str_eq(ibv_port_state_str(IBV_PORT_NOP), "no state change (NOP)");
	ck_assert_str_eq(ibv_port_state_str(IBV_PORT_ACTIVE_DEFER), "active defer");
	ck_assert_str_eq(ibv_port_state_str((enum ibv_port_state)6), "unknown");
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_status_comes_or_the_table_says_why_not, STATUSES, NULL);
	unit_add(suite, a_rate_is_a_multiple_and_a_number_of_megabits, 1, NULL);
	unit_add(suite, other_numbers_are_no_rate, 1, NULL);
	unit_add(suite, each_table_of_texts_has_its_first_and_its_last, 1, NULL);
}

UNIT_SUITE("verbs_status")
