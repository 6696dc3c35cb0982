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

/*
 * capture.c: write the packets of a trace that the filter takes (NULL: all), as RoCEv2 or iWARP.
 * False: *error says why it failed.
 */
struct show_filter;
bool capture_write(const char *path, const char *name, const char *text, size_t length,
		   const struct show_filter *filter, struct text *error);

/*
 * The same of a trace that is still being written: begin with an empty capture; once the first
 * event is there, read the settings above it; give it a reader of each new piece of the text, which
 * must stay where it is. capture_settle writes the last packet, to which later lines may belong.
 */
struct capture;
struct trace_reader;
struct capture *capture_begin(FILE *out, const struct show_filter *filter);
bool capture_header(struct capture *capture, const char *name, const char *text, size_t length,
		    struct text *error);
/* False: reader->error says why. */
bool capture_lines(struct capture *capture, struct trace_reader *reader);
void capture_settle(struct capture *capture);
void capture_free(struct capture *capture);

#endif
