/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A script that runs again and again with other fault lines (tools/datsim/series/series.h): each
 * run says and leaves the same bytes as one of its own, read as a whole, in a process of its own,
 * and nothing passes from one run to the next.
 */
#include "tests/support/support.h"
#include "tools/datsim/series/series.h"
#include "tools/datsim/run/world.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
	RUNS = 96,
	ALONE = 8, /* every so many runs, one is made alone, too */
	SAID = 1 << 18,
};

/* The lines in front of those that vary, and the lines behind. */
struct around {
	const char *before, *after;
	size_t regions; /* that a run leaves to the next */
};

static const struct around scripts[] = {
	{ "use connected a@emu0 b@emu1\n",
	  "       b: dat_ep_post_recv(ep, 64)\n"
	  "       a: dat_ep_post_send(ep, 64)\n"
	  "*      b: event recv DTO_COMPLETION length=64\n"
	  "*      a: event request DTO_COMPLETION\n"
	  "heal\nquiet\nend quiet\n",
	  2 },
	{ "# Two clients, and loops\nfabric watch=posted\nuse connected a,b@emu0.. s@emu2 srq=S "
	  "max=12\n",
	  "       s: dat_srq_post_recv(S, 3000) x6\n"
	  "for i in 1..3: a: dat_ep_post_send(ep, 2000)\n"
	  "for i in 1..3: b: dat_ep_post_send(ep, 10, cookie=$i)\n"
	  "*      s: event recv DTO_COMPLETION x6\n"
	  "*      a: event request DTO_COMPLETION x3\n"
	  "*      b: event request DTO_COMPLETION cookie=1\n"
	  "*      b: event request DTO_COMPLETION cookie=2\n"
	  "*      b: event request DTO_COMPLETION cookie=3\n"
	  "heal\nquiet\nend quiet\n",
	  3 },
	{ "use connected a@emu0 b@emu1 memory=64K\n",
	  "       a: dat_ep_post_rdma_write(ep, 100, {mem=b.mem, offset=512})\n"
	  "*      a: event request DTO_COMPLETION\n"
	  "heal\nquiet\n",
	  0 },
	/* It fails, where a packet takes long. */
	{ "use connected a@emu0 b@emu1\n",
	  "       b: dat_ep_post_recv(ep, 64)\n"
	  "       a: dat_ep_post_send(ep, 64)\n"
	  "+10us  note \"a round trip\"\n"
	  "       a: event request DTO_COMPLETION\n"
	  "       b: event recv DTO_COMPLETION length=64\n"
	  "end quiet\n",
	  2 },
};

static const char *const varying[] = {
	"fault link a>b drop opcode=SEND|WRITE nth=1 optional\n",
	"fault link b>a drop opcode=ACK nth=1 optional\n",
	"link a>b latency=8us\n",
	"fault link a>b rnr times=2 optional\n",
	"  fault link a>b delay 30us jitter 3us opcode=SEND every=2 optional # late\n",
	"\n# one more, and a blank line\n\nfault link b>a duplicate opcode=ACK nth=1 optional\n",
};

/* Run `number` has the lines of its bits. */
static void add_run(const char *around_before, uint64_t number, const char *around_after,
		    struct text *text, size_t *at, size_t *bytes)
{
	text->length = 0;
	text_add(text, "%s", around_before);
	*at = text->length;
	for (size_t i = 0; i < COUNT(varying); i++)
		if (number & 1u << i)
			text_add(text, "%s", varying[i]);
	*bytes = text->length - *at;
	text_add(text, "%s", around_after);
}

/* All that a run says and leaves. */
static void say(struct text *said, const struct verdict *verdict)
{
	said->length = 0;
	text_add(said, "code %d, kind %d, %zu faults acted, expected failure %d\n", verdict->code,
		 verdict->kind, verdict->faults_acted, verdict->expected_failure);
	text_append(said, text_of(&verdict->report), verdict->report.length);
	text_append(said, text_of(&verdict->trace), verdict->trace.length);
	ck_assert_uint_lt(said->length, SAID);
}

/* What check prints of the difference is short. */
static void ck_same(const struct text *said, const char *expected)
{
	const char *is = text_of(said);
	size_t at = 0, line = 0;

	for (; is[at] && is[at] == expected[at]; at++)
		line = is[at] == '\n' ? at + 1 : line;
	ck_assert_msg(is[at] == expected[at], "expected: %.200s\nsaid: %.200s", expected + line,
		      is + line);
}

static struct options options_of(uint64_t number)
{
	return (struct options){ .has_seed = number % 3 != 0, .seed = number, .once = true };
}

