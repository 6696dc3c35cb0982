/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes pcapng blocks (pcapng.h).
 */
#include "pcapng.h"

#include <string.h>

#define BLOCK_SECTION   0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET    6u

#define BYTE_ORDER_MARK 0x1a2b3c4du
#define LINK_ETHERNET   1u

#define OPTION_COMMENT      1u
#define OPTION_IF_NAME      2u
#define OPTION_USER_PROGRAM 4u /* option of a section */
#define OPTION_IF_TSRESOL   9u
#define OPTION_MAX          0xfffcu

static void block_add16(struct text *block, uint32_t n)
{
	const char bytes[] = { (char)n, (char)(n >> 8) };

	text_append(block, bytes, sizeof(bytes));
}

static void block_add32(struct text *block, uint32_t n)
{
	block_add16(block, n);
	block_add16(block, n >> 16);
}

/* Fields are padded to a multiple of four bytes. */
static void add_bytes(struct text *block, const char *bytes, size_t length)
{
	text_append(block, bytes, length);
	text_append(block, "\0\0\0", -length & 3);
}

static void add_option(struct text *block, uint32_t code, const char *bytes, size_t length)
{
	if (length > OPTION_MAX)
		length = OPTION_MAX;
	block_add16(block, code);
	block_add16(block, (uint32_t)length);
	add_bytes(block, bytes, length);
}

static void end_options(struct text *block)
{
	block_add32(block, 0);
}

static void write_block(FILE *out, uint32_t type, struct text *body)
{
	struct text frame = { 0 };
	uint32_t length = (uint32_t)body->length + 12;

	block_add32(&frame, type);
	block_add32(&frame, length);
	fwrite(frame.s, 1, frame.length, out);
	fwrite(text_of(body), 1, body->length, out);
	frame.length = 0;
	block_add32(&frame, length);
	fwrite(frame.s, 1, frame.length, out);
	text_free(&frame);
	text_free(body);
}

void pcapng_begin(FILE *out)
{
	static const char program[] = "datsim";
	struct text body = { 0 };

	block_add32(&body, BYTE_ORDER_MARK);
	block_add16(&body, 1); /* version 1.0 */
	block_add16(&body, 0);
	block_add32(&body, 0xffffffff); /* the section extends to the end of the file */
	block_add32(&body, 0xffffffff);
	add_option(&body, OPTION_USER_PROGRAM, program, sizeof(program) - 1);
	end_options(&body);
	write_block(out, BLOCK_SECTION, &body);
}

void pcapng_interface(FILE *out, const char *name, size_t length)
{
	static const char nanoseconds = 9;
	struct text body = { 0 };

	block_add16(&body, LINK_ETHERNET);
	block_add16(&body, 0);
	block_add32(&body, 0); /* packets are never truncated */
	add_option(&body, OPTION_IF_NAME, name, length);
	add_option(&body, OPTION_IF_TSRESOL, &nanoseconds, 1);
	end_options(&body);
	write_block(out, BLOCK_INTERFACE, &body);
}

void pcapng_packet(FILE *out, uint32_t interface, uint64_t ns, const uint8_t *frame, size_t length,
		   const struct text *comment)
{
	struct text body = { 0 };

	block_add32(&body, interface);
	block_add32(&body, (uint32_t)(ns >> 32));
	block_add32(&body, (uint32_t)ns);
	block_add32(&body, (uint32_t)length);
	block_add32(&body, (uint32_t)length);
	add_bytes(&body, (const char *)frame, length);
	add_option(&body, OPTION_COMMENT, text_of(comment), comment->length);
	end_options(&body);
	write_block(out, BLOCK_PACKET, &body);
}
