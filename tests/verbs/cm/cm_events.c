/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for cm_events.sh: both ends of a connection of librdmacm in one process. It says every
 * event of librdmacm and of the device emu0, and when it came, in virtual time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT 7471

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *client, *server;
static bool says;
static uint64_t zero; /* times count from here */

static void need(bool good, const char *what)
{
	if (good)
		return;
	printf("no %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	need(ibv_query_rt_values_ex(listener->verbs, &values) == 0, "clock");
	return (uint64_t)values.raw_clock.tv_sec * 1000000000ul +
	       (uint64_t)values.raw_clock.tv_nsec;
}

static void say(const char *who, const char *event, int status)
{
	printf("%lu us: %s %s %d\n", (unsigned long)((now() - zero) / 1000), who, event, status);
}

static const char *name_of(const struct rdma_cm_id *id)
{
	if (id == listener)
		return "listener";
	return id == client ? "client" : "server";
}

/* The next event, said if the program says anything by now. */
static enum rdma_cm_event_type next_event(void)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	need(rdma_get_cm_event(channel, &event) == 0, "event");
	type = event->event;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		server = event->id;
	if (says)
		say(name_of(event->id), rdma_event_str(type) + strlen("RDMA_CM_EVENT_"),
		    event->status);
	rdma_ack_cm_event(event);
	return type;
}

static void await(enum rdma_cm_event_type type)
{
	while (next_event() != type)
		continue;
}

static struct sockaddr_in address(const char *ip)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, ip, &in.sin_addr);
	return in;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	need(rdma_create_qp(id, NULL, &init) == 0, "queue pair");
}

#define FIRST  "198.18.0.1" /* emu0, whose asynchronous events are said */
#define SECOND "198.18.0.2"

static void bind_to(struct rdma_cm_id *id, const char *ip)
{
	struct sockaddr_in in = address(ip);

	in.sin_port = 0;
	need(rdma_bind_addr(id, (struct sockaddr *)&in) == 0, "address");
}

static void begin(const char *ip)
{
	struct sockaddr_in in = address(ip);

	channel = rdma_create_event_channel();
	need(channel != NULL, "channel");
	need(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "id");
	need(rdma_bind_addr(listener, (struct sockaddr *)&in) == 0, "address");
	need(rdma_listen(listener, 2) == 0, "listener");
	need(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP) == 0, "id");
}

static void resolve(const char *ip, int timeout_ms)
{
	struct sockaddr_in in = address(ip);

	need(!rdma_resolve_addr(client, NULL, (struct sockaddr *)&in, timeout_ms), "address");
}

/* The request waits to be fetched. */
static void ask(const char *ip)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	resolve(ip, 1000);
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(client, 1000) == 0, "route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(client);
	need(rdma_connect(client, &param) == 0, "request");
}

static void connect_both(void)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	ask(SECOND);
	await(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(server);
	need(rdma_accept(server, &param) == 0, "accept");
	await(RDMA_CM_EVENT_ESTABLISHED);
	await(RDMA_CM_EVENT_ESTABLISHED);
}

static void destroy(struct rdma_cm_id *id)
{
	if (id && id->qp)
		rdma_destroy_qp(id);
	if (id)
		rdma_destroy_id(id);
}

/* The client disconnects and waits, then the server. With a second word, that is their option. */
static void part(const char *timeout)
{
	uint8_t code = (uint8_t)(timeout ? atoi(timeout) : 0);

	connect_both();
	if (timeout)
		need(!rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code,
				      sizeof(code)),
		     "option");
	says = true;
	zero = now();
	need(rdma_disconnect(client) == 0, "disconnect");
	await(RDMA_CM_EVENT_DISCONNECTED);
	await(RDMA_CM_EVENT_DISCONNECTED);
	if (client->verbs->device->transport_type == IBV_TRANSPORT_IB)
		await(RDMA_CM_EVENT_TIMEWAIT_EXIT);
	zero = now();
	need(rdma_disconnect(server) == 0, "disconnect");
	next_event();
}

/* The client posts a message and disconnects; the server has a Receive for it, or has not. */
static void use_last(bool receive)
{
	char text[8] = "message", in[8] = "";
	struct ibv_mr *mr, *to;
	struct ibv_wc wc;

	connect_both();
	says = true;
	mr = rdma_reg_msgs(client, text, sizeof(text));
	to = rdma_reg_msgs(server, in, sizeof(in));
	need(mr && to, "memory");
	if (receive)
		need(rdma_post_recv(server, NULL, in, sizeof(in), to) == 0, "Receive");
	zero = now();
	need(rdma_post_send(client, NULL, text, sizeof(text), mr, IBV_SEND_SIGNALED) == 0, "Send");
	need(rdma_disconnect(client) == 0, "disconnect");
	await(RDMA_CM_EVENT_DISCONNECTED);
	await(RDMA_CM_EVENT_DISCONNECTED);
	need(rdma_get_send_comp(client, &wc) == 1, "completion");
	say("Send", ibv_wc_status_str(wc.status), 0);
	if (receive && rdma_get_recv_comp(server, &wc) == 1)
		say("Receive", ibv_wc_status_str(wc.status), strcmp(in, text));
	rdma_dereg_mr(mr);
	rdma_dereg_mr(to);
}

/* ---- ports ---- */

