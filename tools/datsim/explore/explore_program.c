/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim explore -- PROGRAM: runs a program that is linked with -ldat many times (runner.h). A
 * schedule is a script of `datsim run --script`: settings of the fabric, and faults that all end at
 * some time. The program then has to end by itself, and without an error. For several programs in
 * lockstep the seed of the fabric is part of the schedule too: it chooses whose turn it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/datsim/commands.h"
#include "hunt.h"
#include "tools/datsim/files.h"
#include "tools/datsim/program/program_script.h"
#include "tools/datsim/program/round.h"
#include "tools/datsim/run/device.h"

/* ---- a schedule as a program is told ---- */

bool hunt_compile(const struct hunt *hunt, const char *lines, size_t length, struct text *settings,
		  struct text *error)
{
	struct text unread = { 0 };
	struct program_script ps;
	bool good = program_script_load(&ps, "schedule", lines, length, hunt->several != NULL,
					error ? error : &unread);

	settings->length = 0;
	text_append(settings, "\n", 1); /* an empty setting is a message too */
	if (good)
		program_script_settings(&ps, settings);
	program_script_free(&ps);
	text_free(&unread);
	return good;
}

/* ---- the hunt ---- */

/* It does not count as one that was run. */
static void schedule_is_broken(struct hunt *hunt, uint64_t number, const struct text *error)
{
	hunt->broken = true;
	hunt->course->done--;
	course_end(hunt->course);
	course_refuse(hunt->course, "schedule %llu of seed %llu cannot be run: %.*s",
		      (unsigned long long)number, (unsigned long long)hunt->course->seed,
		      (int)error->length - (error->length > 0), text_of(error));
}

static bool begin_next(struct hunt *hunt, struct runner *runner)
{
	struct text settings = { 0 }, error = { 0 };
	uint64_t number;
	bool good = course_next(hunt->course, &number);

	if (good) {
		schedule_make(&hunt->schedule, &hunt->plan, hunt->course->seed, number);
		runner->number = number;
		hunt->planted |= hunt->schedule.has_faults || hunt->plan.turns;
		good = hunt_compile(hunt, text_of(&hunt->schedule.text), hunt->schedule.text.length,
				    &settings, &error);
		if (good && !runner_begin(&hunt->runners, runner, text_of(&settings))) {
			text_add(&error, "its programs cannot be started\n");
			good = false;
		}
		if (!good)
			schedule_is_broken(hunt, number, &error);
	}
	text_free(&error);
	text_free(&settings);
	return good;
}

/* Take the failing schedule with the lowest number, whichever ended first. */
static void take_outcome(struct hunt *hunt, const struct runner *runner)
{
	hunt->preempted += runner->preempted;
	if (hunt->campaign) {
		hunt_take(hunt, runner);
		return;
	}
	if (runner->outcome.how == ENDED_WELL || (hunt->found && hunt->number < runner->number))
		return;
	hunt->found = true;
	hunt->course->failed = 1;
	hunt->number = runner->number;
	hunt->failure = runner->outcome;
}

/* The first schedule of the course whose outcome was not taken. */
static uint64_t first_open(const struct hunt *hunt, const bool *open)
{
	const struct course *course = hunt->course;
	uint64_t number = course->first + course->shard - 1 + course->done * course->shards;

	for (int i = 0; i < hunt->runners.count; i++)
		if (open[i] && hunt->runners.list[i].number < number)
			number = hunt->runners.list[i].number;
	return number;
}

static void run_schedules(struct hunt *hunt)
{
	struct runners *runners = &hunt->runners;
	bool more = true, open[RUNNERS_MAX] = { false };
	int i, busy;

	do {
		busy = 0;
		for (i = 0; i < runners->count; i++) {
			if (open[i] && !runners->list[i].busy && !ended_asked(&hunt->ended)) {
				take_outcome(hunt, &runners->list[i]);
				open[i] = false;
			}
			if (!runners->list[i].busy && more && !hunt->found &&
			    !ended_asked(&hunt->ended))
				more = begin_next(hunt, &runners->list[i]);
			open[i] |= runners->list[i].busy;
			busy += runners->list[i].busy;
		}
		if (busy)
			runners_wait(runners);
		hunt_save(hunt, false);
	} while (busy && !ended_asked(&hunt->ended));
	hunt->open = first_open(hunt, open);
}

