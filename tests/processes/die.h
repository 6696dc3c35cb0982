/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * die.h - a process is killed, before a store into a shared fabric's arena or at any moment, while
 * a server and a witness go on.
 *
 *   server   examples/pair/server; it outlives the others
 *   witness  sends it requests all the time and checks the answers
 *   victim   makes the calls of an API in phases, and is killed somewhere in between
 *
 * Program `die` has them use uDAPL; `die_verbs` libibverbs and librdmacm, with the server and the
 * clients of verbs/exchange.h.
 */
#ifndef TESTS_DIE_H
#define TESTS_DIE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "examples/pair/pair.h"
#include "tests/support/hang.h"

/* ---- peer.c: a client of the server ---- */

struct peer {
	struct pair_node node;
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep;
	struct pair_target board; /* of the server */
	DAT_UINT64 round;
};

extern DAT_TIMEOUT peer_patience_us; /* with each event and answer; at first without a bound */
extern int peer_tries;               /* to connect */

/* The next event; the program ends if it is not of that number. */
DAT_EVENT expect_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
void expect_dto(DAT_EVD_HANDLE evd, DAT_UINT64 cookie);

/* Ask an end of this fabric that listens there for a connection, without private data. */
void ask_ep(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier);
/* The same, and wait until it is established. */
void connect_ep(DAT_EP_HANDLE ep, DAT_CONN_QUAL qualifier, DAT_EVD_HANDLE connect);

void peer_open(struct peer *peer);
void peer_connect(struct peer *peer);
void peer_ask(struct peer *peer);

/* ---- victim.c, verbs/victim_verbs.c ---- */

/*
 * From the opening of an adapter to its close; `phase` is called at the beginning of each part,
 * with its name.
 */
void victim_live(void (*phase)(const char *name));

/* ---- peer.c, verbs/roles_verbs.c ---- */

/* Be the server until killed; `server` is the program that it is, of uDAPL. */
void serve(const char *server);
/* Be the witness: connect, ask once, end. */
void witness_open(void);
void witness_ask(void);
void witness_close(void);

/* ---- stores/stores.c: stores into the arena, counted ---- */

#define PHASES 64

/* Where the process dies; with phase -1 it only counts */
struct stores {
	int phase;
	bool stop;                /* it is stopped, and only stores with the lock count */
	uint32_t store;           /* of the phase, from 1: it dies before that one */
	uint32_t counted[PHASES]; /* phase -1 */
	const char *names[PHASES];
	int phases;
};

/* NULL: this machine can count stores; otherwise the reason why not */
const char *stores_refused(void);
/* In a process of its own, before anything else: `stores` is shared memory. */
void stores_begin(struct stores *stores);
void stores_phase(const char *name);

/* Called by stores/wrap.c or stores/next.c where the library maps, unmaps, blocks signals. */
void stores_mapped(void *map, size_t size, int flags, int fd);
void stores_unmapped(const void *at);
sigset_t stores_mask(int how, const sigset_t *set);
/*
 * The library copies payload with an action for SIGSEGV that makes any fault an error (guard.h), so
 * that of stores.c has to be asked first. True: the library's is kept behind it.
 */
bool stores_keep_action(int number, const struct sigaction *action, struct sigaction *old);
/* End the process. */
void stores_fail(const char *what) __attribute__((noreturn));

/* ---- notice.c ---- */

/* Does a client notice in time that its server died? NULL: program die_verbs has none. */
bool notice(const char *server, int rounds) __attribute__((weak));

/* ---- die.c ---- */

/* A process that does not outlive this one; 0 in it. */
pid_t start_process(void);

/* ---- usage.c: what is in use in a fabric ---- */

/* All of one type: it has no padding, so that memory can be compared. */
struct usage {
	uint64_t processes, adapters, observed;
	uint64_t pds, mrs, mws, cqs, srqs, qps, members, listeners, conns, stages;
	uint64_t pool; /* units of it */
};

bool usage_of(const char *fabric, struct usage *usage);
bool usage_same(const struct usage *a, const struct usage *b);
void usage_say(const char *what, const struct usage *usage);
/*
 * Wait until as much is in use as `before`: the survivor of a broken connection frees its side of
 * it later. False: the fabric cannot be looked at.
 */
bool usage_returns(const char *fabric, const struct usage *before);

#endif
