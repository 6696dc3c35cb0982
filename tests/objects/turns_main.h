/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_main.h - a program that starts itself again with libdat-turns.so loaded before it. */
#ifndef TESTS_TURNS_MAIN_H
#define TESTS_TURNS_MAIN_H

#include "host/outside/outside.h"
#include "tests/support/asserts.h"

extern void (*meet)(const struct outside *table); /* libdat_outside_meet */

/* Run the suite, in a process that has the library. */
int turns_main(char **argv, const char *name, void (*fill)(Suite *suite));

#endif /* TESTS_TURNS_MAIN_H */
