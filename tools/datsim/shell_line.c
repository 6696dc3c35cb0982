/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line input for the shell: with libedit (history, completion) on a terminal, else plain reading.
 */
#include "shell.h"

#include <errno.h>
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

static char *read_plain(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n = getline(&line, &room, stdin);

	if (n < 0) {
		if (ferror(stdin))
			fprintf(stderr, "datsim shell: cannot read standard input: %s\n",
				strerror(errno));
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
static const struct completer *completer;

static char *next_word(const char *start, int state)
{
	static struct words words;
	static size_t at;
	size_t n = strlen(start);
	int before = rl_point - (int)n;

	if (!state) {
		words_free(&words);
		completer->complete(completer->context, rl_line_buffer, before < 0 ? 0 : before,
				    &words);
		at = 0;
	}
	while (at < words.count) {
		const char *word = words.words[at++];

		if (!strncmp(word, start, n))
			return strdup(word);
	}
	words_free(&words);
	return NULL;
}

char *shell_read(const char *prompt, const struct completer *wanted)
{
	static char breaks[] = " \t,(){}[]=:|>";
	char *line;

	if (!isatty(STDIN_FILENO))
		return read_plain();
	completer = wanted;
	rl_completion_entry_function = next_word;
	rl_completer_word_break_characters = breaks;
	line = readline(prompt);
	if (line && *line)
		add_history(line);
	return line;
}

#else

char *shell_read(const char *prompt, const struct completer *wanted)
{
	(void)wanted;
	if (isatty(STDIN_FILENO)) {
		fputs(prompt, stdout);
		fflush(stdout);
	}
	return read_plain();
}

#endif
