/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line input for the shell: with libedit (history, completion) on a terminal, else plain reading.
 */
#include "shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_LIBEDIT
#include <editline/readline.h>
#endif

void words_add(struct words *words, const char *word)
{
	size_t i, n = strlen(word) + 1;

	for (i = 0; i < words->count; i++) {
		if (!strcmp(words->words[i], word))
			return;
	}
	if (words->count == words->room) {
		words->room = words->room ? 2 * words->room : 256;
		words->words = mem_grow(words->words, words->room * sizeof(*words->words));
	}
	words->words[words->count] = mem_zero(1, n);
	memcpy(words->words[words->count++], word, n);
}

void words_free(struct words *words)
{
	while (words->count)
		free(words->words[--words->count]);
	free(words->words);
	memset(words, 0, sizeof(*words));
}

static void add_fields(struct words *words, const struct layout *layout)
{
	const struct member *member;

	for (member = layout ? layout->members : NULL; member && member->name; member++)
		words_add(words, member->name);
}

void words_of_language(struct words *words)
{
	static const uint64_t events[] = {
		DAT_DTO_COMPLETION_EVENT,     DAT_RMR_BIND_COMPLETION_EVENT,
		DAT_CONNECTION_REQUEST_EVENT, DAT_CONNECTION_EVENT_ESTABLISHED,
		DAT_ASYNC_ERROR_EVD_OVERFLOW, DAT_SOFTWARE_EVENT,
	};
	static const char *const keywords[] = { "agent",  "event",   "fabric",  "fault",   "heal",
						"fault",  "heal",    "garbage", "help",    "hold",
						"link",   "message", "length",  "mem",     "note",
						"offset", "quiet",   "quit",    "release", "rmr",
						"save",   "script",  "show",    "stale",   "turn",
						"undo",   "use" };
	const struct call_row *row;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keywords); i++)
		words_add(words, keywords[i]);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		add_fields(words, layout_of_event(events[i]));
	for (row = call_rows(); row->name; row++) {
		words_add(words, row->name);
		for (i = 0; row->params[i].kind != PARAM_END; i++) {
			words_add(words, row->params[i].name);
			add_fields(words, row->params[i].layout);
		}
	}
}

void words_of_script(struct words *words, const struct script *script)
{
	struct text full = { 0 };
	int i;

	for (i = 0; i < script->actor_count; i++)
		words_add(words, script->actors[i].name);
	for (i = 0; i < script->symbol_count; i++) {
		words_add(words, script->symbols[i].name);
		full.length = 0;
		text_add(&full, "%s.%s", script->actors[script->symbols[i].actor].name,
			 script->symbols[i].name);
		words_add(words, text_of(&full));
	}
	text_free(&full);
}

static char *read_plain(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n = getline(&line, &room, stdin);

	if (n < 0) {
		free(line);
		return NULL;
	}
	if (n && line[n - 1] == '\n')
		line[n - 1] = '\0';
	return line;
}

#ifdef HAVE_LIBEDIT

/*
 * libedit has no context for its callbacks. There is one terminal and one shell, so a global
 * serves.
 */
static const struct words *completed;

static char *next_word(const char *start, int state)
{
	static size_t at;

	if (!state)
		at = 0;
	while (at < completed->count) {
		const char *word = completed->words[at++];

		if (!strncmp(word, start, strlen(start)))
			return strdup(word);
	}
	return NULL;
}

char *shell_read(const char *prompt, const struct words *words)
{
	static char breaks[] = " \t,(){}[]=:|>";
	char *line;

	if (!isatty(STDIN_FILENO))
		return read_plain();
	completed = words;
	rl_completion_entry_function = next_word;
	rl_completer_word_break_characters = breaks;
	line = readline(prompt);
	if (line && *line)
		add_history(line);
	return line;
}

#else

char *shell_read(const char *prompt, const struct words *words)
{
	(void)words;
	if (isatty(STDIN_FILENO)) {
		fputs(prompt, stdout);
		fflush(stdout);
	}
	return read_plain();
}

#endif
