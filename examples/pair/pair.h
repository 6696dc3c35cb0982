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

#include <stdbool.h>
#include <stddef.h>
#include <dat/udat.h>

#define PAIR_QUALIFIER    7700
#define PAIR_QUEUE_LENGTH 256
#define PAIR_WORDS        63 /* of a question, and of its answer */

/*
 * A program that polls memory cannot tell from one word that the others are there: an adapter may
 * place the bytes of an RDMA Write in any order, and the kernel's rxe places some of them from the
 * last to the first. The sum tells.
 */
struct pair_message {
	DAT_UINT64 word[PAIR_WORDS];
	DAT_UINT64 sum; /* of the words and of the round */
	volatile DAT_UINT64 round;
};

/* The remote address of a message. Without padding: it goes over the wire as private data. */
struct pair_target {
	DAT_RMR_CONTEXT key;
	DAT_UINT32 zero;
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

/* message.c: make the answer to a question; make a client's question of a round. */
void pair_answer(const struct pair_message *question, struct pair_message *answer);
void pair_ask(struct pair_message *question, DAT_UINT64 round, DAT_UINT64 client);
/* Is all of this round's message there? It may be in memory that an adapter writes to. */
bool pair_is_whole(const struct pair_message *message, DAT_UINT64 round);

#endif
