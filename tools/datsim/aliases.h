/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aliases.h - under which names and addresses a program finds adapters: datsim run --alias,
 * --addresses.
 */
#ifndef DATSIM_ALIASES_H
#define DATSIM_ALIASES_H

#include <stdbool.h>

#define NETWORK_WANTS                                                                             \
	"a network of host addresses outside 127.0.0.0/8, such as 10.1.2.0/24, with a prefix of " \
	"8 to 28 bits and no bit set after the prefix"

struct aliases {
	const char *words[64]; /* NAME=ADAPTER */
	int count;
};

/* An option's value. False: it is no alias, or one too many. */
bool alias_take(void *aliases, const char *word);
/* An option's value, a network as DATSIM_ADDRESSES takes it. False: adapters cannot have it. */
bool addresses_take(void *network, const char *word);
/* Write a dat.conf that has them, and let programs find it. False: stderr says why. */
bool aliases_write(const struct aliases *aliases, const char *path);

#endif
