/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and states that calls of rsockets refuse, and the options that they know. */
#include "rsocket_pair.h"

#include <limits.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>

START_TEST(only_streams_of_ip_are_made)
{
	int fd = rsocket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	REFUSED(rfcntl(fd, F_DUPFD, 0), EOPNOTSUPP);
	ck_assert_int_eq(rclose(fd), 0);
	REFUSED(rclose(fd), EBADF);
	REFUSED(rsocket(AF_UNIX, SOCK_STREAM, 0), EAFNOSUPPORT);
	REFUSED(rsocket(AF_INET, SOCK_DGRAM, 0), ESOCKTNOSUPPORT);
	REFUSED(rsocket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
}
END_TEST

static void refuse_number(int fd)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct sockaddr *sa = (struct sockaddr *)&addr;
	socklen_t size = sizeof(addr);
	struct msghdr message = { .msg_iovlen = 0 };
	int value = 0;

	REFUSED(rbind(fd, sa, size), EBADF);
	REFUSED(rlisten(fd, 1), EBADF);
	REFUSED(raccept(fd, NULL, NULL), EBADF);
	REFUSED(rconnect(fd, sa, size), EBADF);
	REFUSED(rshutdown(fd, SHUT_RD), EBADF);
	REFUSED(rclose(fd), EBADF);
	REFUSED(rrecv(fd, in, 1, 0), EBADF);
	REFUSED(rrecvfrom(fd, in, 1, 0, sa, &size), EBADF);
	REFUSED(rrecvmsg(fd, &message, 0), EBADF);
	REFUSED(rread(fd, in, 1), EBADF);
	REFUSED(rreadv(fd, NULL, 0), EBADF);
	REFUSED(rsend(fd, out, 1, 0), EBADF);
	REFUSED(rsendto(fd, out, 1, 0, NULL, 0), EBADF);
	REFUSED(rsendmsg(fd, &message, 0), EBADF);
	REFUSED(rwrite(fd, out, 1), EBADF);
	REFUSED(rwritev(fd, NULL, 0), EBADF);
	REFUSED(rgetpeername(fd, sa, &size), EBADF);
	REFUSED(rgetsockname(fd, sa, &size), EBADF);
	REFUSED(rsetsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value)), EBADF);
	REFUSED(rgetsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size), EBADF);
	REFUSED(rfcntl(fd, F_GETFL), EBADF);
	REFUSED(riomap(fd, in, 1, PROT_WRITE, 0, 0), EBADF);
	REFUSED(riounmap(fd, in, 1), EBADF);
	REFUSED((ssize_t)riowrite(fd, out, 1, 0, 0), EBADF);
}

START_TEST(numbers_of_no_rsocket_are_refused)
{
	int closed = rsocket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(rclose(closed), 0);
	refuse_number(closed);
	refuse_number(-1);
	refuse_number(0);
	refuse_number(INT32_MAX);
}
END_TEST

