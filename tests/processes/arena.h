/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.h - two processes exchange verified data while the words of their fabric's arena are set to
 * other values, one at a time.
 *
 *   arena_words.c   which words there are, and what they are set to
 *   arena_pair.c    the two processes
 *   arena.c         starts them, again after each error, and judges how they end
 */
#ifndef TESTS_ARENA_H
#define TESTS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the processes share with the one that started them. */
struct arena_control {
	uint64_t seed;     /* 0: every word in turn */
	uint64_t next;     /* number of the next trial */
	uint64_t trials;   /* seed 0: set by the first client */
	uint64_t harmless; /* trials that neither process noticed */
	uint32_t ready;    /* the server listens */
	uint32_t ended;    /* the client has ended */
	char what[160];    /* the word of the last trial */
};

extern struct arena_control *arena_control;

/* ---- arena_words.c ---- */

/* Map the arena of the fabric $DATSIM_FABRIC, and list its words. False: it cannot be mapped. */
bool arena_words_begin(void);
/* The number of trials that set each word to each value. */
uint64_t arena_words_trials(void);
/* Set the word of a trial; put it back, unless the library has changed it since. */
void arena_word_set(uint64_t trial);
void arena_word_restore(void);

/* ---- arena_pair.c ---- */

/* Reserve the memory of both, at addresses that are the same in each process. */
void arena_pair_begin(void);
/* In the process that takes no part: has nothing reached that memory? */
bool arena_pair_untouched(void);
/* The processes; each returns when it has met an error or is told to end. */
void arena_serve(void);
void arena_ask(void);

#endif
