/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim explore FILE: runs a script under many schedules until one fails, and shortens that one.
 *
 * Schedules run untraced; a failure is repeated both ways, as `datsim test` does.
 */
#include "explorer.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"
#include "tools/datsim/jobs.h"
#include "tools/datsim/program/ended.h"
#include "tools/datsim/story/story.h"

#define LOOK_NS 100000000

/* ---- one schedule ---- */

void explorer_schedule(struct explorer *explorer, uint64_t number, bool untraced,
		       struct verdict *verdict)
{
	struct options options = { .has_seed = true, .untraced = untraced };
	struct schedule *schedule = &explorer->schedule;

	schedule_make(schedule, &explorer->plan, explorer->course->seed, number);
	options.seed = schedule->seed;
	series_run(&explorer->series, explorer->path, &schedule->text, schedule->faults_at,
		   schedule->faults_length, &options, verdict);
}

/* ---- all of them ---- */

/* What the worker processes tell each other, in shared memory. */
struct shared {
	_Atomic uint64_t failed; /* lowest number of a failing schedule */
	_Atomic uint64_t done, done_by[JOBS_MAX];
	_Atomic bool acted; /* see struct explorer */
};

/* Run schedules until one fails here, or one with a lower number fails in another worker. */
static void explorer_work(struct explorer *explorer, struct shared *shared)
{
	uint64_t number, failed;
	struct verdict verdict;
	bool good = true;

	while (good && !ended_asked(&explorer->ended) && course_next(explorer->course, &number) &&
	       number < shared->failed) {
		explorer_schedule(explorer, number, true, &verdict);
		good = verdict.code == EXIT_PASS;
		if (verdict.faults_acted || explorer->schedule.slows)
			shared->acted = true;
		verdict_free(&verdict);
		shared->done++;
		shared->done_by[explorer->worker]++;
	}
	failed = shared->failed;
	while (!good && number < failed &&
	       !atomic_compare_exchange_weak(&shared->failed, &failed, number))
		;
}

/* A worker runs every jobs-th schedule. */
static void __attribute__((noreturn))
be_worker(struct explorer *explorer, struct shared *shared, uint64_t index)
{
	struct course *course = explorer->course;
	uint64_t jobs = (uint64_t)course->jobs;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ended_child(&explorer->ended);
	explorer->ended = (struct ended){ .alone = true };
	sigemptyset(&explorer->ended.watched);
	course->progress = false;
	explorer->worker = (int)index;
	course->first += index * course->shards;
	course->shards *= jobs;
	if (course->runs && course->runs <= index)
		_exit(0);
	if (course->runs)
		course->runs = (course->runs - index + jobs - 1) / jobs;
	explorer_work(explorer, shared);
	_exit(0);
}

static void kill_workers(const pid_t *workers, int count)
{
	for (int i = 0; i < count; i++)
		kill(workers[i], SIGKILL);
}

static bool wait_for_workers(struct explorer *explorer, const struct shared *shared,
			     const pid_t *workers, int count)
{
	int status, left = count;
	bool good = true, killed = false;
	pid_t pid;

	while (left > 0) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0) {
			good = good && WIFEXITED(status) && !WEXITSTATUS(status);
			left--;
		} else if (pid == 0) {
			ended_pause(&explorer->ended, LOOK_NS);
			if (explorer->ended.by && !killed)
				kill_workers(workers, count);
			killed = explorer->ended.by != 0;
			explorer->course->failed = shared->failed != UINT64_MAX;
			course_tell(explorer->course, shared->done);
		} else if (errno != EINTR) {
			break;
		}
	}
	return good || killed || ended_asked(&explorer->ended);
}

/* False: a worker died, for which no schedule is to blame. */
static bool share_work(struct explorer *explorer, struct shared *shared)
{
	struct course *course = explorer->course;
	pid_t pid, *workers = mem_zero((size_t)course->jobs, sizeof(*workers));
	int i, count = 0;
	bool good;

	fflush(NULL);
	course_tell(course, 0);
	for (i = 0; i < course->jobs; i++) {
		pid = fork();
		if (pid == 0)
			be_worker(explorer, shared, (uint64_t)i);
		if (pid > 0)
			workers[count++] = pid;
	}
	good = wait_for_workers(explorer, shared, workers, count) && count == course->jobs;
	free(workers);
	course->done = shared->done;
	return good;
}

