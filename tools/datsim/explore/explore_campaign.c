/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A script under all schedules of its course, in rounds: worker processes run the schedules of a
 * round and count those that fail in a known way; then this process shortens and keeps the others,
 * in order, and writes down how far it has come.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "explorer.h"
#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"
#include "tools/datsim/jobs.h"

#define LOOK_NS     100000000
#define ROUND_FIRST 64
#define ROUND_MOST  4096
#define COVER_BYTES (256u << 10) /* of what a worker covered in a round */

/* What the workers of a round tell, in shared memory. */
struct round {
	_Atomic uint64_t unknown_count;
	uint64_t unknown[ROUND_MOST]; /* numbers of schedules that fail in no known way */
	uint32_t known[ROUND_MOST];   /* the entry that each one fails as, behind 0 for none */
	_Atomic bool acted;
	char covered[];
};

/* ---- a failure ---- */

/* What campaign_knows runs again. */
struct trial {
	struct explorer *explorer;
	uint64_t seed;
	const struct verdict *failure;
};

static void run_lines(const struct explorer *explorer, const struct lines *lines, uint64_t seed,
		      bool untraced, struct verdict *verdict)
{
	struct options options = { .has_seed = true, .seed = seed, .untraced = untraced };
	struct text text = { 0 };

	lines_join(lines, true, &text);
	run_text(explorer->path, text_of(&text), text.length, &options, verdict);
	text_free(&text);
}

static bool lines_fail_so(const struct lines *lines, void *ctx)
{
	const struct trial *trial = ctx;
	struct verdict verdict;
	bool good;

	run_lines(trial->explorer, lines, trial->seed, true, &verdict);
	good = same_failure(&verdict, trial->failure);
	verdict_free(&verdict);
	return good;
}

static struct entry *known_as(struct explorer *explorer, const struct verdict *verdict)
{
	struct trial trial = { explorer, explorer->schedule.seed, verdict };
	struct text ending = { 0 };
	struct entry *known;
	struct lines lines;

	signature_verdict(&ending, verdict);
	lines_split(&lines, &explorer->plan, &explorer->schedule);
	known = campaign_knows(explorer->campaign, text_of(&ending), &lines, lines_fail_so, &trial);
	lines_free(&lines);
	text_free(&ending);
	return known;
}

static void add_first_line(struct text *says, const struct verdict *verdict)
{
	size_t length;
	const char *title = failure_title(verdict, &length);

	text_printable(says, title, length);
}

static void make_entry(const struct explorer *explorer, const struct lines *lines,
		       const struct verdict *failure, uint64_t seed, struct entry *entry)
{
	struct text ending = { 0 };

	signature_verdict(&ending, failure);
	campaign_entry(explorer->campaign, entry, text_of(&ending), lines);
	entry->is_script = true;
	entry->schedule = explorer->schedule.number;
	entry->fabric_seed = seed;
	entry->shrunk = !explorer->course->as_found;
	text_append(&entry->explained, text_of(&explorer->explained), explorer->explained.length);
	entry->repeats = true;
	entry_find_faults(entry, lines);
	add_first_line(&entry->says, failure);
	text_add(&entry->before, "datsim test --seed %llu ", (unsigned long long)seed);
	text_free(&ending);
}

static void print_failure(const struct explorer *explorer, const struct lines *lines,
			  const struct entry *entry)
{
	struct options options = { .has_seed = true, .seed = entry->fabric_seed };
	struct text path = { 0 };
	struct verdict verdict;

	if (explorer->course->store)
		store_path(&explorer->campaign->store, entry, &path);
	else
		explorer_out_name(explorer, &path);
	run_text(text_of(&path), text_of(&entry->lines), entry->lines.length, &options, &verdict);
	explorer_report(explorer, lines, &verdict, text_of(&path), entry->fabric_seed);
	if (!explorer->course->store)
		write_whole_or_say(text_of(&path), &entry->lines);
	verdict_free(&verdict);
	text_free(&path);
}

