/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c - the walk itself: generator, log, steps, and two runs of each seed compared. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"
#include "tests/support/asserts.h"

static const struct walk_kind *the_kind;

/* ---- chance ---- */

/* xorshift64*, by Marsaglia and Vigna */
uint64_t walk_random(struct walk *w)
{
	w->state ^= w->state >> 12;
	w->state ^= w->state << 25;
	w->state ^= w->state >> 27;
	return w->state * UINT64_C(0x2545f4914f6cdd1d);
}

int walk_pick(struct walk *w, int n)
{
	return (int)((walk_random(w) >> 33) % (unsigned int)n);
}

bool walk_chance(struct walk *w, int percent)
{
	return walk_pick(w, 100) < percent;
}

/* ---- saying what happens ---- */

void walk_says(struct walk *w, const char *format, ...)
{
	char *line = w->log[w->step % WALK_LOG];
	size_t used = strlen(line), room = sizeof(w->log[0]) - used;
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, room, format, args);
	va_end(args);
	for (const char *c = line + used; *c; c++)
		w->hash = (w->hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
}

static void print_log(const struct walk *w)
{
	unsigned int first = w->step < WALK_LOG ? 0 : w->step - WALK_LOG + 1;

	printf("# the last operations:\n");
	for (unsigned int n = first; n <= w->step; n++)
		printf("# %6u  %s\n", n, w->log[n % WALK_LOG]);
}

static void print_trace_tail(const struct walk *w)
{
	const char *text, *from;
	size_t length;
	int lines = 20;

	if (!w->sim || dat_sim_trace_read(w->sim, &text, &length) != DAT_SUCCESS)
		return;
	for (from = text + length; from > text && lines >= 0; from--)
		lines -= from[-1] == '\n';
	printf("# the last lines of the trace:\n");
	while (*from) {
		size_t line = strcspn(from, "\n");

		if (line > 0)
			printf("# %.*s\n", (int)line, from);
		from += line + (from[line] == '\n');
	}
}

static void write_trace(const char *path, const char *trace, size_t length)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(trace, 1, length, file) != length || fclose(file) != 0)
		ck_abort_msg("cannot write %s", path);
}

/* A failed walk leaves its trace, too, if WALK_TRACE asks for one. */
static void leave_trace(struct walk *w)
{
	const char *path = getenv("WALK_TRACE"), *text;
	size_t length;

	if (path && w->sim && dat_sim_trace_read(w->sim, &text, &length) == DAT_SUCCESS)
		write_trace(path, text, length);
}

void walk_fails(struct walk *w, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("# step %u of %u, seed %" PRIu64 ", profile %s: %s\n", w->step, w->steps, w->seed,
	       w->model.in_order ? "ib" : "iwarp", text);
	print_trace_tail(w);
	print_log(w);
	leave_trace(w);
	printf("# replay: WALK_SEED=%" PRIu64 " WALK_STEPS=%u ./%s\n", w->seed, w->steps,
	       w->kind->program);
	fflush(stdout);
	ck_abort_msg("WALK_SEED=%" PRIu64 " WALK_STEPS=%u ./%s: step %u: %s", w->seed, w->steps,
		     w->kind->program, w->step, text);
}

static const char *return_text(DAT_RETURN got)
{
	static char text[128];
	const char *major, *minor;

	if (dat_strerror(got, &major, &minor) != DAT_SUCCESS)
		snprintf(text, sizeof(text), "%#x", got);
	else
		snprintf(text, sizeof(text), "%s %s", major, minor);
	return text;
}

void walk_expect(struct walk *w, const char *call, DAT_RETURN got, enum oracle_answer wanted)
{
	static const DAT_RETURN types[] = { DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES,
					    DAT_INVALID_PARAMETER, DAT_INVALID_STATE };

	if (wanted == ORACLE_EITHER)
		wanted = got == DAT_SUCCESS ? ORACLE_OK : ORACLE_FULL;
	if (DAT_GET_TYPE(got) != types[wanted])
		walk_fails(w, "%s returned %s, expected type %#x", call, return_text(got),
			   types[wanted]);
	if (wanted != ORACLE_OK && (got & DAT_CLASS_ERROR) == 0)
		walk_fails(w, "%s returned %#x: no class (ruling G1)", call, got);
	w->count[WALK_FULL] += wanted == ORACLE_FULL;
	w->count[WALK_REFUSED] += wanted == ORACLE_BAD_VALUE || wanted == ORACLE_BAD_STATE;
}

void walk_ok(struct walk *w, const char *call, DAT_RETURN got)
{
	walk_expect(w, call, got, ORACLE_OK);
}

/* ---- walking ---- */

/* A walk that loses packets holds none. */
static unsigned int weight(const struct walk *w, const struct walk_op *op)
{
	return w->kind->lossy && op->holds ? 0 : op->weight;
}

static const struct walk_op *choose(struct walk *w)
{
	const struct walk_op *op;
	unsigned int sum = 0;
	int at;

	for (op = w->kind->ops; op->name; op++)
		sum += weight(w, op);
	at = walk_pick(w, (int)sum);
	for (op = w->kind->ops; at >= (int)weight(w, op); op++)
		at -= (int)weight(w, op);
	return op;
}

static int free_buffers(const struct walk *w)
{
	int n = 0;

	for (int b = 0; b < WALK_BUFFERS; b++)
		n += !w->buffer[b].out;
	return n;
}

