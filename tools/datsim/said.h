/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * said.h - what libdat prints on stderr while a script runs: each line is kept once, for the one
 * who reports. A script runs twice, and many provoke an error on purpose.
 *
 * Lines of others, such as a failed assertion's, are printed at once.
 */
#ifndef DATSIM_SAID_H
#define DATSIM_SAID_H

#include "util.h"

/* Keep libdat's lines from now on. */
void said_begin(void);
/* No longer; the lines are added to the text. */
void said_end(struct text *text);

#endif
