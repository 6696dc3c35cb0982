/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng.h - write a capture file: one section, an interface for each adapter, a block for each
 * packet, with its virtual nanosecond and a comment. In the byte order of the machine's choice, which
 * here is always the little one, so that equal runs leave equal files everywhere.
 */
#ifndef DATSIM_PCAPNG_H
#define DATSIM_PCAPNG_H

#include <stdio.h>

#include "tools/datsim/util.h"

/* Errors are the stream's: ask ferror in the end. */
void pcapng_begin(FILE *out);
/* Interfaces are numbered from 0, in the order in which they are described. */
void pcapng_interface(FILE *out, const char *name, size_t length);
void pcapng_packet(FILE *out, uint32_t interface, uint64_t ns, const uint8_t *frame, size_t length,
		   const struct text *comment);

/* capture.c: the packets of a trace, as RoCEv2. False: why not stands in error. */
bool capture_write(const char *path, const char *name, const char *text, size_t length,
		   struct text *error);

#endif
