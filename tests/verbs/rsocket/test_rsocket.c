/* SPDX-License-Identifier: BSD-3-Clause */
/* Rsockets, used as a program uses sockets: connections, streams, their ends, and riowrite. */
#include "rsocket_pair.h"

#include <netinet/tcp.h>
#include <sys/uio.h>

/* ---- connections ---- */

START_TEST(bytes_go_both_ways)
{
	begin();
	connect_both();
	send_text(client, "question");
	expect_text(server, "question");
	send_text(server, "answer");
	expect_text(client, "answer");
	end();
}
END_TEST

START_TEST(both_ends_know_their_addresses)
{
	struct sockaddr_in own, peer, far;
	socklen_t size = sizeof(own);

	begin();
	ask();
	server = raccept(listener, (struct sockaddr *)&far, &size);
	ck_assert_int_ge(server, 0);
	ck_assert_uint_eq(size, sizeof(far));
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	ck_assert_int_eq(rgetsockname(client, (struct sockaddr *)&own, &size), 0);
	ck_assert_uint_eq(own.sin_port, far.sin_port);
	ck_assert_uint_eq(own.sin_addr.s_addr, far.sin_addr.s_addr);
	ck_assert_int_eq(rgetpeername(client, (struct sockaddr *)&peer, &size), 0);
	ck_assert_uint_eq(peer.sin_port, htons(PORT));
	ck_assert_int_eq(rgetsockname(server, (struct sockaddr *)&own, &size), 0);
	ck_assert_uint_eq(own.sin_addr.s_addr, peer.sin_addr.s_addr);
	size = 2;
	ck_assert_int_eq(rgetpeername(server, (struct sockaddr *)&peer, &size), 0);
	ck_assert_uint_eq(size, sizeof(peer));
	/* librspreload.so asks so for the family. */
	size = 0;
	ck_assert_int_eq(rgetsockname(server, NULL, &size), 0);
	ck_assert_uint_eq(size, sizeof(peer));
	size = 0;
	ck_assert_int_eq(rgetpeername(client, NULL, &size), 0);
	ck_assert_uint_eq(size, sizeof(peer));
	end();
}
END_TEST

START_TEST(a_port_without_a_listener_refuses_and_another_connect_may_follow)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);
	int err = 0;
	socklen_t size = sizeof(err);

	begin();
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	ck_assert_int_eq(events_of(client, POLLIN | POLLOUT, SOON),
			 POLLIN | POLLOUT | POLLERR | POLLHUP);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, ECONNREFUSED);
	REFUSED(rsend(client, "x", 1, 0), ENOTCONN);
	block(client);
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), ECONNREFUSED);
	unblock(client);
	connect_both();
	send_text(client, "at last");
	expect_text(server, "at last");
	end();
}
END_TEST

START_TEST(a_connect_forgets_the_error_of_an_earlier_one)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);
	int err = -1;
	socklen_t size = sizeof(err);

	begin();
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	ck_assert_int_ne(events_of(client, POLLOUT, SOON) & POLLERR, 0);
	ask();
	server = raccept(listener, NULL, NULL);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, 0);
	end();
}
END_TEST

START_TEST(a_peer_that_has_closed_is_still_named)
{
	struct sockaddr_in own, peer;
	socklen_t size = sizeof(own);

	begin();
	connect_both();
	ck_assert_int_eq(rgetsockname(client, (struct sockaddr *)&own, &size), 0);
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	ck_assert_int_eq(rrecv(server, in, 1, 0), 0);
	while (events_of(server, POLLIN, SOON) != (POLLIN | POLLHUP))
		;
	ck_assert_int_eq(rgetpeername(server, (struct sockaddr *)&peer, &size), 0);
	ck_assert_uint_eq(peer.sin_port, own.sin_port);
	end();
}
END_TEST

START_TEST(a_peer_that_is_no_rsocket_is_rejected)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .private_data = "stranger", .private_data_len = 8 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct pollfd answer = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	begin();
	unblock(listener);
	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
		ck_assert_int_eq(rdma_ack_cm_event(event), 0);
		if (i == 0)
			ck_assert_int_eq(rdma_resolve_route(id, 1000), 0);
	}
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	ck_assert_int_eq(rdma_connect(id, &param), 0);
	while (poll(&answer, 1, 0) == 0)
		ck_assert_int_eq(events_of(listener, POLLIN, 0), 0);
	REFUSED(raccept(listener, NULL, NULL), EAGAIN);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq((int)event->event, (int)RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	rdma_destroy_qp(id);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	end();
}
END_TEST

/* ---- the stream ---- */

