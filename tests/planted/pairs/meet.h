/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code shared by the pairs with a planted bug: a server and its clients are processes of their own,
 * each with one end (tests/planted/pair.h). This file has no bug.
 */
#ifndef PLANTED_MEET_H
#define PLANTED_MEET_H

#include "tests/planted/pair.h"

/* The only argument: "serve", or the number of a client, from 0 on. Returns that, or -1. */
int meet_role(int argc, char **argv);

DAT_PSP_HANDLE meet_listen(struct end *end);
/* Wait for a client; *number: the one that it gives. */
DAT_CR_HANDLE meet_client(struct end *end, int *number);
void meet_accept(struct end *end, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep);
/* Ask the server for a connection: it is the first node of the fabric. */
void meet_ask(DAT_EP_HANDLE ep, int number);
/* The same, and wait for it. */
void meet_connect(struct end *end, DAT_EP_HANDLE ep, int number);

/* A client ends its connection and frees the EP. */
void meet_leave(struct end *end, DAT_EP_HANDLE ep);
/* The server waits until one of its clients, whichever it is, has left. */
void meet_left(struct end *end);

/* A server that sends up to `most` messages back to its client, until that is gone. */
void meet_echo(int most, size_t bytes);

#endif
