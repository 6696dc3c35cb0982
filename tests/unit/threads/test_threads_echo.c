/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server that echoes the messages of several clients at the same time: eight threads wait on one
 * CNO for the EVDs of all connections. Rulings C1, G7. Every message comes back once, whole and
 * with its own bytes.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/support/support.h"

enum {
	WORKERS = 8,
	CLIENTS = 4,
	WINDOW = 4, /* messages that a client has in flight */
	MESSAGES = 200,
	OF_CLIENT = SLOTS / CLIENTS, /* slots: WINDOW to send from, WINDOW to receive into */
};

#define ECHO_COOKIE 0x1000 /* cookie of a Send of the server; the cookie of a Receive is its slot */

struct connection {
	int number;
	DAT_EP_HANDLE client, server;
	DAT_EVD_HANDLE client_evd, server_evd;
};

static struct connection connection[CLIENTS];
static DAT_CNO_HANDLE cno;
static atomic_int echoed, left;

static int slot_of(const struct connection *c, int n)
{
	return c->number * OF_CLIENT + n;
}

/* ---- the server ---- */

static void post_echo(const struct connection *c, int n, DAT_VLEN length)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, n, length);

	must(dat_ep_post_send(c->server, 1, &iov, cookie(n | ECHO_COOKIE),
			      DAT_COMPLETION_DEFAULT_FLAG));
}

/*
 * The worker sends a message back from the buffer it arrived in, and then posts the buffer again.
 */
static void serve(const struct connection *c, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	int n = (int)dto->user_cookie.as_64;

	ck_assert_int_eq(event->event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
	ck_assert_ptr_eq(dto->ep_handle, c->server);
	if (n & ECHO_COOKIE)
		post_recv(&w.b, c->server, n & ~ECHO_COOKIE);
	else
		post_echo(c, n, dto->transfered_length);
	if (n & ECHO_COOKIE)
		atomic_fetch_add(&echoed, 1);
}

static const struct connection *connection_of(DAT_EVD_HANDLE evd)
{
	for (int i = 0; i < CLIENTS; i++)
		if (connection[i].server_evd == evd)
			return &connection[i];
	ck_abort_msg("an EVD that hangs on no CNO");
}

static void *work(void *arg)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	for (;;) {
		must(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &evd));
		if (evd == NO_HANDLE)
			break;
		while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
			serve(connection_of(evd), &event);
	}
	atomic_fetch_add(&left, 1);
	return arg;
}

/* ---- a client ---- */

static void say(const struct connection *c, int message)
{
	int n = slot_of(c, message % WINDOW);

	memset(slot(&w.a, n), message * CLIENTS + c->number, SHORT);
	memcpy(slot(&w.a, n), &message, sizeof(message));
	post_recv(&w.a, c->client, n + WINDOW);
	post_send(&w.a, c->client, n, SHORT);
}

/* An echo may overtake another one: two workers may serve one connection. */
static void hear(const struct connection *c, int n, bool *heard)
{
	unsigned char *at = slot(&w.a, n);
	int message = -1;

	memcpy(&message, at, sizeof(message));
	ck_assert_int_ge(message, 0);
	ck_assert_int_lt(message, MESSAGES);
	ck_assert(!heard[message]);
	heard[message] = true;
	for (int i = sizeof(message); i < SHORT; i++)
		ck_assert_int_eq(at[i], (message * CLIENTS + c->number) & 0xff);
}