/* Both ends in one thread: what one can send the other takes. */
static void stream(int from, int to, size_t size, size_t piece, size_t taken)
{
	size_t sent = 0, got = 0;
	ssize_t n;

	while (got < size) {
		n = rsend(from, out + sent, size - sent < piece ? size - sent : piece,
			  MSG_DONTWAIT);
		if (n < 0)
			ck_assert_int_eq(errno, EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		n = rrecv(to, in + got, size - got < taken ? size - got : taken, MSG_DONTWAIT);
		if (n < 0)
			ck_assert_int_eq(errno, EAGAIN);
		got += n > 0 ? (size_t)n : 0;
	}
	ck_assert_int_eq(memcmp(in, out, size), 0);
	memset(in, 0, size);
}

START_TEST(data_arrives_in_order_whatever_the_sizes)
{
	begin();
	connect_both();
	stream(client, server, LARGE / 4, LARGE, LARGE);
	stream(server, client, 10000, 1, 4096);
	stream(client, server, 10000, 4096, 1);
	stream(client, server, 100000, 3001, 777);
	end();
}
END_TEST

START_TEST(the_smallest_queues_and_buffers_are_enough)
{
	const int least = 1, flags[] = { SO_SNDBUF, SO_RCVBUF };
	int value;
	socklen_t size = sizeof(value);

	begin();
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rsetsockopt(client, SOL_SOCKET, flags[i], &least, sizeof(int)), 0);
		ck_assert_int_eq(rsetsockopt(listener, SOL_SOCKET, flags[i], &least, sizeof(int)),
				 0);
		ck_assert_int_eq(rsetsockopt(client, SOL_RDMA, i ? RDMA_SQSIZE : RDMA_RQSIZE,
					     &least, sizeof(int)),
				 0);
		ck_assert_int_eq(rsetsockopt(listener, SOL_RDMA, i ? RDMA_SQSIZE : RDMA_RQSIZE,
					     &least, sizeof(int)),
				 0);
	}
	ck_assert_int_eq(rgetsockopt(client, SOL_RDMA, RDMA_RQSIZE, &value, &size), 0);
	ck_assert_int_eq(value, 4);
	connect_both();
	REFUSED(rsetsockopt(client, SOL_RDMA, RDMA_RQSIZE, &value, sizeof(value)), EINVAL);
	stream(client, server, 200000, 5000, 5000);
	stream(server, client, 20000, 1, 5000);
	end();
}
END_TEST

/* Each side has sent all that the other's slots take; then both go on. */
START_TEST(two_sides_that_are_full_go_on_when_one_reads)
{
	size_t sent[2] = { 0 }, got[2] = { 0 };
	int fd[2];
	ssize_t n;

	begin();
	connect_both();
	fd[0] = client;
	fd[1] = server;
	for (int i = 0; i < 2; i++) {
		while ((n = rsend(fd[i], out + sent[i], 1000, MSG_DONTWAIT)) > 0)
			sent[i] += (size_t)n;
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert_int_eq(events_of(fd[i], POLLOUT, 0), 0);
	}
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 2; i++) {
			while (got[i] < sent[!i]) {
				n = rrecv(fd[i], in, sent[!i] - got[i], 0);
				ck_assert_int_gt(n, 0);
				ck_assert_int_eq(memcmp(in, out + got[i], (size_t)n), 0);
				got[i] += (size_t)n;
			}
			ck_assert_int_eq(events_of(fd[!i], POLLOUT, SOON), POLLOUT);
			n = rsend(fd[!i], out + sent[!i], 1000, 0);
			ck_assert_int_eq(n, 1000);
			sent[!i] += 1000;
		}
	}
	end();
}
END_TEST

