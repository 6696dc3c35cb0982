/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer.h - a program over libdat that speaks the protocol of dtest, the test program of Debian's
 * DAPL 2.1.10, so that each can be the peer of the other.
 *
 *	the server listens, and says by TCP where: 128 bytes of text
 *	connection	48 bytes of private data 1, 2, 3 ...; back come 2, 3, 4 ...
 *	note		each sends where the other may write, and waits for the same
 *	Writes		each writes there and sends a note behind, which says where the other may
 *			read
 *	Reads		each reads there and sends a note behind
 *	100 pings	the client's begin with 0x55, the server's answers with 0xaa
 *	disconnect	by the client
 *
 * A note is 16 bytes in network order. All notes of DAPL name the same memory. Ours name separate
 * memory for reading and for writing, so that the bytes which dtest reads do not depend on timing.
 */
#ifndef TESTS_HWLAB_PEER_H
#define TESTS_HWLAB_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <dat/udat.h>

#define PEER_PORT    45248 /* connection qualifier */
#define PEER_GREETED 48    /* bytes of private data */
#define PEER_BYTES   5000  /* of each transfer but the notes: several packets, the last one short */
#define PEER_NOTES   3
#define PEER_PINGS   100

struct peer_note {
	uint64_t address;
	uint32_t length, key;
};

/* The registered memory */
struct peer_memory {
	struct peer_note heard[PEER_NOTES], said;
	unsigned char written[PEER_BYTES]; /* the peer writes it */
	unsigned char offered[PEER_BYTES]; /* the peer reads it */
	unsigned char ours[PEER_BYTES];    /* source of our RDMA Writes */
	unsigned char fetched[PEER_BYTES]; /* target of our RDMA Reads */
	unsigned char ping[PEER_BYTES], pings[PEER_PINGS][PEER_BYTES];
};

struct peer {
	bool serves;
	const char *log; /* output of dtest, if this is the client */
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, receives, requests, connection, arrivals;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT key;
	struct peer_memory *memory;
	struct peer_note remote; /* the last note received */
};

/* Both end the program with a line on stderr if the call failed or the value is wrong. */
void peer_check(DAT_RETURN ret, const char *call);
void peer_need(bool good, const char *what);

/*
 * Over TCP the server tells one client its address under DAPL's name of the adapter; the client
 * asks until it gets an answer.
 */
void peer_tell(struct in_addr address, const char *provider);
struct in_addr peer_ask(struct in_addr address);

/* Waits until dtest has printed `what` as many times as `often` says. */
void peer_hear(const char *log, const char *what, int often);

void peer_open(struct peer *peer, const char *adapter);
void peer_connect(struct peer *peer, struct in_addr address, const char *provider);
void peer_disconnect(struct peer *peer);
void peer_close(struct peer *peer);
DAT_EVENT peer_next(DAT_EVD_HANDLE evd);

#endif /* TESTS_HWLAB_PEER_H */
