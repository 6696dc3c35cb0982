/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * campaign.h - explore with a store, coverage or a machine-readable result: it goes on after a
 * failure, counts failures that it knows, and writes down how far it has come.
 *
 * A schedule that fails is compared with what the store has by its ending, and by the kinds of its
 * faults (signature.h): if it fails in the same way with only the kinds of a known failure, it is
 * that one. Only others are shrunk, which takes a hundred runs.
 *
 * The position of a campaign is a file of the store, one for each shard: all schedules before it
 * have run, and each way in which one failed is in the store. It is written every five seconds and
 * after each new failure, so a campaign that is killed goes on from there.
 */
#ifndef DATSIM_CAMPAIGN_H
#define DATSIM_CAMPAIGN_H

#include "coverage.h"
#include "store.h"

struct campaign {
	struct course *course;
	struct text target;
	struct store store; /* in memory, if --store does not say where */
	struct coverage coverage;
	struct text position; /* the name of its file */
	uint64_t before;      /* schedules that earlier runs have done */
	uint64_t failed;      /* schedules that failed, these included */
	uint64_t fresh;       /* ways in which they failed that the store had not */
	double began, saved;
	double cpu_before;
	int code;         /* exit status: that of the first failure */
	bool interrupted; /* a signal asked it to end */
	bool unsaved;     /* the position could not be written */
};

const char *campaign_version(void);
/* Do the options ask for a campaign? */
bool campaign_wanted(const struct course *course);
/* The target of programs, "server + client", or of a script. False: stderr says what is wrong. */
bool campaign_begin(struct campaign *campaign, struct course *course, const char *target);
/* Release everything; the folder stays. */
void campaign_free(struct campaign *campaign);

/* Is there enough? Then explore ends. */
bool campaign_is_full(const struct campaign *campaign);
/* A failure happened, for which explore would exit with `code`. */
void campaign_note(struct campaign *campaign, int code);

/*
 * The known failure that a failing schedule with these lines shows, which is counted; NULL: none.
 * `fails`, which may be NULL, runs fewer lines and says whether they fail in the same way; without
 * it a schedule that would have to run again is not known.
 */
struct entry *campaign_knows(struct campaign *campaign, const char *ending,
			     const struct lines *lines,
			     bool (*fails)(const struct lines *lines, void *ctx), void *ctx);
/* Make the entry of a failure of these lines, shrunk or not. */
void campaign_entry(const struct campaign *campaign, struct entry *entry, const char *ending,
		    const struct lines *lines);
/* Put it into the store and count it. False: it could not be written. */
bool campaign_keep(struct campaign *campaign, struct entry *entry);

/* "after 6 that hold" or, if some of the campaign (NULL: none) have failed, "after 6 others". */
void campaign_add_before(const struct campaign *campaign, uint64_t before, struct text *text);
/* Say of one of the known failures what its replay gave. */
void campaign_tell_known(const struct campaign *campaign, const struct entry *entry);

/* Write the position, if five seconds have passed or it is the end: `done` schedules are done. */
void campaign_save(struct campaign *campaign, uint64_t done, bool end);
/* The summary, the table of coverage and the JSON. Returns the exit code. */
int campaign_end(struct campaign *campaign);
/* It was asked to end: the same, of what it has done, for a tool that exits with `code`. */
void campaign_interrupted(struct campaign *campaign, int code);
/* It may have ended before there was a summary: then write the JSON now. Returns `code`. */
int campaign_report(struct campaign *campaign, int code);
/* The schedules that have ended, and those of them that failed, for one that was asked to end. */
void campaign_tell_of_end(const struct campaign *campaign);

/* ---- campaign_json.c ---- */

bool campaign_write_json(struct campaign *campaign);
/* The failures of a list, of this target or (NULL) of all. */
void entries_json(const struct store *store, const char *target, struct json *json);
/* To a file, or with "-" to what standard output was at the beginning. */
bool json_write(const struct json *json, const char *path);
/* With "-": what is printed goes to standard error from now on. */
void json_prepare(const char *path);

/* ---- position.c ---- */

/* How far a shard has come. */
struct position {
	struct text target;
	uint64_t seed, first, shard, shards, kinds, done, failed;
	double cpu;
	struct {
		struct text name;
		uint64_t count;
	} * counts; /* of schedules that failed in each way */
	size_t count;
	struct coverage coverage;
};

void position_format(const struct position *position, struct text *content);
/* False: *error says what was expected. */
bool position_parse(struct position *position, const char *path, const struct text *content,
		    struct text *error);
void position_count(struct position *position, const char *name, uint64_t count);
void position_name(const struct position *position, struct text *name);
/* All positions of a store, one after the other. False: stderr says what is wrong. */
bool position_each(const struct store *store,
		   void (*take)(const struct position *position, void *ctx), void *ctx);
/* A failure has another name now. */
bool position_rename(const struct store *store, const char *from, const char *to);
void position_free(struct position *position);

#endif
