/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints results in the Test Anything Protocol. */
#include "tap.h"

#include <string.h>

void tap_plan(FILE *out, size_t tests)
{
	fprintf(out, "1..%zu\n", tests);
}

/* Report lines are TAP comments. */
static void tap_comment(FILE *out, const char *p)
{
	const char *nl;

	for (; *p; p = *nl ? nl + 1 : nl) {
		nl = strchr(p, '\n');
		if (!nl)
			nl = p + strlen(p);
		fprintf(out, "# %.*s\n", (int)(nl - p), p);
	}
}

/* A '#' in a name would begin a directive. */
static void tap_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc((unsigned char)*name < ' ' || *name == '#' ? '?' : *name, out);
}

void tap_result(FILE *out, size_t number, const char *name, const struct verdict *verdict)
{
	const char *reason;
	int length;
	bool good = verdict->code == EXIT_PASS || verdict->code == EXIT_UNSUPPORTED;

	fprintf(out, "%s %zu - ", good ? "ok" : "not ok", number);
	tap_name(out, name);
	length = verdict_reason(verdict, &reason);
	if (verdict->code == EXIT_UNSUPPORTED)
		fprintf(out, " # SKIP %.*s", length, reason);
	else if (verdict->expected_failure)
		fputs(" (failed as it should)", out);
	fputc('\n', out);
	if (!good)
		tap_comment(out, text_of(&verdict->report));
	fflush(out);
}
