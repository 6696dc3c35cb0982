/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsocket_pair.h - two rsockets of one process, as programs of sockets have them: a listener and
 * what it accepts at emu1, a client at emu0.
 */
#ifndef TESTS_VERBS_RSOCKET_PAIR_H
#define TESTS_VERBS_RSOCKET_PAIR_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/support.h"

#define THERE "198.18.0.2"
#define PORT  7471
#define LARGE (1 << 20)
#define SOON  10000 /* ms: as long as a test may take, and longer than any wait here */

extern int listener, client, server; /* -1: it is closed */
extern uint8_t out[LARGE], in[LARGE];

#define REFUSED(call, why)                      \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

struct sockaddr_in in_address(const char *ip, uint16_t port);
void unblock(int fd);
void block(int fd);
/* Wait for these events; return those that came. */
int events_of(int fd, short events, int ms);
/* A listener, which blocks, and a client, which does not until it is connected. */
void begin(void);
void ask(void);
void connect_both(void);
void end(void);
void send_text(int fd, const char *text);
void expect_text(int fd, const char *text);
void allow_maps(int fd, int n);

#endif /* TESTS_VERBS_RSOCKET_PAIR_H */
