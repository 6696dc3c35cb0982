/* SPDX-License-Identifier: BSD-3-Clause */
/* server.c - the uDAPL end of both.c. */
#include <sys/syscall.h>
#include <unistd.h>

#include "both.h"

int server_main(int argc, char **argv);
#define main server_main
#include "examples/pair/server.c"

void both_serve(int listening)
{
	static struct server server;

	server_start(&server, "emu0");
	if (syscall(SYS_write, listening, "", 1) != 1)
		pair_fail("the pipe to the client is closed");
	while (server.gone < 1)
		server_step(&server);
	server_stop(&server);
	printf("%ld answers by uDAPL\n", server.answers);
}
