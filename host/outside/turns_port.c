/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_port.c - the ports that the kernel gives to sockets of programs in lockstep, by a bind to
 * port 0 or by a connect without a bind. Programs see others in their place, from 61000 on in the
 * order in which they are first seen, and use those to connect. Ports that a program chooses are as
 * they are.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "turns.h"

#define CONNECT_NS  100000u
#define SHOWN_COUNT (UINT16_MAX - NIC_BOOK_PORT_FIRST + 1u)

_Static_assert(NIC_BOOK_PORTS <= SHOWN_COUNT, "each entry has a port of its own");

/* ---- the book ---- */

static uint32_t index_of(uint32_t n)
{
	return n % NIC_BOOK_PORTS;
}

static uint16_t shown_at(uint32_t n)
{
	return (uint16_t)(NIC_BOOK_PORT_FIRST + index_of(n));
}

static uint32_t oldest_entry(const struct nic_book *book)
{
	return book->ports > NIC_BOOK_PORTS ? book->ports - NIC_BOOK_PORTS : 0;
}

/* The newest entry: the kernel gives a port out again. 0: there is none. */
static uint16_t find_shown(const struct nic_book *book, uint16_t port)
{
	for (uint32_t n = book->ports; n > oldest_entry(book); n--)
		if (nic_book_port(book->port[index_of(n - 1)]) == port)
			return shown_at(n - 1);
	return 0;
}

/* Also one that it had given out before: whether it does that differs between runs. */
static void give_out(struct nic_book *book, uint16_t port)
{
	book->port[index_of(book->ports)] = nic_book_half(port);
	book->ports++;
}

/* ---- addresses ---- */

static in_port_t *port_of(struct sockaddr *addr, socklen_t size)
{
	if (addr && size >= sizeof(struct sockaddr_in) && addr->sa_family == AF_INET)
		return &((struct sockaddr_in *)addr)->sin_port;
	if (addr && size >= sizeof(struct sockaddr_in6) && addr->sa_family == AF_INET6)
		return &((struct sockaddr_in6 *)addr)->sin6_port;
	return NULL;
}

void turns_addr_shown(struct sockaddr *addr, socklen_t size)
{
	const struct nic_book *book = turns_book();
	in_port_t *at = port_of(addr, size);
	uint16_t port = at && book ? find_shown(book, ntohs(*at)) : 0;

	if (port)
		*at = htons(port);
}

const struct sockaddr *turns_addr_meant(const struct sockaddr *addr, socklen_t size,
					struct sockaddr_storage *room)
{
	const struct nic_book *book = turns_book();
	in_port_t *at;
	uint16_t port;

	if (!addr || !book || size > sizeof(*room))
		return addr;
	__builtin_memcpy(room, addr, size);
	at = port_of((struct sockaddr *)room, size);
	if (!at || ntohs(*at) < NIC_BOOK_PORT_FIRST ||
	    ntohs(*at) - NIC_BOOK_PORT_FIRST >= NIC_BOOK_PORTS)
		return addr;
	port = nic_book_port(book->port[ntohs(*at) - NIC_BOOK_PORT_FIRST]);
	if (!port)
		return addr;
	*at = htons(port);
	return (struct sockaddr *)room;
}

void turns_port_given(int fd)
{
	struct nic_book *book = turns_book();
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);
	int before = errno;
	in_port_t *at;

	if (book && REAL(getsockname)(fd, (struct sockaddr *)&own, &size) == 0) {
		at = port_of((struct sockaddr *)&own, size);
		if (at && *at)
			give_out(book, ntohs(*at));
	}
	errno = before;
}

bool turns_is_bound(int fd)
{
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);
	in_port_t *at;

	if (REAL(getsockname)(fd, (struct sockaddr *)&own, &size))
		return true;
	at = port_of((struct sockaddr *)&own, size);
	return !at || *at;
}

/* ---- calls ---- */

int turns_bind(int fd, const struct sockaddr *addr, socklen_t size) __asm__("bind");
int turns_bind(int fd, const struct sockaddr *addr, socklen_t size)
{
	struct sockaddr_storage room;
	const in_port_t *at = port_of((struct sockaddr *)(uintptr_t)addr, size);
	bool ours = PROGRAM;
	int result;

	if (!ours)
		return REAL(bind)(fd, addr, size);
	result = REAL(bind)(fd, turns_addr_meant(addr, size, &room), size);
	if (result == 0 && at && *at == 0)
		turns_port_given(fd);
	return result;
}

/* A socket that was not bound gets its port here. */
int turns_listen(int fd, int backlog) __asm__("listen");
int turns_listen(int fd, int backlog)
{
	bool given = PROGRAM && !turns_is_bound(fd);
	int result = REAL(listen)(fd, backlog);

	if (given && result == 0)
		turns_port_given(fd);
	return result;
}

/*
 * A connection to this machine is made inside the call: the peer need not accept it first, but it
 * has to listen. So the call takes time, as between machines, in which a peer that is about to
 * listen does so.
 */
int turns_connect(int fd, const struct sockaddr *addr, socklen_t size) __asm__("connect");
int turns_connect(int fd, const struct sockaddr *addr, socklen_t size)
{
	bool ours = PROGRAM, given = ours && !turns_is_bound(fd);
	struct sockaddr_storage room;
	int result, err;

	if (ours) {
		turns_send_at_once(fd);
		turns_sleep_ns(CONNECT_NS);
		addr = turns_addr_meant(addr, size, &room);
	}
	result = REAL(connect)(fd, addr, size);
	err = errno;
	if (ours && (result == 0 || err == EINPROGRESS)) {
		if (given)
			turns_port_given(fd);
		turns_tell(true);
	}
	errno = err;
	return result;
}

int turns_getsockname(int fd, struct sockaddr *addr, socklen_t *size) __asm__("getsockname");
int turns_getsockname(int fd, struct sockaddr *addr, socklen_t *size)
{
	int result = REAL(getsockname)(fd, addr, size);

	if (result == 0 && PROGRAM)
		turns_addr_shown(addr, *size);
	return result;
}

int turns_getpeername(int fd, struct sockaddr *addr, socklen_t *size) __asm__("getpeername");
int turns_getpeername(int fd, struct sockaddr *addr, socklen_t *size)
{
	int result = REAL(getpeername)(fd, addr, size);

	if (result == 0 && PROGRAM)
		turns_addr_shown(addr, *size);
	return result;
}
