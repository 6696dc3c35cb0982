/* SPDX-License-Identifier: BSD-3-Clause */
/* The job of bench.h over the public API, as a program would do it. */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef BENCH_DAT2 /* the same job over another library: bench_dat2.sh */
#include <dat2/udat.h>
#define IS_NOTHING(ret) (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
#define EVDS_FOR_ALL    1 /* on some devices it makes no EP without an EVD for each stream */
#define LMR_CREATE(ia, where, size, pz, rights, lmr, key)                                      \
	dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, size, pz, rights, DAT_VA_TYPE_VA, lmr, \
		       key, NULL, NULL, NULL)
#else
#include <dat/sim.h>
#include <dat/udat.h>
#define IS_NOTHING(ret) ((ret) == DAT_QUEUE_EMPTY)
#define EVDS_FOR_ALL    0
#define LMR_CREATE(ia, where, size, pz, rights, lmr, key)                                       \
	dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, size, pz, rights, lmr, key, NULL, NULL, \
		       NULL)
#endif

#include "bench.h"

#define EMU0 ((DAT_NAME_PTR) "emu0")
#define EMU1 ((DAT_NAME_PTR) "emu1")
#define PORT 4711

struct pair {
	DAT_EP_HANDLE from, to;
	DAT_LMR_TRIPLET source, target;
};

static DAT_IA_HANDLE ia0, ia1;
static DAT_EVD_HANDLE async0, async1, conn0, conn1, send_evd, recv_evd, cr_evd;
static DAT_EVD_HANDLE unused0 = DAT_HANDLE_NULL, unused1 = DAT_HANDLE_NULL;
static DAT_PZ_HANDLE pz0, pz1;
static DAT_PSP_HANDLE psp;
static DAT_IA_ADDRESS_PTR address;
static DAT_LMR_HANDLE lmr0, lmr1;
static DAT_LMR_CONTEXT lkey0, lkey1;
static struct pair *pair_list;
static unsigned char *memory;
static int pairs, in_flight;
static long empty_dequeues;

static void must_succeed(const char *what, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		bench_die(what, ret);
}

long bench_empty_dequeues(void)
{
	return empty_dequeues;
}

/*
 * Waits for the next event by polling. sched_yield is for devices that are a kernel thread (rxe,
 * siw) and may need this processor.
 */
static inline void next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret;

	while (ret = dat_evd_dequeue(evd, event), IS_NOTHING(ret)) {
		empty_dequeues++;
		sched_yield();
	}
	must_succeed("dat_evd_dequeue", ret);
}

/* ---- adapters and EVDs ---- */

