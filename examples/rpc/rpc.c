/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of rpc:
 *
 * rpc both [CLIENTS [CALLS]]              server and clients in one process, on emu0 and emu1
 * rpc server ADAPTER CLIENTS              a server, which ends after CLIENTS clients
 * rpc client ADAPTER SERVER-ADDRESS CALLS a client of a server in another process
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc.h"

#define CLIENTS_MAX SERVER_CLIENTS

static int parse_number(const char *s, int most)
{
	char *end;
	long n = strtol(s, &end, 10);

	if (*end || n < 1 || n > most) {
		fprintf(stderr, "rpc: expected a number, 1 to %d, found %s\n", most, s);
		exit(2);
	}
	return (int)n;
}

static int run_server(const char *adapter, int clients)
{
	static struct server server;

	server_open(&server, adapter);
	while (server.gone + server.refused < clients)
		server_step(&server, DAT_TIMEOUT_INFINITE);
	server_close(&server);
	printf("%d calls served, %d refills\n", server.served, server.refills);
	return 0;
}

static int run_client(const char *adapter, const char *address, int calls)
{
	struct client client = { .number = 1, .calls = calls, .version = RPC_VERSION };
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
		rpc_fail("expected an IPv4 address of the server");
	client_open(&client, adapter, (DAT_IA_ADDRESS_PTR)&in);
	while (!client.over)
		client_step(&client, DAT_TIMEOUT_INFINITE);
	client_close(&client);
	printf("%d calls answered\n", client.answered);
	return client.refused;
}

/* The last client has another protocol version, and the server must refuse it. */
static int run_both(int count, int calls)
{
	static struct client clients[CLIENTS_MAX + 1];
	static struct server server;
	DAT_IA_ATTR attr;
	int i, over, answered = 0;

	server_open(&server, "emu0");
	rpc_check(dat_ia_query(server.node.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			       DAT_PROVIDER_FIELD_NONE, NULL),
		  "dat_ia_query");
	for (i = 0; i <= count; i++) {
		clients[i].number = i + 1;
		clients[i].calls = calls;
		clients[i].version = i < count ? RPC_VERSION : RPC_VERSION + 1;
		client_open(&clients[i], "emu1", attr.ia_address_ptr);
	}
	do {
		over = server.gone == count;
		server_step(&server, 0);
		for (i = 0; i <= count; i++) {
			client_step(&clients[i], 0);
			over &= clients[i].over;
		}
	} while (!over);
	for (i = 0; i <= count; i++) {
		answered += clients[i].answered;
		client_close(&clients[i]);
	}
	server_close(&server);
	printf("%d calls of %d clients answered and verified, %d client refused\n", answered, count,
	       server.refused);
	printf("the server refilled its queue %s\n", server.refills ? "when told to" : "never");
	return answered == count * calls && server.served == answered && clients[count].refused ? 0
												: 1;
}

int main(int argc, char **argv)
{
	if (argc >= 2 && argc <= 4 && !strcmp(argv[1], "both"))
		return run_both(argc > 2 ? parse_number(argv[2], CLIENTS_MAX) : 4,
				argc > 3 ? parse_number(argv[3], 1000000) : 100);
	if (argc == 4 && !strcmp(argv[1], "server"))
		return run_server(argv[2], parse_number(argv[3], 1000000));
	if (argc == 5 && !strcmp(argv[1], "client"))
		return run_client(argv[2], argv[3], parse_number(argv[4], 1000000));
	fputs("usage: rpc both [CLIENTS [CALLS]]\n"
	      "       rpc server ADAPTER CLIENTS\n"
	      "       rpc client ADAPTER SERVER-ADDRESS CALLS\n",
	      stderr);
	return 2;
}
