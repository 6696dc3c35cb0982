/* SPDX-License-Identifier: BSD-3-Clause */
/* server.c - the uDAPL end of both.c. */
#include "both.h"

int server_main(int argc, char **argv);
#define main server_main
#include "examples/pair/server.c"

void both_serve(pthread_barrier_t *listening)
{
	static struct server server;

	server_start(&server, "emu0");
	pthread_barrier_wait(listening);
	while (server.gone < 1)
		server_step(&server);
	server_stop(&server);
	printf("%ld answers by uDAPL\n", server.answers);
}
