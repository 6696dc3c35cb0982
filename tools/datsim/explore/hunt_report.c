/* SPDX-License-Identifier: BSD-3-Clause */
/* A schedule that failed: makes it short, prints it and the command that replays it: hunt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hunt.h"
#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"
#include "tools/datsim/program/origin.h"
#include "tools/datsim/show/show.h"

#define ERRORS_SHOWN 2000 /* bytes at the end of its standard error output */
#define CONFIRMED_BY 3    /* runs in processes of their own */
#define LINES_SHOWN  40   /* of the trace, fewer in the timeline */
#define NAMES_MOST   60   /* bytes of the names of several programs in that of a file */

/* In a campaign, the run has to say the same, too. */
static bool hunt_ends_so(const struct hunt *hunt, const struct outcome *outcome)
{
	struct text said = { 0 }, ending = { 0 };
	bool good;

	if (!hunt->ending.length)
		return true;
	runner_said(&hunt->runners.list[0], &said);
	signature_ending(&ending, outcome, text_of(&said));
	good = !strcmp(text_of(&ending), text_of(&hunt->ending));
	text_free(&said);
	text_free(&ending);
	return good;
}

bool hunt_fails_so(const struct lines *lines, void *ctx)
{
	struct hunt *hunt = ctx;
	struct text text = { 0 }, settings = { 0 };
	struct outcome outcome;
	bool good;

	lines_join(lines, true, &text);
	good = hunt_compile(hunt, text_of(&text), text.length, &settings) &&
	       runner_run(&hunt->runners, text_of(&settings), &outcome) &&
	       same_outcome(&outcome, &hunt->failure) && hunt_ends_so(hunt, &outcome);
	text_free(&settings);
	text_free(&text);
	return good;
}

static double shorter_hang(const struct hunt *hunt)
{
	double seconds = hunt->course->hang / 10;

	if (seconds < hunt->usual)
		seconds = hunt->usual;
	return seconds < hunt->course->hang ? seconds : hunt->course->hang;
}

void hunt_shorten(struct hunt *hunt, struct lines *lines)
{
	struct shrinking shrinking = { .lines = lines,
				       .fails = hunt_fails_so,
				       .ctx = hunt,
				       .words = true };

	schedule_make(&hunt->schedule, &hunt->plan, hunt->course->seed, hunt->number);
	lines_split(lines, &hunt->plan, &hunt->schedule);
	/* A program that hangs is given less time in each repetition, but enough to start. */
	if (hunt->failure.how == ENDED_HUNG)
		hunt->runners.seconds = shorter_hang(hunt);
	shrink_lines(&shrinking);
	hunt->runners.seconds = hunt->course->hang;
}

void hunt_show_errors(int fd)
{
	char last[ERRORS_SHOWN + 1];
	struct text text = { 0 };
	off_t length = lseek(fd, 0, SEEK_END);
	ssize_t n;
	char *line, *rest = last;

	n = pread(fd, last, ERRORS_SHOWN, length > ERRORS_SHOWN ? length - ERRORS_SHOWN : 0);
	if (n <= 0)
		return;
	last[n] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		if (!*line && !rest)
			break;
		text_add(&text, "  ");
		text_printable(&text, line, strlen(line));
		text_add(&text, "\n");
	}
	printf("it said:\n%s", text_of(&text));
	text_free(&text);
}

/*
 * Repeat the failure in new processes, as `datsim run` would start them. False: the result varies.
 */
static bool hunt_confirm(struct hunt *hunt, const struct lines *lines)
{
	FILE *errors = tmpfile();
	struct runners alone = hunt->runners;
	struct text text = { 0 }, settings = { 0 };
	struct outcome outcome;
	bool good = true;
	int i;

	alone.starts_anew = true;
	alone.count = 1;
	runners_start(&alone);
	lines_join(lines, true, &text);
	hunt_compile(hunt, text_of(&text), text.length, &settings);
	for (i = 0; i < (hunt->failure.how == ENDED_HUNG ? 1 : CONFIRMED_BY) && good; i++) {
		alone.errors = errors && i == 0 ? fileno(errors) : -1;
		good = runner_run(&alone, text_of(&settings), &outcome) &&
		       same_outcome(&outcome, &hunt->failure);
	}
	runners_end(&alone);
	if (errors) {
		hunt_show_errors(fileno(errors));
		fclose(errors);
	}
	text_free(&settings);
	text_free(&text);
	return good;
}

static void add_nodes(const struct programs *programs, struct text *name)
{
	for (int i = 0; i < programs->count && name->length < NAMES_MOST; i++) {
		text_add(name, i ? "+" : "");
		for (const char *p = programs->one[i].name; *p; p++)
			text_add(name, "%c", *p == '/' ? '_' : *p);
	}
}

/* DIR/PROGRAM: PROGRAM.shrunk.dsim; of several: SERVER+CLIENT.shrunk.dsim */
static void out_name(const struct hunt *hunt, struct text *name)
{
	const char *slash = strrchr(hunt->argv[0], '/');

	if (hunt->entry && hunt->course->store) {
		store_path(&hunt->campaign->store, hunt->entry, name);
		return;
	}
	if (hunt->course->out) {
		text_add(name, "%s", hunt->course->out);
		return;
	}
	if (hunt->several)
		add_nodes(hunt->several, name);
	else
		text_add(name, "%s", slash ? slash + 1 : hunt->argv[0]);
	text_add(name, ".shrunk.dsim");
}

