/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory and entries of the fabric (emu/fabric/arena.h) that an object or a message took are used
 * again: in a loop, nothing grows after the first rounds.
 */
#include "emu/fabric/fabric.h"
#include "lib/object.h"

#include "tests/support/support.h"

enum {
	WARM = 3, /* rounds in which the pool may grow */
	ROUNDS = 8,
};

/* The pool, and the entries of each table that were ever used */
static uint64_t used_ever(void)
{
	struct nic *nic = ((struct handle_slot *)w.a.ia)->object->nic;
	const struct emu_fabric *fab = emu_world_of(nic)->fab;

	return fab->pool_next + fab->pds.high + fab->mrs.high + fab->mws.high + fab->cqs.high +
	       fab->srqs.high + fab->qps.high + fab->listeners.high + fab->conns.high;
}

/* What connects, transfers and receives */
static void make_and_free_objects(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(w.a.ia, &pz));
	must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL));
	must(dat_lmr_free(lmr));
	must(dat_pz_free(pz));
	must(dat_rmr_free(make_rmr(&w.a)));
	plain_pair();
	disconnect_pair();
	must(dat_ep_free(w.a.ep));
	must(dat_ep_free(w.b.ep));
}

static void modify_an_EP(void)
{
	DAT_EP_PARAM param = { .ep_attr = ep_attr() };
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	param.ep_attr.max_request_dtos = 100;
	param.ep_attr.max_recv_dtos = 100;
	must(dat_ep_modify(
		ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
		&param));
	must(dat_ep_free(ep));
}

static void resize_an_EVD(void)
{
	DAT_EVD_HANDLE evd = make_evd(&w.a, 16, DAT_EVD_DTO_FLAG);

	must(dat_evd_resize(evd, 1000));
	must(dat_evd_resize(evd, 4));
	must(dat_evd_free(evd));
}

static void resize_an_SRQ(void)
{
	DAT_SRQ_HANDLE srq = make_srq(&w.a, 16, DAT_SRQ_LW_DEFAULT);

	must(dat_srq_resize(srq, 1000));
	must(dat_srq_resize(srq, 4));
	must(dat_srq_free(srq));
}

/* RDMA Writes of more segments than a Send may have */
static void write_many_segments(void)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_LMR_TRIPLET iov[4];
	DAT_RMR_TRIPLET to = remote(&w.b, 0, 4 * SHORT);

	attr.max_request_iov = 1;
	attr.max_rdma_write_iov = 4;
	w.a.ep = plain_ep_with(&w.a, &attr);
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	for (int i = 0; i < 4; i++)
		iov[i] = segment(&w.a, i, SHORT);
	must(dat_ep_post_rdma_write(w.a.ep, 4, iov, cookie(0), &to, DAT_COMPLETION_DEFAULT_FLAG));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	disconnect_pair();
	must(dat_ep_free(w.a.ep));
	must(dat_ep_free(w.b.ep));
}

/* Packets that are held, lost or early, and messages of which half has arrived */
static void leave_packets(void)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 4);
	must(dat_sim_hold_message(w.a.ep, 2, 1));
	drop(DAT_SIM_PACKET_SEND, 3);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, LONG);
	advance_us(20);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	must(dat_sim_fault_clear(w.sim));
	must(dat_ep_free(w.a.ep));
	must(dat_ep_free(w.b.ep));
	(void)(drain(w.a.connect) + drain(w.b.connect));
}

static void (*const rounds[])(void) = { make_and_free_objects, modify_an_EP,        resize_an_EVD,
					resize_an_SRQ,         write_many_segments, leave_packets };

START_TEST(memory_and_entries_of_the_fabric_are_used_again)
{
	uint64_t used = 0;

	for (int i = 0; i < WARM + ROUNDS; i++) {
		if (i == WARM)
			used = used_ever();
		rounds[_i]();
	}
	ck_assert_uint_eq(used_ever(), used);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop_all(suite, memory_and_entries_of_the_fabric_are_used_again, COUNT(rounds));
}

UNIT_SUITE("taken_back")
