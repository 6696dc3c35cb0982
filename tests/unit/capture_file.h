/* SPDX-License-Identifier: BSD-3-Clause */
/* capture_file.h - datsim show --pcapng on the trace that a test made, read by a reader of its own. */
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

/* Numbers with the lowest and with the highest byte first. */
uint32_t get(const uint8_t *at, int bytes);
uint32_t get_net(const uint8_t *at, int bytes);
/* The trace of w.sim is on from here; writes what it has so far as a capture, and reads that. */
void traced(void);
void read_capture(void);

#endif