static bool alone_on_emu(void)
{
	if (!getenv("DATSIM_FABRIC"))
		return emu_is_chosen("explore", "programs are explored");
	usage_error("explore",
		    "DATSIM_FABRIC is set: a program is explored on a fabric of its own");
	return false;
}

/* Schedules that depend on real time, too, may not fail again. */
static void tell_preempted(const struct hunt *hunt)
{
	if (hunt->preempted)
		fprintf(stderr,
			"%s: in %llu of %llu schedules a thread lost its turn, because it stayed "
			"outside uDAPL for too long (DATSIM_LOCKSTEP): they may end otherwise when "
			"run again\n",
			text_of(&hunt->title), (unsigned long long)hunt->preempted,
			(unsigned long long)hunt->course->done);
}

/* Failures that a campaign found before it are told; no schedule is said to hold. */
static int hunt_tell_broken(struct hunt *hunt)
{
	if (hunt->campaign && hunt->campaign->failed)
		campaign_end(hunt->campaign);
	return EXIT_USAGE;
}

/* Returns the exit code of the tool. */
static int hunt_tell(struct hunt *hunt)
{
	const struct course *course = hunt->course;

	tell_preempted(hunt);
	if (hunt->found)
		return hunt_report(hunt);
	if (hunt->broken)
		return hunt_tell_broken(hunt);
	if (!course->done)
		return course_refuse(hunt->course,
				     "no schedule was run: allow more --runs or --seconds");
	if (hunt->campaign && (hunt->campaign->code || course->done == hunt->campaign->before))
		return campaign_end(hunt->campaign);
	if (!hunt->plan.link_count && !hunt->plan.turns)
		return course_refuse(hunt->course,
				     "%s sent no packet, so no fault could act in %llu schedule%s: "
				     "nothing was tested",
				     text_of(&hunt->title), (unsigned long long)course->done,
				     course->done == 1 ? "" : "s");
	if (!hunt->planted)
		return course_refuse(hunt->course,
				     "%llu schedule%s had no fault of these kinds, so nothing was "
				     "tested: allow more --runs, or other --faults",
				     (unsigned long long)course->done,
				     course->done == 1 ? "" : "s");
	if (hunt->campaign)
		return campaign_end(hunt->campaign);
	printf("%s: %llu schedule%s of seed %llu hold%s\n", text_of(&hunt->title),
	       (unsigned long long)course->done, course->done == 1 ? "" : "s",
	       (unsigned long long)course->seed, course->done == 1 ? "s" : "");
	return EXIT_PASS;
}

/* Known failures first; then schedules, with a pause for each failure that is not known. */
static void run_campaign(struct hunt *hunt)
{
	bool more;

	hunt_try_known(hunt);
	do {
		run_schedules(hunt);
		more = hunt->found;
		hunt_settle(hunt);
		hunt_save(hunt, true);
	} while (more && !hunt->broken && !campaign_is_full(hunt->campaign) &&
		 !ended_asked(&hunt->ended));
}

/* What still runs does not count. */
static void hunt_interrupted(struct hunt *hunt)
{
	for (int i = 0; i < hunt->runners.count; i++)
		hunt->course->done -= hunt->runners.list[i].busy;
	campaign_interrupted(hunt->campaign, ended_code(&hunt->ended, EXIT_PASS));
}

static int hunt_run(struct hunt *hunt)
{
	int code = EXIT_PASS;

	hunt->runners.count = hunt->course->jobs < RUNNERS_MAX ? hunt->course->jobs : RUNNERS_MAX;
	hunt->runners.quotes = hunt->campaign != NULL;
	runners_start(&hunt->runners);
	if (hunt->course->merges)
		hunt_shrink_store(hunt);
	else if (hunt->campaign)
		run_campaign(hunt);
	else
		run_schedules(hunt);
	if (!hunt->found)
		course_end(hunt->course);
	if (hunt->course->merges)
		code = EXIT_PASS;
	else if (!ended_asked(&hunt->ended))
		code = hunt_tell(hunt);
	else if (hunt->campaign)
		hunt_interrupted(hunt);
	runners_end(&hunt->runners);
	/* Once more: only now is the processor time of all runs known. */
	if (!hunt->course->merges)
		hunt_save(hunt, true);
	return code;
}