START_TEST(wrong_states_are_refused)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct sockaddr *sa = (struct sockaddr *)&addr;
	socklen_t size = sizeof(addr);

	begin();
	REFUSED(rsend(client, out, 1, 0), ENOTCONN);
	REFUSED(rrecv(client, in, 1, 0), ENOTCONN);
	REFUSED(rshutdown(client, SHUT_WR), ENOTCONN);
	REFUSED(rgetpeername(client, sa, &size), ENOTCONN);
	REFUSED(riomap(client, in, 1, PROT_WRITE, 0, 0), ENOTCONN);
	REFUSED((ssize_t)riowrite(client, out, 1, 0, 0), ENOTCONN);
	REFUSED(raccept(client, NULL, NULL), EINVAL);
	REFUSED(rsend(listener, out, 1, 0), ENOTCONN);
	REFUSED(rbind(listener, sa, size), EINVAL);
	REFUSED(rconnect(listener, sa, size), EINVAL);
	ck_assert_int_eq(rlisten(listener, 1), 0);
	unblock(listener);
	REFUSED(raccept(listener, NULL, NULL), EAGAIN);
	block(listener);
	ask();
	REFUSED(rconnect(client, sa, size), EALREADY);
	REFUSED(rrecv(client, in, 1, 0), EAGAIN);
	server = raccept(listener, NULL, NULL);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	REFUSED(rconnect(client, sa, size), EISCONN);
	REFUSED(rlisten(client, 1), EINVAL);
	REFUSED(rsendto(client, out, 1, 0, sa, size), EISCONN);
	end();
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	struct sockaddr_in addr = in_address(THERE, PORT);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr *sa = (struct sockaddr *)&addr;
	struct iovec null = { .iov_len = 1 };
	struct iovec huge[2] = { { in, SSIZE_MAX }, { in, 1 } };
	struct msghdr control = { .msg_control = in, .msg_controllen = 8 };
	int value = 1;
	socklen_t size = sizeof(value), bad = (socklen_t)-1;

	begin();
	REFUSED(rconnect(client, NULL, sizeof(addr)), EFAULT);
	REFUSED(rconnect(client, sa, sizeof(addr) - 1), EINVAL);
	REFUSED(rconnect(client, sa, 1), EINVAL);
	REFUSED(rconnect(client, (struct sockaddr *)&six, sizeof(six)), EAFNOSUPPORT);
	REFUSED(rbind(client, NULL, 0), EFAULT);
	REFUSED(raccept(listener, sa, NULL), EFAULT);
	connect_both();
	REFUSED(rrecv(server, NULL, 1, 0), EFAULT);
	REFUSED(rsend(server, NULL, 1, 0), EFAULT);
	REFUSED(rsendmsg(server, NULL, 0), EFAULT);
	REFUSED(rrecvmsg(server, NULL, 0), EFAULT);
	REFUSED(rsendmsg(server, &control, 0), EOPNOTSUPP);
	REFUSED(rwritev(server, &null, 1), EFAULT);
	REFUSED(rwritev(server, NULL, 1), EFAULT);
	REFUSED(rreadv(server, huge, 2), EINVAL);
	REFUSED(rreadv(server, huge, -1), EINVAL);
	REFUSED(rsend(server, out, 1, MSG_OOB), EOPNOTSUPP);
	REFUSED(rrecv(server, in, 1, MSG_OOB), EOPNOTSUPP);
	REFUSED(rrecvfrom(server, in, 1, 0, sa, NULL), EFAULT);
	REFUSED(rshutdown(server, 3), EINVAL);
	REFUSED(rgetsockname(server, NULL, &size), EFAULT);
	REFUSED(rgetsockname(server, NULL, NULL), EFAULT);
	REFUSED(rgetpeername(server, NULL, &size), EFAULT);
	REFUSED(rgetsockname(server, sa, &bad), EINVAL);
	REFUSED(rsetsockopt(server, SOL_SOCKET, SO_KEEPALIVE, NULL, size), EFAULT);
	REFUSED(rsetsockopt(server, SOL_SOCKET, SO_KEEPALIVE, &value, 1), EINVAL);
	REFUSED(rsetsockopt(server, SOL_SOCKET, SO_BROADCAST, &value, size), ENOTSUP);
	REFUSED(rsetsockopt(server, SOL_RDMA, RDMA_ROUTE, &value, size), EINVAL);
	REFUSED(rgetsockopt(server, SOL_RDMA, 99, &value, &size), ENOTSUP);
	REFUSED(rgetsockopt(server, SOL_SOCKET, SO_TYPE, &value, NULL), EFAULT);
	allow_maps(server, 1);
	REFUSED(riomap(server, NULL, 1, PROT_WRITE, 0, 0), EFAULT);
	REFUSED(riomap(server, in, 1, PROT_EXEC, 0, 0), EINVAL);
	REFUSED(riomap(server, in, 1, PROT_WRITE, 1, 0), EINVAL);
	REFUSED(riomap(server, in, 0, PROT_WRITE, 0, 0), EINVAL);
	REFUSED(riomap(server, in, 1, PROT_WRITE, 0, -2), EINVAL);
	REFUSED((ssize_t)riowrite(server, NULL, 1, 0, 0), EFAULT);
	REFUSED((ssize_t)riowrite(server, out, 1, -1, 0), EINVAL);
	REFUSED((ssize_t)riowrite(server, out, 1, 0, MSG_OOB), EOPNOTSUPP);
	REFUSED(rpoll(NULL, 1, 0), EFAULT);
	end();
}
END_TEST

static int int_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	ck_assert_int_eq(rgetsockopt(fd, level, name, &value, &size), 0);
	ck_assert_uint_eq(size, sizeof(value));
	return value;
}

