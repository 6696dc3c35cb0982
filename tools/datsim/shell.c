/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim shell: type a line of a script, see what it does.
 *
 * The lines typed so far form a script. Each new line is appended, and the whole script runs again
 * from the beginning: the fabric is deterministic, so everything before the new line repeats
 * exactly, in less than a millisecond, and no state has to be kept between lines. `undo` drops the
 * last line, and the script can be saved as a test.
 */
#include "shell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "files.h"
#include "tools/datsim/program/origin.h"
#include "tools/datsim/run/device.h"
#include "tools/datsim/run/run.h"
#include "tools/datsim/script/lex.h"
#include "tools/datsim/show/show.h"

struct shell {
	struct text script; /* the lines accepted so far */
	struct text trace;  /* trace of their last run */
	uint64_t shown;     /* events of it that were printed already */
	struct options options;
	bool asked_to_quit;
	bool tried; /* a line was run, whether it held or not */
};

static const char greeting[] =
	"Type lines of a script; each is run when you press return. Begin with the adapters:\n"
	"  use connected a@emu0 b@emu1 srq=S max=10\n"
	"then, for instance\n"
	"  b: dat_srq_post_recv(S, 64) x4\n"
	"  a: dat_ep_post_send(ep, 64)\n"
	"  quiet\n"
	"  b: dat_srq_query(S)\n"
	"`help` says more. Tab completes.\n";

static const char help_inside[] =
	"Type a line of a script, as `datsim help test` describes it. It is run, and the results\n"
	"are shown. A call need not say what it has to return. A line that is wrong or fails is\n"
	"not kept. Time passes only on request: +5us in front of a line, or `quiet`.\n"
	"\n"
	"  undo          forget the last line\n"
	"  script        what was typed so far\n"
	"  show          the timeline of the whole script\n"
	"  save FILE     keep it as a script for `datsim test`\n"
	"  calls         every call with its parameters\n"
	"  help CALL     what that call does; types and usual values of its parameters\n"
	"  complete LINE what Tab would offer behind this beginning of a line\n"
	"  quit          end the shell, as the end of the input does\n";

static const char begin_mark[] = " note script ends";

/* ---- the script so far ---- */

/* The trace up to the end of the script; the freeing of objects after it is not shown. */
static size_t length_without_end(const struct text *trace)
{
	const char *at =
		trace->length ? memmem(trace->s, trace->length, begin_mark, sizeof(begin_mark) - 1)
			      : NULL;

	if (!at)
		return trace->length;
	while (at > trace->s && at[-1] != '\n')
		at--;
	return (size_t)(at - trace->s);
}

static uint64_t count_events(const char *trace, size_t length)
{
	uint64_t events = 0;
	size_t i;

	for (i = 0; i < length; i++)
		events += (!i || trace[i - 1] == '\n') && trace[i] >= '0' && trace[i] <= '9';
	return events;
}

static void print_news(struct shell *shell)
{
	struct terminal terminal = terminal_of(stdout);
	struct text error = { 0 };
	size_t length = length_without_end(&shell->trace);

	terminal.skip = shell->shown;
	terminal.bare = true;
	/* The set-up is not shown: `use` always does the same. */
	if (trace_has_beginning(text_of(&shell->trace), shell->trace.length))
		show_trace(&terminal, "shell", text_of(&shell->trace), length, &error);
	else
		puts("ready");
	text_free(&error);
	shell->shown = count_events(text_of(&shell->trace), length);
}

/* What can follow on the line; the objects are those that the script has at its end. */
static void complete_line(void *context, const char *line, int length, struct words *words)
{
	const struct shell *shell = context;
	DAT_SIM_CONFIG config;
	struct script script;

	if (dat_sim_config_init(&config) != DAT_SUCCESS)
		return;
	script_load(&script, "shell", text_of(&shell->script), shell->script.length, &config);
	words_that_follow(words, &script, line, length);
	script_free(&script);
}

/* The words are printed, for a test or for an editor that has no terminal. */
static void shell_complete(struct shell *shell, const char *line)
{
	struct words words = { 0 };
	size_t i;

	complete_line(shell, line, (int)strlen(line), &words);
	for (i = 0; i < words.count; i++)
		puts(words.words[i]);
	words_free(&words);
}

static void shell_keep(struct shell *shell, struct text *candidate, struct verdict *verdict)
{
	text_free(&shell->script);
	shell->script = *candidate;
	memset(candidate, 0, sizeof(*candidate));
	text_free(&shell->trace);
	shell->trace = verdict->trace;
	memset(&verdict->trace, 0, sizeof(verdict->trace));
}

/* Where the comment of a line begins, or the line ends. */
static size_t statement_length(const char *line)
{
	struct token tokens[LINE_TOKENS_MAX + 1];
	int n = lex_line(line, (int)strlen(line), 1, tokens);

	return (size_t)tokens[n - 1].at.column - 1;
}

/*
 * Append "= DAT_INVALID_STATE/..." to the statement, so that the script passes when it runs as a
 * test. The line is the last one of the candidate.
 */
static void add_result(struct text *candidate, const char *line, const struct text *echo)
{
	const char *end = strpbrk(text_of(echo), " \n");
	size_t n, length = statement_length(line);

	end = end ? strpbrk(end + 1, " \n") : NULL;
	n = end ? (size_t)(end - echo->s) : echo->length;
	if (!n || !strncmp(text_of(echo), "= DAT_SUCCESS", n))
		return;
	text_cut(candidate, candidate->length - 1 - strlen(line));
	text_append(candidate, line, length);
	text_add(candidate, "%s%.*s%s%s\n", length && line[length - 1] == ' ' ? "" : " ", (int)n,
		 text_of(echo), line[length] ? " " : "", line + length);
}

