/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds.h - what the files of kinds have in common: kinds.c says what it is. */
#ifndef TESTS_KINDS_H
#define TESTS_KINDS_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void must(int good, const char *what)
{
	if (good)
		return;
	printf("kinds: %s\n", what);
	exit(1);
}

static inline void sleep_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* ---- kinds_files.c: each is a kind ---- */

int run_closes(void);
int run_copies(void);
int run_moves(void);
int run_owners(void);
int run_popen(void);
int run_records(void);

/* ---- kinds_last.c ---- */

int run_kept(void);
int run_last(void);
int run_stays(void);

/* ---- kinds_timers.c ---- */

int run_timers(void);

#endif /* TESTS_KINDS_H */