static DAT_EVD_HANDLE make_evd(DAT_IA_HANDLE ia, int length, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	must_succeed("dat_evd_create", dat_evd_create(ia, length, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

static void open_adapters(int depth)
{
	DAT_IA_ATTR attr;
	DAT_EVD_HANDLE evd;

	async0 = async1 = DAT_HANDLE_NULL;
	must_succeed("dat_ia_open", dat_ia_open(EMU0, 8, &async0, &ia0));
	must_succeed("dat_ia_open", dat_ia_open(EMU1, 8, &async1, &ia1));
	must_succeed("dat_ia_query", dat_ia_query(ia1, &evd, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
						  DAT_PROVIDER_FIELD_NONE, NULL));
	address = attr.ia_address_ptr;
	must_succeed("dat_pz_create", dat_pz_create(ia0, &pz0));
	must_succeed("dat_pz_create", dat_pz_create(ia1, &pz1));
	conn0 = make_evd(ia0, 16, DAT_EVD_CONNECTION_FLAG);
	conn1 = make_evd(ia1, 16, DAT_EVD_CONNECTION_FLAG);
	cr_evd = make_evd(ia1, 16, DAT_EVD_CR_FLAG);
	send_evd = make_evd(ia0, depth, DAT_EVD_DTO_FLAG);
	recv_evd = make_evd(ia1, depth, DAT_EVD_DTO_FLAG);
	if (EVDS_FOR_ALL) {
		unused0 = make_evd(ia0, depth, DAT_EVD_DTO_FLAG);
		unused1 = make_evd(ia1, depth, DAT_EVD_DTO_FLAG);
	}
	must_succeed("dat_psp_create",
		     dat_psp_create(ia1, PORT, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void close_adapters(void)
{
	DAT_EVD_HANDLE evds[] = { conn0, conn1, cr_evd, send_evd, recv_evd };

	must_succeed("dat_psp_free", dat_psp_free(psp));
	if (EVDS_FOR_ALL) {
		must_succeed("dat_evd_free", dat_evd_free(unused0));
		must_succeed("dat_evd_free", dat_evd_free(unused1));
	}
	for (unsigned int n = 0; n < sizeof(evds) / sizeof(evds[0]); n++)
		must_succeed("dat_evd_free", dat_evd_free(evds[n]));
	must_succeed("dat_pz_free", dat_pz_free(pz0));
	must_succeed("dat_pz_free", dat_pz_free(pz1));
	must_succeed("dat_ia_close", dat_ia_close(ia0, DAT_CLOSE_GRACEFUL_FLAG));
	must_succeed("dat_ia_close", dat_ia_close(ia1, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- pairs ---- */

static void expect_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	next_event(evd, event);
	if (event->event_number != number)
		bench_die("an event", event->event_number);
}

static void connect_pair(struct pair *pair, int dtos)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = dtos,
		.max_request_dtos = dtos,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	DAT_EVENT event;

	must_succeed("dat_ep_create",
		     dat_ep_create(ia0, pz0, unused0, send_evd, conn0, &attr, &pair->from));
	must_succeed("dat_ep_create",
		     dat_ep_create(ia1, pz1, recv_evd, unused1, conn1, &attr, &pair->to));
	must_succeed("dat_ep_connect",
		     dat_ep_connect(pair->from, address, PORT, DAT_TIMEOUT_INFINITE, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect_event(cr_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	must_succeed("dat_cr_accept",
		     dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, pair->to, 0,
				   NULL));
	expect_event(conn0, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	expect_event(conn1, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static void disconnect_pair(struct pair *pair)
{
	DAT_EVENT event;

	must_succeed("dat_ep_disconnect", dat_ep_disconnect(pair->from, DAT_CLOSE_ABRUPT_FLAG));
	expect_event(conn0, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	expect_event(conn1, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	must_succeed("dat_ep_free", dat_ep_free(pair->from));
	must_succeed("dat_ep_free", dat_ep_free(pair->to));
}

/* ---- messages ---- */

static void register_memory(void)
{
	size_t size = (size_t)pairs * 2 * BENCH_BYTES;
	DAT_REGION_DESCRIPTION region;

	memory = calloc(1, size);
	if (!memory)
		bench_die("memory", 0);
	region.for_va = memory;
	must_succeed("dat_lmr_create", LMR_CREATE(ia0, region, size, pz0,
						  DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr0, &lkey0));
	must_succeed("dat_lmr_create", LMR_CREATE(ia1, region, size, pz1,
						  DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr1, &lkey1));
}

static DAT_LMR_TRIPLET memory_segment(DAT_LMR_CONTEXT lkey, int n)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = lkey,
		.virtual_address = (DAT_VADDR)(uintptr_t)(memory + (size_t)n * BENCH_BYTES),
		.segment_length = BENCH_BYTES,
	};
}

static void library_set_up(int pair_count, int in_flight_count)
{
	pairs = pair_count;
	in_flight = in_flight_count;
	open_adapters(in_flight < 16 ? 16 : in_flight);
	register_memory();
	pair_list = calloc((size_t)pairs, sizeof(*pair_list));
	if (!pair_list)
		bench_die("memory", 0);
	for (int n = 0; n < pairs; n++) {
		connect_pair(&pair_list[n], in_flight < 16 ? 16 : in_flight);
		pair_list[n].source = memory_segment(lkey0, 2 * n);
		pair_list[n].target = memory_segment(lkey1, 2 * n + 1);
	}
}

static void library_tear_down(void)
{
	for (int n = 0; n < pairs; n++)
		disconnect_pair(&pair_list[n]);
	must_succeed("dat_lmr_free", dat_lmr_free(lmr0));
	must_succeed("dat_lmr_free", dat_lmr_free(lmr1));
	close_adapters();
	free(pair_list);
	free(memory);
}

static void run_batch(struct pair *pair)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_EVENT event;

	for (int n = 0; n < in_flight; n++) {
		cookie.as_64++;
		must_succeed("dat_ep_post_recv",
			     dat_ep_post_recv(pair->to, 1, &pair->target, cookie,
					      DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (int n = 0; n < in_flight; n++) {
		cookie.as_64++;
		must_succeed("dat_ep_post_send",
			     dat_ep_post_send(pair->from, 1, &pair->source, cookie,
					      DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (int n = 0; n < in_flight; n++)
		next_event(recv_evd, &event);
	if (event.event_data.dto_completion_event_data.transfered_length != BENCH_BYTES)
		bench_die("a Receive", event.event_data.dto_completion_event_data.status);
	for (int n = 0; n < in_flight; n++)
		next_event(send_evd, &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		bench_die("a Send", event.event_data.dto_completion_event_data.status);
}

/* A message whose completions stay where they are. */
static void post_one(struct pair *pair)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	must_succeed("dat_ep_post_recv", dat_ep_post_recv(pair->to, 1, &pair->target, cookie,
							  DAT_COMPLETION_DEFAULT_FLAG));
	must_succeed("dat_ep_post_send", dat_ep_post_send(pair->from, 1, &pair->source, cookie,
							  DAT_COMPLETION_DEFAULT_FLAG));
}

/* The same for one message, so that the loops are not measured. */
static void run_one(struct pair *pair)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT event;

	must_succeed("dat_ep_post_recv", dat_ep_post_recv(pair->to, 1, &pair->target, cookie,
							  DAT_COMPLETION_DEFAULT_FLAG));
	must_succeed("dat_ep_post_send", dat_ep_post_send(pair->from, 1, &pair->source, cookie,
							  DAT_COMPLETION_DEFAULT_FLAG));
	next_event(recv_evd, &event);
	if (event.event_data.dto_completion_event_data.transfered_length != BENCH_BYTES)
		bench_die("a Receive", event.event_data.dto_completion_event_data.status);
	next_event(send_evd, &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		bench_die("a Send", event.event_data.dto_completion_event_data.status);
}

static void library_run(long rounds)
{
	for (long n = 0; n < rounds; n += in_flight)
		for (int p = 0; p < pairs; p++) {
			if (in_flight == 1)
				run_one(&pair_list[p]);
			else
				run_batch(&pair_list[p]);
		}
}

/* ---- each call in its own function, counted by instructions-hw.sh ---- */

static __attribute__((noinline)) void step_post_recv(struct pair *pair, uint64_t number)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	must_succeed("dat_ep_post_recv", dat_ep_post_recv(pair->to, 1, &pair->target, cookie,
							  DAT_COMPLETION_DEFAULT_FLAG));
}

static __attribute__((noinline)) void step_post_send(struct pair *pair, uint64_t number)
{
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	must_succeed("dat_ep_post_send", dat_ep_post_send(pair->from, 1, &pair->source, cookie,
							  DAT_COMPLETION_DEFAULT_FLAG));
}

static __attribute__((noinline)) void step_take_recv(DAT_EVENT *event)
{
	next_event(recv_evd, event);
	if (event->event_data.dto_completion_event_data.transfered_length != BENCH_BYTES)
		bench_die("a Receive", event->event_data.dto_completion_event_data.status);
}

static __attribute__((noinline)) void step_take_send(DAT_EVENT *event)
{
	next_event(send_evd, event);
	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		bench_die("a Send", event->event_data.dto_completion_event_data.status);
}

static void run_steps(long rounds)
{
	DAT_EVENT event;

	for (long n = 0; n < rounds; n++) {
		step_post_recv(pair_list, (uint64_t)n);
		step_post_send(pair_list, (uint64_t)n);
		step_take_recv(&event);
		step_take_send(&event);
	}
}

const struct bench_side bench_steps = { "steps", library_set_up, run_steps, library_tear_down };
const struct bench_side bench_library = { "library", library_set_up, library_run,
					  library_tear_down };

/* ---- the trace ---- */

#ifndef BENCH_DAT2
void bench_trace(int on)
{
	DAT_SIM_HANDLE sim;

	must_succeed("dat_sim_of", dat_sim_of(ia0, &sim));
	must_succeed("dat_sim_trace", dat_sim_trace(sim, on ? DAT_TRUE : DAT_FALSE));
}

static void traced_set_up(int pair_count, int in_flight_count)
{
	library_set_up(pair_count, in_flight_count);
	bench_trace(1);
}

const struct bench_side bench_traced = { "traced", traced_set_up, library_run, library_tear_down };
#endif

/* ---- connections ---- */

static struct pair *idle;
static int idle_count;

void bench_connect(int count)
{
	struct pair pair;

	while (count-- > 0) {
		connect_pair(&pair, 16);
		disconnect_pair(&pair);
	}
}

void bench_free(int unreaped, long eps)
{
	DAT_EP_HANDLE ep;

	library_set_up(1, unreaped);
	for (int n = 0; n < unreaped; n++)
		post_one(pair_list);
	for (; eps > 0; eps--) {
		must_succeed("dat_ep_create",
			     dat_ep_create(ia0, pz0, unused0, send_evd, conn0, NULL, &ep));
		must_succeed("dat_ep_free", dat_ep_free(ep));
	}
	library_tear_down();
}

void bench_idle_open(void)
{
	open_adapters(16);
	idle_count = 0;
}

void bench_idle_add(int count)
{
	idle = realloc(idle, (size_t)(idle_count + count) * sizeof(*idle));
	if (!idle)
		bench_die("memory", 0);
	while (count-- > 0)
		connect_pair(&idle[idle_count++], 16);
}

void bench_idle_close(void)
{
	for (int n = 0; n < idle_count; n++)
		disconnect_pair(&idle[n]);
	free(idle);
	idle = NULL;
	close_adapters();
}
