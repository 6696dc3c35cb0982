/* SPDX-License-Identifier: BSD-3-Clause */
/* aliases.h - datsim run --alias: other names under which a program finds adapters. */
#ifndef DATSIM_ALIASES_H
#define DATSIM_ALIASES_H

#include <stdbool.h>

struct aliases {
	const char *words[64]; /* NAME=ADAPTER */
	int count;
};

/* An option's value. False: it is no alias, or one too many. */
bool alias_take(void *aliases, const char *word);
/* Write a dat.conf that has them, and let programs find it. False: stderr says why. */
bool aliases_write(const struct aliases *aliases, const char *path);

#endif