START_TEST(options_are_as_they_were_set)
{
	const int three = 3, none = 0, negative = -1;

	begin();
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_DOMAIN), AF_INET);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_ACCEPTCONN), 0);
	ck_assert_int_eq(int_option(listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
	ck_assert_int_eq(int_option(client, IPPROTO_TCP, TCP_NODELAY), 0);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_TCP, TCP_NODELAY, &three, sizeof(three)), 0);
	ck_assert_int_eq(int_option(client, IPPROTO_TCP, TCP_NODELAY), 1);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_TCP, TCP_KEEPIDLE, &three, sizeof(three)), 0);
	ck_assert_int_eq(int_option(client, IPPROTO_TCP, TCP_KEEPIDLE), 3);
	ck_assert_int_eq(rsetsockopt(listener, SOL_RDMA, RDMA_IOMAPSIZE, &three, sizeof(three)), 0);
	ck_assert_int_eq(rsetsockopt(client, SOL_RDMA, RDMA_INLINE, &none, sizeof(none)), 0);
	ck_assert_int_eq(int_option(client, SOL_RDMA, RDMA_INLINE), 0);
	REFUSED(rsetsockopt(client, SOL_RDMA, RDMA_INLINE, &negative, sizeof(negative)), EINVAL);
	connect_both();
	ck_assert_int_eq(int_option(server, SOL_RDMA, RDMA_IOMAPSIZE), 3);
	ck_assert_int_ge(int_option(server, IPPROTO_TCP, TCP_MAXSEG), 1024);
	end();
}
END_TEST

static int bound_to(sa_family_t family, int level, int option, int on)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	int fd = rsocket(family, SOCK_STREAM, 0);
	int err;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rsetsockopt(fd, level, option, &on, sizeof(on)), 0);
	err = family == AF_INET ? rbind(fd, (struct sockaddr *)&any, sizeof(any))
				: rbind(fd, (struct sockaddr *)&any6, sizeof(any6));
	if (!err)
		return fd;
	ck_assert_int_eq(rclose(fd), 0);
	return -1;
}

START_TEST(two_rsockets_have_one_port_if_both_want_it)
{
	int one = bound_to(AF_INET, SOL_SOCKET, SO_REUSEADDR, 1), other;

	ck_assert_int_ge(one, 0);
	ck_assert_int_eq(bound_to(AF_INET, SOL_SOCKET, SO_REUSEADDR, 0), -1);
	other = bound_to(AF_INET, SOL_SOCKET, SO_REUSEADDR, 1);
	ck_assert_int_ge(other, 0);
	ck_assert_int_eq(rclose(other), 0);
	ck_assert_int_eq(rclose(one), 0);
}
END_TEST

START_TEST(a_port_of_IPv6_only_is_free_for_IPv4)
{
	int six = bound_to(AF_INET6, IPPROTO_IPV6, IPV6_V6ONLY, _i), four;

	ck_assert_int_ge(six, 0);
	four = bound_to(AF_INET, SOL_SOCKET, SO_KEEPALIVE, 0);
	ck_assert_int_eq(four >= 0, _i);
	if (four >= 0)
		ck_assert_int_eq(rclose(four), 0);
	ck_assert_int_eq(rclose(six), 0);
}
END_TEST

static const struct {
	int level, name, least, most;
	bool early;
} bounds[] = {
	{ SOL_SOCKET, SO_SNDBUF, 4096, 1 << 24, false },
	{ SOL_SOCKET, SO_RCVBUF, 4096, 1 << 24, false },
	{ IPPROTO_TCP, TCP_KEEPIDLE, 1, 32767, false },
	{ IPPROTO_TCP, TCP_KEEPINTVL, 1, 32767, false },
	{ IPPROTO_TCP, TCP_KEEPCNT, 1, 127, false },
	{ SOL_RDMA, RDMA_SQSIZE, 4, 1024, true },
	{ SOL_RDMA, RDMA_RQSIZE, 4, 1024, true },
	{ SOL_RDMA, RDMA_INLINE, 0, 512, true },
	{ SOL_RDMA, RDMA_IOMAPSIZE, 0, 128, false },
	{ SOL_SOCKET, SO_KEEPALIVE, 0, 1, false },
	{ SOL_SOCKET, SO_OOBINLINE, 0, 1, false },
	{ IPPROTO_IPV6, IPV6_V6ONLY, 0, 1, true },
};
#define BOUNDS 12