/* Worker i runs schedules i, i + jobs, i + 2 jobs, ... */
static uint64_t first_open(const struct course *course, const struct shared *shared)
{
	uint64_t open = UINT64_MAX, jobs = (uint64_t)course->jobs, at;

	for (uint64_t i = 0; i < jobs; i++) {
		at = i + shared->done_by[i] * jobs;
		open = at < open ? at : open;
	}
	return course->first + course->shard - 1 + open * course->shards;
}

static int find_failure(struct explorer *explorer, bool *found)
{
	struct course *course = explorer->course;
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int code = EXIT_PASS;

	if (shared == MAP_FAILED)
		return EXIT_INTERNAL;
	shared->failed = UINT64_MAX;
	if (course->jobs == 1)
		explorer_work(explorer, shared);
	else if (!share_work(explorer, shared))
		code = usage_error("explore", "a process that ran schedules came to a bad end");
	course_end(course);
	*found = shared->failed != UINT64_MAX;
	explorer->failed = shared->failed;
	explorer->acted = shared->acted;
	explorer->open = first_open(course, shared);
	munmap(shared, sizeof(*shared));
	return code == EXIT_PASS ? code : EXIT_INTERNAL;
}

/* ---- what was found ---- */

/* FILE.dsim: FILE.shrunk.dsim */
void explorer_out_name(const struct explorer *explorer, struct text *name)
{
	size_t n = strlen(explorer->path);

	if (explorer->course->out) {
		text_add(name, "%s", explorer->course->out);
		return;
	}
	if (n > 5 && !strcmp(explorer->path + n - 5, ".dsim"))
		n -= 5;
	text_append(name, explorer->path, n);
	text_add(name, ".shrunk.dsim");
}

/* Offset of the last line of the report, which repeats the run. */
static size_t replay_at(const struct verdict *verdict)
{
	const char *report = text_of(&verdict->report);
	size_t at = verdict->report.length;

	while (at > 0 && (report[at - 1] != '\n' || strncmp(report + at, "replay:", 7) != 0))
		at--;
	return at;
}

void explorer_report(const struct explorer *explorer, const struct lines *lines,
		     const struct verdict *verdict, const char *name, uint64_t seed)
{
	struct story story = { .name = name, .trace = &verdict->trace, .of_script = true };
	struct options options = { .has_seed = true, .seed = seed };
	struct text text = { 0 }, command = { 0 };
	size_t i;

	campaign_add_before(explorer->campaign,
			    course_before(explorer->course, explorer->schedule.number), &text);
	printf("%s: schedule %llu of seed %llu fails, %s; shrunk to %zu line%s:\n\n",
	       explorer->path, (unsigned long long)explorer->schedule.number,
	       (unsigned long long)explorer->course->seed, text_of(&text), lines->count,
	       lines->count == 1 ? "" : "s");
	text_cut(&text, 0);
	for (i = 0; i < lines->count; i++)
		printf("  %s\n", lines->line[i].text);
	if (explorer->explained.length)
		printf("\n%s", text_of(&explorer->explained));
	story_hits(&story, &text);
	printf("%s\n%.*s", text_of(&text), (int)replay_at(verdict), text_of(&verdict->report));
	text.length = 0;
	replay_line(name, &options, &command);
	if (verdict->code != EXIT_PASS && verdict->trace.length && !explorer->course->store)
		story_save(&story, name, text_of(&command), &text);
	printf("%s%s", text.length ? text_of(&text) : "",
	       text_of(&verdict->report) + replay_at(verdict));
	text_free(&command);
	text_free(&text);
}

