/* SPDX-License-Identifier: BSD-3-Clause */
/* A schedule that failed: makes it short, prints it and the command that replays it: hunt.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hunt.h"
#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"
#include "tools/datsim/program/origin.h"
#include "tools/datsim/program/round.h"
#include "tools/datsim/story/story.h"

#define ERRORS_READ  16384 /* bytes at the end of its standard error output */
#define ERRORS_SHOWN 2000  /* the same, printed */
#define ERRORS_MOST  6000  /* printed, from a sanitizer's report on */
#define CONFIRMED_BY 3     /* runs in processes of their own */
#define NAMES_MOST   60    /* bytes of the names of several programs in that of a file */

static const char deadlock[] = "datsim run: deadlock: ";

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
	good = hunt_compile(hunt, text_of(&text), text.length, &settings, NULL) &&
	       runner_run(&hunt->runners, text_of(&settings), &outcome) &&
	       same_outcome(&outcome, &hunt->failure) && hunt_ends_so(hunt, &outcome);
	text_free(&settings);
	text_free(&text);
	return good;
}

double hunt_shorter_hang(const struct hunt *hunt)
{
	double seconds = hunt->course->hang / 10;

	if (seconds < hunt->usual)
		seconds = hunt->usual;
	return seconds < hunt->course->hang ? seconds : hunt->course->hang;
}

/* Shorten the failing schedule; a run that takes `seconds` hangs. */
static void shorten_within(struct hunt *hunt, struct lines *lines, double seconds)
{
	struct shrinking shrinking = { .lines = lines,
				       .fails = hunt_fails_so,
				       .ctx = hunt,
				       .words = true,
				       .course = hunt->course,
				       .ended = &hunt->ended };

	schedule_make(&hunt->schedule, &hunt->plan, hunt->course->seed, hunt->number);
	lines_split(lines, &hunt->plan, &hunt->schedule);
	hunt->lines_before = lines->count;
	hunt->runners.seconds = seconds;
	shrink_lines(&shrinking);
	hunt->runners.seconds = hunt->course->hang;
}

void hunt_shorten(struct hunt *hunt, struct lines *lines)
{
	double hang = hunt->course->hang, shorter = hunt_shorter_hang(hunt);

	if (hunt->failure.how != ENDED_HUNG || shorter >= hang) {
		shorten_within(hunt, lines, hang);
		return;
	}
	/*
	 * A program that hangs is given less time in each repetition, but enough to start. On a
	 * busy machine that may be too little, and then the result is of no use.
	 */
	shorten_within(hunt, lines, shorter);
	if (hunt_fails_so(lines, hunt) || ended_asked(&hunt->ended))
		return;
	lines_free(lines);
	shorten_within(hunt, lines, hang);
}

/* The last bytes that programs said on standard error. */
static void read_errors(int fd, struct text *said)
{
	char last[ERRORS_READ];
	off_t length = lseek(fd, 0, SEEK_END);
	ssize_t n = pread(fd, last, sizeof(last), length > ERRORS_READ ? length - ERRORS_READ : 0);

	said->length = 0;
	text_append(said, last, n > 0 ? (size_t)n : 0);
}

/*
 * The first of the bytes that are shown: those at the end, or if the report of a sanitizer begins
 * before them, its first line, which names the mistake.
 */
static const char *errors_begin(const char *said, size_t length)
{
	const char *last = said + (length > ERRORS_SHOWN ? length - ERRORS_SHOWN : 0);
	const char *report = strstr(said, "Sanitizer: ");

	if (!report || report >= last)
		return last;
	while (report > said && report[-1] != '\n')
		report--;
	return report;
}

/* Behind the bytes of shadow memory that AddressSanitizer prints, with their legend. */
static const char *behind_shadow(const char *line)
{
	const char *end = line;

	if (strncmp(line, "Shadow bytes around", strlen("Shadow bytes around")) != 0)
		return line;
	while (*end && strncmp(end, "==", 2) != 0) {
		end = strchrnul(end, '\n');
		end += *end == '\n';
	}
	return end;
}

/* Print them, except what the sections below the timeline tell. False: there was nothing. */
static bool print_errors(const char *said, size_t length, bool told)
{
	const char *line = errors_begin(said, length), *end;
	const char *most = line + (length > ERRORS_MOST ? ERRORS_MOST : length);
	struct text text = { 0 };
	bool any;

	for (; *line && line < most; line = behind_shadow(*end ? end + 1 : end)) {
		end = strchrnul(line, '\n');
		if (told && (story_tells(line) || !strncmp(line, deadlock, strlen(deadlock))))
			continue;
		text_add(&text, "  ");
		text_printable(&text, line, (size_t)(end - line));
		text_add(&text, "\n");
	}
	any = text.length > 0;
	if (any)
		printf("it said:\n%s", text_of(&text));
	text_free(&text);
	return any;
}

void hunt_show_errors(int fd)
{
	struct text said = { 0 };

	read_errors(fd, &said);
	print_errors(text_of(&said), said.length, false);
	text_free(&said);
}

/*
 * Repeat the failure in new processes, as `datsim run` would start them. *said: what they said on
 * standard error. False: the result varies.
 */
