/* SPDX-License-Identifier: BSD-3-Clause */
/* The message of bench.h between many adapters, over the public API. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <dat/udat.h>

#include "bench.h"

#define PORT  4711
#define DEPTH 16

struct machine {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, conn, cr, send, recv;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_IA_ADDRESS_PTR address;
	unsigned char out[BENCH_BYTES], in[BENCH_BYTES];
};

struct line {
	DAT_EP_HANDLE from, to;
};

static struct machine *machines;
static struct line *lines;
static int count, degree;

static void must_succeed(const char *what, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		bench_die(what, ret);
}

static void take_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(evd, event)) == DAT_QUEUE_EMPTY)
		;
	must_succeed("dat_evd_dequeue", ret);
	if (event->event_number != number)
		bench_die("an event", event->event_number);
}

static DAT_EVD_HANDLE make_evd(struct machine *m, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	must_succeed("dat_evd_create", dat_evd_create(m->ia, DEPTH, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

static void open_machine(struct machine *m, int number)
{
	DAT_REGION_DESCRIPTION region = { .for_va = m->out };
	DAT_IA_ATTR attr;
	char name[16];

	snprintf(name, sizeof(name), "emu%d", number);
	m->async = DAT_HANDLE_NULL;
	must_succeed("dat_ia_open", dat_ia_open(name, 8, &m->async, &m->ia));
	must_succeed("dat_ia_query", dat_ia_query(m->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
						  DAT_PROVIDER_FIELD_NONE, NULL));
	m->address = attr.ia_address_ptr;
	must_succeed("dat_pz_create", dat_pz_create(m->ia, &m->pz));
	m->conn = make_evd(m, DAT_EVD_CONNECTION_FLAG);
	m->cr = make_evd(m, DAT_EVD_CR_FLAG);
	m->send = make_evd(m, DAT_EVD_DTO_FLAG);
	m->recv = make_evd(m, DAT_EVD_DTO_FLAG);
	must_succeed("dat_psp_create",
		     dat_psp_create(m->ia, PORT, m->cr, DAT_PSP_CONSUMER_FLAG, &m->psp));
	must_succeed("dat_lmr_create",
		     dat_lmr_create(m->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * BENCH_BYTES, m->pz,
				    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				    &m->lmr, &m->lkey, NULL, NULL, NULL));
}

static void connect_line(struct line *line, struct machine *from, struct machine *to)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = DEPTH,
		.max_request_dtos = DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_EVENT event;

	must_succeed("dat_ep_create", dat_ep_create(from->ia, from->pz, from->recv, from->send,
						    from->conn, &attr, &line->from));
	must_succeed("dat_ep_create",
		     dat_ep_create(to->ia, to->pz, to->recv, to->send, to->conn, &attr, &line->to));
	must_succeed("dat_ep_connect",
		     dat_ep_connect(line->from, to->address, PORT, DAT_TIMEOUT_INFINITE, 0, NULL,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	take_event(to->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	must_succeed("dat_cr_accept",
		     dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, line->to, 0,
				   NULL));
	take_event(from->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	take_event(to->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static DAT_LMR_TRIPLET segment_of(const struct machine *m, const unsigned char *at)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = m->lkey,
				  .virtual_address = (DAT_VADDR)(uintptr_t)at,
				  .segment_length = BENCH_BYTES };
}

static void send_line(struct line *line, struct machine *from, struct machine *to)
{
	DAT_LMR_TRIPLET source = segment_of(from, from->out), target = segment_of(to, to->in);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT event;

	must_succeed("dat_ep_post_recv",
		     dat_ep_post_recv(line->to, 1, &target, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	must_succeed("dat_ep_post_send",
		     dat_ep_post_send(line->from, 1, &source, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	take_event(to->recv, DAT_DTO_COMPLETION_EVENT, &event);
	if (event.event_data.dto_completion_event_data.transfered_length != BENCH_BYTES)
		bench_die("a Receive", event.event_data.dto_completion_event_data.status);
	take_event(from->send, DAT_DTO_COMPLETION_EVENT, &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		bench_die("a Send", event.event_data.dto_completion_event_data.status);
}

/* Each adapter and each of its partners: line, sender, receiver. */
static void each_line(void (*work)(struct line *line, struct machine *from, struct machine *to))
{
	for (int p = 0; p < degree; p++)
		for (int i = 0; i < count; i++)
			work(&lines[p * count + i], &machines[i], &machines[(i + p + 1) % count]);
}

void bench_many(int adapters, int partners, long rounds)
{
	double start;

	count = adapters;
	degree = partners;
	machines = calloc((size_t)count, sizeof(*machines));
	lines = calloc((size_t)count * (size_t)degree, sizeof(*lines));
	if (!machines || !lines)
		bench_die("memory", 0);
	for (int i = 0; i < count; i++)
		open_machine(&machines[i], i);
	each_line(connect_line);
	start = bench_now_ns();
	for (long n = 0; n < rounds; n++)
		each_line(send_line);
	printf("%.1f\n", (bench_now_ns() - start) / (double)rounds / count / degree);
	for (int i = 0; i < count; i++)
		must_succeed("dat_ia_close", dat_ia_close(machines[i].ia, DAT_CLOSE_ABRUPT_FLAG));
	free(lines);
	free(machines);
}