static int shrink_failure(struct explorer *explorer, const struct verdict *failure)
{
	struct text name = { 0 }, text = { 0 };
	uint64_t seed = explorer->schedule.seed;
	struct options options = { .has_seed = true };
	struct verdict verdict;
	struct lines lines;
	struct shrinking shrinking = { .lines = &lines,
				       .course = explorer->course,
				       .ended = &explorer->ended,
				       .explained = &explorer->explained,
				       .plan = &explorer->plan };
	int code = EXIT_PASS;

	explorer_out_name(explorer, &name);
	lines_split(&lines, &explorer->plan, &explorer->schedule);
	shrink_script(&shrinking, text_of(&name), failure, &seed);
	course_end(explorer->course);
	if (ended_asked(&explorer->ended))
		goto out;
	lines_join(&lines, true, &text);
	options.seed = seed;
	run_text(text_of(&name), text_of(&text), text.length, &options, &verdict);
	if (verdict.code != EXIT_PASS)
		write_whole_or_say(text_of(&name), &text);
	explorer_report(explorer, &lines, &verdict, text_of(&name), seed);
	explorer->told = true;
	code = (int)verdict.code;
	if (verdict.code == EXIT_PASS) {
		/* A difference between runs is a bug of this tool, or of the library below it. */
		puts("the schedule does not fail when it is run again");
		code = EXIT_INTERNAL;
	}
	verdict_free(&verdict);
out:
	lines_free(&lines);
	text_free(&text);
	text_free(&name);
	return code;
}

/* ---- the script ---- */

/* Does a packet cross a link after the set-up? Rules that only count packets tell. */
static bool has_packets(const struct explorer *explorer)
{
	const struct plan *plan = &explorer->plan;
	struct options options = { .untraced = true };
	struct text text = { 0 };
	struct verdict verdict;
	bool any;
	size_t i;

	text_append(&text, plan->text, plan->faults_at);
	for (i = 0; i < plan->link_count; i++)
		text_add(&text, "fault link %s count optional\n", plan->links[i]);
	text_append(&text, plan->text + plan->faults_at, plan->heal_at - plan->faults_at);
	text_add(&text, "quiet\n");
	text_append(&text, plan->text + plan->heal_at, plan->length - plan->heal_at);
	run_text(explorer->path, text_of(&text), text.length, &options, &verdict);
	any = verdict.faults_acted > 0;
	verdict_free(&verdict);
	text_free(&text);
	return any;
}

/* Without any fault it does not pass. */
static void tell_reason(const struct explorer *explorer, const struct verdict *verdict)
{
	const char *report = text_of(&verdict->report);

	text_printable(&explorer->course->reason, report, strcspn(report, "\n"));
	text_add(&explorer->course->reason, ": nothing was explored");
}

/* The script has to be valid, to pass without faults, and to give them something to act on. */
static int look_at_script(struct explorer *explorer)
{
	struct options options = { .has_seed = false };
	DAT_SIM_CONFIG config;
	struct script script;
	struct verdict verdict;
	int code;

	run_text(explorer->path, text_of(&explorer->content), explorer->content.length, &options,
		 &verdict);
	code = (int)verdict.code;
	if (code != EXIT_PASS)
		fputs(text_of(&verdict.report), code == EXIT_USAGE ? stderr : stdout);
	if (code != EXIT_PASS && code != EXIT_USAGE && code != EXIT_UNSUPPORTED)
		puts("this is without any fault: nothing was explored");
	if (code != EXIT_PASS)
		tell_reason(explorer, &verdict);
	verdict_free(&verdict);
	if (code != EXIT_PASS || dat_sim_config_init(&config) != DAT_SUCCESS)
		return code != EXIT_PASS ? code : EXIT_USAGE;
	if (script_load(&script, explorer->path, text_of(&explorer->content),
			explorer->content.length, &config)) {
		plan_make(&explorer->plan, &script);
		explorer->plan.kinds = explorer->course->kinds;
		if (script.must_fail)
			code = course_refuse(explorer->course,
					     "%s is to fail: it says \"# Failure:\"",
					     explorer->path);
		else if (!has_packets(explorer))
			code = course_refuse(explorer->course,
					     "%s: no packet crosses a link after the set-up, so no "
					     "fault can act: nothing was explored",
					     explorer->path);
	}
	script_free(&script);
	return code;
}

