/* SPDX-License-Identifier: BSD-3-Clause */
/* rsocket_pair.c - two rsockets of one process: see rsocket_pair.h. */
#include "rsocket_pair.h"

#include <arpa/inet.h>

int listener, client, server;
uint8_t out[LARGE], in[LARGE];

struct sockaddr_in in_address(const char *ip, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &addr.sin_addr), 1);
	return addr;
}

void unblock(int fd)
{
	ck_assert_int_eq(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

void block(int fd)
{
	ck_assert_int_eq(rfcntl(fd, F_SETFL, 0), 0);
}

int events_of(int fd, short events, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int n = rpoll(&pfd, 1, ms);

	ck_assert_int_eq(n, pfd.revents != 0);
	return pfd.revents;
}

void begin(void)
{
	struct sockaddr_in addr = in_address(THERE, PORT);

	for (int i = 0; i < LARGE; i++)
		out[i] = (uint8_t)(i * 7 + i / 251);
	memset(in, 0, sizeof(in));
	server = -1;
	listener = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(rbind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(rlisten(listener, 2), 0);
	client = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_ge(client, 0);
	unblock(client);
}

void ask(void)
{
	struct sockaddr_in addr = in_address(THERE, PORT);

	REFUSED(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), EINPROGRESS);
}

void connect_both(void)
{
	int err = -1;
	socklen_t size = sizeof(err);

	ask();
	server = raccept(listener, NULL, NULL);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(events_of(client, POLLOUT, SOON), POLLOUT);
	ck_assert_int_eq(rgetsockopt(client, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	ck_assert_int_eq(err, 0);
	block(client);
	ck_assert_int_eq(events_of(server, POLLOUT, SOON), POLLOUT);
}

void end(void)
{
	if (client >= 0)
		ck_assert_int_eq(rclose(client), 0);
	if (server >= 0)
		ck_assert_int_eq(rclose(server), 0);
	ck_assert_int_eq(rclose(listener), 0);
}

void send_text(int fd, const char *text)
{
	ck_assert_int_eq(rsend(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

void expect_text(int fd, const char *text)
{
	char got[64] = "";

	ck_assert_int_eq(rrecv(fd, got, strlen(text), MSG_WAITALL), (ssize_t)strlen(text));
	ck_assert_str_eq(got, text);
}

void allow_maps(int fd, int n)
{
	ck_assert_int_eq(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &n, sizeof(n)), 0);
}
