/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for misspelt names in the environment, which the library cannot tell from a user's own. */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/datsim/script/diag.h"
#include "tools/datsim/util.h"

/* Without the prefix, which would make all of them look alike. */
static const char prefix[] = "DATSIM_";
static const char *const names[] = {
	"ADDRESSES",   "BACK_NS",        "BANDWIDTH_BPS",   "COPY",
	"FABRIC",      "FAULTS",         "FORKS",           "HOSTILE",
	"LATENCY_NS",  "LINK_LAYER",     "LOCKSTEP",        "LOCK_MS",
	"MTU",         "NODE",           "POLL_QUANTUM_NS", "PROFILE",
	"RETRY",       "RETRY_TIMER_NS", "RNR_RETRY",       "RNR_TIMER_NS",
	"SCRIPT",      "SEED",           "STUCK",           "TRACE",
	"TRACE_BYTES", "TRACE_LAST",     "TURNS",           "VERBS",
	"VERBS_NAME",
};

/* The name that was probably meant; NULL: the word is a name, or near to none. */
static const char *meant_by(const char *word, size_t length)
{
	const char *longer = NULL, *nearest = NULL;
	struct suggest suggest;
	size_t i;

	suggest_start(&suggest, word, (int)length);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strncmp(names[i], word, length) && !names[i][length])
			return NULL;
		if (!strncmp(names[i], word, length) && names[i][length] == '_')
			longer = names[i];
		suggest_try(&suggest, names[i]);
		if (!strcmp(suggest.best, names[i]))
			nearest = names[i];
	}
	return longer ? longer : suggest_is_near(&suggest) ? nearest : NULL;
}

void knob_names_check(const char *command)
{
	size_t skip = sizeof(prefix) - 1, length;
	const char *word, *meant;
	char **entry;

	for (entry = environ; *entry; entry++) {
		if (strncmp(*entry, prefix, skip) != 0)
			continue;
		word = *entry + skip;
		length = strcspn(word, "=");
		meant = length && length <= SUGGEST_MAX ? meant_by(word, length) : NULL;
		if (meant)
			fprintf(stderr,
				"datsim %s: note: the environment has %s%.*s, which has no "
				"effect; did you mean %s%s?\n",
				command, prefix, (int)length, word, prefix, meant);
	}
}
