/* SPDX-License-Identifier: BSD-3-Clause */
/* both.h - the two ends of both.c, made of two programs. */
#ifndef TESTS_VERBS_BOTH_H
#define TESTS_VERBS_BOTH_H

#include <pthread.h>

/* Of examples/pair/server.c, for one client; listening: it may connect. */
void both_serve(pthread_barrier_t *listening);
/* mixed.c as a function. */
int both_ask(int argc, char **argv);

#endif
