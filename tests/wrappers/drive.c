/* SPDX-License-Identifier: BSD-3-Clause */
/* drive.c - calls with hostile arguments, and what has to hold after each: see fuzz.h. */
#include "fuzz.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/random.h"
#include "tests/support/support.h"

#define SEED        20260723
#define ROUNDS      24 /* of random values, for each call; FUZZ_ROUNDS */
#define NAMES       512
#define ROOMS       16
#define UNTOUCHED   0xa5
#define HAS_ERROR   INT64_MIN
#define NAME_LENGTH 64

/* A line of the library's table. */
struct name {
	char name[NAME_LENGTH], version[NAME_LENGTH], answer[NAME_LENGTH];
};

typedef uint64_t fuzz_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static struct name names[NAMES];
static size_t name_count;
static uint64_t random_state = SEED;
static struct room {
	uint8_t *memory;
	size_t size;
	bool output;
} rooms[ROOMS];
static unsigned int room_count;

/* ---- for kinds ---- */

uint64_t fuzz_next(void)
{
	return random_next(&random_state);
}

void fuzz_fill(void *out, size_t size)
{
	uint8_t *byte = out;

	for (size_t i = 0; i < size; i++)
		byte[i] = (uint8_t)fuzz_next();
}

uint64_t fuzz_sum(uint64_t before, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;
	uint64_t sum = before;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static void *add_room(size_t size, bool output)
{
	ck_assert_uint_lt(room_count, ROOMS);
	rooms[room_count] = (struct room){ malloc(size ? size : 1), size, output };
	ck_assert_ptr_nonnull(rooms[room_count].memory);
	memset(rooms[room_count].memory, output ? UNTOUCHED : 0, size);
	return rooms[room_count++].memory;
}

void *fuzz_room(size_t size)
{
	return add_room(size, false);
}

void *fuzz_output(size_t size)
{
	return add_room(size, true);
}

static bool is_untouched(const struct room *room)
{
	for (size_t i = 0; i < room->size; i++)
		if (room->memory[i] != UNTOUCHED)
			return false;
	return true;
}

static void free_rooms(void)
{
	while (room_count > 0)
		free(rooms[--room_count].memory);
}

/* ---- names ---- */

static void read_names(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096], line[512], columns[4][NAME_LENGTH];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", fuzz_library.table);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	name_count = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63[^#\t]\t%63s\t%63s\t%63s", columns[0], columns[1], columns[2],
			   columns[3]) < fuzz_library.answer)
			continue;
		ck_assert_uint_lt(name_count, NAMES);
		strcpy(names[name_count].name, columns[0]);
		strcpy(names[name_count].version, columns[1]);
		strcpy(names[name_count++].answer, columns[fuzz_library.answer - 1]);
	}
	fclose(file);
	ck_assert_uint_gt(name_count, 50);
}

static const struct name *find_name(const char *name)
{
	for (size_t i = 0; i < name_count; i++)
		if (strcmp(names[i].name, name) == 0 && strcmp(names[i].answer, "implemented") == 0)
			return &names[i];
	return NULL;
}

static fuzz_function *find_function(const struct name *name)
{
	fuzz_function *function = NULL;
	void *symbol = dlvsym(RTLD_DEFAULT, name->name, name->version);

	ck_assert_msg(symbol != NULL, "%s@%s is not exported", name->name, name->version);
	memcpy(&function, &symbol, sizeof(function));
	return function;
}

static const struct fuzz_call *find_call(const char *name)
{
	for (size_t i = 0; i < fuzz_library.count; i++)
		if (strcmp(fuzz_library.calls[i].name, name) == 0)
			return &fuzz_library.calls[i];
	return NULL;
}

/* ---- one call ---- */

