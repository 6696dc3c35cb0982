/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints results in the Test Anything Protocol. */
#include "tap.h"

#include "colour.h"

void tap_plan(FILE *out, size_t tests)
{
	fprintf(out, "1..%zu\n", tests);
}

/* A '#' in a name would begin a directive. */
static void tap_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc((unsigned char)*name < ' ' || *name == '#' ? '?' : *name, out);
}

void tap_result(FILE *out, bool colour, size_t number, const char *name,
		const struct verdict *verdict)
{
	const char *reason;
	int length;
	bool good = verdict->code == EXIT_PASS || verdict->code == EXIT_UNSUPPORTED;

	colour_result(out, colour, good, good ? "ok" : "not ok");
	fprintf(out, " %zu - ", number);
	tap_name(out, name);
	length = verdict_reason(verdict, &reason);
	if (verdict->code == EXIT_UNSUPPORTED)
		fprintf(out, " # SKIP %.*s", length, reason);
	else if (verdict->expected_failure)
		fputs(" (failed as it should)", out);
	fputc('\n', out);
	if (!good)
		colour_report(out, colour, "# ", text_of(&verdict->report)); /* TAP comments */
	fflush(out);
}
