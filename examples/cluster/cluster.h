/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster.h - a cluster in one process: many adapters that talk to each other in three patterns.
 *
 * Each node is an adapter with one EVD for all its events, and with the Endpoints that the pattern
 * needs. One thread runs all nodes: it handles the events of those that have some, and lets virtual
 * time go on when none has.
 */
#ifndef EXAMPLES_CLUSTER_H
#define EXAMPLES_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include <dat/sim.h>
#include <dat/udat.h>

#define CLUSTER_MOST  4096
#define CLUSTER_PORT  5000
#define MESSAGE_BYTES 64

struct message {
	uint32_t from, to, number;
	uint8_t filler[MESSAGE_BYTES - 12];
};

/* One connection of a node: a message can go each way. */
struct port {
	DAT_EP_HANDLE ep;
	struct node *peer;
	struct message out, in;
	int connected;
};

#define NODE_PORTS 3 /* a node of the tree has a parent and two children */

struct node {
	unsigned int number;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, evd;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_SOCK_ADDR6 address;
	struct port port[NODE_PORTS];
	int sent, received, acknowledged;
};

struct cluster {
	DAT_SIM_HANDLE sim;
	unsigned int nodes;
	unsigned int loss; /* packets of a thousand that are lost */
	struct node *node;
	DAT_UINT64 messages; /* of the pattern that runs */
};

void cluster_check(DAT_RETURN ret, const char *call);
void cluster_fail(const char *what) __attribute__((noreturn));

void node_open(struct node *node, unsigned int number);
void node_close(struct node *node);
/* Handle all events of a node that are there; returns their number. */
int node_step(struct node *node);
/* Join a port of each node; `from` begins. The connection is there after cluster_run. */
void node_connect(struct node *from, int port, struct node *to, int at);
void node_disconnect(struct node *node, int port);
void node_send(struct node *node, int port, uint32_t number);

/* The patterns (patterns.c). Each begins and ends without a connection. */
void cluster_ring(struct cluster *c);
void cluster_tree(struct cluster *c);
void cluster_all(struct cluster *c);

#endif /* EXAMPLES_CLUSTER_H */
