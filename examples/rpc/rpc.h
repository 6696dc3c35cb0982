/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc.h - remote procedure calls over uDAPL: a server that receives from all its clients through
 * one Shared Receive Queue, and clients that keep several calls in flight.
 *
 * The private data of a connection request contains the client's protocol version; that of the
 * answer contains the number of calls that the client may have in flight. A request and its reply
 * are one message each: a header and a text. Numbers are in network byte order.
 *
 * Server and clients share nothing but the fabric. Each handles its pending events in a step, so
 * that one thread can run both (`rpc both`), or each waits for its own events (`rpc server`, `rpc
 * client`).
 */
#ifndef EXAMPLES_RPC_H
#define EXAMPLES_RPC_H

#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

#define RPC_VERSION   1
#define RPC_QUALIFIER 7000
#define RPC_BYTES     128 /* of a message, header included */
#define RPC_CREDITS   4   /* calls that a client may have in flight */

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

/* One end: an adapter, one EVD for all but asynchronous events, and registered buffers. */
struct node {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, evd;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	char (*buffers)[RPC_BYTES];
};

/* End the program if a call failed; end it for any other reason. */
void rpc_check(DAT_RETURN ret, const char *call);
void rpc_fail(const char *what) __attribute__((noreturn));

void node_open(struct node *node, const char *adapter, int count);
void node_close(struct node *node);
DAT_LMR_TRIPLET node_segment(const struct node *node, int buffer, size_t length);
/* Get the next event of an EVD. 0: there is none, or none came before the timeout. */
int node_event(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_EVENT *event);

#define SERVER_CLIENTS 16 /* at a time */
/*
 * The low watermark: all clients' calls still find a buffer when the server is told. On iWARP, a
 * message without a buffer would break its connection.
 */
#define SERVER_LOW     (SERVER_CLIENTS * RPC_CREDITS)
#define SERVER_BUFFERS (2 * SERVER_LOW)

struct server {
	struct node node;
	DAT_PSP_HANDLE psp;
	DAT_SRQ_HANDLE srq;
	int free[SERVER_BUFFERS], free_count; /* buffers neither posted nor in a reply */
	int clients, served, refused, gone, refills;
};

void server_open(struct server *server, const char *adapter);
/* Handle all pending events; wait for the first one until the timeout. Returns their number. */
int server_step(struct server *server, DAT_TIMEOUT timeout);
void server_close(struct server *server);

struct client {
	struct node node;
	DAT_EP_HANDLE ep;
	int number, calls; /* calls to make */
	int credits, sent, answered;
	int acknowledged; /* completed requests; a request may complete after its reply has come */
	uint32_t version; /* sent to the server */
	int over;         /* disconnected, or refused */
	int refused;
};

/* Buffers 0 to RPC_CREDITS - 1 carry requests, the others receive replies. */
void client_open(struct client *client, const char *adapter, DAT_IA_ADDRESS_PTR server);
int client_step(struct client *client, DAT_TIMEOUT timeout);
void client_close(struct client *client);

/* Execute a call on a text; the client uses it to verify replies. 0: there is no such call. */
int rpc_do(uint16_t call, char *text, size_t length);

#endif
