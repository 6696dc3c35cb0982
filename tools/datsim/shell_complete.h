/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shell_complete.h - shared by shell_complete.c (lines of actors) and shell_statement.c (all
 * others): a line to be completed, and what is offered.
 */
#ifndef DATSIM_SHELL_COMPLETE_H
#define DATSIM_SHELL_COMPLETE_H

#include "shell.h"
#include "tools/datsim/script/lex.h"

struct completion {
	const struct script *script;
	struct words *words;
	const struct token *now; /* the words before the one that is completed, up to TOKEN_END */
	int actor;               /* its index; -1: the line is no actor's */
};

/* For group_each; the context is the words. */
void complete_offer_name(void *context, const char *name);
void complete_offer_list(struct completion *c, const char *const *names);
void complete_offer_calls(struct completion *c);
void complete_offer_actors(struct completion *c);
/* The actor's objects of a type, SYMBOL_ANY for all; `others`: those of other actors in full. */
void complete_offer_objects(struct completion *c, int type, bool others);
bool complete_is_mark(const struct token *token, char mark);

/* shell_statement.c. The first word; `whole`: of the line, where a command can stand, too. */
void complete_start(struct completion *c, bool whole);
void complete_statement(struct completion *c);

#endif
