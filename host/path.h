/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h - the choice between the variants of the calls of every message: posts and dequeues.
 *
 * The general path of a call takes the backend's lock, does its work, and ends with backend_leave,
 * which runs what has become due. Where that is not needed, a shorter variant runs. path_choose
 * alone decides which; doc/paths.md has the table of situations and why each is sound.
 *
 * Each reason to forbid the shorter variants is counted (enum path_block), so that two features can
 * forbid them independently.
 */
#ifndef HOST_PATH_H
#define HOST_PATH_H

struct backend;

enum path {
	/* Every call takes the lock and ends with backend_leave. */
	PATH_CAREFUL,
	/*
	 * A private simulated world that is not traced: no lock while the process has one thread,
	 * else like PATH_CAREFUL.
	 */
	PATH_PRIVATE,
	/* The same if it is traced: each call writes its line. */
	PATH_TRACED,
	/*
	 * A world shared by processes: the biased lock (bias.h) replaces the backend's and the
	 * world's.
	 */
	PATH_SHARED,
	/* Hardware: the biased lock, and calls that go straight to the device's queues. */
	PATH_HARDWARE,
	PATH_COUNT
};

/* Reasons for PATH_CAREFUL. */
enum path_block {
	PATH_BLOCK_AGENT,  /* an agent is to be called at the end of a call (agent.h) */
	PATH_BLOCK_FAULTS, /* a call that a rule makes fail must not be repeated on another path */
	PATH_BLOCKS
};

/* With the lock held. */
enum path path_choose(const struct backend *b);
/* Tell all fronts. */
void path_update(struct backend *b);
/*
 * Something that path_choose looks at has changed while the fronts are in use. With several threads
 * and neither a biased lock nor a module, no table is changed: other threads read it, and every
 * variant in it takes the lock then.
 */
void path_changed(struct backend *b);
/* Count one reason more, or (by -1) one less. */
void path_block(struct backend *b, enum path_block reason, int more);
/* In a forked child: no reason is left. */
void path_forget(struct backend *b);

#endif /* HOST_PATH_H */
