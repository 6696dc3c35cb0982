/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls every function that the EXAMPLES of the manual define, on two connected ends, in the order
 * in which a program would. manual.sh compiles the examples and links them with this.
 */
#include <dat/udat.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manual.h"

#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "manual.c:%d: " #what "\n", __LINE__); \
			exit(1);                                               \
		}                                                              \
	} while (0)
#define GOOD(call) good(call, #call, __LINE__)

static void good(DAT_RETURN ret, const char *call, int line)
{
	if (ret == DAT_SUCCESS)
		return;
	dat_perror(call, ret);
	fprintf(stderr, "manual.c:%d\n", line);
	exit(1);
}

#define BUFFERS 4
#define BYTES   64

struct end {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, done, connections;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET local[BUFFERS];
	DAT_RMR_TRIPLET remote;
	char memory[BUFFERS * BYTES];
};

static struct end client, server;
static int handled;

static void end_open(struct end *end, char *name)
{
	DAT_LMR_TRIPLET all;
	int i;

	GOOD(adapter_open(name, &end->ia, &end->async));
	GOOD(client_zone(end->ia, &end->pz));
	GOOD(queues_create(end->ia, 64, &end->done, &end->connections));
	GOOD(endpoint_create(end->ia, end->pz, end->done, end->connections, &end->ep));
	GOOD(buffer_register(end->ia, end->pz, end->memory, sizeof(end->memory), &end->lmr, &all,
			     &end->remote));
	for (i = 0; i < BUFFERS; i++) {
		end->local[i] = all;
		end->local[i].virtual_address += (DAT_VADDR)(i * BYTES);
		end->local[i].segment_length = BYTES;
	}
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;

	GOOD(next_event(evd, &event));
	CHECK(event.event_number == wanted);
	CHECK(event_word(&event) != NULL);
	return event;
}

static DAT_IA_ADDRESS_PTR address_of(const struct end *end)
{
	DAT_IA_ATTR attr;

	GOOD(dat_ia_query(end->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			  DAT_PROVIDER_FIELD_NONE, NULL));
	return attr.ia_address_ptr;
}

