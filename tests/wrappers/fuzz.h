/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz.h - every name that a library of the verbs front exports, called with each hostile value of
 * each of its arguments, and with random ones together.
 *
 * A row describes a call: how it answers, and the kind of each argument. A kind is a list of
 * values. Value 0 is a proper one, so that a call with proper values succeeds; the others are those
 * which the real library survives: numbers out of range, NULL where it asks or where the kernel
 * answers EFAULT, memory that is not there, structures full of zeros, ones and random bytes,
 * objects of another device, objects in use, ids in each state. Objects that were destroyed have
 * tests of their own, in tests/gone. NULL is never passed where the real library follows the
 * pointer: it crashes as well. No event is acknowledged twice, for the object
 * could never be destroyed then, as on a device.
 *
 * Each call has a kit of objects of its own, so that it may destroy or break them. After it, the
 * objects and descriptors are as many as before if it failed, and as many as without the kit once
 * the kit is gone; and a message still goes through between two queue pairs that are not in it.
 */
#ifndef TESTS_WRAPPERS_H
#define TESTS_WRAPPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/verbs/verbs_pair.h"

#define FUZZ_ARGS 6

enum fuzz_answer {
	FUZZ_NOTHING,
	FUZZ_ANY,     /* a number or a text, no error */
	FUZZ_TEXT,    /* never NULL */
	FUZZ_ERRNO,   /* 0, or an errno */
	FUZZ_MINUS,   /* an int; -1 and errno */
	FUZZ_SIZE,    /* the same of 64 bits */
	FUZZ_POINTER, /* NULL and errno */
	FUZZ_SMALL,   /* an int; negative, and errno */
	FUZZ_COUNT,   /* the same of 64 bits, or a negative errno */
	FUZZ_LOOKUP   /* 0, an EAI_ code, or -1 and errno */
};

/* Memory and numbers come from fuzz_room and fuzz_number. */
struct fuzz_kind {
	unsigned int values;
	uint64_t (*make)(uint64_t good, unsigned int value);
};

struct fuzz_arg {
	const struct fuzz_kind *kind; /* NULL: there are no more */
	uint64_t good;                /* what the kind makes its proper value of */
};

struct fuzz_call {
	const char *name;
	enum fuzz_answer answer;
	struct fuzz_arg args[FUZZ_ARGS];
	/* After a success: destroy what it made, or take what it destroyed out of the kit. */
	void (*undo)(uint64_t result, const uint64_t *args);
	uint64_t (*call)(const uint64_t *args); /* of a call that no library exports by its name */
	bool refused;                           /* even with proper values */
	bool changes; /* even if it fails: a connection has begun, or was refused */
};

/* The objects of a library's calls, and its table of names. */
struct fuzz_library {
	const char *table; /* a file; names, versions, and in column `answer` how they answer */
	int answer;
	const struct fuzz_call *calls;
	size_t count;
	void (*begin)(void); /* what is there in each test */
	void (*end)(void);
	void (*make)(void); /* the kit */
	void (*free)(void);
	uint64_t (*sum)(void); /* of what queries say of the kit */
	bool (*odd)(void);     /* devices that refuse some proper values; NULL: none are */
};

/* Of the test program. */
extern const struct fuzz_library fuzz_library;

/* ---- drive.c ---- */

uint64_t fuzz_next(void);
void fuzz_fill(void *out, size_t size);
/* A sum of bytes: FNV-1a, from the one before. */
uint64_t fuzz_sum(uint64_t before, const void *bytes, size_t size);
/* Memory of this size until the call has returned, filled with zeros. */
void *fuzz_room(size_t size);
/* The same for an output, which a call that fails leaves as it is. */
void *fuzz_output(size_t size);

/* ---- value.c ---- */

/* Edges of these types, and random values. `good` is the proper one. */
extern const struct fuzz_kind fuzz_u8, fuzz_u16, fuzz_u32, fuzz_int, fuzz_u64;
/* The size of memory that has `good` bytes: less. */
extern const struct fuzz_kind fuzz_size;
/* Only the proper value: the real library does as it is told, or crashes. */
extern const struct fuzz_kind fuzz_only;
/* `good` bytes for the call to write to; the same, or NULL. */
extern const struct fuzz_kind fuzz_out, fuzz_out_or_null;
/* `good` bytes to read from: zeros, ones, random; the same, or NULL. */
extern const struct fuzz_kind fuzz_bytes, fuzz_bytes_or_null;
/* An address that a call may only refuse: NULL, not mapped, without access. */
extern const struct fuzz_kind fuzz_address;
/* A text; empty, long, with formats. */
extern const struct fuzz_kind fuzz_text, fuzz_text_or_null;

/* ---- kit.c ---- */

extern struct verbs_end fuzz_a, fuzz_b;

/* The two queue pairs, connected. */
void fuzz_connect_pair(void);
/* To a device, on either link layer. */
void fuzz_way(const struct verbs_end *to, struct ibv_ah_attr *way);

struct fuzz_state {
	int objects[16], users, contexts, events, files;
};

/* Of all contexts of both devices. */
struct fuzz_state fuzz_count(void);
/* A message goes from one of the two queue pairs to the other. */
void fuzz_message(void);

#endif /* TESTS_WRAPPERS_H */
