/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c - the surroundings of a walk: a fabric, two adapters, one SRQ, memory. */
#include <stdlib.h>
#include <string.h>

#include "walk.h"
#include "tests/support/asserts.h"

#define EMU0     ((DAT_NAME_PTR) "emu0")
#define EMU1     ((DAT_NAME_PTR) "emu1")
#define PORT     4711
#define QLEN     256
#define LIMIT_NS 3000000 /* the slowest link delivers all outstanding messages in less */

/* Random knobs; a poll passes no virtual time, as the walk decides when time passes. */
static void draw_config(struct walk *w)
{
	static const DAT_UINT32 mtus[] = { 256, 512, 1024 };
	static const DAT_UINT64 bandwidths[] = { 0, UINT64_C(10000000000), UINT64_C(100000000000) };
	DAT_SIM_CONFIG *config = &w->config;

	ck_assert_uint_eq(dat_sim_config_init(config), DAT_SUCCESS);
	config->profile = w->seed % 2 ? DAT_SIM_PROFILE_IWARP : DAT_SIM_PROFILE_IB;
	config->seed = walk_random(w);
	config->latency_ns = 200 + (DAT_UINT64)walk_pick(w, 3000);
	config->bandwidth_bps = bandwidths[walk_pick(w, 3)];
	config->mtu = mtus[walk_pick(w, 3)];
	config->rnr_retry = walk_chance(w, 30) ? 7 : 1 + (DAT_UINT32)walk_pick(w, 3);
	config->rnr_timer_ns = 50000 + (DAT_UINT64)walk_pick(w, 100000);
	if (config->rnr_retry == 7) /* or the walk would see little else than retries */
		config->rnr_timer_ns += 300000;
	if (w->kind->lossy) { /* few enough losses that no connection breaks */
		config->retry_timer_ns = 30000;
		if (config->rnr_retry < 7)
			config->rnr_retry = 6;
	}
	config->poll_quantum_ns = 0;
	config->trace = DAT_TRUE;
	w->model.in_order = config->profile == DAT_SIM_PROFILE_IB;
	w->model.patient = config->rnr_retry == 7;
	w->buffer_size = 3 * config->mtu - (unsigned int)walk_pick(w, 100);
	w->slot_size = 4 * config->mtu;
}

unsigned int world_packets(const struct walk *w, unsigned int length)
{
	return length == 0 ? 1 : (length + w->config.mtu - 1) / w->config.mtu;
}

