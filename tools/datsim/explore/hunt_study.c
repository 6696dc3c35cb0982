/* SPDX-License-Identifier: BSD-3-Clause */
/* A program, or several, without faults: do they end well, and which links they use: hunt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hunt.h"
#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"
#include "tools/datsim/program/program_script.h"
#include "tools/datsim/program/round.h"
#include "tools/datsim/show/trace.h"

/*
 * The length of an adapter's name in "emu0.ep1". Of several programs, that of the node in
 * "server-emu0.ep1", which stands for its first adapter; -1: another adapter, which no script can
 * name.
 */
static int end_length(const struct hunt *hunt, const char *object)
{
	static const char first[] = "-emu0";
	int n = (int)strcspn(object, ". \n"), behind = sizeof(first) - 1;

	if (!hunt->several)
		return n;
	return n > behind && !memcmp(object + n - behind, first, sizeof(first) - 1) ? n - behind
										    : -1;
}

static void add_link(struct hunt *hunt, struct span from, struct span to)
{
	struct plan *plan = &hunt->plan;
	char link[sizeof(plan->links[0])];
	size_t i;
	int a = end_length(hunt, from.s), b = end_length(hunt, to.s);

	if (a < 0 || b < 0)
		return;
	if (snprintf(link, sizeof(link), "%.*s>%.*s", a, from.s, b, to.s) >= (int)sizeof(link))
		return;
	for (i = 0; i < plan->link_count; i++) {
		if (!strcmp(plan->links[i], link))
			return;
	}
	if (i < ARRAY_SIZE(plan->links))
		strcpy(plan->links[plan->link_count++], link);
}

/* What the trace of the run without faults shows. */
enum studied {
	STUDY_GOOD,
	STUDY_NO_ADAPTER, /* it opened none, so no schedule can reach it */
	STUDY_NO_OBJECT,  /* it opened one, and did nothing with it */
	STUDY_ONE_IDLE    /* of several programs, one did nothing */
};

/* Did each of several programs open an adapter? *error: which did not. */
static bool have_opened(const struct hunt *hunt, const char *path, const struct text *content,
			struct text *error)
{
	struct account account;
	bool good;

	if (!hunt->several)
		return true;
	good = account_read(&account, path, text_of(content), content->length, error) &&
	       programs_opened(hunt->several, &account, error);
	account_free(&account);
	return good;
}

/* Find the links that the program uses, and the time that it takes. */
static enum studied study_trace(struct hunt *hunt, const char *path, struct text *idle)
{
	enum studied studied = access(path, R_OK) ? STUDY_NO_ADAPTER : STUDY_NO_OBJECT;
	struct text content = { 0 }, error = { 0 };
	struct trace_reader reader = { 0 };
	struct trace_line line;

	if (access(path, R_OK) == 0 && read_whole(path, TRACE_BYTES_MAX, &content, &error) &&
	    trace_open(&reader, path, text_of(&content), content.length)) {
		while (trace_next(&reader, &line)) {
			if (!trace_only_asks(&line))
				studied = STUDY_GOOD;
			hunt->plan.span_us = line.ns / 1000;
			if (span_is(line.verb, "packet"))
				add_link(hunt, line.object, trace_value(&line, "to"));
		}
	}
	trace_close(&reader);
	if (studied == STUDY_GOOD && !have_opened(hunt, path, &content, idle))
		studied = STUDY_ONE_IDLE;
	/* A program with a long trace needs one in its schedules, too. */
	if (content.length > ROUND_TRACE_BYTES / 2)
		hunt->runners.trace_bytes = 0;
	fputs(text_of(&error), stderr);
	text_free(&content);
	text_free(&error);
	return studied;
}

static int tell_idle(struct hunt *hunt, enum studied studied, const struct text *idle)
{
	const char *title = text_of(&hunt->title), *who = text_of(idle);
	const char *colon = strstr(who, ": ");

	/* Several have a fabric, and with it a trace, whatever they do. */
	if (studied == STUDY_NO_ADAPTER || (studied == STUDY_NO_OBJECT && hunt->several))
		return course_refuse(hunt->course,
				     "%s opened no simulated adapter%s: nothing was explored. "
				     "Is it linked with -ldat or -libverbs?",
				     title, hunt->several ? ", or made no object on it" : "");
	if (studied == STUDY_NO_OBJECT)
		return course_refuse(hunt->course,
				     "%s opened a simulated device, but made no object on it: "
				     "nothing was explored",
				     title);
	who = colon ? colon + 2 : who;
	return course_refuse(hunt->course, "%.*s", (int)strcspn(who, "\n"), who);
}

