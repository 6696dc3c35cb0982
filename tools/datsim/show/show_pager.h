/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show_pager.h - a long output on a terminal goes through a pager: $PAGER, or less if there is one.
 * PAGER= (empty) or PAGER=cat is none.
 */
#ifndef DATSIM_SHOW_PAGER_H
#define DATSIM_SHOW_PAGER_H

#include <stdio.h>

/* The stream to print to; `out` itself if it is no terminal, or there is no pager. */
FILE *pager_begin(FILE *out);
/* Wait until the user has read it. */
void pager_end(FILE *stream, FILE *out);

#endif
