/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair.h - the protocol of a server and its clients, and the code that both use.
 *
 *   client                                   server
 *   sends a question                    -->  puts the answer in its own memory, and
 *   polls its memory for the answer     <--  writes it to the client's (RDMA Write)
 *   reads it again by an RDMA Read      -->
 *
 * Both use uDAPL 1.2 only. The private data of each side tells the other the address of its memory.
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
	volatile DAT_UINT64 round; /* the last member, because it must be written last */
};

/* The remote address of a message. */
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

/* Ends the program with a message on stderr unless ret is DAT_SUCCESS. */
void pair_check(DAT_RETURN ret, const char *call);
void pair_fail(const char *what) __attribute__((noreturn));

void pair_open(struct pair_node *node, const char *adapter, int messages);
void pair_close(struct pair_node *node);
DAT_LMR_TRIPLET pair_segment(const struct pair_node *node, int message);
struct pair_target pair_target(const struct pair_node *node, int message);
DAT_RMR_TRIPLET pair_remote(const struct pair_target *target);

/* Make the answer to a question; make a client's question of a round. */
void pair_answer(const struct pair_message *question, struct pair_message *answer);
void pair_ask(struct pair_message *question, DAT_UINT64 round, DAT_UINT64 client);

#endif
