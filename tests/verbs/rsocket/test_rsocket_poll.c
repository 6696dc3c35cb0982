/* SPDX-License-Identifier: BSD-3-Clause */
/* What rpoll and rselect say of rsockets in each state, and what calls of streams give back. */
#include "rsocket_pair.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/uio.h>

/* ---- rpoll ---- */

START_TEST(an_rsocket_without_a_connection_is_hung_up)
{
	begin();
	ck_assert_int_eq(events_of(client, POLLIN | POLLOUT, 0), POLLOUT | POLLHUP);
	end();
}
END_TEST

START_TEST(who_asks_for_normal_data_is_told_of_data)
{
	begin();
	connect_both();
	ck_assert_int_eq(events_of(server, POLLWRNORM, SOON), POLLOUT);
	send_text(client, "x");
	ck_assert_int_eq(events_of(server, POLLRDNORM, SOON), POLLIN);
	end();
}
END_TEST

START_TEST(two_streams_that_ended_are_hung_up)
{
	begin();
	connect_both();
	ck_assert_int_eq(rshutdown(client, SHUT_WR), 0);
	ck_assert_int_eq(events_of(server, POLLRDHUP, SOON), POLLRDHUP);
	ck_assert_int_eq(events_of(server, POLLIN | POLLOUT, SOON), POLLIN | POLLOUT);
	ck_assert_int_eq(rshutdown(server, SHUT_WR), 0);
	ck_assert_int_eq(events_of(server, POLLIN | POLLOUT, SOON), POLLIN | POLLOUT | POLLHUP);
	end();
}
END_TEST

START_TEST(an_end_is_told_when_all_was_read)
{
	begin();
	connect_both();
	send_text(client, "x");
	ck_assert_int_eq(rclose(client), 0);
	client = -1;
	while (rsend(server, "y", 1, MSG_DONTWAIT) == 1 || errno == EAGAIN)
		;
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(events_of(server, POLLIN, 0), POLLIN);
	expect_text(server, "x");
	ck_assert_int_eq(events_of(server, POLLIN, 0), POLLIN | POLLHUP);
	end();
}
END_TEST

START_TEST(more_descriptors_than_a_process_has_are_refused)
{
	struct pollfd pfd = { .fd = -1 };

	REFUSED(rpoll(&pfd, 65537, 0), EINVAL);
	REFUSED(rpoll(&pfd, (nfds_t)1 << 60, 0), EINVAL);
	ck_assert_int_eq(rpoll(&pfd, 1, 0), 0);
}
END_TEST

/* ---- rselect ---- */

START_TEST(rselect_counts_each_set_and_clears_what_is_not_ready)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);
	struct timeval none = { 0 }, negative = { .tv_usec = -1 };
	fd_set readers, writers, others;

	FD_ZERO(&readers);
	FD_ZERO(&writers);
	FD_ZERO(&others);
	begin();
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	ck_assert_int_ne(events_of(client, POLLOUT, SOON) & POLLERR, 0);
	FD_SET(client, &readers);
	FD_SET(client, &writers);
	FD_SET(client, &others);
	REFUSED(rselect(client + 1, &readers, &writers, &others, &negative), EINVAL);
	ck_assert_int_eq(rselect(client + 1, &readers, &writers, &others, &none), 2);
	ck_assert(FD_ISSET(client, &readers) && FD_ISSET(client, &writers));
	ck_assert(!FD_ISSET(client, &others));
	FD_ZERO(&readers);
	FD_SET(client, &readers);
	ck_assert_int_eq(rclose(client), 0);
	REFUSED(rselect(client + 1, &readers, NULL, NULL, &none), EBADF);
	client = -1;
	end();
}
END_TEST

/* ---- streams ---- */

START_TEST(only_so_many_buffers_are_taken)
{
	struct iovec *many = calloc(IOV_MAX + 1, sizeof(*many));
	struct msghdr message = { .msg_iov = many, .msg_iovlen = IOV_MAX + 1 };

	ck_assert_ptr_nonnull(many);
	begin();
	connect_both();
	REFUSED(rreadv(server, many, IOV_MAX + 1), EINVAL);
	REFUSED(rwritev(server, many, IOV_MAX + 1), EINVAL);
	REFUSED(rsendmsg(server, &message, 0), EMSGSIZE);
	REFUSED(rrecvmsg(server, &message, 0), EMSGSIZE);
	ck_assert_int_eq(rwritev(server, many, IOV_MAX), 0);
	free(many);
	end();
}
END_TEST