static void await_async(const struct rdma_cm_id *id)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;

	need(ibv_get_async_event(id->verbs, &event) == 0, "asynchronous event");
	ibv_query_port(id->verbs, 1, &port);
	say(ibv_event_type_str(event.event_type), ibv_port_state_str(port.state), port.phys_state);
	ibv_ack_async_event(&event);
}

/* A Send while the port of emu0 is down; with "again", the port comes up before the last retry. */
static void use_port(bool again)
{
	char text[8] = "message";
	struct ibv_mr *mr, *to;
	struct ibv_wc wc;

	connect_both();
	says = true;
	mr = rdma_reg_msgs(client, text, sizeof(text));
	to = rdma_reg_msgs(server, text, sizeof(text));
	need(mr && to, "memory");
	need(rdma_post_recv(server, NULL, text, sizeof(text), to) == 0, "Receive");
	await_async(client);
	need(rdma_post_send(client, NULL, text, sizeof(text), mr, IBV_SEND_SIGNALED) == 0, "Send");
	if (again)
		await_async(client);
	need(rdma_get_send_comp(client, &wc) == 1, "completion");
	say("Send", ibv_wc_status_str(wc.status), 0);
	rdma_dereg_mr(mr);
	rdma_dereg_mr(to);
}

/* The address and then the route, while the port may be down; the first attempt may fail. */
static void use_resolve(int timeout_ms)
{
	says = true;
	bind_to(client, FIRST);
	await_async(client);
	resolve(SECOND, timeout_ms);
	if (next_event() == RDMA_CM_EVENT_ADDR_ERROR) {
		await_async(client);
		resolve(SECOND, timeout_ms);
		await(RDMA_CM_EVENT_ADDR_RESOLVED);
	}
}

static void use_route(int timeout_ms)
{
	struct rdma_conn_param param = { .retry_count = 7 };

	says = true;
	resolve(SECOND, timeout_ms);
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	await_async(client);
	need(rdma_resolve_route(client, timeout_ms) == 0, "route");
	if (next_event() == RDMA_CM_EVENT_ROUTE_ERROR) {
		need(rdma_resolve_route(client, 1000) == 0, "route");
		await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	}
	make_qp(client);
	need(rdma_connect(client, &param) == 0, "request");
	await(RDMA_CM_EVENT_CONNECT_REQUEST);
}

/* An id is destroyed while it waits, and another one takes its place. */
static void use_destroy(void)
{
	use_resolve(1000);
	destroy(client);
	need(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP) == 0, "id");
	bind_to(client, FIRST);
	resolve(SECOND, 1);
	destroy(client);
	need(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP) == 0, "id");
	resolve(SECOND, 1000);
	next_event();
}

/* ---- removal ---- */

#define TRY(call)                                                                        \
	do {                                                                             \
		int result = (call);                                                     \
		printf("%s: %s\n", #call, result ? strerrorname_np(errno) : "no error"); \
	} while (0)

/* The client's device goes. */
static void use_removal(void)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct sockaddr_in in = address(FIRST);
	struct rdma_cm_id *late;

	connect_both();
	says = true;
	await_async(client);
	next_event();
	TRY(rdma_disconnect(client));
	TRY(rdma_accept(client, &param));
	need(rdma_create_id(channel, &late, NULL, RDMA_PS_TCP) == 0, "id");
	in.sin_port = 0;
	TRY(rdma_bind_addr(late, (struct sockaddr *)&in));
	rdma_destroy_id(late);
	destroy(client);
	client = NULL;
	next_event();
}

/* That of the listener, with a request that the program has not fetched. */
static void use_removal_there(void)
{
	struct rdma_conn_param param = { .retry_count = 7 };

	bind_to(client, SECOND);
	ask(FIRST);
	says = true;
	await_async(listener);
	for (int i = 0; i < 3; i++)
		next_event();
	TRY(rdma_accept(server, &param));
	TRY(rdma_listen(listener, 1));
	destroy(server);
	server = NULL;
	next_event();
	destroy(client);
	need(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP) == 0, "id");
	bind_to(client, SECOND);
	ask(FIRST);
	next_event();
}

/* The server ends while its answer waits to be fetched; the client does not know of it then. */
static void use_late_answer(void)
{
	struct rdma_conn_param param = { .retry_count = 7 };

	ask(SECOND);
	await(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(server);
	need(rdma_accept(server, &param) == 0, "accept");
	usleep(100);
	destroy(server);
	server = NULL;
	says = true;
	zero = now();
	next_event();
	next_event();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *with = argc > 2 ? argv[2] : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	begin(strcmp(what, "removal-there") == 0 ? FIRST : SECOND);
	if (strcmp(what, "part") == 0)
		part(with);
	else if (strcmp(what, "last") == 0)
		use_last(with != NULL);
	else if (strcmp(what, "port") == 0)
		use_port(with != NULL);
	else if (strcmp(what, "resolve") == 0)
		use_resolve(with ? atoi(with) : 0);
	else if (strcmp(what, "route") == 0)
		use_route(with ? atoi(with) : 0);
	else if (strcmp(what, "late-answer") == 0)
		use_late_answer();
	else if (strcmp(what, "destroy") == 0)
		use_destroy();
	else if (strcmp(what, "removal") == 0)
		use_removal();
	else if (strcmp(what, "removal-there") == 0)
		use_removal_there();
	destroy(client);
	destroy(server);
	destroy(listener);
	rdma_destroy_event_channel(channel);
	puts("done");
	return 0;
}