static void keep_failure(struct explorer *explorer, const struct verdict *failure)
{
	struct campaign *campaign = explorer->campaign;
	uint64_t seed = explorer->schedule.seed;
	struct entry entry, *known;
	struct lines lines;
	struct shrinking shrinking = { .lines = &lines,
				       .course = explorer->course,
				       .ended = &explorer->ended,
				       .explained = &explorer->explained,
				       .plan = &explorer->plan };

	lines_split(&lines, &explorer->plan, &explorer->schedule);
	explorer->explained.length = 0;
	if (!explorer->course->as_found)
		shrink_script(&shrinking, explorer->path, failure, &seed);
	course_end(explorer->course);
	if (ended_asked(&explorer->ended)) {
		lines_free(&lines);
		return;
	}
	make_entry(explorer, &lines, failure, seed, &entry);
	known = store_find(&campaign->store, text_of(&entry.name));
	if (known && (known->state == ENTRY_FAILS || known->state == ENTRY_NEW))
		;
	else if (explorer->course->as_found)
		printf("%s: schedule %llu of seed %llu: %s: %s.dsim\n", explorer->path,
		       (unsigned long long)entry.schedule, (unsigned long long)entry.seed,
		       text_of(&entry.says), text_of(&entry.name));
	else
		print_failure(explorer, &lines, &entry);
	campaign_keep(campaign, &entry);
	lines_free(&lines);
}

/* ---- a round ---- */

/* Run a schedule, the `at`th of the round. */
static void run_one(struct explorer *explorer, struct round *round, uint64_t number, uint64_t at)
{
	struct entry *known = NULL;
	struct verdict verdict;

	explorer_schedule(explorer, number, !explorer->course->coverage, &verdict);
	if (explorer->course->coverage)
		coverage_read(&explorer->campaign->coverage, text_of(&verdict.trace),
			      verdict.trace.length);
	if (verdict.faults_acted || explorer->schedule.slows)
		round->acted = true;
	if (verdict.code != EXIT_PASS)
		known = known_as(explorer, &verdict);
	if (known)
		round->known[at] = 1 + (uint32_t)(known - explorer->campaign->store.list);
	else if (verdict.code != EXIT_PASS)
		round->unknown[round->unknown_count++] = number;
	verdict_free(&verdict);
}

static void __attribute__((noreturn))
be_worker(struct explorer *explorer, struct round *round, uint64_t index, uint64_t length)
{
	struct campaign *campaign = explorer->campaign;
	const struct course *course = explorer->course;
	struct text covered = { 0 };
	uint64_t i, first;

	/* What asks the tool to end goes to its workers, too, where it stays blocked. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	coverage_free(&campaign->coverage);
	for (i = index; i < length; i += (uint64_t)course->jobs) {
		first = course->first + course->shard - 1;
		run_one(explorer, round, first + (course->done + i) * course->shards, i);
	}
	coverage_format(&campaign->coverage, &covered);
	if (covered.length < COVER_BYTES)
		memcpy(round->covered + index * COVER_BYTES, text_of(&covered), covered.length + 1);
	_exit(EXIT_PASS);
}

/* Wait for workers, which are killed if the tool has to end. False: some came to a bad end. */
static bool wait_for_workers(struct explorer *explorer, const pid_t *workers, int count)
{
	int status, left = count;
	bool good = true, killed = false;
	pid_t pid;

	while (left > 0) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno != EINTR)
			return false;
		if (pid > 0) {
			good = good && WIFEXITED(status) && !WEXITSTATUS(status);
			left--;
		} else if (pid == 0) {
			ended_pause(&explorer->ended, LOOK_NS);
			for (int i = 0; explorer->ended.by && !killed && i < count; i++)
				kill(workers[i], SIGKILL);
			killed = explorer->ended.by != 0;
			course_tell(explorer->course, explorer->course->done);
		}
	}
	return good;
}

