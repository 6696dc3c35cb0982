/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes results as JUnit XML. */
#include "junit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "tools/datsim/show/xml.h"

static void add_escaped(struct text *text, const char *s)
{
	char *escaped = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&escaped, &length);

	xml_escape(out, s, strlen(s));
	fclose(out);
	text_append(text, escaped, length);
	free(escaped);
}

/* Where it is: CI systems link a result to its file and line. */
static void add_place(struct junit *junit, const char *path, const struct verdict *verdict)
{
	int line = verdict_line(verdict, path);

	text_add(&junit->cases, " file=\"");
	add_escaped(&junit->cases, path);
	text_add(&junit->cases, "\"");
	if (line > 0)
		text_add(&junit->cases, " line=\"%d\"", line);
	text_add(&junit->cases, " time=\"%.3f\"", verdict->seconds);
	junit->seconds += verdict->seconds;
}

void junit_add(struct junit *junit, const char *name, const char *path,
	       const struct verdict *verdict)
{
	const char *kind =
		verdict->code == EXIT_INTERNAL || verdict->code == EXIT_USAGE ? "error" : "failure";
	struct text why = { 0 };
	const char *reason;
	int n;

	junit->tests++;
	text_add(&junit->cases, "  <testcase classname=\"datsim\" name=\"");
	add_escaped(&junit->cases, name);
	text_add(&junit->cases, "\"");
	add_place(junit, path, verdict);
	if (verdict->code == EXIT_PASS) {
		text_add(&junit->cases, "/>\n");
		return;
	}
	text_add(&junit->cases, ">");
	if (verdict->code == EXIT_UNSUPPORTED) {
		junit->skipped++;
		n = verdict_reason(verdict, &reason);
		text_add(&why, "%.*s", n, reason);
		text_add(&junit->cases, "<skipped message=\"");
		add_escaped(&junit->cases, text_of(&why));
		text_add(&junit->cases, "\"/>");
		text_free(&why);
	} else {
		*(*kind == 'e' ? &junit->errors : &junit->failures) += 1;
		text_add(&junit->cases, "<%s message=\"exit code %d\">", kind, verdict->code);
		add_escaped(&junit->cases, text_of(&verdict->report));
		text_add(&junit->cases, "</%s>", kind);
	}
	text_add(&junit->cases, "</testcase>\n");
}

bool junit_write(struct junit *junit, const char *path, struct text *error)
{
	FILE *out = create_file(path, error);

	if (out)
		fprintf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<testsuite name=\"datsim\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
			"skipped=\"%zu\" time=\"%.3f\">\n%s</testsuite>\n",
			junit->tests, junit->failures, junit->errors, junit->skipped,
			junit->seconds, text_of(&junit->cases));
	text_free(&junit->cases);
	return out && finish_file(out, path, error);
}
