/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The patterns. All nodes take a step together, as processes of a parallel program do between two
 * barriers: events are handled until none is left, then comes the next step.
 */
#include <stdio.h>

#include "cluster.h"

#define STEP_NS 1000000000ul /* far more than a step takes, lost packets included */

enum {
	LEFT,
	RIGHT, /* of a ring */
	PARENT = 0,
	CHILD /* and the next one, of a tree */
};

/* Let time go on until nothing moves and every event is handled. */
static void cluster_settle(struct cluster *c)
{
	int handled;

	do {
		cluster_check(dat_sim_run_until_quiet(c->sim, STEP_NS), "dat_sim_run_until_quiet");
		handled = 0;
		for (unsigned int i = 0; i < c->nodes; i++)
			handled += node_step(&c->node[i]);
	} while (handled > 0);
}

/* Sent, received and acknowledged: as many as the pattern has. */
static void expect_messages(struct cluster *c, DAT_UINT64 expected)
{
	DAT_UINT64 sent = 0, received = 0, acknowledged = 0;

	for (unsigned int i = 0; i < c->nodes; i++) {
		struct node *node = &c->node[i];

		sent += (DAT_UINT64)node->sent;
		received += (DAT_UINT64)node->received;
		acknowledged += (DAT_UINT64)node->acknowledged;
		node->sent = node->received = node->acknowledged = 0;
	}
	if (sent != expected || received != expected || acknowledged != expected)
		cluster_fail("the number of messages differs from the expected one");
	c->messages = expected;
}

/* ---- the ring: each node passes on what it got, until everything has been everywhere ---- */

void cluster_ring(struct cluster *c)
{
	unsigned int n = c->nodes;

	for (unsigned int i = 0; i < n; i++)
		node_connect(&c->node[i], RIGHT, &c->node[(i + 1) % n], LEFT);
	cluster_settle(c);
	for (unsigned int step = 1; step < n; step++) {
		for (unsigned int i = 0; i < n; i++)
			node_send(&c->node[i], RIGHT, step);
		cluster_settle(c);
	}
	expect_messages(c, (DAT_UINT64)n * (n - 1));
	for (unsigned int i = 0; i < n; i++)
		node_disconnect(&c->node[i], RIGHT);
	cluster_settle(c);
}

/* ---- the tree: a sum goes up to node 0, and the result down to all ---- */

static unsigned int parent_of(unsigned int i)
{
	return (i - 1) / 2;
}

static int child_port(unsigned int i)
{
	return i % 2 ? CHILD : CHILD + 1;
}

/* The nodes first .. first * 2 have the same distance from node 0. */
static void tree_level(struct cluster *c, unsigned int first, int up)
{
	for (unsigned int i = first; i <= first * 2 && i < c->nodes; i++)
		if (up)
			node_send(&c->node[i], PARENT, i);
		else
			node_send(&c->node[parent_of(i)], child_port(i), i);
	cluster_settle(c);
}

void cluster_tree(struct cluster *c)
{
	unsigned int first = 1;

	for (unsigned int i = 1; i < c->nodes; i++)
		node_connect(&c->node[i], PARENT, &c->node[parent_of(i)], child_port(i));
	cluster_settle(c);
	while (first * 2 + 1 < c->nodes)
		first = first * 2 + 1;
	for (unsigned int level = first; level > 0; level = (level - 1) / 2)
		tree_level(c, level, 1);
	for (unsigned int level = 1; level < c->nodes; level = level * 2 + 1)
		tree_level(c, level, 0);
	expect_messages(c, 2 * (DAT_UINT64)(c->nodes - 1));
	for (unsigned int i = 1; i < c->nodes; i++)
		node_disconnect(&c->node[i], PARENT);
	cluster_settle(c);
}

/* ---- all to all: in each round the nodes are paired anew, and the two of a pair exchange ---- */

/*
 * The partner of node i: the rounds of a tournament, in which each plays each other once. Node
 * `even` - 1 stays in its place and the others go round; without such a node, its partner rests.
 */
static unsigned int partner_of(const struct cluster *c, unsigned int round, unsigned int i)
{
	unsigned int odd = (c->nodes + 1) / 2 * 2 - 1, twice;

	if (i == odd)
		return (round * ((odd + 1) / 2)) % odd;
	twice = (round + odd - i) % odd;
	return twice == i ? odd : twice;
}

static void all_round(struct cluster *c, unsigned int round)
{
	for (unsigned int i = 0; i < c->nodes; i++) {
		unsigned int other = partner_of(c, round, i);

		if (i < other && other < c->nodes)
			node_connect(&c->node[i], 0, &c->node[other], 0);
	}
	cluster_settle(c);
	for (unsigned int i = 0; i < c->nodes; i++)
		if (partner_of(c, round, i) < c->nodes)
			node_send(&c->node[i], 0, round);
	cluster_settle(c);
	for (unsigned int i = 0; i < c->nodes; i++) {
		unsigned int other = partner_of(c, round, i);

		if (i < other && other < c->nodes)
			node_disconnect(&c->node[i], 0);
	}
	cluster_settle(c);
}

void cluster_all(struct cluster *c)
{
	unsigned int rounds = (c->nodes + 1) / 2 * 2 - 1;

	for (unsigned int round = 0; round < rounds; round++)
		all_round(c, round);
	expect_messages(c, (DAT_UINT64)c->nodes * (c->nodes - 1));
}