/* A value outside becomes the nearest inside, and no other option changes. */
START_TEST(a_value_is_kept_within_its_bounds)
{
	const int level = bounds[_i].level, name = bounds[_i].name;
	const int beyond[] = { 0, INT_MAX };
	int before[BOUNDS];

	begin();
	for (int i = 0; i < BOUNDS; i++)
		before[i] = int_option(client, bounds[i].level, bounds[i].name);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rsetsockopt(client, level, name, &beyond[i], sizeof(int)), 0);
		ck_assert_int_eq(int_option(client, level, name),
				 i ? bounds[_i].most : bounds[_i].least);
	}
	for (int i = 0; i < BOUNDS; i++)
		if (i != _i)
			ck_assert_int_eq(int_option(client, bounds[i].level, bounds[i].name),
					 before[i]);
	connect_both(); /* with any value */
	ck_assert_int_eq(rsetsockopt(client, level, name, &beyond[1], sizeof(int)),
			 bounds[_i].early ? -1 : 0);
	end();
}
END_TEST

START_TEST(a_listener_still_takes_sizes_for_those_that_it_accepts)
{
	const int size = 7;

	begin();
	ck_assert_int_eq(rsetsockopt(listener, SOL_RDMA, RDMA_RQSIZE, &size, sizeof(size)), 0);
	connect_both();
	ck_assert_int_eq(int_option(server, SOL_RDMA, RDMA_RQSIZE), 7);
	end();
}
END_TEST

START_TEST(a_structure_has_its_size)
{
	struct linger linger = { .l_onoff = 1 };
	struct ibv_path_data path = { .flags = 0 };

	begin();
	REFUSED(rsetsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger) - 1), EINVAL);
	REFUSED(rsetsockopt(client, SOL_RDMA, RDMA_ROUTE, &path, 0), EINVAL);
	ck_assert_int_eq(rsetsockopt(client, SOL_RDMA, RDMA_ROUTE, &path, sizeof(path)), 0);
	ck_assert_int_eq(int_option(client, IPPROTO_TCP, TCP_MAXSEG), 64); /* the least there is */
	connect_both();
	REFUSED(rsetsockopt(client, SOL_RDMA, RDMA_ROUTE, &path, sizeof(path)), EINVAL);
	REFUSED(rgetsockopt(client, SOL_SOCKET, SO_TYPE, NULL, &(socklen_t){ 4 }), EFAULT);
	end();
}
END_TEST

static bool is_between_rnics(void)
{
	struct ibv_context **devices = rdma_get_devices(NULL);
	bool are;

	ck_assert_ptr_nonnull(devices);
	are = devices[0]->device->transport_type == IBV_TRANSPORT_IWARP;
	rdma_free_devices(devices);
	return are;
}

/* As the real library has it: librdmacm refuses it by then, which only an RNIC tells. */
START_TEST(a_listener_may_share_its_port_without_effect)
{
	const int on = 1, off = 0;
	bool refuses;

	begin();
	refuses = is_between_rnics();
	ck_assert_int_eq(rsetsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)),
			 refuses ? -1 : 0);
	ck_assert_int_eq(int_option(listener, SOL_SOCKET, SO_REUSEADDR), !refuses);
	ck_assert_int_eq(rsetsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off)),
			 refuses ? -1 : 0);
	ck_assert_int_eq(int_option(listener, SOL_SOCKET, SO_REUSEADDR), 0);
	end();
}
END_TEST

/* A program may ask for nothing else. */
START_TEST(SO_ERROR_looks_for_the_outcome_itself)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);
	int err;

	begin();
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	do
		err = int_option(client, SOL_SOCKET, SO_ERROR);
	while (!err);
	ck_assert_int_eq(err, ECONNREFUSED);
	end();
}
END_TEST

START_TEST(an_error_that_finds_no_room_is_kept)
{
	struct sockaddr_in addr = in_address(THERE, PORT + 1);
	socklen_t bad = (socklen_t)-1;
	int err;

	begin();
	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
	ck_assert_int_ne(events_of(client, POLLOUT, SOON) & POLLERR, 0);
	REFUSED(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &bad), EINVAL);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_ERROR), 0);
	end();
}
END_TEST

