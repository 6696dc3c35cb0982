/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html.h - a trace as one HTML page without anything from outside: its timeline as a table, and its
 * sequence diagram beside it. A row leads to its arrow or label and back; rows are filtered by
 * Endpoint and by words; the diagram is zoomed. Everything from the trace is escaped, and stands in
 * texts and attributes only, never in the script.
 */
#ifndef DATSIM_HTML_H
#define DATSIM_HTML_H

#include "picture.h"

/* False: the file could not be written, and *error says why. */
bool html_write(struct picture *picture, const char *path, size_t length, struct text *error);

/* html_page.c: what is the same in every page. */
extern const char html_head[], html_controls[], html_script[];

#endif
