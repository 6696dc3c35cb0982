/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc.h - remote calls over uDAPL: a server that receives from all its clients through one Shared
 * Receive Queue, and clients that keep several calls under way.
 *
 * A client says in the private data of its connection request which version it speaks, and is told in
 * that of the answer how many calls it may have under way. A request and its reply are one message
 * each: a header and a text. Numbers are in network byte order.
 *
 * Server and clients share nothing but the fabric. Each does what there is to do in a step, so that one
 * thread can look after both (`rpc both`), or each waits for events of its own (`rpc server`,
 * `rpc client`).
 */
#ifndef EXAMPLES_RPC_H
#define EXAMPLES_RPC_H

#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

#define RPC_VERSION   1
#define RPC_QUALIFIER 7000
#define RPC_BYTES     128 /* of a message, header included */
#define RPC_CREDITS   4   /* calls that a client may have under way */

enum rpc_call {
	RPC_UPPER = 1,
	RPC_REVERSE
};

struct rpc_hello {
	uint32_t version;
	uint32_t credits; /* in the answer */
};

struct rpc_header {
	uint32_t id;
	uint16_t call;
	uint16_t length; /* of the text that follows */
};

/* What both ends have: an adapter, one EVD for all but asynchronous events, memory of `count` buffers. */
struct node {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, evd;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	char (*buffers)[RPC_BYTES];
};

/* End the program if a call failed, or for any other reason. */
void rpc_check(DAT_RETURN ret, const char *call);
void rpc_fail(const char *what) __attribute__((noreturn));

void node_open(struct node *node, const char *adapter, int count);
void node_close(struct node *node);
DAT_LMR_TRIPLET node_segment(const struct node *node, int buffer, size_t length);
/* The next event of an EVD; 0 if there is none, or none before `timeout` ends. */
int node_event(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_EVENT *event);

#define SERVER_CLIENTS 16 /* at a time */
/* When so few buffers are left the server hears of it; on iWARP no message may find none at all. */
#define SERVER_LOW     (SERVER_CLIENTS * RPC_CREDITS)
#define SERVER_BUFFERS (2 * SERVER_LOW)

struct server {
	struct node node;
	DAT_PSP_HANDLE psp;
	DAT_SRQ_HANDLE srq;
	int free[SERVER_BUFFERS], free_count; /* neither posted nor in a reply */
	int clients, served, refused, gone, refills;
};

void server_open(struct server *server, const char *adapter);
/* Wait for an event until `timeout` ends, and do all there is to do; 0 if there was nothing. */
int server_step(struct server *server, DAT_TIMEOUT timeout);
void server_close(struct server *server);

struct client {
	struct node node;
	DAT_EP_HANDLE ep;
	int number, calls; /* to make */
	int credits, sent, answered;
	int acknowledged; /* requests of which the buffer is free again: maybe later than the reply */
	uint32_t version; /* that it says it speaks */
	int over;         /* disconnected, or refused */
	int refused;
};

/* Buffers 0 to RPC_CREDITS - 1 carry requests, the others receive replies. */
void client_open(struct client *client, const char *adapter, DAT_IA_ADDRESS_PTR server);
int client_step(struct client *client, DAT_TIMEOUT timeout);
void client_close(struct client *client);

/* What a call does to a text; both ends use it, the client to verify. 0: there is no such call. */
int rpc_do(uint16_t call, char *text, size_t length);

#endif
