/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair server | pair client HOST ping|rate|sparse|bulk|wide [MESSAGES] - measures messages between
 * two processes of one fabric. It uses uDAPL only, and both ends poll. pair.sh compares it with
 * other libraries.
 *
 *   ping: 64 bytes there and back, one at a time; prints ns of half a round trip
 *   rate: 64 bytes, 64 messages in flight; prints messages per second
 *   sparse: the same, but only each 32nd Send of the client has a completion
 *   bulk: 1 MiB, 8 messages in flight, one buffer at each end; prints MB per second
 *   wide: the same with 8 buffers, 16 MiB in all
 *
 * A message is in flight until it is answered. The receiver answers once for each half of the
 * messages that may be in flight, so there is always a posted buffer for the next one.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dat/udat.h>

#include "pair_jobs.h"

#define QUALIFIER 7711
#define WAIT_US   10000000
#define CONNECTS  500

struct end {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, connect, requests, recv, send;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT key;
	uint8_t *memory; /* buffers to send from, then as many to receive into */
	struct job job;
};

static void pair_fail(const char *what)
{
	fprintf(stderr, "pair: %s\n", what);
	exit(1);
}

static void pair_check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "pair: %s: %s %s\n", call, major, minor);
	exit(1);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ---- one message ---- */

static DAT_LMR_TRIPLET end_segment(const struct end *end, uint32_t buffer, uint32_t bytes)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = end->key,
				  .virtual_address = (DAT_VADDR)(uintptr_t)end->memory +
						     (DAT_VADDR)buffer * end->job.bytes,
				  .segment_length = bytes };
}

static void post_send(struct end *end, uint32_t n, uint32_t bytes, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET iov = end_segment(end, n % end->job.buffers, bytes);
	DAT_DTO_COOKIE cookie = { .as_64 = n };

	pair_check(dat_ep_post_send(end->ep, 1, &iov, cookie, flags), "dat_ep_post_send");
}

static void post_recv(struct end *end, uint32_t n)
{
	DAT_LMR_TRIPLET iov =
		end_segment(end, end->job.buffers + n % end->job.buffers, end->job.bytes);
	DAT_DTO_COOKIE cookie = { .as_64 = n };

	pair_check(dat_ep_post_recv(end->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
}

static void poll_for(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		;
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		pair_fail("a transfer failed");
}

static void reap_sends(struct end *end)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(end->send, &event) == DAT_SUCCESS)
		;
}

/* ---- the jobs: sender and receiver ---- */

static void run_ping(struct end *end, uint32_t messages)
{
	for (uint32_t i = 0; i < messages; i++) {
		post_send(end, i, end->job.bytes, DAT_COMPLETION_DEFAULT_FLAG);
		poll_for(end->recv);
		post_recv(end, i);
		poll_for(end->send);
	}
}

static void run_pong(struct end *end, uint32_t messages)
{
	for (uint32_t i = 0; i < messages; i++) {
		poll_for(end->recv);
		post_recv(end, i);
		post_send(end, i, end->job.bytes, DAT_COMPLETION_DEFAULT_FLAG);
		poll_for(end->send);
	}
}

static void run_stream(struct end *end, uint32_t messages)
{
	uint32_t half = end->job.in_flight / 2, sent = 0, answered = 0;

	while (answered < messages) {
		while (sent < messages && sent - answered < end->job.in_flight) {
			bool signals = (sent + 1) % end->job.signals == 0;

			post_send(end, sent++, end->job.bytes,
				  signals ? DAT_COMPLETION_DEFAULT_FLAG
					  : DAT_COMPLETION_SUPPRESS_FLAG);
			if (signals)
				reap_sends(end);
		}
		poll_for(end->recv);
		post_recv(end, answered / half);
		answered += half;
	}
	reap_sends(end);
}

static void run_sink(struct end *end, uint32_t messages)
{
	uint32_t half = end->job.in_flight / 2;

	for (uint32_t i = 1; i <= messages; i++) {
		poll_for(end->recv);
		post_recv(end, i);
		if (i % half == 0) {
			post_send(end, i / half, SMALL, DAT_COMPLETION_DEFAULT_FLAG);
			reap_sends(end);
		}
	}
}

static void print_result(const struct job *job, double ns)
{
	if (job->in_flight == 1)
		printf("%.1f\n", ns / job->messages / 2);
	else if (job->bytes == SMALL)
		printf("%.0f\n", job->messages / ns * 1e9);
	else
		printf("%.0f\n", (double)job->bytes * job->messages / ns * 1e3);
}

static void run_client(struct end *end)
{
	const struct job *job = &end->job;
	uint32_t warm = job->messages / 10 / job->in_flight * job->in_flight;
	uint32_t messages = job->messages / job->in_flight * job->in_flight;
	void (*run)(struct end *, uint32_t) = job->in_flight == 1 ? run_ping : run_stream;
	double began;

	run(end, warm);
	began = now_ns();
	run(end, messages);
	print_result(job, now_ns() - began);
}