/* What went wrong: 0, an errno, or HAS_ERROR without a number. */
static int64_t error_of(enum fuzz_answer answer, uint64_t result)
{
	int number = (int)(uint32_t)result;

	switch (answer) {
	case FUZZ_NOTHING:
	case FUZZ_ANY:
		return 0;
	case FUZZ_TEXT:
		return result ? 0 : HAS_ERROR;
	case FUZZ_ERRNO:
		return number;
	case FUZZ_MINUS:
		return number == -1 ? errno : number < 0 ? number : 0;
	case FUZZ_SIZE:
		return (int64_t)result == -1 ? errno : (int64_t)result < 0 ? (int64_t)result : 0;
	case FUZZ_POINTER:
		return result ? 0 : errno;
	case FUZZ_SMALL:
		return number < 0 ? errno : 0;
	case FUZZ_COUNT:
		return (int64_t)result < 0 ? -(int64_t)result : 0;
	case FUZZ_LOOKUP:
		return number == -1 ? errno : number ? EIO : 0;
	}
	return HAS_ERROR;
}

static bool has_failed(enum fuzz_answer answer, uint64_t result)
{
	int number = (int)(uint32_t)result;

	switch (answer) {
	case FUZZ_ERRNO:
	case FUZZ_LOOKUP:
		return number != 0;
	case FUZZ_MINUS:
	case FUZZ_SMALL:
		return number < 0;
	case FUZZ_SIZE:
	case FUZZ_COUNT:
		return (int64_t)result < 0;
	case FUZZ_TEXT:
	case FUZZ_POINTER:
		return !result;
	default:
		return false;
	}
}

static const char *text_of(const struct fuzz_call *call, const unsigned int *values)
{
	static char text[256];
	int at = snprintf(text, sizeof(text), "%s with values", call->name);

	for (int i = 0; i < FUZZ_ARGS && call->args[i].kind; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, " %u", values[i]);
	return text;
}

static void expect_same(const struct fuzz_state *a, const struct fuzz_state *b, const char *what)
{
	for (size_t i = 0; i < COUNT(a->objects); i++)
		ck_assert_msg(a->objects[i] == b->objects[i], "%s: objects of kind %zu: %d, now %d",
			      what, i, a->objects[i], b->objects[i]);
	ck_assert_msg(memcmp(a, b, sizeof(*a)) == 0,
		      "%s: references %d, contexts %d, events %d, files %d; now %d, %d, %d, %d",
		      what, a->users, a->contexts, a->events, a->files, b->users, b->contexts,
		      b->events, b->files);
}

/* A call that failed has changed nothing. */
static void expect_refusal(const struct fuzz_state *before, uint64_t sum, const char *what)
{
	struct fuzz_state after = fuzz_count();

	expect_same(before, &after, what);
	ck_assert_msg(fuzz_library.sum() == sum, "%s: it failed, and has changed an object", what);
	for (unsigned int i = 0; i < room_count; i++)
		ck_assert_msg(!rooms[i].output || is_untouched(&rooms[i]),
			      "%s: it failed, and has written to an output", what);
}

static void run_once(const struct fuzz_call *call, fuzz_function *function,
		     const unsigned int *values)
{
	const char *what = text_of(call, values);
	struct fuzz_state base = fuzz_count(), before, after;
	uint64_t args[FUZZ_ARGS] = { 0 }, result;
	bool proper = !call->refused && !(fuzz_library.odd && fuzz_library.odd());
	int64_t error;
	uint64_t sum;

	fuzz_library.make();
	for (int i = 0; i < FUZZ_ARGS && call->args[i].kind; i++) {
		args[i] = call->args[i].kind->make(call->args[i].good, values[i]);
		proper &= values[i] == 0;
	}
	before = fuzz_count();
	sum = fuzz_library.sum();
	errno = 0;
	result = call->call ? call->call(args)
			    : function(args[0], args[1], args[2], args[3], args[4], args[5]);
	error = error_of(call->answer, result);
	if (has_failed(call->answer, result)) {
		ck_assert_msg(!proper, "%s: %s", what, strerror((int)error));
		ck_assert_msg(error > 0 && error < 4096 && strerrorname_np((int)error),
			      "%s: it failed with %ld, which is no errno", what, (long)error);
		if (!call->changes)
			expect_refusal(&before, sum, what);
	} else if (call->undo) {
		call->undo(result, args);
	}
	free_rooms();
	fuzz_library.free();
	after = fuzz_count();
	expect_same(&base, &after, what);
	fuzz_message();
}

