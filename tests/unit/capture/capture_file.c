/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/support.h"
#include "tests/unit/capture/capture_file.h"
#include "tools/datsim/show/capture/pcapng.h"

struct capture_file file;

static uint8_t bytes[1 << 20];

uint32_t get(const uint8_t *at, int count)
{
	uint32_t n = 0;

	while (count-- > 0)
		n = n << 8 | at[count];
	return n;
}

uint32_t get_net(const uint8_t *at, int count)
{
	uint32_t n = 0;

	while (count-- > 0)
		n = n << 8 | *at++;
	return n;
}

/* The option's value, or NULL if it is missing. The options must end where their block ends. */
static const uint8_t *option(const uint8_t *at, const uint8_t *end, uint32_t code, uint32_t *length)
{
	const uint8_t *found = NULL;

	while (at < end) {
		uint32_t this_code = get(at, 2), n = get(at + 2, 2);

		if (this_code == code) {
			found = at + 4;
			*length = n;
		}
		at += 4 + (n + 3) / 4 * 4;
		if (this_code == 0)
			break;
	}
	ck_assert(at == end);
	return found;
}

static void read_packet(const uint8_t *at, const uint8_t *end)
{
	struct frame *frame = &file.frames[file.count++];
	uint32_t n = 0;
	const uint8_t *comment;

	ck_assert_uint_le(file.count, COUNT(file.frames));
	frame->interface = get(at, 4);
	ck_assert_uint_lt(frame->interface, file.interfaces);
	frame->ns = (uint64_t)get(at + 4, 4) << 32 | get(at + 8, 4);
	frame->length = get(at + 12, 4);
	frame->bytes = at + 20;
	ck_assert_uint_eq(frame->length, get(at + 16, 4));
	ck_assert_uint_ge(frame->length, 14 + 20);
	ck_assert_uint_eq(get_net(frame->bytes + 12, 2), 0x0800);
	ck_assert_uint_eq(get_net(frame->bytes + 16, 2), frame->length - 14);
	comment = option(at + 20 + (frame->length + 3) / 4 * 4, end, 1, &n);
	ck_assert(comment && n < sizeof(frame->comment));
	memcpy(frame->comment, comment, n);
	frame->comment[n] = '\0';
}

static void read_blocks(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *value;
	uint32_t n = 0;

	ck_assert_uint_eq(get(at, 4), 0x0a0d0d0a);
	ck_assert_uint_eq(get(at + 8, 4), 0x1a2b3c4d);
	while (at < end) {
		uint32_t type = get(at, 4), length = get(at + 4, 4);
		const uint8_t *last = at + length - 4;

		ck_assert(length % 4 == 0 && last < end);
		ck_assert_uint_eq(get(last, 4), length);
		if (type == 1) {
			value = option(at + 16, last, 9, &n); /* nanoseconds */
			ck_assert(value && n == 1 && *value == 9);
			ck_assert_uint_eq(get(at + 8, 2), 1);
			file.interfaces++;
		} else if (type == 6) {
			read_packet(at + 8, last);
		}
		at += length;
	}
	ck_assert(at == end);
}

void traced(void)
{
	must(dat_sim_trace(w.sim, DAT_TRUE));
}

void read_capture(void)
{
	char path[] = "/tmp/captureXXXXXX";
	struct text error = { 0 };
	const char *text;
	size_t length;
	FILE *in;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_msg(capture_write(path, "trace", text, length, NULL, &error), "%s",
		      text_of(&error));
	text_free(&error);
	in = fopen(path, "r");
	unlink(path);
	ck_assert(in != NULL);
	length = fread(bytes, 1, sizeof(bytes), in);
	ck_assert(feof(in));
	fclose(in);
	memset(&file, 0, sizeof(file));
	read_blocks(bytes, bytes + length);
}
