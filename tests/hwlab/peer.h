/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer.h - a program over libdat that does what dtest does, the test program of Debian's DAPL 2.1.10, so that each
 * of them can have the other as its peer.
 *
 *	the server listens, and says by TCP where: 128 bytes of text
 *	connection	48 bytes of private data 1, 2, 3 ...; back come 2, 3, 4 ...
 *	note		each sends where the other may write, and waits for the same
 *	Writes		each writes there and sends a note behind: the next one says where the other may read
 *	Reads		each reads there and sends a note behind
 *	100 pings	the client's begin with 0x55, the server's answers with 0xaa
 *	disconnect	by the client
 *
 * A note is 16 bytes in network order. DAPL's notes are all the same. Ours name the memory that is read apart from
 * the one that is written, so that what dtest reads does not depend on who is quicker.
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
#define PEER_BYTES \
	5000 /* of all transfers but the notes: dtest -b 5000. Several packets, the last one short. */
#define PEER_NOTES 3
#define PEER_PINGS 100

struct peer_note {
	uint64_t address;
	uint32_t length, key;
};

/* What is registered */
struct peer_memory {
	struct peer_note heard[PEER_NOTES], said;
	unsigned char written[PEER_BYTES]; /* by the peer */
	unsigned char offered[PEER_BYTES]; /* for it to read */
	unsigned char ours[PEER_BYTES];    /* written to it */
	unsigned char fetched[PEER_BYTES]; /* read from it */
	unsigned char ping[PEER_BYTES], pings[PEER_PINGS][PEER_BYTES];
};

struct peer {
	bool serves;
	const char *log; /* what dtest says, of a client's */
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, receives, requests, connection, arrivals;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT key;
	struct peer_memory *memory;
	struct peer_note remote; /* the last one heard */
};

/* These end the program with a line on stderr unless it is as it should be. */
void peer_check(DAT_RETURN ret, const char *call);
void peer_need(bool good, const char *what);

/* By TCP: the server tells one client where it is, by DAPL's name of the adapter; the client asks, until told. */
void peer_tell(struct in_addr address, const char *provider);
struct in_addr peer_ask(struct in_addr address);

/* Until dtest has said so, so often */
void peer_hear(const char *log, const char *what, int often);

void peer_open(struct peer *peer, const char *adapter);
void peer_connect(struct peer *peer, struct in_addr address, const char *provider);
void peer_disconnect(struct peer *peer);
void peer_close(struct peer *peer);
DAT_EVENT peer_next(DAT_EVD_HANDLE evd);

#endif /* TESTS_HWLAB_PEER_H */
