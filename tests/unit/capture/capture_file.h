/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture_file.h - datsim show --pcapng on the trace of a test, and an independent reader of it.
 */
#ifndef TESTS_CAPTURE_FILE_H
#define TESTS_CAPTURE_FILE_H

#include <stddef.h>
#include <stdint.h>

struct frame {
	uint32_t interface;
	uint64_t ns;
	const uint8_t *bytes;
	size_t length;
	char comment[1024];
};

struct capture_file {
	struct frame frames[128];
	size_t count;
	uint32_t interfaces;
};

extern struct capture_file file;

/* Big-endian and little-endian numbers */
uint32_t get(const uint8_t *at, int bytes);
uint32_t get_net(const uint8_t *at, int bytes);
/* Turns the trace of w.sim on; converts the trace so far to a capture and reads that. */
void traced(void);
void read_capture(void);

#endif