/* A client of HTTP sets all of these, and a server of Python closes what it cannot flag. */
START_TEST(what_a_program_sets_without_effect_is_kept)
{
	const int three = 3, most = 127;
	int fd = rsocket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(rfcntl(fd, F_SETFD, 0), 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFD), 0);
	ck_assert_int_eq(rfcntl(fd, F_SETFD, FD_CLOEXEC), 0);
	ck_assert_int_eq(rfcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(rfcntl(fd, F_GETFL), O_RDWR);
	ck_assert_int_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &three, sizeof(three)), 0);
	ck_assert_int_eq(int_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 3);
	ck_assert_int_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof(most)), 0);
	ck_assert_int_eq(int_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 127);
	ck_assert_int_eq(rsetsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &most, sizeof(most)), 0);
	REFUSED(rsetsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &most, 1), EINVAL);
	ck_assert_int_eq(rclose(fd), 0);
}
END_TEST

/* Programs of sockets ask for these: iperf for the congestion control and the window. */
START_TEST(options_of_tcp_answer_as_the_real_library_does)
{
	const uint8_t tos = 0x28;
	const int wide = tos;
	struct tcp_info info;
	socklen_t size = sizeof(info);
	int name = 0;

	begin();
	REFUSED(rsetsockopt(client, IPPROTO_IP, IP_TOS, &wide, sizeof(wide)), EINVAL);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
	ck_assert_int_eq(int_option(client, IPPROTO_IP, IP_TOS), 0x28);
	ck_assert_int_eq(rsetsockopt(client, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5), 0);
	ck_assert_int_eq(int_option(client, SOL_SOCKET, SO_BROADCAST), 0);
	ck_assert_int_eq(rgetsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
	ck_assert_uint_eq(info.tcpi_state, TCP_CLOSE);
	connect_both();
	ck_assert_int_eq(rgetsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
	ck_assert_uint_eq(size, sizeof(info));
	ck_assert_uint_eq(info.tcpi_state, TCP_ESTABLISHED);
	ck_assert_uint_eq(info.tcpi_snd_cwnd, 64);
	size = 16;
	ck_assert_int_eq(rgetsockopt(client, IPPROTO_TCP, TCP_CONGESTION, &name, &size), 0);
	ck_assert_int_eq(name, 1);
	ck_assert_uint_eq(size, 16);
	end();
}
END_TEST

START_TEST(many_rsockets_come_and_go)
{
	int fds[200];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++) {
			fds[i] = rsocket(AF_INET, SOCK_STREAM, 0);
			ck_assert_int_ge(fds[i], 0);
		}
		for (int i = 0; i < 200; i++)
			ck_assert_int_eq(rclose(fds[i]), 0);
	}
	/* Another rsocket gets the number of a descriptor that the program closed by itself. */
	fds[0] = rsocket(AF_INET, SOCK_STREAM, 0);
	close(fds[0]);
	fds[1] = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(fds[0], fds[1]);
	ck_assert_int_eq(rclose(fds[1]), 0);
	REFUSED(rclose(fds[1]), EBADF);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, only_streams_of_ip_are_made, 1, NULL);
	unit_add(suite, numbers_of_no_rsocket_are_refused, 1, NULL);
	unit_add(suite, wrong_states_are_refused, 1, NULL);
	unit_add(suite, bad_arguments_are_refused, 1, NULL);
	unit_add(suite, options_are_as_they_were_set, 1, NULL);
	unit_add(suite, two_rsockets_have_one_port_if_both_want_it, 1, NULL);
	unit_add(suite, a_port_of_IPv6_only_is_free_for_IPv4, 2, NULL);
	unit_add(suite, a_value_is_kept_within_its_bounds, BOUNDS, NULL);
	unit_add(suite, a_listener_still_takes_sizes_for_those_that_it_accepts, 1, NULL);
	unit_add(suite, a_structure_has_its_size, 1, NULL);
	unit_add(suite, a_listener_may_share_its_port_without_effect, 1, NULL);
	unit_add(suite, SO_ERROR_looks_for_the_outcome_itself, 1, NULL);
	unit_add(suite, an_error_that_finds_no_room_is_kept, 1, NULL);
	unit_add(suite, what_a_program_sets_without_effect_is_kept, 1, NULL);
	unit_add(suite, options_of_tcp_answer_as_the_real_library_does, 1, NULL);
	unit_add(suite, many_rsockets_come_and_go, 1, NULL);
}

UNIT_SUITE("rsocket_values")