START_TEST(what_is_peeked_at_stays)
{
	char got[16] = "";

	begin();
	connect_both();
	send_text(client, "one");
	send_text(client, "two");
	ck_assert_int_eq(rrecv(server, got, 2, MSG_WAITALL), 2);
	while (rrecv(server, got, sizeof(got), MSG_PEEK) != 4)
		;
	ck_assert_int_eq(memcmp(got, "etwo", 4), 0);
	expect_text(server, "etwo");
	REFUSED(rrecv(server, got, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
	end();
}
END_TEST

START_TEST(buffers_are_gathered_and_scattered)
{
	char a[3], b[4], abc[] = "abc", defg[] = "defg";
	struct iovec from[] = { { abc, 3 }, { NULL, 0 }, { defg, 4 } };
	struct iovec to[] = { { a, sizeof(a) }, { b, sizeof(b) } };
	struct msghdr message = { .msg_iov = to, .msg_iovlen = 2 };

	begin();
	connect_both();
	ck_assert_int_eq(rwritev(client, from, 3), 7);
	ck_assert_int_eq(rrecvmsg(server, &message, MSG_WAITALL), 7);
	ck_assert_int_eq(memcmp(a, "abc", 3), 0);
	ck_assert_int_eq(memcmp(b, "defg", 4), 0);
	message.msg_iov = from;
	message.msg_iovlen = 3;
	ck_assert_int_eq(rsendmsg(server, &message, 0), 7);
	ck_assert_int_eq(rreadv(client, to, 2), 7);
	ck_assert_int_eq(memcmp(b, "defg", 4), 0);
	end();
}
END_TEST

/* ---- the end ---- */

START_TEST(a_shut_stream_ends_and_the_other_one_goes_on)
{
	begin();
	connect_both();
	send_text(client, "last");
	ck_assert_int_eq(rshutdown(client, SHUT_WR), 0);
	REFUSED(rsend(client, "x", 1, 0), EPIPE);
	expect_text(server, "last");
	ck_assert_int_eq(rrecv(server, in, 1, 0), 0);
	ck_assert_int_eq(events_of(server, POLLIN | POLLRDHUP, SOON), POLLIN | POLLRDHUP);
	stream(server, client, 300000, 7000, 7000);
	end();
}
END_TEST

START_TEST(what_was_sent_before_a_close_is_read_after_it)
{
	begin();
	connect_both();
	ck_assert_int_eq(rsend(client, out, 50000, 0), 50000);
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	ck_assert_int_eq(rrecv(server, in, 50000, MSG_WAITALL), 50000);
	ck_assert_int_eq(memcmp(in, out, 50000), 0);
	ck_assert_int_eq(rrecv(server, in, 1, 0), 0);
	while (events_of(server, POLLIN, 0) != (POLLIN | POLLHUP))
		;
	REFUSED(rsend(server, "x", 1, 0), EPIPE);
	end();
}
END_TEST

START_TEST(a_close_without_lingering_resets)
{
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };
	struct linger linger;
	socklen_t size = sizeof(linger);

	begin();
	connect_both();
	ck_assert_int_eq(rsetsockopt(client, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_LINGER, &linger, &size), 0);
	ck_assert_int_eq(linger.l_onoff, 1);
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	REFUSED(rrecv(server, in, 1, 0), ECONNRESET);
	ck_assert_int_eq(events_of(server, POLLIN, SOON), POLLIN | POLLERR | POLLHUP);
	REFUSED(rsend(server, "x", 1, 0), ECONNRESET);
	end();
}
END_TEST

/* ---- riomap ---- */

START_TEST(riowrite_places_data_before_the_next_message)
{
	static uint8_t room[300000];

	begin();
	connect_both();
	REFUSED(riomap(server, room, sizeof(room), PROT_WRITE, 0, 0), ENOBUFS);
	allow_maps(server, 2);
	ck_assert_int_eq(riomap(server, room, sizeof(room), PROT_WRITE, 0, 4096), 4096);
	REFUSED(riomap(server, room, 1, PROT_WRITE, 0, 5000), EINVAL);
	send_text(server, "mapped");
	expect_text(client, "mapped");
	REFUSED((ssize_t)riowrite(client, out, 1, 0, 0), EFAULT);
	ck_assert_int_eq((ssize_t)riowrite(client, out, sizeof(room), 4096, 0), sizeof(room));
	send_text(client, "written");
	expect_text(server, "written");
	ck_assert_int_eq(memcmp(room, out, sizeof(room)), 0);
	/* It ends with the region. */
	ck_assert_int_eq((ssize_t)riowrite(client, out, 100, 4096 + sizeof(room) - 10, 0), 10);
	send_text(client, "the end");
	expect_text(server, "the end");
	ck_assert_int_eq(riounmap(server, room, sizeof(room)), 0);
	REFUSED(riounmap(server, room, sizeof(room)), EINVAL);
	send_text(server, "unmapped");
	expect_text(client, "unmapped");
	REFUSED((ssize_t)riowrite(client, out, 1, 4096, 0), EFAULT);
	end();
}
END_TEST

/* The client does not know yet that it is connected: what it is to know waits. */
START_TEST(what_is_mapped_or_shut_before_the_peer_is_connected_is_told_then)
{
	static uint8_t room[100];

	begin();
	allow_maps(listener, 1);
	ask();
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	if (_i)
		ck_assert_int_eq(rshutdown(server, SHUT_WR), 0);
	else
		ck_assert_int_eq(riomap(server, room, sizeof(room), PROT_WRITE, 0, 0), 0);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	ck_assert_int_eq(events_of(server, POLLOUT, SOON), POLLOUT);
	block(client);
	if (_i) {
		ck_assert_int_eq(rrecv(client, in, 1, 0), 0);
	} else {
		while (riowrite(client, "x", 1, 0, 0) != 1)
			ck_assert_int_eq(errno, EFAULT);
		send_text(client, "written");
		expect_text(server, "written");
		ck_assert_uint_eq(room[0], 'x');
	}
	end();
}
END_TEST

/* More often than notices can wait; each time the peer takes them. */
START_TEST(memory_is_mapped_any_number_of_times)
{
	static uint8_t room[8];

	begin();
	connect_both();
	allow_maps(server, 1);
	for (int i = 0; i < 600; i++) {
		ck_assert_int_eq(riomap(server, room, sizeof(room), PROT_WRITE, 0, 0), 0);
		ck_assert_int_eq(riounmap(server, room, sizeof(room)), 0);
		send_text(server, "x");
		expect_text(client, "x");
	}
	end();
}
END_TEST

/* A side has so much memory for each direction as its program says. */
START_TEST(the_sizes_of_buffers_bound_what_is_sent_ahead)
{
	const int bytes = 4096, slots = 1024;
	socklen_t size = sizeof(int);
	int sent = 0, segment;

	begin();
	ck_assert_int_eq(rsetsockopt(listener, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(int)), 0);
	ck_assert_int_eq(rsetsockopt(listener, SOL_RDMA, RDMA_RQSIZE, &slots, sizeof(int)), 0);
	ck_assert_int_eq(rsetsockopt(listener, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(int)), 0);
	connect_both();
	for (int i = 0; i < 1000; i++)
		sent += rsend(client, out, 1, MSG_DONTWAIT) == 1;
	ck_assert_int_le(sent, 4);
	ck_assert_int_eq(rgetsockopt(server, IPPROTO_TCP, TCP_MAXSEG, &segment, &size), 0);
	ck_assert_int_eq(segment, 1024);
	end();
}
END_TEST

START_TEST(offsets_are_chosen_one_behind_the_other)
{
	static uint8_t room[2][100];

	begin();
	connect_both();
	allow_maps(client, 3);
	ck_assert_int_eq(riomap(client, room[0], 100, PROT_WRITE, 0, -1), 0);
	ck_assert_int_eq(riomap(client, room[1], 100, PROT_WRITE, 0, -1), 100);
	ck_assert_int_eq(riomap(client, in, 100, PROT_NONE, 0, -1), 200);
	REFUSED(riomap(client, in, 100, PROT_WRITE, 0, -1), ENOBUFS);
	send_text(client, "x");
	expect_text(server, "x");
	ck_assert_int_eq((ssize_t)riowrite(server, "abcd", 4, 98, 0), 4);
	REFUSED((ssize_t)riowrite(server, "abcd", 4, 200, 0), EFAULT);
	send_text(server, "x");
	expect_text(client, "x");
	ck_assert_int_eq(memcmp(room[0] + 98, "ab", 2), 0);
	ck_assert_int_eq(memcmp(room[1], "cd", 2), 0);
	end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, bytes_go_both_ways, 1, NULL);
	unit_add(suite, both_ends_know_their_addresses, 1, NULL);
	unit_add(suite, a_port_without_a_listener_refuses_and_another_connect_may_follow, 1, NULL);
	unit_add(suite, a_connect_forgets_the_error_of_an_earlier_one, 1, NULL);
	unit_add(suite, a_peer_that_has_closed_is_still_named, 1, NULL);
	unit_add(suite, a_peer_that_is_no_rsocket_is_rejected, 1, NULL);
	unit_add(suite, data_arrives_in_order_whatever_the_sizes, 1, NULL);
	unit_add(suite, the_smallest_queues_and_buffers_are_enough, 1, NULL);
	unit_add(suite, two_sides_that_are_full_go_on_when_one_reads, 1, NULL);
	unit_add(suite, what_is_peeked_at_stays, 1, NULL);
	unit_add(suite, buffers_are_gathered_and_scattered, 1, NULL);
	unit_add(suite, a_shut_stream_ends_and_the_other_one_goes_on, 1, NULL);
	unit_add(suite, what_was_sent_before_a_close_is_read_after_it, 1, NULL);
	unit_add(suite, a_close_without_lingering_resets, 1, NULL);
	unit_add(suite, riowrite_places_data_before_the_next_message, 1, NULL);
	unit_add(suite, what_is_mapped_or_shut_before_the_peer_is_connected_is_told_then, 2, NULL);
	unit_add(suite, memory_is_mapped_any_number_of_times, 1, NULL);
	unit_add(suite, the_sizes_of_buffers_bound_what_is_sent_ahead, 1, NULL);
	unit_add(suite, offsets_are_chosen_one_behind_the_other, 1, NULL);
}

UNIT_SUITE("rsocket")