/* Why a line was rejected: the report without its trace and replay line. */
static void print_refusal(const struct text *report)
{
	const char *end = strstr(text_of(report), "\ntrace, the last lines");

	if (!end)
		end = strstr(text_of(report), "\nreplay: ");
	fwrite(text_of(report), 1, end ? (size_t)(end + 1 - report->s) : report->length, stdout);
}

static void try_line(struct shell *shell, const char *line)
{
	struct text candidate = { 0 }, echo = { 0 };
	struct verdict verdict;

	text_append(&candidate, text_of(&shell->script), shell->script.length);
	text_add(&candidate, "%s\n", line);
	shell->options.echo = &echo;
	run_text("shell", text_of(&candidate), candidate.length, &shell->options, &verdict);
	shell->tried |= verdict.code != EXIT_USAGE;
	if (verdict.code == EXIT_PASS) {
		add_result(&candidate, line, &echo);
		shell_keep(shell, &candidate, &verdict);
		print_news(shell);
		fputs(text_of(&echo), stdout);
	} else {
		print_refusal(&verdict.report);
	}
	verdict_free(&verdict);
	text_free(&candidate);
	text_free(&echo);
}

/* ---- commands ---- */

static void shell_undo(struct shell *shell)
{
	struct verdict verdict;
	size_t n = shell->script.length;

	if (!n) {
		puts("there is nothing to forget");
		return;
	}
	for (n--; n && shell->script.s[n - 1] != '\n'; n--)
		;
	printf("forgot: %s", shell->script.s + n);
	shell->script.s[n] = '\0';
	shell->script.length = n;
	shell->options.echo = NULL;
	run_text("shell", text_of(&shell->script), n, &shell->options, &verdict);
	text_free(&shell->trace);
	shell->trace = verdict.trace;
	memset(&verdict.trace, 0, sizeof(verdict.trace));
	shell->shown = count_events(text_of(&shell->trace), length_without_end(&shell->trace));
	verdict_free(&verdict);
}

static void print_script(struct shell *shell)
{
	fputs(text_of(&shell->script), stdout);
}

static void print_timeline(struct shell *shell)
{
	shell->shown = 0;
	print_news(shell);
}

static void print_inside(struct shell *shell)
{
	(void)shell;
	fputs(help_inside, stdout);
}

static void print_calls(struct shell *shell)
{
	const struct call_row *row;
	const struct param *param;

	(void)shell;
	for (row = call_rows(); row->name; row++) {
		printf("%s(", row->name);
		for (param = row->params; param->kind != PARAM_END; param++)
			printf("%s%s", param == row->params ? "" : ", ", param->name);
		puts(")");
	}
}

static void shell_quit(struct shell *shell)
{
	shell->asked_to_quit = true;
}

static void shell_save(const struct shell *shell, const char *path)
{
	struct text error = { 0 }, word = { 0 };

	if (!*path) {
		puts("save where? save FILE");
		return;
	}
	if (!shell->script.length) {
		printf("there is nothing to save: %s stays as it is\n", path);
		return;
	}
	path_add(&word, path);
	if (write_whole(path, text_of(&shell->script), shell->script.length, &error))
		printf("saved; run it with: datsim test %s\n", text_of(&word));
	else
		fputs(text_of(&error), stdout);
	text_free(&error);
	text_free(&word);
}

static const struct {
	const char *name;
	void (*run)(struct shell *shell);
} commands[] = {
	{ "undo", shell_undo },   { "script", print_script }, { "show", print_timeline },
	{ "help", print_inside }, { "calls", print_calls },   { "quit", shell_quit },
	{ "exit", shell_quit },
};

static bool run_command(struct shell *shell, const char *line)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(line, commands[i].name)) {
			commands[i].run(shell);
			return true;
		}
	}
	if (!strncmp(line, "help ", 5)) {
		shell_help_call(line + 5 + strspn(line + 5, " "));
		return true;
	}
	if (!strncmp(line, "complete", 8) && (line[8] == ' ' || !line[8])) {
		shell_complete(shell, line + 8);
		return true;
	}
	if (strncmp(line, "save", 4) || (line[4] && line[4] != ' '))
		return false;
	shell_save(shell, line + 4 + strspn(line + 4, " "));
	return true;
}

static void take_line(struct shell *shell, char *line)
{
	size_t n = strlen(line);

	while (n && (line[n - 1] == ' ' || line[n - 1] == '\r' || line[n - 1] == '\t'))
		line[--n] = '\0';
	line += strspn(line, " \t");
	if (*line && !run_command(shell, line))
		try_line(shell, line);
	fflush(stdout);
}

static int shell_run(char **argv)
{
	struct shell shell = { .options = { .once = true } };
	const struct completer completer = { complete_line, &shell };
	struct operands none;
	int code = EXIT_PASS;
	char *line;

	if (!options_read(&command_shell, argv, NULL, &none))
		return none.code;
	if (!emu_is_chosen("shell", "lines run"))
		return EXIT_USAGE;
	if (isatty(STDIN_FILENO))
		fputs(greeting, stdout);
	while (!shell.asked_to_quit && (line = shell_read("datsim> ", &completer))) {
		take_line(&shell, line);
		free(line);
	}
	if (ferror(stdin))
		code = EXIT_USAGE; /* the function that read the script has said why */
	else if (!shell.tried && !isatty(STDIN_FILENO))
		code = usage_error("shell", "no line came that runs: expected lines of a script on "
					    "standard input");
	text_free(&shell.script);
	text_free(&shell.trace);
	return code;
}

const struct command command_shell = {
	.name = "shell",
	.summary = "type calls, see what they do",
	.about = about_shell,
	.run = shell_run,
};
