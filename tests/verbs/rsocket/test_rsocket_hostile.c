/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of librdmacm that pretends to be an rsocket: what it says wrong ends the connection and
 * harms nothing. It is at emu0, the rsocket at emu1, both in this process.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "tests/support/support.h"

#define THERE    "198.18.0.2"
#define PORT     7471
#define MAGIC    0x72736b31u
#define SLOTS    64u
#define RECEIVES 64
#define SOON     10000

enum {
	DATA = 1,
	LIMIT,
	END,
	MAP,
	UNMAP
};

struct hello {
	uint32_t magic, slots, body;
};

struct region {
	uint64_t offset, length, addr;
	uint32_t key, unused;
};

static struct rdma_event_channel *channel;
static struct rdma_cm_id *fake, *fake_listener;
static struct ibv_mr *mr;
static uint8_t memory[RECEIVES + 1][16384];
static uint8_t spare[4096];
static int real, listener;

static struct sockaddr_in in_address(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, THERE, &addr.sin_addr), 1);
	return addr;
}

#define REFUSED(call, why)                      \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

static enum rdma_cm_event_type take_event(void)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	type = event->event;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		fake = event->id;
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	return type;
}

static void give_queues(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = RECEIVES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	ck_assert_int_eq(rdma_create_qp(fake, NULL, &init), 0);
	mr = rdma_reg_msgs(fake, memory, sizeof(memory));
	ck_assert_ptr_nonnull(mr);
	for (int i = 1; i <= RECEIVES; i++)
		ck_assert_int_eq(rdma_post_recv(fake, NULL, memory[i], sizeof(memory[i]), mr), 0);
}

static struct rdma_conn_param param_of(const void *data, size_t size)
{
	return (struct rdma_conn_param){ .private_data = data,
					 .private_data_len = (uint8_t)size,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
}

static void begin(void)
{
	struct sockaddr_in addr = in_address(PORT);

	fake = fake_listener = NULL;
	real = -1;
	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	listener = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(rbind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(rlisten(listener, 4), 0);
}

static void forget_fake(void)
{
	ck_assert_int_eq(rdma_dereg_mr(mr), 0);
	rdma_destroy_qp(fake);
	ck_assert_int_eq(rdma_destroy_id(fake), 0);
}

static void end(void)
{
	if (real >= 0)
		ck_assert_int_eq(rclose(real), 0);
	if (fake_listener)
		ck_assert_int_eq(rdma_destroy_id(fake_listener), 0);
	rdma_destroy_event_channel(channel);
	ck_assert_int_eq(rclose(listener), 0);
}

static int events_of(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	return rpoll(&pfd, 1, SOON);
}

/* The pretender asks, with these bytes for its hello. */
static void ask(const void *data, size_t size)
{
	struct rdma_conn_param param = param_of(data, size);
	struct sockaddr_in addr = in_address(PORT);

	ck_assert_int_eq(rdma_create_id(channel, &fake, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_resolve_addr(fake, NULL, (struct sockaddr *)&addr, 1000), 0);
	ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(fake, 1000), 0);
	ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_ROUTE_RESOLVED);
	give_queues();
	ck_assert_int_eq(rdma_connect(fake, &param), 0);
}

static struct hello hello_of(uint32_t magic, uint32_t slots, uint32_t body)
{
	return (struct hello){ htonl(magic), htonl(slots), htonl(body) };
}

static void connect_fake(void)
{
	struct hello hello = hello_of(MAGIC, SLOTS, sizeof(memory[0]) - 8);

	ask(&hello, sizeof(hello));
	ck_assert_int_eq(events_of(listener, POLLIN), 1);
	real = raccept(listener, NULL, NULL);
	ck_assert_int_ge(real, 0);
	ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_int_eq(events_of(real, POLLOUT), 1);
}

static void send_bytes(size_t size)
{
	struct ibv_wc wc;

	ck_assert_int_eq(rdma_post_send(fake, NULL, memory[0], size, mr, 0), 0);
	ck_assert_int_eq(rdma_get_send_comp(fake, &wc), 1);
}

static void send_message(uint32_t type, uint32_t limit, const void *body, size_t size)
{
	uint32_t head[2] = { htonl(limit), htonl(type) };

	memcpy(memory[0], head, sizeof(head));
	if (size)
		memcpy(memory[0] + sizeof(head), body, size);
	send_bytes(sizeof(head) + size);
}

static void send_region(uint32_t type, uint64_t offset, uint64_t length)
{
	struct region region = { htobe64(offset), htobe64(length), 0, 0, 0 };

	send_message(type, SLOTS, &region, sizeof(region));
}

/* A good one, and a byte more. */
static void send_longer_region(void)
{
	struct region region = { 0, htobe64(1), 0, 0, 0 };

	memcpy(spare, &region, sizeof(region));
	send_message(MAP, SLOTS, spare, sizeof(region) + 1);
}

/* Each slot has held a message: the rest of a shorter one looks like it. */
static void fill_slots(void)
{
	struct pollfd pfd = { .fd = real };

	for (uint32_t i = 0; i < SLOTS; i++) {
		send_message(LIMIT, SLOTS, NULL, 0);
		ck_assert_int_eq(rpoll(&pfd, 1, 0), 0);
	}
}

static void expect_reset(void)
{
	char got;

	REFUSED(rrecv(real, &got, 1, 0), ECONNRESET);
	REFUSED(rsend(real, &got, 1, 0), ECONNRESET);
}

static void expect_alive(void)
{
	char got;

	send_message(DATA, SLOTS, "x", 1);
	ck_assert_int_eq(rrecv(real, &got, 1, 0), 1);
	ck_assert_int_eq(got, 'x');
}

/* ---- the hello ---- */

static void expect_rejection(const void *data, size_t size)
{
	struct pollfd fds[] = { { .fd = listener, .events = POLLIN },
				{ .fd = channel->fd, .events = POLLIN } };

	ask(data, size);
	ck_assert_int_eq(rpoll(fds, 2, SOON), 1);
	ck_assert_int_eq(fds[0].revents, 0);
	REFUSED(raccept(listener, NULL, NULL), EAGAIN);
	ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_REJECTED);
	forget_fake();
}