/* Called while runs are waited for. */
static void hunt_tick(void *ctx)
{
	struct hunt *hunt = ctx;

	if (hunt->campaign)
		hunt->course->failed = hunt->campaign->failed;
	hunt->course->longest = runners_longest(&hunt->runners);
	course_tell(hunt->course, hunt->course->done);
}

static int tell_of_end(const struct hunt *hunt)
{
	uint64_t open = hunt->found ? hunt->number : hunt->open;

	course_end(hunt->course);
	if (hunt->found)
		fprintf(stderr,
			"datsim explore: it was asked to end: schedule %llu of seed %llu has "
			"failed, and was not shrunk\n",
			(unsigned long long)hunt->number, (unsigned long long)hunt->course->seed);
	else if (hunt->campaign)
		campaign_tell_of_end(hunt->campaign);
	else
		fprintf(stderr,
			"datsim explore: it was asked to end: %llu schedule%s begun, and none has "
			"failed\n",
			(unsigned long long)hunt->course->done,
			hunt->course->done == 1 ? " has" : "s have");
	course_go_on(hunt->course, open);
	return ended_code(&hunt->ended, EXIT_PASS);
}

/* All of it, while signals are watched for. */
static int hunt_watched(struct hunt *hunt)
{
	int code;

	hunt->runners.ended = &hunt->ended;
	hunt->runners.tick = hunt_tick;
	hunt->runners.tick_ctx = hunt;
	hunt->open = hunt->course->first + hunt->course->shard - 1;
	ended_watch_alone(&hunt->ended);
	code = hunt_study(hunt);
	if (!code && !ended_asked(&hunt->ended))
		code = hunt_run(hunt);
	ended_unwatch(&hunt->ended);
	return hunt->ended.by && !hunt->told ? tell_of_end(hunt) : code;
}

/*
 * A folder for the traces, one of each runner. Each run makes and removes a file, which on a disk
 * takes a fifth to a third of the time of a short schedule.
 */
static bool traces_begin(struct hunt *hunt, struct text *folder)
{
	struct text error = { 0 };
	uint64_t bytes = (uint64_t)TRACE_BYTES_MAX * (uint64_t)hunt->course->jobs;
	bool good = memory_folder(folder, bytes) || scratch_folder(folder, &error);

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

static int hunt_in_folder(struct hunt *hunt)
{
	struct text folder = { 0 };
	int code = EXIT_INTERNAL;

	hunt->runners.argv = hunt->argv;
	hunt->runners.several = hunt->several;
	hunt->runners.starts_anew = hunt->several != NULL;
	hunt->runners.count = 1;
	hunt->runners.trace_bytes = ROUND_TRACE_BYTES;
	hunt->runners.seconds = hunt->course->hang;
	if (traces_begin(hunt, &folder)) {
		code = hunt_watched(hunt);
		traces_end(hunt);
	}
	text_free(&folder);
	return code;
}

/* With a campaign, if one is wanted. */
static int hunt_all(struct hunt *hunt)
{
	const char *title = text_of(&hunt->title), *slash = strrchr(title, '/');
	struct campaign campaign;
	int code = EXIT_USAGE;

	if (!campaign_wanted(hunt->course)) {
		code = hunt_in_folder(hunt);
	} else {
		if (campaign_begin(&campaign, hunt->course,
				   slash && !hunt->several ? slash + 1 : title)) {
			hunt->campaign = &campaign;
			code = hunt_in_folder(hunt);
		}
		campaign.interrupted = hunt->ended.by != 0;
		if (!hunt->course->merges)
			code = campaign_report(&campaign, code);
		campaign_free(&campaign);
	}
	text_free(&hunt->schedule.text);
	text_free(&hunt->title);
	text_free(&hunt->explained);
	text_free(&hunt->course->reason);
	return code;
}

int explore_program(struct course *course, char **argv)
{
	struct hunt hunt = { .course = course, .argv = argv };

	if (!alone_on_emu())
		return EXIT_USAGE;
	text_add(&hunt.title, "%s", argv[0]);
	return hunt_all(&hunt);
}

int explore_programs(struct course *course, const struct programs *programs)
{
	struct hunt hunt = { .course = course, .several = programs, .argv = programs->one[0].argv };

	if (!alone_on_emu())
		return EXIT_USAGE;
	for (int i = 0; i < programs->count; i++)
		text_add(&hunt.title, "%s%s", i ? " + " : "", programs->one[i].name);
	return hunt_all(&hunt);
}
