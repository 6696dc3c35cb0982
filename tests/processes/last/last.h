/* SPDX-License-Identifier: BSD-3-Clause */
/* last.h - what last.c needs of its API. */
#ifndef TESTS_LAST_H
#define TESTS_LAST_H

#include <stdio.h>
#include <stdlib.h>

static inline void must(int good, const char *what)
{
	if (good)
		return;
	printf("last: %s\n", what);
	_Exit(1);
}

/* Open the adapter and make an object on it; with a helper thread on any fabric, if `helped`. */
void last_open(int helped);
void last_close(void);

#endif /* TESTS_LAST_H */