START_TEST(a_hello_that_is_none_is_rejected)
{
	const struct hello bad[] = {
		hello_of(MAGIC + 1, SLOTS, 1000),      hello_of(MAGIC, 3, 1000),
		hello_of(MAGIC, 1025, 1000),           hello_of(MAGIC, SLOTS, 63),
		hello_of(MAGIC, SLOTS, (1 << 20) + 1),
	};

	begin();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_rejection(&bad[i], sizeof(bad[i]));
	expect_rejection(bad, sizeof(bad[0]) - 1);
	expect_rejection(NULL, 0);
	end();
}
END_TEST

START_TEST(a_hello_at_its_limits_is_accepted)
{
	const struct hello good[] = { hello_of(MAGIC, 4, 64), hello_of(MAGIC, 1024, 1 << 20) };

	begin();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ask(&good[i], sizeof(good[i]));
		ck_assert_int_eq(events_of(listener, POLLIN), 1);
		real = raccept(listener, NULL, NULL);
		ck_assert_int_ge(real, 0);
		ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_ESTABLISHED);
		ck_assert_int_eq(events_of(real, POLLOUT), 1);
		ck_assert_int_eq(rclose(real), 0);
		real = -1;
		ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_DISCONNECTED);
		forget_fake();
	}
	end();
}
END_TEST

