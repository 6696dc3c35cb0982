/* SPDX-License-Identifier: BSD-3-Clause */
/* The server and the witness of die.h as programs of libibverbs and librdmacm. */
#include <stdio.h>
#include <stdlib.h>

#include "exchange.h"
#include "tests/processes/die.h"

static struct exchange_memory memory; /* of one role: each is a process */
static struct exchange client;

void exchange_fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", getenv("DATSIM_NODE"), what);
	exit(1);
}

static bool without_end(void)
{
	return true;
}

void serve(const char *server)
{
	(void)server;
	setenv("DATSIM_NODE", "server", 1);
	exchange_serve(&memory, without_end);
}

void witness_open(void)
{
	exchange_open(&client, &memory);
	exchange_connect(&client);
}

void witness_ask(void)
{
	exchange_ask(&client);
}

void witness_close(void)
{
	exchange_disconnect(&client);
	exchange_close(&client);
}
