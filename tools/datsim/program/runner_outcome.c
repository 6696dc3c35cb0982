/* SPDX-License-Identifier: BSD-3-Clause */
/* How runs ended: whether two ended in the same way, and what it is called. */
#include "runner.h"

#include <string.h>

#define EXIT_SIGNAL_ABOVE 128

bool same_outcome(const struct outcome *a, const struct outcome *b)
{
	size_t rule = strcspn(a->what, ":");

	if (a->how == ENDED_WRONG && b->how == ENDED_WRONG)
		return !strncmp(a->what, b->what, rule) && b->what[rule] == a->what[rule];
	return a->how == b->how && !strcmp(a->who, b->who) &&
	       (a->how == ENDED_LEFT || a->code == b->code);
}

void outcome_add(struct text *text, const struct outcome *outcome)
{
	if (outcome->who[0] && outcome->how != ENDED_HUNG)
		text_add(text, "%s ", outcome->who);
	switch (outcome->how) {
	case ENDED_WELL:
		text_add(text, "ends well");
		break;
	case ENDED_CODE:
		text_add(text, "exits with %d", outcome->code);
		break;
	case ENDED_SIGNAL:
		text_add(text, "is ended by signal %d (%s)", outcome->code,
			 strsignal(outcome->code));
		break;
	case ENDED_STUCK:
		text_add(text, "is stuck (%.*s)", (int)strcspn(outcome->what, ":"), outcome->what);
		break;
	case ENDED_HUNG:
		text_add(text, "hangs (%s)",
			 outcome->what[0] ? outcome->what : "it was ended after a while");
		if (outcome->who[0])
			text_add(text, ", and before that %s ended with %d", outcome->who,
				 outcome->code);
		break;
	case ENDED_LEFT:
		text_add(text, "leaves %d object%s (%s)", outcome->code,
			 outcome->code == 1 ? "" : "s", outcome->what + strspn(outcome->what, " "));
		break;
	case ENDED_WRONG:
		text_add(text, "breaks a rule of the checkers (%s)", outcome->what);
		break;
	}
}

int outcome_code(const struct outcome *outcome)
{
	switch (outcome->how) {
	case ENDED_WELL:
		break;
	case ENDED_CODE:
		return outcome->code;
	case ENDED_SIGNAL:
		return EXIT_SIGNAL_ABOVE + outcome->code;
	case ENDED_STUCK:
	case ENDED_HUNG:
		return EXIT_NOT_QUIET;
	case ENDED_LEFT:
	case ENDED_WRONG:
		return EXIT_CHECKER;
	}
	return EXIT_PASS;
}