static void await(const struct connection *c, int completions, bool *heard)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	while (completions-- > 0) {
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;
		int n;

		must(dat_evd_wait(c->client_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
		ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
		n = (int)dto->user_cookie.as_64;
		if (n % OF_CLIENT >= WINDOW)
			hear(c, n, heard);
	}
}

static void *talk(void *arg)
{
	const struct connection *c = arg;
	bool heard[MESSAGES] = { false };

	for (int message = 0; message < MESSAGES; message += WINDOW) {
		for (int i = 0; i < WINDOW; i++)
			say(c, message + i);
		await(c, 2 * WINDOW, heard);
	}
	for (int i = 0; i < MESSAGES; i++)
		ck_assert(heard[i]);
	return NULL;
}

/* ---- server and clients together ---- */

static void connect_client(int number)
{
	struct connection *c = &connection[number];
	DAT_EVD_HANDLE kept[] = { w.a.recv, w.a.request, w.b.recv, w.b.request };

	c->number = number;
	w.a.recv = w.a.request = c->client_evd = make_evd(&w.a, 64, DAT_EVD_DTO_FLAG);
	w.b.recv = w.b.request = c->server_evd = make_evd(&w.b, 64, DAT_EVD_DTO_FLAG);
	must(dat_evd_modify_cno(c->server_evd, cno));
	c->client = plain_ep(&w.a);
	c->server = plain_ep(&w.b);
	connect_eps(&w.a, c->client, &w.b, c->server);
	for (int i = 0; i < 2 * WINDOW; i++)
		post_recv(&w.b, c->server, slot_of(c, i));
	w.a.recv = kept[0];
	w.a.request = kept[1];
	w.b.recv = kept[2];
	w.b.request = kept[3];
}

/* In a process of several tests, the counters still have what the previous test counted. */
static void begin_service(void)
{
	atomic_store(&echoed, 0);
	atomic_store(&left, 0);
	must(dat_cno_create(w.b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	for (int i = 0; i < CLIENTS; i++)
		connect_client(i);
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	ck_assert_int_eq(pthread_create(thread, NULL, run, arg), 0);
}

static void join(pthread_t thread)
{
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/*
 * The workers return when the last EVD of the CNO is freed; late workers return at the next such
 * free.
 */
static void end_service(pthread_t *worker)
{
	DAT_EVD_HANDLE evd;

	for (int i = 0; i < CLIENTS; i++) {
		must(dat_ep_free(connection[i].server));
		must(dat_evd_free(connection[i].server_evd));
	}
	while (atomic_load(&left) < WORKERS) {
		must(dat_evd_create(w.b.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
		must(dat_evd_free(evd));
		sched_yield();
	}
	for (int i = 0; i < WORKERS; i++)
		join(worker[i]);
	ck_assert_int_eq(atomic_load(&left), WORKERS);
	must(dat_cno_free(cno));
}

START_TEST(C1_eight_threads_and_one_CNO_echo_all_messages)
{
	pthread_t worker[WORKERS], client[CLIENTS];

	begin_service();
	for (int i = 0; i < WORKERS; i++)
		start(&worker[i], work, NULL);
	for (int i = 0; i < CLIENTS; i++)
		start(&client[i], talk, &connection[i]);
	for (int i = 0; i < CLIENTS; i++)
		join(client[i]);
	/* The server's last Sends complete a little later. */
	while (atomic_load(&echoed) < CLIENTS * MESSAGES)
		sched_yield();
	ck_assert_int_eq(atomic_load(&echoed), CLIENTS * MESSAGES);
	end_service(worker);
}
END_TEST

static void *close_all(void *arg)
{
	while (atomic_load(&echoed) < 50)
		sched_yield();
	must(dat_ia_close(w.b.ia, DAT_CLOSE_ABRUPT_FLAG));
	return arg;
}

/* Whatever the threads were doing: only these return codes, no object left, no thread stuck. */
static void *work_until_closed(void *arg)
{
	DAT_LMR_TRIPLET iov = { .lmr_context = w.b.context,
				.virtual_address = (uintptr_t)slot(&w.b, 0),
				.segment_length = SHORT };
	DAT_EVD_HANDLE evd = NO_HANDLE;
	DAT_EVENT event;

	while (dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &evd) == DAT_SUCCESS && evd != NO_HANDLE) {
		while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
			DAT_EP_HANDLE ep = event.event_data.dto_completion_event_data.ep_handle;

			dat_ep_post_recv(ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG);
			dat_ep_post_send(ep, 0, NULL, cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
			atomic_fetch_add(&echoed, 1);
		}
	}
	return arg;
}

static void *talk_until_closed(void *arg)
{
	const struct connection *c = arg;
	DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
	DAT_EVENT event;

	while (status == DAT_DTO_SUCCESS) {
		DAT_LMR_TRIPLET iov = segment(&w.a, slot_of(c, 0), SHORT);
		DAT_COUNT nmore;

		must(dat_ep_post_send(c->client, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
		must(dat_evd_wait(c->client_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
		status = event.event_data.dto_completion_event_data.status;
	}
	return NULL;
}

START_TEST(page_an_abrupt_close_under_a_busy_server_releases_everybody)
{
	pthread_t worker[WORKERS], client[CLIENTS], closer;

	begin_service();
	for (int i = 0; i < WORKERS; i++)
		start(&worker[i], work_until_closed, NULL);
	start(&closer, close_all, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		for (int n = WINDOW; n < 2 * WINDOW; n++)
			post_recv(&w.a, connection[i].client, slot_of(&connection[i], n));
		start(&client[i], talk_until_closed, &connection[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		join(client[i]);
	for (int i = 0; i < WORKERS; i++)
		join(worker[i]);
	join(closer);
	w.b.ia = NO_HANDLE;
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, C1_eight_threads_and_one_CNO_echo_all_messages);
	unit_test(suite, page_an_abrupt_close_under_a_busy_server_releases_everybody);
}

UNIT_SUITE("threads_echo")