/* False: a worker came to a bad end, or the tool has to end. */
static bool run_workers(struct explorer *explorer, struct round *round, uint64_t length)
{
	pid_t workers[JOBS_MAX];
	int count = 0;
	bool good;

	fflush(NULL);
	for (int i = 0; i < explorer->course->jobs; i++) {
		workers[count] = fork();
		if (workers[count] == 0)
			be_worker(explorer, round, (uint64_t)i, length);
		count += workers[count] > 0;
	}
	good = wait_for_workers(explorer, workers, count);
	return good && count == explorer->course->jobs;
}

/* Count the schedules from..to - 1 of the round that fail in a known way. */
static void take_known(struct explorer *explorer, const struct round *round, uint64_t from,
		       uint64_t to)
{
	struct campaign *campaign = explorer->campaign;

	for (; from < to; from++) {
		if (!round->known[from])
			continue;
		campaign->store.list[round->known[from] - 1].count++;
		campaign->failed++;
		campaign_note(campaign, EXIT_FAILED);
	}
}

static void take_coverage(struct explorer *explorer, const struct round *round)
{
	struct campaign *campaign = explorer->campaign;
	struct coverage coverage = { .list = NULL };
	const char *at;

	for (int i = 0; i < explorer->course->jobs; i++) {
		at = round->covered + (size_t)i * COVER_BYTES;
		if (!header_number(&at, "covered-schedules", &coverage.schedules))
			continue;
		while (coverage_take(&at, &coverage))
			;
		coverage_unite(&campaign->coverage, &coverage);
		coverage_free(&coverage);
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Keep a failure that the workers did not know; by now it may be known. */
static void settle_one(struct explorer *explorer, uint64_t number)
{
	struct verdict verdict;

	explorer_schedule(explorer, number, true, &verdict);
	if (verdict.code != EXIT_PASS) {
		if (!known_as(explorer, &verdict))
			keep_failure(explorer, &verdict);
		campaign_note(explorer->campaign, (int)verdict.code);
	}
	verdict_free(&verdict);
}

/*
 * Keep what failed, in order. Returns how many schedules of the round are settled: those before the
 * first failure for which the campaign has no room any more, or no time. A later run goes on there.
 */
static uint64_t settle_round(struct explorer *explorer, struct round *round, uint64_t length)
{
	const struct course *course = explorer->course;
	uint64_t i, at, settled = 0;

	qsort(round->unknown, round->unknown_count, sizeof(round->unknown[0]), by_number);
	for (i = 0; i < round->unknown_count; i++) {
		at = course_before(course, round->unknown[i]) - course->done;
		take_known(explorer, round, settled, at);
		settled = at;
		if (campaign_is_full(explorer->campaign) || ended_asked(&explorer->ended))
			return settled;
		settle_one(explorer, round->unknown[i]);
	}
	take_known(explorer, round, settled, length);
	return length;
}

/* ---- the known ones first ---- */

static void try_entry(struct explorer *explorer, struct entry *entry)
{
	struct text ending = { 0 };
	struct verdict verdict;
	struct lines lines;

	entry_lines(entry, &lines);
	run_lines(explorer, &lines, entry->fabric_seed, true, &verdict);
	signature_verdict(&ending, &verdict);
	entry->state = verdict.code == EXIT_PASS                            ? ENTRY_HOLDS
		       : !strcmp(text_of(&ending), text_of(&entry->ending)) ? ENTRY_FAILS
									    : ENTRY_OTHER;
	if (verdict.code != EXIT_PASS)
		add_first_line(&entry->now, &verdict);
	campaign_note(explorer->campaign, (int)verdict.code);
	campaign_tell_known(explorer->campaign, entry);
	verdict_free(&verdict);
	text_free(&ending);
	lines_free(&lines);
}

static void try_known(struct explorer *explorer)
{
	struct store *store = &explorer->campaign->store;

	for (size_t i = 0; i < store->count && !ended_asked(&explorer->ended); i++) {
		if (store->list[i].is_script &&
		    !strcmp(text_of(&store->list[i].target), text_of(&explorer->campaign->target)))
			try_entry(explorer, &store->list[i]);
	}
}

/* ---- all rounds ---- */

/* The schedules of the next round; 0: there is none. */
static uint64_t round_length(const struct course *course, uint64_t length)
{
	if (course->seconds && course_clock() - course->began >= (double)course->seconds)
		return 0;
	if (course->runs && course->done + length > course->runs)
		return course->done < course->runs ? course->runs - course->done : 0;
	return length;
}

/*
 * One round. Asked to end within it, nothing of it counts, except failures that were kept: it is
 * done again. False: a worker came to a bad end.
 */
static bool run_round(struct explorer *explorer, struct round *round, uint64_t length)
{
	struct course *course = explorer->course;
	bool good = run_workers(explorer, round, length);
	uint64_t settled;

	if (ended_asked(&explorer->ended))
		return true;
	campaign_save(explorer->campaign, course->done, round->unknown_count > 0);
	explorer->acted |= round->acted;
	settled = settle_round(explorer, round, length);
	/* The coverage of schedules that are not settled counts when they run again. */
	round->unknown_count = 0;
	if (settled < length && course->coverage && !ended_asked(&explorer->ended))
		good = run_workers(explorer, round, settled) && good;
	take_coverage(explorer, round);
	explorer->half = ended_asked(&explorer->ended);
	if (explorer->half)
		return true;
	course->done += settled;
	course_tell(course, course->done);
	if (good)
		campaign_save(explorer->campaign, course->done, false);
	return good;
}

static bool run_rounds(struct explorer *explorer)
{
	struct course *course = explorer->course;
	struct campaign *campaign = explorer->campaign;
	size_t size = sizeof(struct round) + (size_t)course->jobs * COVER_BYTES;
	uint64_t length, wanted = ROUND_FIRST;
	struct round *round;
	bool good = true;

	while (good && !campaign_is_full(campaign) && !ended_asked(&explorer->ended) &&
	       (length = round_length(course, wanted))) {
		round = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (round == MAP_FAILED)
			return false;
		good = run_round(explorer, round, length);
		munmap(round, size);
		wanted = wanted < ROUND_MOST ? 2 * wanted : wanted;
	}
	course_end(course);
	if (good && !explorer->half)
		campaign_save(campaign, course->done, true);
	return good;
}

static int end_early(struct explorer *explorer)
{
	const struct course *course = explorer->course;
	int code = ended_code(&explorer->ended, EXIT_PASS);

	campaign_interrupted(explorer->campaign, code);
	campaign_tell_of_end(explorer->campaign);
	course_go_on(course, course->first + course->shard - 1 + course->done * course->shards);
	return code;
}

static int run_all(struct explorer *explorer)
{
	struct campaign *campaign = explorer->campaign;
	const struct course *course = explorer->course;

	try_known(explorer);
	if (!run_rounds(explorer)) {
		course_refuse(explorer->course, "a process that ran schedules came to a bad end");
		return EXIT_INTERNAL;
	}
	if (explorer->ended.by)
		return end_early(explorer);
	if (!campaign->code && course->done != campaign->before &&
	    (!explorer->acted || !course->done))
		return explorer_tell_of_none(explorer);
	return campaign_end(campaign);
}

int explorer_campaign(struct explorer *explorer, int code)
{
	const char *slash = strrchr(explorer->path, '/');
	struct campaign campaign;

	explorer->campaign = &campaign;
	if (!campaign_begin(&campaign, explorer->course, slash ? slash + 1 : explorer->path))
		code = EXIT_USAGE;
	else if (code == EXIT_PASS)
		code = run_all(explorer);
	campaign.interrupted |= ended_asked(&explorer->ended);
	code = campaign_report(&campaign, ended_code(&explorer->ended, code));
	campaign_free(&campaign);
	return code;
}
