/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim explore -- PROGRAM: runs a program that is linked with -ldat many times (runner.h). A
 * schedule is a script of `datsim run --script`: settings of the fabric, and faults that all end at
 * some time. The program then has to end by itself, and without an error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/datsim/commands.h"
#include "explore.h"
#include "tools/datsim/files.h"
#include "tools/datsim/program/origin.h"
#include "tools/datsim/program/program_script.h"
#include "tools/datsim/program/runner.h"
#include "tools/datsim/show/trace.h"

#define ERRORS_SHOWN 2000 /* bytes at the end of its standard error output */
#define CONFIRMED_BY 3    /* runs in processes of their own */

struct hunt {
	struct course *course;
	char **argv;
	struct plan plan;
	struct runners runners;
	struct schedule schedule;
	struct ended ended;
	bool planted; /* some schedule had a fault */
	bool found;
	uint64_t number; /* number of the failing schedule */
	struct outcome failure;
};

/* ---- a schedule as a program is told ---- */

/* False: the lines are not a valid script, which happens while one is shortened. */
static bool compile_settings(const char *lines, size_t length, struct text *settings)
{
	struct text error = { 0 };
	struct program_script ps;
	bool good = program_script_load(&ps, "schedule", lines, length, false, &error);

	settings->length = 0;
	text_append(settings, "\n", 1); /* an empty setting is a message too */
	if (good)
		program_script_settings(&ps, settings);
	program_script_free(&ps);
	text_free(&error);
	return good;
}

/* ---- the hunt ---- */

static bool begin_next(struct hunt *hunt, struct runner *runner)
{
	struct text settings = { 0 };
	uint64_t number;
	bool good = course_next(hunt->course, &number);

	if (good) {
		schedule_make(&hunt->schedule, &hunt->plan, hunt->course->seed, number);
		runner->number = number;
		hunt->planted |= hunt->schedule.has_faults;
		good = compile_settings(text_of(&hunt->schedule.text), hunt->schedule.text.length,
					&settings) &&
		       runner_begin(&hunt->runners, runner, text_of(&settings));
	}
	text_free(&settings);
	return good;
}

/* Take the failing schedule with the lowest number, whichever ended first. */
static void take_outcome(struct hunt *hunt, const struct runner *runner)
{
	if (runner->outcome.how == ENDED_WELL || (hunt->found && hunt->number < runner->number))
		return;
	hunt->found = true;
	hunt->number = runner->number;
	hunt->failure = runner->outcome;
}

static void run_schedules(struct hunt *hunt)
{
	struct runners *runners = &hunt->runners;
	bool more = true, was_busy[RUNNERS_MAX] = { false };
	int i, busy;

	do {
		busy = 0;
		for (i = 0; i < runners->count; i++) {
			if (was_busy[i] && !runners->list[i].busy && !ended_asked(&hunt->ended))
				take_outcome(hunt, &runners->list[i]);
			if (!runners->list[i].busy && more && !hunt->found &&
			    !ended_asked(&hunt->ended))
				more = begin_next(hunt, &runners->list[i]);
			was_busy[i] = runners->list[i].busy;
			busy += was_busy[i];
		}
		if (busy)
			runners_wait(runners);
	} while (busy && !ended_asked(&hunt->ended));
}

/* ---- what was found, made short ---- */

static bool fails_so(const struct lines *lines, void *ctx)
{
	struct hunt *hunt = ctx;
	struct text text = { 0 }, settings = { 0 };
	struct outcome outcome;
	bool good;

	lines_join(lines, true, &text);
	good = compile_settings(text_of(&text), text.length, &settings) &&
	       runner_run(&hunt->runners, text_of(&settings), &outcome) &&
	       same_outcome(&outcome, &hunt->failure);
	text_free(&settings);
	text_free(&text);
	return good;
}

static void make_short(struct hunt *hunt, struct lines *lines)
{
	struct shrinking shrinking = { .lines = lines,
				       .fails = fails_so,
				       .ctx = hunt,
				       .words = true };

	schedule_make(&hunt->schedule, &hunt->plan, hunt->course->seed, hunt->number);
	lines_split(lines, &hunt->plan, &hunt->schedule);
	/* A program that hangs is given less time in each repetition. */
	if (hunt->failure.how == ENDED_HUNG)
		hunt->runners.seconds /= 10;
	shrink_lines(&shrinking);
	hunt->runners.seconds = hunt->course->hang;
}

/* Print the end of the standard error output of the program. */
static void show_errors(int fd)
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
	compile_settings(text_of(&text), text.length, &settings);
	for (i = 0; i < (hunt->failure.how == ENDED_HUNG ? 1 : CONFIRMED_BY) && good; i++) {
		alone.errors = errors && i == 0 ? fileno(errors) : -1;
		good = runner_run(&alone, text_of(&settings), &outcome) &&
		       same_outcome(&outcome, &hunt->failure);
	}
	runners_end(&alone);
	if (errors) {
		show_errors(fileno(errors));
		fclose(errors);
	}
	text_free(&settings);
	text_free(&text);
	return good;
}