START_TEST(a_message_has_no_address_and_no_flags)
{
	char got[2], name[16];
	struct iovec iov = { got, 1 };
	struct msghdr message = { .msg_name = name,
				  .msg_namelen = sizeof(name),
				  .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = name,
				  .msg_controllen = sizeof(name),
				  .msg_flags = MSG_EOR };

	begin();
	connect_both();
	send_text(client, "x");
	ck_assert_int_eq(rrecvmsg(server, &message, 0), 1);
	ck_assert_uint_eq(message.msg_namelen, 0);
	ck_assert_uint_eq(message.msg_controllen, 0);
	ck_assert_int_eq(message.msg_flags, 0);
	end();
}
END_TEST

START_TEST(rrecvfrom_names_the_peer)
{
	struct sockaddr_in own, from = { .sin_family = AF_UNSPEC };
	socklen_t size = sizeof(own), from_size = sizeof(from), bad = (socklen_t)-1;

	begin();
	connect_both();
	ck_assert_int_eq(rgetsockname(client, (struct sockaddr *)&own, &size), 0);
	send_text(client, "x");
	REFUSED(rrecvfrom(server, in, 1, 0, (struct sockaddr *)&from, &bad), EINVAL);
	ck_assert_int_eq(rrecvfrom(server, in, 1, 0, (struct sockaddr *)&from, &from_size), 1);
	ck_assert_uint_eq(from.sin_port, own.sin_port);
	ck_assert_uint_eq(from_size, sizeof(from));
	/* An address of no length is none. */
	ck_assert_int_eq(rsendto(server, "y", 1, 0, (struct sockaddr *)&from, 0), 1);
	expect_text(client, "y");
	end();
}
END_TEST

/* _i: SHUT_RDWR */
START_TEST(who_shuts_its_reading_reads_the_end)
{
	begin();
	connect_both();
	ck_assert_int_eq(rshutdown(server, _i ? SHUT_RDWR : SHUT_RD), 0);
	ck_assert_int_eq(rrecv(server, in, 1, 0), 0);
	ck_assert_int_eq(events_of(server, POLLIN | POLLRDHUP, 0), POLLIN | POLLRDHUP);
	if (_i)
		ck_assert_int_eq(rrecv(client, in, 1, 0), 0);
	else
		send_text(server, "x");
	ck_assert_int_eq(rshutdown(server, SHUT_RDWR), 0);
	ck_assert_int_eq(rrecv(server, in, 1, 0), 0);
	end();
}
END_TEST

/* ---- addresses and flags ---- */

START_TEST(an_address_is_cut_where_its_room_ends)
{
	struct sockaddr_in own;
	socklen_t size = 4;

	memset(&own, 0xff, sizeof(own));
	begin();
	ask();
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	/* The client does not know yet, but is known. */
	ck_assert_int_eq(rgetpeername(server, (struct sockaddr *)&own, &size), 0);
	ck_assert_uint_eq(own.sin_family, AF_INET);
	ck_assert_uint_eq(own.sin_addr.s_addr, 0xffffffff);
	ck_assert_uint_eq(size, sizeof(own));
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	end();
}
END_TEST

START_TEST(of_the_flags_one_is_kept)
{
	begin();
	ck_assert_int_eq(rfcntl(client, F_SETFL, O_APPEND), 0);
	ck_assert_int_eq(rfcntl(client, F_GETFL), O_RDWR);
	ck_assert_int_eq(rfcntl(client, F_SETFL, O_APPEND | O_NONBLOCK), 0);
	ck_assert_int_eq(rfcntl(client, F_GETFL), O_RDWR | O_NONBLOCK);
	end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_rsocket_without_a_connection_is_hung_up, 1, NULL);
	unit_add(suite, who_asks_for_normal_data_is_told_of_data, 1, NULL);
	unit_add(suite, two_streams_that_ended_are_hung_up, 1, NULL);
	unit_add(suite, an_end_is_told_when_all_was_read, 1, NULL);
	unit_add(suite, more_descriptors_than_a_process_has_are_refused, 1, NULL);
	unit_add(suite, rselect_counts_each_set_and_clears_what_is_not_ready, 1, NULL);
	unit_add(suite, only_so_many_buffers_are_taken, 1, NULL);
	unit_add(suite, a_message_has_no_address_and_no_flags, 1, NULL);
	unit_add(suite, rrecvfrom_names_the_peer, 1, NULL);
	unit_add(suite, who_shuts_its_reading_reads_the_end, 2, NULL);
	unit_add(suite, an_address_is_cut_where_its_room_ends, 1, NULL);
	unit_add(suite, of_the_flags_one_is_kept, 1, NULL);
}

UNIT_SUITE("rsocket_poll")