/* ---- the calls of threads, for switches of the turn ---- */

/* A line "note calls=25 of thread 1 of client". */
static void take_calls(struct plan *plan, const struct trace_line *line)
{
	char copy[128];
	struct plan_thread thread;
	unsigned long long calls;

	snprintf(copy, sizeof(copy), "%.*s", (int)line->rest.length, line->rest.s);
	if (plan->thread_count == ARRAY_SIZE(plan->threads) ||
	    sscanf(copy, "calls=%llu of thread %u of %20s", &calls, &thread.number, thread.node) !=
		    3)
		return;
	thread.calls = calls;
	plan->threads[plan->thread_count++] = thread;
}

/*
 * How many calls does each thread make in a run without faults, in the fixed order? Unknown if that
 * run fails: then it is the first schedule that does.
 */
static void count_calls(struct hunt *hunt)
{
	struct text path = { 0 }, content = { 0 }, error = { 0 };
	struct trace_reader reader = { 0 };
	struct outcome outcome = { .how = ENDED_WELL };
	struct trace_line line;

	runners_start(&hunt->runners);
	runner_trace(&hunt->runners, 0, &path);
	if (runner_run(&hunt->runners, "\n" TURNS_VARIABLE "=order\n", &outcome) &&
	    read_whole(text_of(&path), TRACE_BYTES_MAX, &content, &error) &&
	    trace_open(&reader, text_of(&path), text_of(&content), content.length)) {
		while (trace_next(&reader, &line))
			if (span_is(line.verb, "note"))
				take_calls(&hunt->plan, &line);
	}
	trace_close(&reader);
	runners_end(&hunt->runners);
	text_free(&error);
	text_free(&content);
	text_free(&path);
}

static void plan_program(struct hunt *hunt, const DAT_SIM_CONFIG *config)
{
	hunt->plan = (struct plan){ .text = "",
				    .program = true,
				    .kinds = hunt->course->kinds,
				    .watch = !getenv("DATSIM_HOSTILE"),
				    .settings = settings_free(),
				    .several = hunt->several,
				    .turns = hunt->several && !getenv("DATSIM_SEED"),
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
	hunt->usual = course_clock();
	if (runner_run(&hunt->runners, "\n", &outcome)) {
		hunt->usual = course_clock() - hunt->usual;
		code = outcome_code(&outcome);
		outcome_add(&what, &outcome);
		if (outcome.how == ENDED_LEFT) {
			printf("%s%s %s without any fault: the objects that it leaves are not a "
			       "failure\n",
			       text_of(&hunt->title), hunt->several ? ":" : "", text_of(&what));
			hunt->runners.leaves = true;
			code = EXIT_PASS;
		} else if (code) {
			text_add(&hunt->course->reason,
				 "%s%s %s without any fault: nothing was explored",
				 text_of(&hunt->title), hunt->several ? ":" : "", text_of(&what));
			puts(text_of(&hunt->course->reason));
			if (errors)
				hunt_show_errors(fileno(errors));
		}
	}
	runners_end(&hunt->runners);
	if (errors)
		fclose(errors);
	hunt->runners.starts_anew = hunt->several != NULL;
	hunt->runners.errors = -1;
	text_free(&what);
	return code;
}

int hunt_study(struct hunt *hunt)
{
	struct text trace = { 0 }, idle = { 0 };
	enum studied studied;
	DAT_SIM_CONFIG config;
	int code;

	if (dat_sim_config_init(&config) != DAT_SUCCESS)
		return EXIT_USAGE;
	plan_program(hunt, &config);
	code = run_undisturbed(hunt);
	runner_trace(&hunt->runners, 0, &trace);
	studied = study_trace(hunt, text_of(&trace), &idle);
	if (code == EXIT_PASS && studied != STUDY_GOOD)
		code = tell_idle(hunt, studied, &idle);
	else if (code == EXIT_PASS && hunt->plan.turns)
		count_calls(hunt);
	hunt->runners.starts_anew = false;
	text_free(&idle);
	text_free(&trace);
	return code;
}