static void add_words(const struct hunt *hunt, struct text *line)
{
	char **argv;

	text_add(line, " --");
	if (hunt->several) {
		text_add(line, " ");
		programs_add(line, hunt->several);
		return;
	}
	for (argv = hunt->argv; *argv; argv++) {
		text_add(line, " ");
		word_add(line, *argv);
	}
}

static void add_run(const struct hunt *hunt, const char *path, struct text *line)
{
	knobs_add(line);
	text_add(line, "datsim run %s--script ", hunt->several ? "--lockstep " : "");
	word_add(line, path);
	add_words(hunt, line);
}

void hunt_replay(const struct hunt *hunt, const char *path, struct text *line)
{
	bool stuck = hunt->failure.how == ENDED_STUCK || hunt->failure.alone;
	if (hunt->failure.how == ENDED_HUNG)
		text_add(line, "timeout %g ", 10 * hunt->course->hang);
	if (stuck && !hunt->several && !getenv("DATSIM_STUCK"))
		text_add(line, "DATSIM_STUCK=abort ");
	add_run(hunt, path, line);
}

static void print_replay(const struct hunt *hunt, const char *path)
{
	struct text line = { 0 };

	hunt_replay(hunt, path, &line);
	printf("replay:   %s\n", text_of(&line));
	text_free(&line);
}

/* The last lines of the timeline: what all programs did before the failure. */
static void show_last(const char *path, const struct text *trace)
{
	struct terminal terminal = terminal_of(stdout);
	struct text error = { 0 };
	uint64_t lines = 0;
	const char *at;

	for (at = text_of(trace); (at = strchr(at, '\n')); at++)
		lines += at[1] != '#' && at[1] != '\0';
	terminal.skip = lines > LINES_SHOWN ? lines - LINES_SHOWN : 0;
	puts("the end of the trace:");
	show_trace(&terminal, path, text_of(trace), trace->length, &error);
	fputs(text_of(&error), stderr);
	text_free(&error);
}

/*
 * Of several programs, keep the trace of the last run beside the script, with the command that
 * repeats it.
 */
static void keep_trace(const struct hunt *hunt, const char *script)
{
	struct text from = { 0 }, to = { 0 }, trace = { 0 }, command = { 0 }, error = { 0 };
	size_t n = strlen(script), end = n > 5 && !strcmp(script + n - 5, ".dsim") ? n - 5 : n;

	runner_trace(&hunt->runners, 0, &from);
	text_add(&to, "%.*s.trace", (int)end, script);
	add_run(hunt, script, &command);
	if (read_whole(text_of(&from), TRACE_BYTES_MAX, &trace, &error)) {
		show_last(text_of(&from), &trace);
		origin_insert(&trace, text_of(&command), NULL);
		if (write_whole_or_say(text_of(&to), &trace))
			printf("trace:    %s (datsim show %s)\n", text_of(&to), text_of(&to));
	}
	text_free(&error);
	text_free(&command);
	text_free(&trace);
	text_free(&to);
	text_free(&from);
}

/* "server + client: schedule 7 of seed 1: client exits with 1, after 6 that hold; ..." */
static void print_schedule(const struct hunt *hunt, const struct lines *lines)
{
	struct text what = { 0 };

	outcome_add(&what, &hunt->failure);
	printf("%s: schedule %llu of seed %llu%s %s, after %llu that hold; shrunk to %zu "
	       "line%s:\n\n",
	       text_of(&hunt->title), (unsigned long long)hunt->number,
	       (unsigned long long)hunt->course->seed, hunt->failure.who[0] ? ":" : "",
	       text_of(&what), (unsigned long long)course_before(hunt->course, hunt->number),
	       lines->count, lines->count == 1 ? "" : "s");
	for (size_t i = 0; i < lines->count; i++)
		printf("  %s\n", lines->line[i].text);
	puts("");
	text_free(&what);
}

int hunt_report_lines(struct hunt *hunt, const struct lines *lines)
{
	struct text name = { 0 }, text = { 0 };

	out_name(hunt, &name);
	print_schedule(hunt, lines);
	hunt->repeats = hunt_confirm(hunt, lines);
	if (!hunt->repeats && !ended_asked(&hunt->ended))
		puts(hunt->several ? "it does not fail in every run: does a thread lose its turn "
				     "(\"preempted\" in the trace), or do its runs share a file?"
				   : "it does not fail in every run: does it use threads, a clock, "
				     "or a file that its runs share?");
	lines_join(lines, true, &text);
	if (hunt_write(hunt, text_of(&name), &text)) {
		if (hunt->several)
			keep_trace(hunt, text_of(&name));
		print_replay(hunt, text_of(&name));
	}
	text_free(&text);
	text_free(&name);
	return outcome_code(&hunt->failure);
}

int hunt_report(struct hunt *hunt)
{
	struct lines lines;
	int code;

	hunt_shorten(hunt, &lines);
	code = ended_asked(&hunt->ended) ? EXIT_PASS : hunt_report_lines(hunt, &lines);
	lines_free(&lines);
	return code;
}