static void run_server(struct end *end)
{
	const struct job *job = &end->job;
	uint32_t warm = job->messages / 10 / job->in_flight * job->in_flight;
	uint32_t messages = job->messages / job->in_flight * job->in_flight;
	void (*run)(struct end *, uint32_t) = job->in_flight == 1 ? run_pong : run_sink;

	run(end, warm);
	run(end, messages);
}

/* ---- set-up and tear-down ---- */

static DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT event;

	pair_check(dat_evd_wait(evd, WAIT_US, 1, &event, &more), "dat_evd_wait");
	return event;
}

static void open_adapter(struct end *end)
{
	end->async = DAT_HANDLE_NULL;
	pair_check(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &end->async, &end->ia), "dat_ia_open");
	pair_check(dat_pz_create(end->ia, &end->pz), "dat_pz_create");
	pair_check(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
				  &end->connect),
		   "dat_evd_create");
	pair_check(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &end->requests),
		   "dat_evd_create");
	pair_check(dat_evd_create(end->ia, 4 * IN_FLIGHT_MAX, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &end->recv),
		   "dat_evd_create");
	pair_check(dat_evd_create(end->ia, 4 * IN_FLIGHT_MAX, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &end->send),
		   "dat_evd_create");
}

static void end_prepare(struct end *end)
{
	size_t size = (size_t)2 * end->job.buffers * end->job.bytes;
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = LARGE,
			     .max_recv_dtos = 2 * IN_FLIGHT_MAX,
			     .max_request_dtos = 2 * IN_FLIGHT_MAX,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT remote;
	DAT_VADDR address;
	DAT_VLEN length;

	end->memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	if (!end->memory)
		pair_fail("out of memory");
	memset(end->memory, 1, size);
	region.for_va = end->memory;
	pair_check(dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, region, size, end->pz,
				  DAT_MEM_PRIV_ALL_FLAG, &end->lmr, &end->key, &remote, &length,
				  &address),
		   "dat_lmr_create");
	pair_check(dat_ep_create(end->ia, end->pz, end->recv, end->send, end->connect, &attr,
				 &end->ep),
		   "dat_ep_create");
	for (uint32_t i = 0; i < end->job.in_flight; i++)
		post_recv(end, i);
}

static void end_finish(struct end *end)
{
	if (next_event(end->connect).event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		pair_fail("expected a graceful end of the connection");
	pair_check(dat_ep_free(end->ep), "dat_ep_free");
	pair_check(dat_lmr_free(end->lmr), "dat_lmr_free");
	pair_check(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(end->memory);
}

static void serve_client(void)
{
	struct end end = { .ia = DAT_HANDLE_NULL };
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM asked;

	open_adapter(&end);
	pair_check(dat_psp_create(end.ia, QUALIFIER, end.requests, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	cr = next_event(end.requests).event_data.cr_arrival_event_data.cr_handle;
	pair_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &asked), "dat_cr_query");
	memcpy(&end.job, asked.private_data, sizeof(end.job));
	end_prepare(&end);
	pair_check(dat_cr_accept(cr, end.ep, 0, NULL), "dat_cr_accept");
	if (next_event(end.connect).event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		pair_fail("no connection: is the server running?");
	run_server(&end);
	end_finish(&end);
}

static struct sockaddr_in resolve_host(const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET }, *found;
	struct sockaddr_in address;

	if (getaddrinfo(host, NULL, &hints, &found))
		pair_fail("expected a host name: it is not known");
	memcpy(&address, found->ai_addr, sizeof(address));
	freeaddrinfo(found);
	return address;
}

/* Retries, because the server may not have started yet. */
static void connect_to(struct end *end, const char *host)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct sockaddr_in address = resolve_host(host);

	for (int i = 0; i < CONNECTS; i++) {
		pair_check(dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)&address, QUALIFIER, WAIT_US,
					  sizeof(end->job), &end->job, DAT_QOS_BEST_EFFORT,
					  DAT_CONNECT_DEFAULT_FLAG),
			   "dat_ep_connect");
		if (next_event(end->connect).event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			return;
		pair_check(dat_ep_reset(end->ep), "dat_ep_reset");
		for (uint32_t n = 0; n < end->job.in_flight; n++)
			post_recv(end, n);
		nanosleep(&pause, NULL);
	}
	pair_fail("no connection: is the server running?");
}

/* messages: as a number; NULL: as many as the job has. */
static int ask_server(const char *host, const struct job *job, const char *messages)
{
	struct end end = { .job = *job };

	if (messages)
		end.job.messages = (uint32_t)strtoul(messages, NULL, 10);
	open_adapter(&end);
	end_prepare(&end);
	connect_to(&end, host);
	run_client(&end);
	pair_check(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	end_finish(&end);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "server") == 0) {
		serve_client();
		return 0;
	}
	for (size_t i = 0; (argc == 4 || argc == 5) && i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (strcmp(argv[1], "client") == 0 && strcmp(argv[3], jobs[i].name) == 0)
			return ask_server(argv[2], &jobs[i], argv[4]);
	fputs("usage: pair server | pair client HOST ping|rate|sparse|bulk|wide [MESSAGES]\n",
	      stderr);
	return 2;
}
