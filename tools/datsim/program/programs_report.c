/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of the programs of datsim run: how each ended, and whether it used the fabric. */
#include "programs.h"

#include <stdio.h>
#include <string.h>

#include "account.h"

#define EXIT_SIGNAL_ABOVE 128
#define NUMBERED          14 /* emu/shared/join.c: what stays of a name before a number */

void program_report(const char *name, int code, struct text *text)
{
	text_add(text, "datsim: %s ", name);
	if (code > EXIT_SIGNAL_ABOVE && code < EXIT_SIGNAL_ABOVE + 65)
		text_add(text, "was ended by signal %d (%s)\n", code - EXIT_SIGNAL_ABOVE,
			 strsignal(code - EXIT_SIGNAL_ABOVE));
	else
		text_add(text, "exits with %d\n", code);
}

void program_tested_nothing(bool opened, bool apart, int code, struct text *text)
{
	/* The shell, or program_exec, has said already why it could not be started. */
	if (code == EXIT_CANNOT_RUN || code == EXIT_NO_PROGRAM)
		return;
	text_add(text,
		 apart ? "  it made a fabric of its own (dat_sim_create), which takes no part in "
			 "lockstep: nothing was tested. Run it without --lockstep\n"
		 : opened ? "  it opened a simulated device, but made no object on it: nothing "
			    "was tested\n"
			  : "  it opened no simulated adapter: nothing was tested. Is it "
			    "linked with -ldat or -libverbs?\n");
}

/* "./client", or "./client (client2)" where the node does not have the name of the program. */
static void add_label(const struct programs *programs, int i, struct text *label)
{
	const char *path = programs->one[i].argv[0], *slash = strrchr(path, '/');

	text_add(label, "%s", path);
	if (strcmp(slash ? slash + 1 : path, programs->one[i].name) != 0)
		text_add(label, " (%s)", programs->one[i].name);
}

void programs_report(const struct programs *programs, struct text *text)
{
	struct text label = { 0 };

	for (int i = 0; i < programs->count; i++) {
		text_cut(&label, 0);
		add_label(programs, i, &label);
		if (programs->one[i].stuck)
			text_add(text, "datsim: %s waited forever, and was ended\n",
				 text_of(&label));
		else if (programs->one[i].killed)
			text_add(text, "datsim: %s was killed by a fault\n", text_of(&label));
		else
			program_report(text_of(&label), programs->one[i].code, text);
		if (programs->one[i].outside)
			text_add(text, "  it takes no part in lockstep: the order of turns may "
				       "differ in another run\n");
	}
	text_free(&label);
}

/* The name of a process whose node's name was taken: shortened, with a number behind it. */
static bool is_numbered(struct span found, const char *name)
{
	size_t i = strnlen(name, NUMBERED);

	if (found.length <= i || memcmp(found.s, name, i) != 0)
		return false;
	while (i < found.length && found.s[i] >= '0' && found.s[i] <= '9')
		i++;
	return i == found.length;
}

static int program_named(const struct programs *programs, struct span found)
{
	int i;

	for (i = 0; i < programs->count && !span_is(found, programs->one[i].name); i++)
		;
	return i < programs->count ? i : -1;
}

static bool program_is_apart(const struct programs *programs, int i, const struct account *account)
{
	size_t at;

	for (at = 0; at < account->apart.count; at++) {
		if (program_named(programs, account->apart.list[at].what) == i)
			return true;
	}
	return false;
}

/* A process with the name of no program may be the child of any that has such a name. */
static bool program_opened(const struct programs *programs, int i, const struct account *account)
{
	struct span found;
	size_t at;
	int named;

	for (at = 0; at < account->nodes.count; at++) {
		found = account->nodes.list[at].what;
		named = program_named(programs, found);
		if (named == i || (named < 0 && is_numbered(found, programs->one[i].name)))
			return true;
	}
	return false;
}

bool programs_opened(const struct programs *programs, const struct account *account,
		     struct text *faults)
{
	bool good = true;
	int i;

	for (i = 0; i < programs->count; i++) {
		if (program_opened(programs, i, account))
			continue;
		text_add(faults,
			 program_is_apart(programs, i, account)
				 ? "datsim: %s made a fabric of its own (dat_sim_create): it "
				   "tested nothing here\n"
				 : "datsim: %s opened no simulated adapter, or made no object on "
				   "it: it tested nothing. Is it linked with -ldat or -libverbs?\n",
			 programs->one[i].argv[0]);
		good = false;
	}
	return good;
}
