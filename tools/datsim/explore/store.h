/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.h - a folder of failures, one file for each signature (signature.h).
 *
 * A file is a script that replays the failure, behind a header that says what it is:
 *
 *	# datsim failure 1
 *	# target: server + client
 *	# ending: client is stuck; dat_evd_wait on emu#.evd#
 *	...
 *	# ----
 *	fault link server>client drop opcode=ACK nth=1
 *
 * It is written under another name and renamed, so no reader meets half of one; several processes,
 * also of several machines, may share the folder. If two find the same failure the shorter script
 * stays. What is read is checked: a file has a name that follows from its signature, so none can
 * stand for another or name a file elsewhere.
 *
 * Beside the failures are the positions of campaigns (position.h).
 */
#ifndef DATSIM_STORE_H
#define DATSIM_STORE_H

#include "signature.h"

#define STORE_FILE_MOST (2u << 20)
#define STORE_MOST      4096 /* failures in a folder */

enum entry_state {
	ENTRY_KNOWN, /* not tried in this run */
	ENTRY_FAILS, /* still */
	ENTRY_OTHER, /* it fails in another way */
	ENTRY_HOLDS, /* no longer fails */
	ENTRY_NEW    /* found in this run */
};

struct entry {
	struct text name; /* of the file, without ".dsim" */
	struct text target, ending, shape;
	struct text says;        /* how it ended, as a person reads it */
	struct text version;     /* of datsim */
	struct text before;      /* the replay line in front of the file's name ... */
	struct text after;       /* ... and behind it */
	uint64_t schedule, seed; /* where it was found */
	uint64_t fabric_seed;    /* of a script */
	bool is_script;
	size_t faults_at, fault_count; /* of a script: which lines are faults */
	bool shrunk, repeats;
	struct text explained; /* what of its lines matters; empty: unknown */
	struct text lines;     /* each with its newline */

	enum entry_state state;
	uint64_t count;  /* schedules that failed so, in this run and those that it continues */
	struct text now; /* ENTRY_OTHER: how it ends */
};

struct store {
	int fd;          /* of the folder; -1: none */
	const char *dir; /* as the user named it */
	struct entry *list;
	size_t count;
	size_t unwritten; /* failures whose file could not be written */
};

/* Open the folder, or make it, and read all failures. False: stderr says what is wrong. */
bool store_open(struct store *store, const char *dir, bool make);
void store_close(struct store *store);
struct entry *store_find(struct store *store, const char *name);
/*
 * Put a failure into the folder, unless a shorter one with its signature is there. Takes over its
 * texts. Returns the one in the list, and in *fresh whether its signature was new to the folder. If
 * its file cannot be written, stderr says why, and it is in the list only.
 */
struct entry *store_put(struct store *store, struct entry *entry, bool *fresh);
/* Remove one, which a shorter one of another name replaces. */
void store_remove(struct store *store, struct entry *entry);
/* DIR/NAME.dsim */
void store_path(const struct store *store, const struct entry *entry, struct text *path);
/* The failure of this target with that ending whose shape is part of `shape`; NULL: none. */
struct entry *store_match(struct store *store, const char *target, const char *ending,
			  const char *shape, size_t *from);

/* ---- store_file.c: files of the folder, also for positions ---- */

/* Replace a file as a whole. False: stderr says why. */
bool store_write(const struct store *store, const char *name, const struct text *content);
/* False: *error says why; or there is no such file, and nothing is said. */
bool store_read(const struct store *store, const char *name, struct text *content,
		struct text *error);
/* Call `take` for each file that ends so, in the order of names. False: stderr says why. */
bool store_each(const struct store *store, const char *end,
		bool (*take)(struct store *store, const char *name, void *ctx), void *ctx);

/* ---- store_entry.c ---- */

void entry_format(const struct store *store, const struct entry *entry, struct text *content);
/* False: *error says what was expected. */
bool entry_parse(struct entry *entry, const char *path, const char *name,
		 const struct text *content, struct text *error);
void entry_free(struct entry *entry);
/* Make the name from the signature. */
void entry_name(struct entry *entry);
/* Which of two scripts of one signature stays: the shorter one, however they are compared. */
bool entry_is_better(const struct entry *a, const struct entry *b);
/* The lines of the entry; the texts are copies, for lines_free. */
void entry_lines(const struct entry *entry, struct lines *lines);

/* Of a script: which lines are faults; they are one after the other. */
void entry_find_faults(struct entry *entry, const struct lines *lines);

/* Read "# KEY: VALUE" of a header; the value is without its newline. */
bool header_value(const char **at, const char *key, struct span *value);
bool header_number(const char **at, const char *key, uint64_t *value);

#endif