/* DIR/PROGRAM: PROGRAM.shrunk.dsim */
static void out_name(const struct hunt *hunt, struct text *name)
{
	const char *slash = strrchr(hunt->argv[0], '/');

	if (hunt->course->out)
		text_add(name, "%s", hunt->course->out);
	else
		text_add(name, "%s.shrunk.dsim", slash ? slash + 1 : hunt->argv[0]);
}

static void print_replay(const struct hunt *hunt, const char *path)
{
	struct text line = { 0 };
	char **argv;

	if (hunt->failure.how == ENDED_HUNG)
		text_add(&line, "timeout %g ", 10 * hunt->course->hang);
	if ((hunt->failure.how == ENDED_STUCK || hunt->failure.alone) && !getenv("DATSIM_STUCK"))
		text_add(&line, "DATSIM_STUCK=abort ");
	knobs_add(&line);
	text_add(&line, "datsim run --script ");
	word_add(&line, path);
	text_add(&line, " --");
	for (argv = hunt->argv; *argv; argv++) {
		text_add(&line, " ");
		word_add(&line, *argv);
	}
	printf("replay:   %s\n", text_of(&line));
	text_free(&line);
}

static int hunt_report(struct hunt *hunt, const struct lines *lines)
{
	struct text name = { 0 }, text = { 0 }, what = { 0 };
	int code = outcome_code(&hunt->failure);
	size_t i;

	out_name(hunt, &name);
	outcome_add(&what, &hunt->failure);
	printf("%s: schedule %llu of seed %llu %s, after %llu that hold; shrunk to %zu line%s:\n\n",
	       hunt->argv[0], (unsigned long long)hunt->number,
	       (unsigned long long)hunt->course->seed, text_of(&what),
	       (unsigned long long)course_before(hunt->course, hunt->number), lines->count,
	       lines->count == 1 ? "" : "s");
	for (i = 0; i < lines->count; i++)
		printf("  %s\n", lines->line[i].text);
	puts("");
	if (!hunt_confirm(hunt, lines) && !ended_asked(&hunt->ended))
		puts("it does not fail in every run: does it use threads, a clock, or a file that "
		     "its runs share?");
	lines_join(lines, true, &text);
	if (write_whole_or_say(text_of(&name), &text))
		print_replay(hunt, text_of(&name));
	text_free(&what);
	text_free(&text);
	text_free(&name);
	return code;
}

/* ---- the program undisturbed ---- */

static void add_link(struct plan *plan, struct span from, struct span to)
{
	char link[sizeof(plan->links[0])];
	size_t i;
	int a = (int)strcspn(from.s, ". \n"), b = (int)strcspn(to.s, ". \n");

	if (snprintf(link, sizeof(link), "%.*s>%.*s", a, from.s, b, to.s) >= (int)sizeof(link))
		return;
	for (i = 0; i < plan->link_count; i++) {
		if (!strcmp(plan->links[i], link))
			return;
	}
	if (i < ARRAY_SIZE(plan->links))
		strcpy(plan->links[plan->link_count++], link);
}

/*
 * Find the links that the program uses, and the time that it takes. False: it opened no adapter, so
 * no schedule can reach it.
 */
static bool study_trace(struct plan *plan, const char *path)
{
	struct text content = { 0 }, error = { 0 };
	struct trace_reader reader = { 0 };
	struct trace_line line;
	bool opened = false;

	if (read_whole(path, TRACE_BYTES_MAX, &content, &error) &&
	    trace_open(&reader, path, text_of(&content), content.length)) {
		while (trace_next(&reader, &line)) {
			opened = true;
			plan->span_us = line.ns / 1000;
			if (span_is(line.verb, "packet"))
				add_link(plan, line.object, trace_value(&line, "to"));
		}
	}
	trace_close(&reader);
	text_free(&content);
	text_free(&error);
	return opened;
}

static void plan_program(struct hunt *hunt, const DAT_SIM_CONFIG *config)
{
	hunt->plan = (struct plan){ .text = "",
				    .program = true,
				    .kinds = hunt->course->kinds,
				    .settings = settings_free(),
				    .rnr = config->profile == DAT_SIM_PROFILE_IB,
				    .retry = (int)config->retry - 4,
				    .rnr_retry = (int)config->rnr_retry - 2 };
}

static int run_undisturbed(struct hunt *hunt)
{
	struct text what = { 0 };
	struct outcome outcome = { .how = ENDED_WELL };
	FILE *errors = tmpfile();
	int code = EXIT_INTERNAL;

	hunt->runners.starts_anew = true;
	hunt->runners.errors = errors ? fileno(errors) : -1;
	runners_start(&hunt->runners);
	if (runner_run(&hunt->runners, "\n", &outcome)) {
		code = outcome_code(&outcome);
		outcome_add(&what, &outcome);
		if (outcome.how == ENDED_LEFT) {
			printf("%s %s without any fault: the objects that it leaves are not a "
			       "failure\n",
			       hunt->argv[0], text_of(&what));
			hunt->runners.leaves = true;
			code = EXIT_PASS;
		} else if (code) {
			printf("%s %s without any fault: nothing was explored\n", hunt->argv[0],
			       text_of(&what));
			if (errors)
				show_errors(fileno(errors));
		}
	}
	runners_end(&hunt->runners);
	if (errors)
		fclose(errors);
	hunt->runners.starts_anew = false;
	hunt->runners.errors = -1;
	text_free(&what);
	return code;
}

