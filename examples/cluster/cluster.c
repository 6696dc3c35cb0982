/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of cluster: a cluster of adapters in one process, and what its patterns cost.
 *
 * cluster [NODES [LOSS]]    NODES adapters (default 64), LOSS of 1,000 packets are lost (default 0)
 */
#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"

static unsigned int parse_number(const char *s, long least, long most)
{
	char *end;
	long n = strtol(s, &end, 10);

	if (*end || end == s || n < least || n > most) {
		fprintf(stderr, "cluster: expected a number, %ld to %ld, found %s\n", least, most,
			s);
		exit(2);
	}
	return (unsigned int)n;
}

/*
 * All nodes work at the same time, but one thread looks for their events, one after another. It
 * finds none at most of them, and that takes no virtual time here.
 */
static void make_fabric(struct cluster *c)
{
	DAT_SIM_CONFIG config;

	cluster_check(dat_sim_config_init(&config), "dat_sim_config_init");
	config.poll_quantum_ns = 0;
	cluster_check(dat_sim_create(&config, &c->sim), "dat_sim_create");
}

/* Connections are made without a deadline, so the packets that make them are not lost. */
static void lose_packets(struct cluster *c)
{
	DAT_SIM_FAULT fault = { .packets = DAT_SIM_PACKET_SEND | DAT_SIM_PACKET_ACK,
				.probability = c->loss * 1000,
				.verdict = DAT_SIM_DROP };
	DAT_COUNT id;

	if (c->loss)
		cluster_check(dat_sim_fault_add(c->sim, &fault, &id), "dat_sim_fault_add");
}

static void run_pattern(struct cluster *c, const char *name, void (*pattern)(struct cluster *c))
{
	DAT_UINT64 begin, end;

	cluster_check(dat_sim_now(c->sim, &begin), "dat_sim_now");
	pattern(c);
	cluster_check(dat_sim_now(c->sim, &end), "dat_sim_now");
	printf("%-12s%10llu messages  %10.3f ms of virtual time\n", name,
	       (unsigned long long)c->messages, (double)(end - begin) / 1e6);
}

int main(int argc, char **argv)
{
	struct cluster c = { .nodes = 64 };

	if (argc > 3) {
		fprintf(stderr, "usage: cluster [NODES [LOSS]]\n");
		return 2;
	}
	if (argc > 1)
		c.nodes = parse_number(argv[1], 2, CLUSTER_MOST);
	if (argc > 2)
		c.loss = parse_number(argv[2], 0, 100);
	c.node = calloc(c.nodes, sizeof(*c.node));
	if (!c.node)
		cluster_fail("out of memory");
	make_fabric(&c);
	for (unsigned int i = 0; i < c.nodes; i++)
		node_open(&c.node[i], i);
	lose_packets(&c);
	printf("%u nodes, %u of 1,000 packets lost\n", c.nodes, c.loss);
	run_pattern(&c, "ring", cluster_ring);
	run_pattern(&c, "tree", cluster_tree);
	run_pattern(&c, "all to all", cluster_all);
	for (unsigned int i = 0; i < c.nodes; i++)
		node_close(&c.node[i]);
	cluster_check(dat_sim_destroy(c.sim), "dat_sim_destroy");
	free(c.node);
	return 0;
}