/* No schedule fails. That says something only if schedules ran, and did something to a packet. */
int explorer_tell_of_none(const struct explorer *explorer)
{
	const struct course *course = explorer->course;

	if (!course->done)
		return course_refuse(explorer->course,
				     "no schedule was run: allow more --runs or --seconds");
	if (!explorer->acted)
		return course_refuse(explorer->course,
				     "%s: no fault of %llu schedule%s ever acted, so nothing "
				     "was tested: allow more --runs, or other --faults",
				     explorer->path, (unsigned long long)course->done,
				     course->done == 1 ? "" : "s");
	printf("%s: %llu schedule%s of seed %llu hold%s\n", explorer->path,
	       (unsigned long long)course->done, course->done == 1 ? "" : "s",
	       (unsigned long long)course->seed, course->done == 1 ? "s" : "");
	return EXIT_PASS;
}

static int tell_of_end(const struct explorer *explorer)
{
	const struct course *course = explorer->course;
	bool failed = explorer->failed != UINT64_MAX;

	fprintf(stderr, "datsim explore: it was asked to end: ");
	if (failed)
		fprintf(stderr, "schedule %llu of seed %llu has failed, and was not shrunk\n",
			(unsigned long long)explorer->failed, (unsigned long long)course->seed);
	else
		fprintf(stderr, "%llu schedule%s ended, and none has failed\n",
			(unsigned long long)course->done, course->done == 1 ? " has" : "s have");
	course_go_on(course, failed ? explorer->failed : explorer->open);
	return ended_code(&explorer->ended, EXIT_PASS);
}

static int explorer_run(struct explorer *explorer)
{
	struct verdict verdict;
	bool found = false;
	int code = find_failure(explorer, &found);

	if (code != EXIT_PASS || ended_asked(&explorer->ended))
		return code;
	if (!found)
		return explorer_tell_of_none(explorer);
	explorer_schedule(explorer, explorer->failed, true, &verdict);
	/* A script can fail with these codes only; any other is a fault of this tool. */
	code = EXIT_INTERNAL;
	if (verdict.code == EXIT_FAILED || verdict.code == EXIT_CHECKER ||
	    verdict.code == EXIT_NOT_QUIET)
		code = shrink_failure(explorer, &verdict);
	else
		fputs(text_of(&verdict.report), stdout);
	verdict_free(&verdict);
	return code;
}

/* Schedules add lines behind the script. */
static void end_last_line(struct text *script)
{
	if (script->length && text_of(script)[script->length - 1] != '\n')
		text_put(script, "\n");
}

int explore_script(struct course *course, const char *path)
{
	struct explorer explorer = { .path = path,
				     .course = course,
				     .failed = UINT64_MAX,
				     .open = course->first + course->shard - 1 };
	struct text error = { 0 };
	int code = EXIT_USAGE;

	/*
	 * The memory of a fixture is large and hardly touched: fresh pages are faster than clearing
	 * old ones.
	 */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	ended_watch_alone(&explorer.ended);
	if (read_script(path, &explorer.content, &error)) {
		end_last_line(&explorer.content);
		code = look_at_script(&explorer);
	} else {
		text_append(&course->reason, text_of(&error), strcspn(text_of(&error), "\n"));
	}
	fputs(text_of(&error), stderr);
	if (campaign_wanted(course))
		code = explorer_campaign(&explorer, code);
	else if (code == EXIT_PASS)
		code = explorer_run(&explorer);
	ended_unwatch(&explorer.ended);
	if (explorer.ended.by && !explorer.told && !campaign_wanted(course))
		code = tell_of_end(&explorer);
	text_free(&error);
	series_free(&explorer.series);
	text_free(&explorer.schedule.text);
	text_free(&explorer.explained);
	text_free(&course->reason);
	text_free(&explorer.content);
	return code;
}