static DAT_EVD_HANDLE make_evd(struct walk *w, DAT_IA_HANDLE ia, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	walk_ok(w, "dat_evd_create", dat_evd_create(ia, QLEN, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

static DAT_COUNT evd_qlen(struct walk *w, DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	walk_ok(w, "dat_evd_query", dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	return param.evd_qlen;
}

static uint8_t *make_memory(struct walk *w, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, size_t size,
			    DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_HANDLE *lmr,
			    DAT_LMR_CONTEXT *lkey)
{
	uint8_t *memory = calloc(1, size);
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	ck_assert_ptr_nonnull(memory);
	walk_ok(w, "dat_lmr_create",
		dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, privileges, lmr, lkey,
			       NULL, NULL, NULL));
	return memory;
}

static void open_adapters(struct walk *w)
{
	DAT_IA_ATTR attr;
	DAT_EVD_HANDLE evd;

	w->async_a = w->async_b = DAT_HANDLE_NULL;
	walk_ok(w, "dat_ia_open", dat_ia_open(EMU0, 4, &w->async_a, &w->a));
	walk_ok(w, "dat_ia_open", dat_ia_open(EMU1, 1 + walk_pick(w, 5), &w->async_b, &w->b));
	walk_ok(w, "dat_ia_query",
		dat_ia_query(w->b, &evd,
			     DAT_IA_FIELD_IA_ADDRESS_PTR | DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ, &attr,
			     DAT_PROVIDER_FIELD_NONE, NULL));
	w->address = attr.ia_address_ptr;
	w->model.srq.limit = attr.max_recv_per_srq;
	w->model.async_room = evd_qlen(w, w->async_b);
	walk_ok(w, "dat_pz_create", dat_pz_create(w->a, &w->pz_a));
	walk_ok(w, "dat_pz_create", dat_pz_create(w->b, &w->pz_b));
}

/*
 * What happens to packets of messages. The model is not told: but for time, nothing may differ. So
 * the last word of a connection gets through: a Send whose acknowledgement was lost before a
 * disconnect is flushed, one whose refusal was lost ends otherwise, and half a connection is
 * another matter altogether.
 */
static void add_faults(struct walk *w)
{
	const DAT_UINT32 forth = DAT_SIM_PACKET_SEND | DAT_SIM_PACKET_RNR_NAK,
			 both = forth | DAT_SIM_PACKET_ACK;
	const DAT_SIM_FAULT faults[] = {
		{ .packets = forth, .probability = 30000, .verdict = DAT_SIM_DROP },
		{ .packets = forth, .probability = 10000, .verdict = DAT_SIM_CORRUPT },
		{ .packets = forth, .probability = 20000, .verdict = DAT_SIM_REORDER },
		{ .packets = both, .probability = 30000, .verdict = DAT_SIM_DUPLICATE },
		{ .packets = both,
		  .probability = 20000,
		  .verdict = DAT_SIM_DELAY,
		  .delay_ns = 3000,
		  .jitter_ns = 3000 },
		{ .probability = 5000, .verdict = DAT_SIM_RNR },
	};
	DAT_COUNT id;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		walk_ok(w, "dat_sim_fault_add", dat_sim_fault_add(w->sim, &faults[i], &id));
}

void world_open(struct walk *w)
{
	size_t slots = WALK_PAIRS * WALK_SLOTS;

	draw_config(w);
	walk_ok(w, "dat_sim_create", dat_sim_create(&w->config, &w->sim));
	open_adapters(w);
	w->memory_a = make_memory(w, w->a, w->pz_a, slots * w->slot_size,
				  DAT_MEM_PRIV_LOCAL_READ_FLAG, &w->lmr_a, &w->lkey_a);
	w->memory_b = make_memory(w, w->b, w->pz_b,
				  (size_t)WALK_BUFFERS * (w->buffer_size + WALK_GUARD),
				  DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &w->lmr_b, &w->lkey_b);
	w->conn_a = make_evd(w, w->a, DAT_EVD_CONNECTION_FLAG);
	w->conn_b = make_evd(w, w->b, DAT_EVD_CONNECTION_FLAG);
	w->request_evd = make_evd(w, w->a, DAT_EVD_DTO_FLAG);
	w->cr_evd = make_evd(w, w->b, DAT_EVD_CR_FLAG);
	for (int p = 0; p < w->kind->pairs; p++) {
		w->pair[p].recv_evd = make_evd(w, w->b, DAT_EVD_DTO_FLAG);
		w->pair[p].plain = p < w->kind->plain;
	}
	w->recv_qlen = evd_qlen(w, w->pair[0].recv_evd);
	walk_ok(w, "dat_psp_create",
		dat_psp_create(w->b, PORT, w->cr_evd, DAT_PSP_CONSUMER_FLAG, &w->psp));
	world_new_srq(w, 8 + walk_pick(w, 40), 0);
	if (w->kind->lossy)
		add_faults(w);
	look(w);
}

void world_new_srq(struct walk *w, int max, int lw)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = max, .max_recv_iov = 2, .low_watermark = lw };
	enum oracle_answer wanted;

	wanted = model_srq_create(&w->model, max, lw);
	walk_expect(w, "dat_srq_create", dat_srq_create(w->b, w->pz_b, &attr, &w->srq), wanted);
	ck_assert(wanted == ORACLE_OK);
}

static void free_queues(struct walk *w)
{
	DAT_EVD_HANDLE evds[] = { w->conn_a, w->conn_b, w->request_evd, w->cr_evd };

	for (size_t n = 0; n < sizeof(evds) / sizeof(evds[0]); n++)
		walk_ok(w, "dat_evd_free", dat_evd_free(evds[n]));
	for (int p = 0; p < w->kind->pairs; p++)
		walk_ok(w, "dat_evd_free", dat_evd_free(w->pair[p].recv_evd));
}

/* Frees every object one by one, gracefully; none may be left. */
void world_close(struct walk *w)
{
	DAT_COUNT left;

	op_release_links(w);
	world_settle(w);
	look(w);
	for (int p = 0; p < w->kind->pairs; p++) {
		if (w->pair[p].a)
			pair_free_a(w, p);
		if (w->pair[p].b)
			pair_free_b(w, p);
	}
	if (buffer_count(w, -1) != w->model.srq.available + w->model.srq.lost)
		walk_fails(w, "%d buffers never completed, expected %d", buffer_count(w, -1),
			   w->model.srq.available + w->model.srq.lost);
	walk_ok(w, "dat_srq_free", dat_srq_free(w->srq));
	walk_ok(w, "dat_psp_free", dat_psp_free(w->psp));
	free_queues(w);
	walk_ok(w, "dat_lmr_free", dat_lmr_free(w->lmr_a));
	walk_ok(w, "dat_lmr_free", dat_lmr_free(w->lmr_b));
	walk_ok(w, "dat_pz_free", dat_pz_free(w->pz_a));
	walk_ok(w, "dat_pz_free", dat_pz_free(w->pz_b));
	walk_ok(w, "dat_ia_close", dat_ia_close(w->a, DAT_CLOSE_GRACEFUL_FLAG));
	walk_ok(w, "dat_ia_close", dat_ia_close(w->b, DAT_CLOSE_GRACEFUL_FLAG));
	walk_ok(w, "dat_sim_count_objects", dat_sim_count_objects(DAT_SIM_ALL_HANDLE_TYPES, &left));
	if (left != 0)
		walk_fails(w, "%d objects are left", left);
	walk_ok(w, "dat_sim_destroy", dat_sim_destroy(w->sim));
	w->sim = NULL;
	free(w->memory_a);
	free(w->memory_b);
}

/* Run all events. A sender that retries indefinitely keeps the network busy. */
void world_settle(struct walk *w)
{
	DAT_RETURN ret = dat_sim_run_until_quiet(w->sim, LIMIT_NS);

	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
		walk_ok(w, "dat_sim_run_until_quiet", ret);
	w->busy = ret != DAT_SUCCESS;
	w->time = MODEL_SETTLED;
}

void world_advance(struct walk *w, DAT_UINT64 ns)
{
	walk_ok(w, "dat_sim_advance", dat_sim_advance(w->sim, ns));
	w->time = MODEL_SOME;
}