/* In a new process, read as a whole. */
static void run_alone(const struct around *script, uint64_t number, char *said)
{
	struct options options = options_of(number);
	struct text text = { 0 }, all = { 0 };
	struct verdict verdict;
	size_t at, bytes;
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		add_run(script->before, number, script->after, &text, &at, &bytes);
		run_text("a.dsim", text_of(&text), text.length, &options, &verdict);
		say(&all, &verdict);
		memcpy(said, text_of(&all), all.length + 1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static void ck_pool_clean(const struct region_pool *pool, size_t count)
{
	ck_assert_uint_eq(pool->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct region *region = pool->regions[i];

		ck_assert(region_guards_whole(region));
		ck_assert_uint_eq(region->used + region->hole_count, 0);
		ck_assert(all_zero(region->bytes, region->size));
	}
}

START_TEST(a_run_of_many_is_the_same_as_one_alone)
{
	const struct around *script = &scripts[_i];
	char *alone = mmap(NULL, RUNS / ALONE * SAID, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct series series = { .loaded = false };
	struct text text = { 0 }, said = { 0 };
	struct verdict verdict;
	size_t at, bytes, passed = 0;

	ck_assert_ptr_ne(alone, MAP_FAILED);
	for (uint64_t i = 0; i < RUNS; i += ALONE)
		run_alone(script, i * 7 / 5, alone + i / ALONE * SAID);
	for (uint64_t i = 0; i < RUNS; i++) {
		struct options options = options_of(i * 7 / 5);

		add_run(script->before, i * 7 / 5, script->after, &text, &at, &bytes);
		series_run(&series, "a.dsim", &text, at, bytes, &options, &verdict);
		ck_assert(series.loaded);
		say(&said, &verdict);
		passed += verdict.code == EXIT_PASS;
		if (i % ALONE == 0)
			ck_same(&said, alone + i / ALONE * SAID);
		if (verdict.code == EXIT_PASS)
			ck_pool_clean(&series.pool, script->regions);
		verdict_free(&verdict);
	}
	ck_assert_uint_gt(passed, 0);
	ck_assert_int_eq(passed < RUNS, _i == (int)COUNT(scripts) - 1);
	series_free(&series);
	text_free(&text);
	text_free(&said);
	munmap(alone, RUNS / ALONE * SAID);
}
END_TEST

/* Lines on which others may depend, or that are wrong. The next run does not notice them. */
static const char *const refused[] = {
	"+5us fault link a>b drop nth=1 optional\n",
	"for i in 1..2: fault link a>b drop nth=$i optional\n",
	"note \"hello\"\n",
	"a: dat_evd_create(ia, 8) -> ev\n",
	"# Failure: the fault never happened\nfault link a>b drop opcode=WRITE\n",
	"use adapter c@emu2\n",
	"fault link a>z drop\n",
	"fault link a>b drap\n",
	"end quiet\n",
	"b: event recv DTO_COMPLETION\n",
};

/* In the series it says what it says when it is read as a whole. */
static void ck_run(struct series *series, const struct text *text, size_t at, size_t bytes)
{
	const struct options options = { .once = true };
	struct text said = { 0 }, whole = { 0 };
	struct verdict verdict;

	series_run(series, "a.dsim", text, at, bytes, &options, &verdict);
	say(&said, &verdict);
	verdict_free(&verdict);
	run_text("a.dsim", text_of(text), text->length, &options, &verdict);
	say(&whole, &verdict);
	verdict_free(&verdict);
	ck_same(&said, text_of(&whole));
	text_free(&said);
	text_free(&whole);
}

START_TEST(lines_that_cannot_be_exchanged_are_read_with_the_script)
{
	struct series series = { .loaded = false };
	struct text text = { 0 };

	for (int turn = 0; turn < 4; turn++) {
		const char *lines = turn % 2 ? varying[0] : refused[_i];
		size_t at = strlen(scripts[0].before);

		text.length = 0;
		text_add(&text, "%s%s%s", scripts[0].before, lines, scripts[0].after);
		ck_run(&series, &text, at, strlen(lines));
		ck_assert_int_eq(series.loaded, turn % 2);
	}
	series_free(&series);
	text_free(&text);
}
END_TEST

START_TEST(another_script_is_read_anew)
{
	struct series series = { .loaded = false };
	struct text text = { 0 };
	size_t at, bytes;

	for (uint64_t i = 0; i < 4 * COUNT(scripts); i++) {
		const struct around *script = &scripts[i % COUNT(scripts)];

		add_run(script->before, i * 5, script->after, &text, &at, &bytes);
		ck_run(&series, &text, at, bytes);
		ck_assert(series.loaded);
	}
	series_free(&series);
	text_free(&text);
}
END_TEST

static int lines_of(const char *text)
{
	int lines = 0;

	while ((text = strchr(text, '\n')))
		lines++, text++;
	return lines;
}

/* The longest script that can be read, and one with a line more, which is refused as a whole. */
START_TEST(exchanged_lines_count_as_lines_of_the_script)
{
	struct series series = { .loaded = false };
	struct text text = { 0 };
	size_t at, bytes;

	for (int more = 0; more < 2; more++) {
		add_run(scripts[0].before, 63, scripts[0].after, &text, &at, &bytes);
		for (int i = lines_of(text_of(&text)); i < SCRIPT_LINES_MAX + more; i++)
			text_add(&text, "#\n");
		ck_run(&series, &text, at, bytes);
		ck_assert_int_eq(series.loaded, !more);
	}
	series_free(&series);
	text_free(&text);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, a_run_of_many_is_the_same_as_one_alone, (int)COUNT(scripts), setup_nothing);
	unit_add(suite, lines_that_cannot_be_exchanged_are_read_with_the_script,
		 (int)COUNT(refused), setup_nothing);
	unit_add(suite, another_script_is_read_anew, 1, setup_nothing);
	unit_add(suite, exchanged_lines_count_as_lines_of_the_script, 1, setup_nothing);
}

UNIT_SUITE("series of runs of datsim explore")