static void connect_ends(void)
{
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	/* The request is on the wire while the server begins to listen. */
	GOOD(dat_ep_connect(client.ep, address_of(&server), 1000, 1000000, 4, "word",
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	GOOD(first_client(server.ia, server.connections, &cr));
	CHECK(knows(cr, "word"));
	CHECK(!knows(cr, "wort"));
	GOOD(welcome(cr, server.ep, &server.local[0]));
	next(client.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
	next(server.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK(DAT_GET_TYPE(next_event(server.connections, &event)) == DAT_TIMEOUT_EXPIRED);
	CHECK(!is_idle(server.ep));
}

static void messages(void)
{
	DAT_DTO_COMPLETION_STATUS status = DAT_DTO_ERR_FLUSHED;
	DAT_RMR_TRIPLET source = server.remote;
	DAT_COUNT left = -1, requests = 0;
	int failed = 0;

	GOOD(buffers_left(server.ep, &left));
	CHECK(left == 1);
	strcpy(client.memory, "hello");
	GOOD(send_and_wait(client.ep, client.done, &client.local[0], &status));
	CHECK(status == DAT_DTO_SUCCESS);
	GOOD(buffers_left(server.ep, &left));
	CHECK(left == 0);
	CHECK(next(server.done, DAT_DTO_COMPLETION_EVENT)
		      .event_data.dto_completion_event_data.transfered_length == BYTES);
	CHECK(strcmp(server.memory, "hello") == 0);

	GOOD(post_buffers(server.ep, server.local + 1, 2));
	strcpy(client.memory, "written");
	GOOD(write_and_tell(client.ep, &client.local[0], &server.remote, &client.local[1]));
	next(client.done, DAT_DTO_COMPLETION_EVENT);
	next(server.done, DAT_DTO_COMPLETION_EVENT);
	CHECK(strcmp(server.memory, "written") == 0);

	strcpy(server.memory, "fetched");
	source.segment_length = BYTES;
	GOOD(fetch(client.ep, client.done, &client.local[3], &source));
	CHECK(strcmp(client.memory + 3 * BYTES, "fetched") == 0);

	GOOD(request_limit(client.ep, &requests));
	CHECK(requests == 16);
	GOOD(drain(client.done, &failed));
	CHECK(failed == 0);
}

static void window(void)
{
	DAT_RMR_BIND_COMPLETION_STATUS status = DAT_RMR_BIND_FAILURE;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT key = 0;

	GOOD(dat_rmr_create(server.pz, &rmr));
	GOOD(window_open(rmr, server.ep, server.done, &server.local[0], &key, &status));
	CHECK(status == DAT_RMR_BIND_SUCCESS && key != 0);
	GOOD(dat_rmr_free(rmr));
}

static void hang_up_and_recycle(void)
{
	int failed = 0;

	GOOD(hang_up(client.ep, client.connections));
	next(server.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
	GOOD(drain(server.done, &failed));
	CHECK(failed == 1); /* the Receive that no message came for */
	CHECK(is_idle(server.ep));
	GOOD(recycle(client.ep));
	GOOD(recycle(server.ep));
}

static void *client_thread(void *number)
{
	DAT_EVENT_NUMBER *how = number;

	GOOD(connect_to(client.ep, client.connections, address_of(&server), 2000, how));
	return NULL;
}

/* A reserved service point, and a client that waits for its answer. */
static void connect_again(void)
{
	DAT_EVENT_NUMBER how = 0;
	DAT_RSP_HANDLE rsp;
	pthread_t thread;
	DAT_EVENT event;

	GOOD(reserve(server.ia, server.ep, server.connections, &rsp));
	CHECK(pthread_create(&thread, NULL, client_thread, &how) == 0);
	event = next(server.connections, DAT_CONNECTION_REQUEST_EVENT);
	GOOD(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, DAT_HANDLE_NULL, 0,
			   NULL));
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(how == DAT_CONNECTION_EVENT_ESTABLISHED);
	next(server.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
	GOOD(dat_rsp_free(rsp));
	GOOD(hang_up(server.ep, server.connections));
	next(client.connections, DAT_CONNECTION_EVENT_DISCONNECTED);
	GOOD(recycle(client.ep));
}

static void refusal(void)
{
	DAT_EVENT event;
	DAT_PSP_HANDLE psp;

	GOOD(dat_psp_create(server.ia, 3000, server.connections, DAT_PSP_CONSUMER_FLAG, &psp));
	GOOD(dat_ep_connect(client.ep, address_of(&server), 3000, 1000000, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next(server.connections, DAT_CONNECTION_REQUEST_EVENT);
	GOOD(answer(event.event_data.cr_arrival_event_data.cr_handle, DAT_HANDLE_NULL));
	next(client.connections, DAT_CONNECTION_EVENT_PEER_REJECTED);
	GOOD(dat_psp_free(psp));
	GOOD(drop_client(&client.ep));
	CHECK(client.ep == DAT_HANDLE_NULL);
}

static void shared_receives(void)
{
	DAT_BOOLEAN armed = DAT_FALSE;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_EVENT event = { .event_number = DAT_DTO_COMPLETION_EVENT };

	GOOD(shared_queue(server.ia, server.pz, &srq));
	GOOD(client_endpoint(server.ia, server.pz, server.done, server.connections, srq, &ep));
	GOOD(ep_assign(ep, server.pz, server.done, 8));
	GOOD(limit_client(ep, 64));
	GOOD(refill(srq, server.local, 1, 2, &armed));
	CHECK(!armed);
	GOOD(refill(srq, server.local + 1, 2, 2, &armed));
	CHECK(armed);
	event.event_data.dto_completion_event_data.user_cookie.as_64 = 3;
	GOOD(give_back(srq, server.local, &event));
	CHECK(slow_client(&event) == DAT_HANDLE_NULL);
	srq_print(srq);
	GOOD(srq_fit(srq));
	GOOD(drop_client(&ep));
	GOOD(dat_srq_free(srq));
}

static void count(const DAT_EVENT *event)
{
	handled += event->event_number == DAT_SOFTWARE_EVENT;
}

static void notifications(void)
{
	DAT_EVD_HANDLE evd[2], software;
	DAT_CNO_HANDLE cno;

	GOOD(queues_with_cno(server.ia, &cno, evd));
	GOOD(dat_evd_create(server.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &software));
	GOOD(tell(software, &handled));
	GOOD(tell(software, &handled));
	GOOD(serve(cno, count));
	CHECK(handled == 2);
}

int main(void)
{
	DAT_VLEN message = 0;
	DAT_COUNT dtos = 0;

	end_open(&client, "emu0");
	end_open(&server, "emu1");
	GOOD(adapter_limits(client.ia, &message, &dtos));
	CHECK(message >= 4096 && dtos >= 64);
	connect_ends();
	messages();
	window();
	hang_up_and_recycle();
	connect_again();
	refusal();
	shared_receives();
	notifications();
	dat_perror("manual", DAT_CLASS_ERROR | DAT_QUEUE_EMPTY);
	GOOD(adapter_close(client.ia));
	GOOD(adapter_close(server.ia));
	puts("every example ran");
	return 0;
}