START_TEST(an_answer_without_a_hello_ends_the_connection)
{
	struct sockaddr_in addr = in_address(PORT + 1);
	struct rdma_conn_param param = param_of("junk", 4);
	int err;
	socklen_t size = sizeof(err);

	begin();
	ck_assert_int_eq(rdma_create_id(channel, &fake_listener, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_bind_addr(fake_listener, (struct sockaddr *)&addr), 0);
	ck_assert_int_eq(rdma_listen(fake_listener, 1), 0);
	real = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	REFUSED(rconnect(real, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_CONNECT_REQUEST);
	give_queues();
	ck_assert_int_eq(rdma_accept(fake, &param), 0);
	ck_assert_int_eq(events_of(real, POLLOUT), 1);
	ck_assert_int_eq(rgetsockopt(real, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, EPROTO);
	REFUSED(rsend(real, "x", 1, 0), EPROTO);
	forget_fake();
	end();
}
END_TEST

/* ---- messages ---- */

START_TEST(what_is_right_arrives)
{
	uint8_t room[8];

	begin();
	connect_fake();
	expect_alive();
	send_region(MAP, 100, 50);
	send_region(MAP, 150, 50);
	send_region(MAP, 50, 50);
	expect_alive();
	send_region(UNMAP, 100, 50);
	send_message(LIMIT, SLOTS, NULL, 0);
	expect_alive();
	ck_assert_int_eq(rsend(real, "answer", 6, 0), 6);
	send_message(LIMIT, SLOTS + 1, NULL, 0);
	send_message(END, SLOTS + 1, NULL, 0);
	ck_assert_int_eq(rrecv(real, room, sizeof(room), 0), 0);
	forget_fake();
	end();
}
END_TEST

#define WRONG(name, ...)        \
	START_TEST(name)        \
	{                       \
		begin();        \
		connect_fake(); \
		__VA_ARGS__;    \
		expect_reset(); \
		forget_fake();  \
		end();          \
	}                       \
	END_TEST

WRONG(an_empty_message_resets, send_bytes(0))
WRONG(a_message_shorter_than_its_head_resets, fill_slots(), send_bytes(7))
WRONG(a_message_longer_than_a_slot_resets, send_message(DATA, SLOTS, spare, 4096))
WRONG(an_unknown_message_resets, send_message(0, SLOTS, NULL, 0))
WRONG(an_unknown_message_of_a_higher_number_resets, send_message(6, SLOTS, "x", 1))
WRONG(data_without_a_body_resets, send_message(DATA, SLOTS, NULL, 0))
WRONG(a_limit_that_falls_resets, send_message(LIMIT, SLOTS - 1, NULL, 0))
WRONG(a_limit_beyond_the_slots_resets, send_message(LIMIT, SLOTS + 1, NULL, 0))
WRONG(a_region_of_another_size_resets, send_longer_region())
WRONG(an_empty_region_resets, send_region(MAP, 0, 0))
WRONG(a_region_beyond_all_offsets_resets, send_region(MAP, INT64_MAX, 1))
WRONG(regions_that_overlap_reset, send_region(MAP, 0, 100), send_region(MAP, 99, 2))
WRONG(the_end_of_no_region_resets, send_region(UNMAP, 0, 1))
WRONG(the_end_of_another_region_resets, send_region(MAP, 0, 9), send_region(UNMAP, 1, 8))

START_TEST(a_peer_that_talks_nonsense_is_disconnected)
{
	struct pollfd pfd = { .events = POLLIN };

	begin();
	connect_fake();
	send_message(0, SLOTS, NULL, 0);
	expect_reset();
	pfd.fd = channel->fd;
	ck_assert_int_eq(rpoll(&pfd, 1, SOON), 1);
	ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_DISCONNECTED);
	forget_fake();
	end();
}
END_TEST

START_TEST(data_after_the_end_resets)
{
	begin();
	connect_fake();
	send_message(END, SLOTS, NULL, 0);
	send_message(DATA, SLOTS, "x", 1);
	REFUSED(rrecv(real, spare, 1, 0) == 0 ? rsend(real, "x", 1, 0) : -1, ECONNRESET);
	forget_fake();
	end();
}
END_TEST

/* The rsocket finds both, and that it is connected, at once: in the order in which it looks. */
START_TEST(nonsense_that_comes_with_the_connection_resets)
{
	struct hello hello = hello_of(MAGIC, SLOTS, sizeof(memory[0]) - 8);

	begin();
	ask(&hello, sizeof(hello));
	ck_assert_int_eq(events_of(listener, POLLIN), 1);
	real = raccept(listener, NULL, NULL);
	ck_assert_int_ge(real, 0);
	ck_assert_int_eq((int)take_event(), (int)RDMA_CM_EVENT_ESTABLISHED);
	send_message(END, SLOTS, NULL, 0);
	send_message(DATA, SLOTS, "x", 1);
	REFUSED(rrecv(real, spare, 1, 0) == 0 ? rsend(real, "x", 1, 0) : -1, ECONNRESET);
	forget_fake();
	end();
}
END_TEST

START_TEST(more_regions_than_are_kept_reset)
{
	begin();
	connect_fake();
	for (uint64_t i = 0; i < 128; i++) {
		send_region(MAP, i, 1);
		if (i % 16 == 15)
			expect_alive();
	}
	send_region(MAP, 128, 1);
	expect_reset();
	forget_fake();
	end();
}
END_TEST

START_TEST(a_peer_that_takes_nothing_blocks_the_sender_only)
{
	ssize_t n;

	begin();
	connect_fake();
	ck_assert_int_eq(rfcntl(real, F_SETFL, O_NONBLOCK), 0);
	while ((n = rsend(real, spare, 100, 0)) == 100)
		;
	ck_assert_int_eq(n, -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(rfcntl(real, F_SETFL, 0), 0);
	expect_alive();
	forget_fake();
	end();
}
END_TEST

/* What it is to be told of regions waits, as much as has room. */
START_TEST(a_peer_that_takes_nothing_ends_the_mapping_of_memory)
{
	const int one = 1;
	int n = 0;

	begin();
	connect_fake();
	ck_assert_int_eq(rsetsockopt(real, SOL_RDMA, RDMA_IOMAPSIZE, &one, sizeof(one)), 0);
	while (n < 1000 && riomap(real, spare, sizeof(spare), PROT_WRITE, 0, 0) == 0 &&
	       riounmap(real, spare, sizeof(spare)) == 0)
		n++;
	ck_assert_int_eq(errno, ENOBUFS);
	ck_assert_int_gt(n, 250);
	ck_assert_int_lt(n, 1000);
	forget_fake();
	end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_hello_that_is_none_is_rejected, 1, NULL);
	unit_add(suite, a_hello_at_its_limits_is_accepted, 1, NULL);
	unit_add(suite, an_answer_without_a_hello_ends_the_connection, 1, NULL);
	unit_add(suite, what_is_right_arrives, 1, NULL);
	unit_add(suite, an_empty_message_resets, 1, NULL);
	unit_add(suite, a_message_shorter_than_its_head_resets, 1, NULL);
	unit_add(suite, a_message_longer_than_a_slot_resets, 1, NULL);
	unit_add(suite, an_unknown_message_resets, 1, NULL);
	unit_add(suite, an_unknown_message_of_a_higher_number_resets, 1, NULL);
	unit_add(suite, data_without_a_body_resets, 1, NULL);
	unit_add(suite, a_limit_that_falls_resets, 1, NULL);
	unit_add(suite, a_limit_beyond_the_slots_resets, 1, NULL);
	unit_add(suite, a_region_of_another_size_resets, 1, NULL);
	unit_add(suite, an_empty_region_resets, 1, NULL);
	unit_add(suite, a_region_beyond_all_offsets_resets, 1, NULL);
	unit_add(suite, regions_that_overlap_reset, 1, NULL);
	unit_add(suite, the_end_of_no_region_resets, 1, NULL);
	unit_add(suite, the_end_of_another_region_resets, 1, NULL);
	unit_add(suite, a_peer_that_talks_nonsense_is_disconnected, 1, NULL);
	unit_add(suite, data_after_the_end_resets, 1, NULL);
	unit_add(suite, nonsense_that_comes_with_the_connection_resets, 1, NULL);
	unit_add(suite, more_regions_than_are_kept_reset, 1, NULL);
	unit_add(suite, a_peer_that_takes_nothing_ends_the_mapping_of_memory, 1, NULL);
	unit_add(suite, a_peer_that_takes_nothing_blocks_the_sender_only, 1, NULL);
}

UNIT_SUITE("rsocket_hostile")
