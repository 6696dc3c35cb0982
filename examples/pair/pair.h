/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair.h - what a server and its clients agree on, and what both are made of.
 *
 *   client                                   server
 *   Send of a question                  -->  answers in its own memory, and
 *   sees it in memory, by looking       <--  by an RDMA Write into the client's
 *   fetches the same by an RDMA Read    -->
 *
 * Plain uDAPL 1.2. Each says in its private data where the other finds its memory.
 */
#ifndef PAIR_H
#define PAIR_H

#include <stddef.h>
#include <dat/udat.h>

#define PAIR_QUALIFIER    7700
#define PAIR_QUEUE_LENGTH 256
#define PAIR_WORDS        64 /* of a question, and of its answer */

struct pair_message {
	DAT_UINT64 word[PAIR_WORDS];
	volatile DAT_UINT64 round; /* last, so that it is written last */
};

/* Where a message may be written to, or read from. */
struct pair_target {
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
};

/* An adapter, and memory on it. */
struct pair_node {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT key;
	struct pair_message *messages;
};

/* Ends the program with a line on stderr unless ret is DAT_SUCCESS. */
void pair_check(DAT_RETURN ret, const char *call);
void pair_fail(const char *what) __attribute__((noreturn));

void pair_open(struct pair_node *node, const char *adapter, int messages);
void pair_close(struct pair_node *node);
DAT_LMR_TRIPLET pair_segment(const struct pair_node *node, int message);
struct pair_target pair_target(const struct pair_node *node, int message);
DAT_RMR_TRIPLET pair_remote(const struct pair_target *target);

/* What the answer to a question in a round is, and whether this is it. */
void pair_answer(const struct pair_message *question, struct pair_message *answer);
void pair_ask(struct pair_message *question, DAT_UINT64 round, DAT_UINT64 client);

#endif
