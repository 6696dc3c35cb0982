/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signature.h - what makes two failures one: the same target (the names of the programs, or of the
 * script), the same ending and the same shape of the schedule.
 *
 * The ending is how the run ended, with its exit status, signal or checker; which program; the call
 * it waited in; and the line of its standard error with an assertion or a sanitizer's summary.
 * Other messages are no part of it, because one bug leads to different ones, as seeds will have it.
 * Numbers, and folders in front of files, are left out, because they differ between seeds and
 * machines.
 *
 * The shape is the set of kinds of faults that the schedule has: "timing" for all that a correct
 * program does not notice (packets lost, late, repeated or refused, settings of the fabric, the
 * order of turns), "break", "kill NODE", or the name of a setting that makes the NIC hostile. It is
 * coarse on purpose: other seeds reach one bug by a lost packet or by a late one.
 */
#ifndef DATSIM_SIGNATURE_H
#define DATSIM_SIGNATURE_H

#include "explore.h"
#include "tools/datsim/program/runner.h"

/* Add the ending of a run of programs. `said`: what came on standard error. */
void signature_ending(struct text *ending, const struct outcome *outcome, const char *said);
/* Add how it ended for a person, with what the program said last. */
void signature_says(struct text *says, const struct outcome *outcome, const char *said);
/* Add the ending of a script. */
void signature_verdict(struct text *ending, const struct verdict *verdict);
/* Add the shape of some lines: words with ", " between them, each once and in order. */
void signature_shape(struct text *shape, const struct lines *lines);
/* Has `shape` all that `part` has? */
bool shape_has(const char *shape, const char *part);
/*
 * Make *some the lines without the faults whose kinds `shape` has not. The texts stay those of
 * `all`; only the list is new, for free(). Returns true if a line is left out.
 */
bool shape_restrict(const struct lines *all, const char *shape, struct lines *some);
/*
 * Add the name of a failure, which is a file name on any system: a word of its ending, and 16
 * hexadecimal digits that stand for all of the signature.
 */
void signature_name(struct text *name, const char *target, const char *ending, const char *shape);

#endif
