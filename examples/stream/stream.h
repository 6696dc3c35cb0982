/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h - messages of every size over many connections, with three ways to get events: polling
 * the EVDs, waiting on each, and one CNO for all of them.
 *
 *   client, on each of its connections       server, one SRQ for all of them
 *   Send of 1 to STREAM_LARGEST bytes   -->  sends them back, each byte inverted
 *   compares                            <--
 *
 * Both use uDAPL 1.2 only.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stddef.h>
#include <dat/udat.h>

#define STREAM_QUALIFIER 7720
#define STREAM_LARGEST   9000
#define STREAM_MOST      256 /* connections */

enum stream_way {
	STREAM_POLL,
	STREAM_WAIT,
	STREAM_CNO
};

/* The EVDs. */
enum stream_queue {
	STREAM_REQUESTS, /* connection requests */
	STREAM_CONNECTIONS,
	STREAM_RECVS,
	STREAM_SENDS,
	STREAM_QUEUES
};

/* An adapter with EVDs, and memory in buffers of STREAM_LARGEST bytes. */
struct stream_node {
	enum stream_way way;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd[STREAM_QUEUES];
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT key;
	unsigned char *memory;
};

/* Ends the program with a message on stderr unless ret is DAT_SUCCESS. */
void stream_check(DAT_RETURN ret, const char *call);
void stream_fail(const char *what) __attribute__((noreturn));

void stream_open(struct stream_node *node, enum stream_way way, int buffers);
void stream_close(struct stream_node *node);
unsigned char *stream_buffer(const struct stream_node *node, int buffer);
DAT_LMR_TRIPLET stream_segment(const struct stream_node *node, int buffer, unsigned int length);
/* Waits for the next event of any EVD, in the way of the node. */
DAT_EVENT stream_next(struct stream_node *node, enum stream_queue *queue);
/* The data of a successful completion; ends the program if the event is another. */
const DAT_DTO_COMPLETION_EVENT_DATA *stream_done(const DAT_EVENT *event);

int stream_server(enum stream_way way, int connections);
int stream_client(const char *host, enum stream_way way, int connections, int rounds);

#endif
