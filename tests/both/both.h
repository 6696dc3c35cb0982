/* SPDX-License-Identifier: BSD-3-Clause */
/* both.h - the two ends of both.c, made of two programs. */
#ifndef TESTS_VERBS_BOTH_H
#define TESTS_VERBS_BOTH_H

/* Of examples/pair/server.c, for one client; a byte in the pipe: it may connect. */
void both_serve(int listening);
/* mixed.c as a function. */
int both_ask(int argc, char **argv);

#endif
