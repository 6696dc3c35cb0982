/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * both ROUNDS - the two ends of mixed.sh in one process: the server of examples/pair, of uDAPL, in
 * a thread, and the client of mixed.c, of librdmacm and verbs. Each thread uses one library; they
 * meet in a call of the kernel, which libdat-turns.so does not know, so that the client's takes no
 * turns of the server's.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "both.h"

static int listening[2];

static void *serve(void *arg)
{
	both_serve(listening[1]);
	return arg;
}

int main(int argc, char **argv)
{
	char name[] = "client", host[] = "127.0.0.1";
	char *args[] = { name, name, host, argv[argc - 1], NULL };
	pthread_t server;
	char byte;
	int err;

	if (argc != 2 || pipe(listening) || pthread_create(&server, NULL, serve, NULL)) {
		fputs("usage: both ROUNDS\n", stderr);
		return 2;
	}
	if (syscall(SYS_read, listening[0], &byte, 1) != 1)
		return 1;
	err = both_ask(4, args);
	pthread_join(server, NULL);
	return err;
}