/* ---- tests ---- */

static fuzz_function *begin_call(const struct fuzz_call *call)
{
	const struct name *name;

	fuzz_library.begin();
	if (call->call)
		return NULL;
	read_names();
	name = find_name(call->name);
	ck_assert_msg(name != NULL, "%s is no name that is implemented", call->name);
	return find_function(name);
}

START_TEST(each_argument_may_be_hostile)
{
	const struct fuzz_call *call = &fuzz_library.calls[_i];
	fuzz_function *function = begin_call(call);
	unsigned int values[FUZZ_ARGS] = { 0 };

	run_once(call, function, values);
	for (int i = 0; i < FUZZ_ARGS && call->args[i].kind; i++) {
		for (values[i] = 1; values[i] < call->args[i].kind->values; values[i]++)
			run_once(call, function, values);
		values[i] = 0;
	}
	fuzz_library.end();
}
END_TEST

START_TEST(all_arguments_may_be_hostile)
{
	const struct fuzz_call *call = &fuzz_library.calls[_i];
	fuzz_function *function = begin_call(call);
	const char *asked = getenv("FUZZ_ROUNDS");
	unsigned int values[FUZZ_ARGS] = { 0 };
	int rounds = asked ? atoi(asked) : ROUNDS;

	random_state = SEED + (uint64_t)_i;
	for (int round = 0; round < rounds && call->args[0].kind; round++) {
		for (int i = 0; i < FUZZ_ARGS && call->args[i].kind; i++)
			values[i] = (unsigned int)(fuzz_next() % call->args[i].kind->values);
		run_once(call, function, values);
	}
	fuzz_library.end();
}
END_TEST

START_TEST(each_exported_name_has_a_row)
{
	read_names();
	for (size_t i = 0; i < name_count; i++)
		ck_assert_msg(strcmp(names[i].answer, "implemented") != 0 ||
				      find_call(names[i].name),
			      "%s has no row in tests/wrappers", names[i].name);
}
END_TEST

static enum fuzz_answer answer_of(const char *word)
{
	if (strcmp(word, "refused") == 0)
		return FUZZ_ERRNO;
	if (strcmp(word, "refused-null") == 0)
		return FUZZ_POINTER;
	if (strcmp(word, "refused-minus") == 0)
		return FUZZ_SIZE;
	ck_assert_str_eq(word, "nothing");
	return FUZZ_NOTHING;
}

/* They do not look at an argument. */
START_TEST(a_name_that_is_not_implemented_survives_anything)
{
	fuzz_library.begin();
	read_names();
	for (size_t i = 0; i < name_count; i++) {
		struct fuzz_state before = fuzz_count(), after;
		enum fuzz_answer answer;
		uint64_t result;

		if (strcmp(names[i].answer, "implemented") == 0 ||
		    strcmp(names[i].answer, "data") == 0)
			continue;
		answer = answer_of(names[i].answer);
		errno = 0;
		result = find_function(&names[i])(fuzz_next(), 0, UINT64_MAX, 1, fuzz_next(), 8);
		ck_assert_msg(answer == FUZZ_NOTHING || error_of(answer, result) == EOPNOTSUPP,
			      "%s@%s: %s", names[i].name, names[i].version, strerror(errno));
		after = fuzz_count();
		expect_same(&before, &after, names[i].name);
		fuzz_message();
	}
	fuzz_library.end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_exported_name_has_a_row, 1, NULL);
	unit_add(suite, a_name_that_is_not_implemented_survives_anything, 1, NULL);
	unit_add(suite, each_argument_may_be_hostile, (int)fuzz_library.count, NULL);
	unit_add(suite, all_arguments_may_be_hostile, (int)fuzz_library.count, NULL);
}

UNIT_SUITE("verbs_fuzz")
