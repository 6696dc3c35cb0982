/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show_verbs.h - the lines of a trace that programs of libibverbs and librdmacm cause, by the names
 * of those libraries.
 *
 * Their objects have kinds of their own (qp, cq, mr), so a line says which API it is of; lines of
 * an SRQ do by their verb.
 */
#ifndef DATSIM_SHOW_VERBS_H
#define DATSIM_SHOW_VERBS_H

#include "show.h"

/* Is the line about an object of verbs? */
bool verbs_object(const struct trace_line *line);
/* As show_is_routine, of calls of verbs; and one that a picture leaves out, too. */
bool verbs_routine(const struct trace_line *line);
bool verbs_undrawn(const struct trace_line *line);
/* As cells_of. False: the line is worded as any other. */
bool verbs_cells(const struct timeline *timeline, const struct trace_line *line, struct row *row);

#endif