static int look_at_program(struct hunt *hunt)
{
	struct text trace = { 0 };
	DAT_SIM_CONFIG config;
	int code;

	if (dat_sim_config_init(&config) != DAT_SUCCESS)
		return EXIT_USAGE;
	plan_program(hunt, &config);
	code = run_undisturbed(hunt);
	runner_trace(&hunt->runners, 0, &trace);
	if (!study_trace(&hunt->plan, text_of(&trace)) && code == EXIT_PASS)
		code = usage_error("explore",
				   "%s opened no simulated adapter: nothing was explored. "
				   "Is it linked with -ldat or -libverbs?",
				   hunt->argv[0]);
	text_free(&trace);
	return code;
}

/* Exploring needs faults, virtual time and a private fabric, which only the emulator has. */
static bool alone_on_emu(void)
{
	const char *provider = getenv("DAT_PROVIDER");

	if (getenv("DATSIM_FABRIC"))
		usage_error("explore",
			    "DATSIM_FABRIC is set: a program is explored on a fabric of its own");
	else if (provider && strcmp(provider, "emu") != 0)
		usage_error("explore", "DAT_PROVIDER=%s: programs are explored on emu", provider);
	else
		return true;
	return false;
}

/* Returns the exit code of the tool. */
static int hunt_tell(struct hunt *hunt)
{
	const struct course *course = hunt->course;
	struct lines lines;
	int code;

	if (hunt->found) {
		make_short(hunt, &lines);
		code = ended_asked(&hunt->ended) ? EXIT_PASS : hunt_report(hunt, &lines);
		lines_free(&lines);
		return code;
	}
	if (!course->done)
		return usage_error("explore",
				   "no schedule was run: allow more --runs or --seconds");
	if (!hunt->plan.link_count)
		return usage_error("explore",
				   "%s sent no packet, so no fault could act in %llu schedules: "
				   "nothing was tested",
				   hunt->argv[0], (unsigned long long)course->done);
	if (!hunt->planted)
		return usage_error("explore",
				   "%llu schedules had no fault of these kinds, so nothing was "
				   "tested: allow more --runs, or other --faults",
				   (unsigned long long)course->done);
	printf("%s: %llu schedules of seed %llu hold\n", hunt->argv[0],
	       (unsigned long long)course->done, (unsigned long long)course->seed);
	return EXIT_PASS;
}

static int hunt_run(struct hunt *hunt)
{
	int code;

	hunt->runners.count = hunt->course->jobs < RUNNERS_MAX ? hunt->course->jobs : RUNNERS_MAX;
	runners_start(&hunt->runners);
	run_schedules(hunt);
	course_end(hunt->course);
	code = ended_asked(&hunt->ended) ? EXIT_PASS : hunt_tell(hunt);
	runners_end(&hunt->runners);
	return code;
}

static int tell_of_end(const struct hunt *hunt)
{
	fprintf(stderr, "datsim explore: it was asked to end: ");
	if (hunt->found)
		fprintf(stderr, "schedule %llu of seed %llu has failed, and was not shrunk\n",
			(unsigned long long)hunt->number, (unsigned long long)hunt->course->seed);
	else
		fprintf(stderr, "%llu schedules have begun, and none has failed\n",
			(unsigned long long)hunt->course->done);
	return ended_code(&hunt->ended, EXIT_PASS);
}

/* All of it, while signals are watched for. */
static int hunt_watched(struct hunt *hunt)
{
	int code;

	hunt->runners.ended = &hunt->ended;
	ended_watch_alone(&hunt->ended);
	code = look_at_program(hunt);
	if (!code && !ended_asked(&hunt->ended))
		code = hunt_run(hunt);
	ended_unwatch(&hunt->ended);
	return hunt->ended.by ? tell_of_end(hunt) : code;
}

/* A folder for the traces, one of each runner. */
static bool traces_begin(struct hunt *hunt, struct text *folder)
{
	struct text error = { 0 };
	bool good = scratch_folder(folder, &error);

	hunt->runners.traces = text_of(folder);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

static void traces_end(const struct hunt *hunt)
{
	for (int i = 0; i < RUNNERS_MAX; i++) {
		struct text path = { 0 };

		runner_trace(&hunt->runners, i, &path);
		unlink(text_of(&path));
		text_free(&path);
	}
	rmdir(hunt->runners.traces);
}

int explore_program(struct course *course, char **argv)
{
	struct hunt hunt = { .course = course,
			     .argv = argv,
			     .runners = { .argv = argv, .count = 1, .seconds = course->hang } };
	struct text folder = { 0 };
	int code = EXIT_INTERNAL;

	if (!alone_on_emu())
		return EXIT_USAGE;
	if (traces_begin(&hunt, &folder)) {
		code = hunt_watched(&hunt);
		traces_end(&hunt);
	}
	text_free(&folder);
	text_free(&hunt.schedule.text);
	return code;
}