/* One operation, and the look after it */
static void walk_step(struct walk *w)
{
	bool done;

	w->log[w->step % WALK_LOG][0] = '\0';
	if (free_buffers(w) < 100) {
		op_new_srq(w);
	} else {
		do {
			const struct walk_op *op = choose(w);

			w->log[w->step % WALK_LOG][0] = '\0';
			walk_says(w, "%s", op->name);
			done = op->run(w);
		} while (!done);
	}
	dat_sim_trace_note(w->sim, w->log[w->step % WALK_LOG]);
	if (w->kind->exact && w->time != MODEL_STILL)
		world_settle(w);
	look(w);
	if (w->kind->exact) {
		world_settle(w);
		look(w);
	}
}

struct result {
	uint64_t hash;
	char *trace;
	size_t length;
	unsigned long count[WALK_COUNTS];
	bool in_order;
};

static void keep_trace(struct walk *w, struct result *result)
{
	const char *text;

	walk_ok(w, "dat_sim_trace_read", dat_sim_trace_read(w->sim, &text, &result->length));
	result->trace = malloc(result->length + 1);
	ck_assert_ptr_nonnull(result->trace);
	memcpy(result->trace, text, result->length + 1);
}

static void walk_run(const struct walk_kind *kind, uint64_t seed, unsigned int steps,
		     struct result *result)
{
	struct walk *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	w->kind = kind;
	w->seed = seed;
	w->state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	w->steps = steps;
	w->hash = UINT64_C(0xcbf29ce484222325);
	world_open(w);
	for (w->step = 1; w->step <= steps; w->step++)
		walk_step(w);
	w->step = steps;
	w->count[WALK_OVERFILLED] = (unsigned long)w->model.overfilled;
	keep_trace(w, result);
	world_close(w);
	result->hash = w->hash;
	result->in_order = w->model.in_order;
	memcpy(result->count, w->count, sizeof(w->count));
	free(w);
}

static void print_summary(const struct walk_kind *kind, uint64_t seed, unsigned int steps,
			  const struct result *result)
{
	static const char *const names[] = { "sent",        "received",       "bytes",
					     "flushed",     "thrown_away",    "low_events",
					     "soft_events", "connected",      "ended",
					     "hard_breaks", "starved_breaks", "long_breaks",
					     "full",        "refused",        "resized",
					     "half_way",    "overtaken",      "overfilled" };

	printf("# %s seed=%" PRIu64 " profile=%s steps=%u trace_bytes=%zu", kind->program, seed,
	       result->in_order ? "ib" : "iwarp", steps, result->length);
	for (int n = 0; n < WALK_COUNTS; n++)
		printf(" %s=%lu", names[n], result->count[n]);
	printf("\n");
	fflush(stdout);
}

/* ---- the tests ---- */

static void compare(const struct result *one, const struct result *two)
{
	size_t at = 0, line = 0, end;

	if (one->length == two->length && memcmp(one->trace, two->trace, one->length) == 0)
		return;
	while (one->trace[at] == two->trace[at]) {
		if (one->trace[at] == '\n')
			line = at + 1;
		at++;
	}
	end = strcspn(one->trace + line, "\n");
	ck_abort_msg("two runs of one seed differ: \"%.*s\" and \"%.*s\"", (int)end,
		     one->trace + line, (int)strcspn(two->trace + line, "\n"), two->trace + line);
}

static unsigned long number_from(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);
	char *end;
	unsigned long number;

	if (!text)
		return otherwise;
	number = strtoul(text, &end, 10);
	if (end == text || *end) {
		fprintf(stderr, "%s='%s' is not a number\n", name, text);
		exit(2);
	}
	return number;
}

/* A seed twice: the model holds at every step, and both runs leave the same trace. */
START_TEST(test_seed)
{
	uint64_t seed = number_from("WALK_SEED", the_kind->seeds[_i]);
	unsigned int steps = (unsigned int)number_from("WALK_STEPS", the_kind->steps);
	const char *path = getenv("WALK_TRACE");
	struct result one, two;

	walk_run(the_kind, seed, steps, &one);
	print_summary(the_kind, seed, steps, &one);
	if (path) {
		write_trace(path, one.trace, one.length);
	} else {
		walk_run(the_kind, seed, steps, &two);
		ck_assert_uint_eq(one.hash, two.hash);
		compare(&one, &two);
		free(two.trace);
	}
	free(one.trace);
}
END_TEST

/* The seed matters: no two seeds do the same operations. */
START_TEST(test_seeds_differ)
{
	enum {
		seeds = 4
	};
	struct result result[seeds];

	for (int n = 0; n < seeds; n++) {
		walk_run(the_kind, (uint64_t)n, 50, &result[n]);
		for (int other = 0; other < n; other++)
			ck_assert_uint_ne(result[n].hash, result[other].hash);
	}
	for (int n = 0; n < seeds; n++)
		free(result[n].trace);
}
END_TEST

int walk_main(const struct walk_kind *kind)
{
	int seeds = getenv("WALK_SEED") ? 1 : (int)(sizeof(kind->seeds) / sizeof(kind->seeds[0]));
	Suite *suite = suite_create(kind->program);
	TCase *tcase = tcase_create("walk");
	SRunner *runner;
	int failed;

	the_kind = kind;
	tcase_add_loop_test(tcase, test_seed, 0, seeds);
	if (!getenv("WALK_SEED"))
		tcase_add_test(tcase, test_seeds_differ);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
