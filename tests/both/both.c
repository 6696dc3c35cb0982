/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * both ROUNDS - the two ends of mixed.sh in one process: the server of examples/pair, of uDAPL, in
 * a thread, and the client of mixed.c, of librdmacm and verbs. Each thread uses one library; they
 * meet in a call that lockstep does not know, so that the client's takes no turns of the server's.
 */
#include <pthread.h>
#include <stdio.h>

#include "both.h"

static void *serve(void *listening)
{
	both_serve(listening);
	return NULL;
}

int main(int argc, char **argv)
{
	char name[] = "client", host[] = "127.0.0.1";
	char *args[] = { name, name, host, argv[argc - 1], NULL };
	pthread_t server;
	pthread_barrier_t listening;
	int err;

	if (argc != 2 || pthread_barrier_init(&listening, NULL, 2) ||
	    pthread_create(&server, NULL, serve, &listening)) {
		fputs("usage: both ROUNDS\n", stderr);
		return 2;
	}
	pthread_barrier_wait(&listening);
	err = both_ask(4, args);
	pthread_join(server, NULL);
	return err;
}