static bool hunt_confirm(struct hunt *hunt, const struct lines *lines, struct text *said)
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
	hunt_compile(hunt, text_of(&text), text.length, &settings, NULL);
	for (i = 0; i < (hunt->failure.how == ENDED_HUNG ? 1 : CONFIRMED_BY) && good; i++) {
		alone.errors = errors && i == 0 ? fileno(errors) : -1;
		good = runner_run(&alone, text_of(&settings), &outcome) &&
		       same_outcome(&outcome, &hunt->failure);
		if (good)
			memcpy(hunt->failure.what, outcome.what, sizeof(outcome.what));
	}
	runners_end(&alone);
	if (errors) {
		read_errors(fileno(errors), said);
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

/* The command that repeats the failure. */
static void add_run(const struct hunt *hunt, const char *path, struct text *line)
{
	bool stuck = hunt->failure.how == ENDED_STUCK || hunt->failure.alone;

	if (stuck && !hunt->several && !getenv("DATSIM_STUCK"))
		text_add(line, "DATSIM_STUCK=abort ");
	knobs_add(line);
	text_add(line, "datsim run %s", hunt->several ? "--lockstep " : "");
	if (hunt->failure.how == ENDED_HUNG)
		text_add(line, "--hang %g ", hunt->course->hang);
	text_add(line, "--script ");
	path_add(line, path);
	add_words(hunt, line);
}

void hunt_replay(const struct hunt *hunt, const char *path, struct text *line)
{
	add_run(hunt, path, line);
}

static void print_replay(const struct hunt *hunt, const char *path)
{
	struct text line = { 0 };

	hunt_replay(hunt, path, &line);
	printf("replay:   %s\n", text_of(&line));
	text_free(&line);
}

/* What happened in the last run, by its trace, which is kept beside the script. */
static void tell_story(const struct hunt *hunt, const char *script, const struct text *said,
		       bool spoke)
{
	struct text from = { 0 }, trace = { 0 }, command = { 0 }, text = { 0 }, error = { 0 };
	struct story story = { .trace = &trace, .said = text_of(said), .several = hunt->several };
	struct round round;
	struct stat st;

	runner_trace(&hunt->runners, 0, &from);
	story.name = script;
	add_run(hunt, script, &command);
	if (stat(text_of(&from), &st) ? errno == ENOENT : st.st_size == 0) {
		text_add(&text, "\nscript:   %s (the run left no trace)\n", script);
	} else if (read_whole(text_of(&from), TRACE_BYTES_MAX, &trace, &error)) {
		if (hunt->failure.how == ENDED_HUNG &&
		    round_read(&round, text_of(&trace), trace.length))
			round_cut(&round, &trace);
		story_end(&story, &text);
		story_hits(&story, &text);
		story_places(&story, &text);
		text_add(&text, "\nscript:   %s\n", script);
		/* A store keeps scripts only. */
		if (!hunt->course->store)
			story_save(&story, script, text_of(&command), &text);
	}
	/* An empty line stands above it, unless something was printed there. */
	fputs(text_of(&text) + (!spoke && text.length), stdout);
	fputs(text_of(&error), stderr);
	text_free(&error);
	text_free(&text);
	text_free(&command);
	text_free(&trace);
	text_free(&from);
}

/* "server + client: schedule 7 of seed 1: client exits with 1, after 6 that hold; ..." */
static void print_schedule(const struct hunt *hunt, const struct lines *lines)
{
	struct text what = { 0 };

	outcome_add(&what, &hunt->failure);
	text_add(&what, ", ");
	campaign_add_before(hunt->campaign, course_before(hunt->course, hunt->number), &what);
	printf("%s: schedule %llu of seed %llu%s %s; shrunk to %zu line%s:\n\n",
	       text_of(&hunt->title), (unsigned long long)hunt->number,
	       (unsigned long long)hunt->course->seed,
	       hunt->failure.who[0] && hunt->failure.how != ENDED_HUNG ? ":" : "", text_of(&what),
	       lines->count, lines->count == 1 ? "" : "s");
	for (size_t i = 0; i < lines->count; i++)
		printf("  %s\n", lines->line[i].text);
	printf("\n%s%s", text_of(&hunt->explained), hunt->explained.length ? "\n" : "");
	text_free(&what);
}

int hunt_report_lines(struct hunt *hunt, const struct lines *lines)
{
	struct text name = { 0 }, text = { 0 }, said = { 0 };
	bool spoke;

	hunt->repeats = hunt_confirm(hunt, lines, &said);
	course_end(hunt->course);
	out_name(hunt, &name);
	print_schedule(hunt, lines);
	spoke = print_errors(text_of(&said), said.length, true) || !hunt->repeats;
	if (!hunt->repeats && !ended_asked(&hunt->ended))
		puts(hunt->several ? "it does not fail in every run: does a thread lose its turn "
				     "(\"preempted\" in the trace), or do its runs share a file?"
				   : "it does not fail in every run: does it use threads, a clock, "
				     "or a file that its runs share?");
	lines_join(lines, true, &text);
	if (hunt_write(hunt, text_of(&name), &text)) {
		tell_story(hunt, text_of(&name), &said, spoke);
		print_replay(hunt, text_of(&name));
	}
	text_free(&said);
	text_free(&text);
	text_free(&name);
	return outcome_code(&hunt->failure);
}

int hunt_report(struct hunt *hunt)
{
	struct lines lines;
	int code;

	hunt_shorten(hunt, &lines);
	hunt_explain(hunt, &lines);
	course_doing(hunt->course, "the failure is repeated");
	hunt->told = !ended_asked(&hunt->ended);
	code = hunt->told ? hunt_report_lines(hunt, &lines) : EXIT_PASS;
	lines_free(&lines);
	return code;
}
