/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints results in the Test Anything Protocol. */
#include "tap.h"

#include <signal.h>
#include <unistd.h>

#include "colour.h"

void tap_plan(FILE *out, size_t tests)
{
	fprintf(out, "1..%zu\n", tests);
}

void tap_name(FILE *out, const char *name)
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

/* ---- asked to end ---- */

static void tap_bail(int sig)
{
	static const char line[] = "Bail out! it was asked to end by a signal\n";

	if (write(STDOUT_FILENO, line, sizeof(line) - 1) < 0)
		return; /* SA_RESETHAND: the next one ends the tool */
	raise(sig);
}

void tap_bail_by_signals(bool on)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now,
		wanted = { .sa_handler = on ? tap_bail : SIG_DFL, .sa_flags = SA_RESETHAND };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(signals[i], &wanted, NULL);
}
