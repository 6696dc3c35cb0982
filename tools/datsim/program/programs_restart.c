/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that a fault kills and that start again: "fault kill server at 3ms restart after 1ms".
 *
 * The process that is killed stops virtual time as its last act. Nothing happens then until the
 * others wait, the program has been started again, and waits in the call that opens its adapter,
 * for the time at which it is to be back. So no step depends on how long any of this takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/sim.h>

#include "program_script.h"
#include "programs.h"

#define LOOK_NS 500000
#define MOST_NS 5000000000l

/* The number behind " name=" within a rule; 0: it has none. */
static uint64_t number_of(const char *rule, size_t length, const char *name)
{
	const char *at = strstr(rule, name);

	return at && at < rule + length ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* The first kill of the program in time that has not happened; NULL: none. *until: back then. */
static char *next_kill(char *faults, const char *node, uint64_t *until)
{
	char words[PROGRAM_NAME + 40], *at = faults, *first = NULL;
	uint64_t since, least = UINT64_MAX;
	size_t length;

	snprintf(words, sizeof(words), "spoil=kill adapter=%s-emu0", node);
	while (at && (at = strstr(at, words))) {
		length = strcspn(at, ";");
		if (strchr(" ;", at[strlen(words)]) == NULL) {
			at += length;
			continue;
		}
		since = number_of(at, length, " since_ns=");
		if (since < least) {
			least = since;
			first = at;
			*until = number_of(at, length, " until_ns=");
		}
		at += length;
	}
	return first;
}

/* Rename the adapter of the rule: it acts on none, and keeps its number. */
static void disarm_kill(char *rule)
{
	*strstr(rule, "-emu0") = '+';
}

bool programs_is_killed(const struct programs *programs, int i)
{
	char *faults = programs->one[i].faults;
	const char *all = faults ? faults : getenv(FAULTS_VARIABLE);
	uint64_t until = 0;

	return all && next_kill((char *)all, programs->one[i].name, &until) != NULL;
}

uint64_t programs_back_at(struct programs *programs, int i)
{
	const char *all = getenv(FAULTS_VARIABLE);
	uint64_t until = 0;
	char *rule;

	if (!programs->one[i].faults)
		programs->one[i].faults = all ? strdup(all) : NULL;
	rule = programs->one[i].faults
		       ? next_kill(programs->one[i].faults, programs->one[i].name, &until)
		       : NULL;
	if (rule)
		disarm_kill(rule);
	return until;
}

/* Wait until every program that is left waits: then nothing happens while time is stopped. */
static void let_others_wait(struct programs *programs)
{
	for (long waited = 0; waited < MOST_NS && !programs->ended->by && !programs->late;
	     waited += LOOK_NS) {
		for (int i = 0; i < programs->count; i++)
			if (programs->one[i].pid)
				programs_has_ended(programs, programs->one[i].pid);
		if (programs_all_wait(programs))
			return;
		programs_pause(programs, LOOK_NS);
	}
}

void programs_restart(struct programs *programs)
{
	for (int i = 0; i < programs->count; i++) {
		if (!programs->one[i].back_ns || programs->ended->by || programs->late)
			continue;
		let_others_wait(programs);
		if (!programs_start(programs, i))
			continue;
		programs->one[i].back_ns = 0;
		programs->one[i].killed = false;
		programs_settle(programs, i);
		dat_sim_fabric_hold(programs->fabric, DAT_FALSE);
	}
}
