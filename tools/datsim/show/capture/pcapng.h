/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng.h - write a capture file: one section, an interface for each adapter, a block for each
 * packet with its virtual time in nanoseconds and a comment. The format leaves the byte order to
 * the writer; ours is always little-endian, so that equal runs write equal files on every machine.
 */
#ifndef DATSIM_PCAPNG_H
#define DATSIM_PCAPNG_H

#include <stdio.h>

#include "tools/datsim/util.h"

/* Errors are left in the stream: check ferror at the end. */
void pcapng_begin(FILE *out);
/* Interfaces are numbered from 0 in the order of these calls. */
void pcapng_interface(FILE *out, const char *name, size_t length);
void pcapng_packet(FILE *out, uint32_t interface, uint64_t ns, const uint8_t *frame, size_t length,
		   const struct text *comment);

/* capture.c: write the packets of a trace, as RoCEv2 or iWARP. False: *error says why it failed. */
bool capture_write(const char *path, const char *name, const char *text, size_t length,
		   struct text *error);

#endif
