/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim replay: runs again what made a trace, in a process of its own, and compares the traces.
 *
 * Only the commands test and run, with knobs in front, are accepted from a header, because a trace
 * may come from an untrusted source. A program that the header names is run, though.
 */
#include "tools/datsim/commands.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ended.h"
#include "tools/datsim/files.h"
#include "origin.h"
#include "tools/datsim/run/run.h"
#include "tools/datsim/show/trace.h"

#define SELF    "/proc/self/exe"
#define LOOK_NS 200000000

static int replay_refuse(const char *path, const char *what)
{
	fprintf(stderr, "datsim replay: %s: %s\n", path, what);
	return EXIT_USAGE;
}

/* ---- without a command ---- */

/* "# latency_ns=2000" was DATSIM_LATENCY_NS=2000. */
static void tell_knob(const char *line, size_t length)
{
	const char *equals = memchr(line, '=', length), *at;
	struct text name = { 0 }, value = { 0 };
	char upper;

	if (!equals)
		return;
	text_add(&name, "DATSIM_");
	for (at = line + 2; at < equals; at++) {
		upper = (char)toupper((unsigned char)*at);
		text_append(&name, &upper, 1);
	}
	text_append(&value, equals + 1, length - (size_t)(equals + 1 - line));
	if (is_knob(text_of(&name), name.length)) {
		fprintf(stderr, "%s=", text_of(&name));
		name.length = 0;
		word_add(&name, text_of(&value));
		fprintf(stderr, "%s ", text_of(&name));
	}
	text_free(&name);
	text_free(&value);
}

static int tell_how(const char *path, const char *text)
{
	const char *line = strchr(text, '\n'), *next;

	fprintf(stderr,
		"datsim replay: %s does not say what made it: no datsim started that program.\n"
		"To repeat it, run the program as it was run then, with\n  ",
		path);
	for (line = line ? line + 1 : ""; *line == '#'; line = next ? next + 1 : "") {
		next = strchr(line, '\n');
		if (strncmp(line, "# ", 2) == 0)
			tell_knob(line, next ? (size_t)(next - line) : strlen(line));
	}
	fprintf(stderr, "DATSIM_TRACE=new.trace\nand compare new.trace with it.\n");
	return EXIT_USAGE;
}

/* ---- running it ---- */

/* Our headers never have these options: a foreign trace must not choose a file to write. */
static bool writes_elsewhere(const struct command_line *cmd, size_t first)
{
	size_t i;

	for (i = first; !strcmp(cmd->word[first], "test") && i < cmd->count; i++) {
		if (option_is(cmd->word[i], "--trace") || option_is(cmd->word[i], "--junit"))
			return true;
	}
	return false;
}

/* Index of the word "test" or "run", after the knobs are set; 0: not a command of datsim. */
static size_t set_knobs(const struct command_line *cmd)
{
	const char *equals;
	size_t i;

	knobs_unset();
	for (i = 0; i < cmd->count; i++) {
		equals = strchr(cmd->word[i], '=');
		if (!equals || !is_knob(cmd->word[i], (size_t)(equals - cmd->word[i])))
			break;
		cmd->word[i][equals - cmd->word[i]] = '\0';
		setenv(cmd->word[i], equals + 1, 1);
	}
	if (i + 2 >= cmd->count || strcmp(cmd->word[i], "datsim") != 0 ||
	    (strcmp(cmd->word[i + 1], "test") != 0 && strcmp(cmd->word[i + 1], "run") != 0))
		return 0;
	return writes_elsewhere(cmd, i + 1) ? 0 : i + 1;
}

/*
 * In the child. The output of a script is kept for the case that it leaves no trace; that of a
 * program is shown.
 */
static void exec_command(const struct command_line *cmd, size_t first, const char *trace,
			 const char *said)
{
	char *argv[WORDS_MAX + 6];
	bool program = !strcmp(cmd->word[first], "run");
	int n = 0, to;

	argv[n++] = (char *)"datsim";
	argv[n++] = cmd->word[first];
	argv[n++] = (char *)"--trace";
	argv[n++] = (char *)trace;
	if (program)
		argv[n++] = (char *)"--quiet";
	while (cmd->word[++first])
		argv[n++] = cmd->word[first];
	argv[n] = NULL;
	to = program ? -1 : open(said, O_WRONLY | O_CREAT, 0600);
	if (to >= 0)
		dup2(to, STDOUT_FILENO);
	execv(SELF, argv);
	fprintf(stderr, "datsim replay: %s: %s\n", SELF, strerror(errno));
	_exit(EXIT_INTERNAL);
}

/* EXIT_PASS unless no process could be started, or this one was asked to end. */
static int run_again(const struct command_line *cmd, size_t first, const char *trace,
		     const char *said, struct ended *ended)
{
	int status, sig;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		ended_child(ended);
		exec_command(cmd, first, trace, said);
	}
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		sig = ended_pause(ended, LOOK_NS);
		/* The other datsim kills what it has started, and then ends. */
		if (sig && sig != SIGKILL)
			kill(pid, sig);
	}
	if (pid > 0 && ended->by)
		fprintf(stderr, "datsim replay: it was asked to end, and compared nothing\n");
	if (pid > 0)
		return ended_code(ended, EXIT_PASS);
	fprintf(stderr, "datsim replay: cannot start another process: %s\n", strerror(errno));
	return EXIT_INTERNAL;
}

/* ---- comparing ---- */

/*
 * A trace of a killed program may end with NUL bytes, in space that was reserved and not written.
 */
static struct span rest_of(const struct text *text)
{
	struct span rest = { text_of(text), strnlen(text_of(text), text->length) };

	while (rest.length && rest.s[rest.length - 1] == '\n')
		rest.length--;
	return rest;
}

/* The next line that is not the origin. False: there is none. */
static bool next_line(struct span *rest, struct span *line, int *number)
{
	const char *nl;

	do {
		if (!rest->length)
			return false;
		nl = memchr(rest->s, '\n', rest->length);
		line->s = rest->s;
		line->length = nl ? (size_t)(nl - rest->s) : rest->length;
		rest->s += line->length + (nl != NULL);
		rest->length -= line->length + (nl != NULL);
		++*number;
	} while (is_origin(line->s, line->length));
	return true;
}

static void print_line(const char *what, bool there, struct span line)
{
	struct text text = { 0 };

	if (there)
		text_printable(&text, line.s, line.length);
	else
		text_add(&text, "(the end)");
	printf("  %-5s %s\n", what, text_of(&text));
	text_free(&text);
}

static int compare_traces(const char *path, const struct text *then, const struct text *now)
{
	struct span a = rest_of(then), b = rest_of(now), x, y;
	int number = 0, ignored = 0;
	bool have_a, have_b, events = false;

	do {
		have_a = next_line(&a, &x, &number);
		have_b = next_line(&b, &y, &ignored);
		if (!have_a && !have_b && !events)
			return replay_refuse(path, "nothing happens in this trace, now as then: "
						   "nothing was compared");
		if (!have_a && !have_b) {
			printf("%s: the same again, %d lines\n", path, number);
			return EXIT_PASS;
		}
		events |= have_a && isdigit((unsigned char)x.s[0]);
	} while (have_a && have_b && x.length == y.length && !memcmp(x.s, y.s, x.length));
	printf("%s:%d: another trace this time; the first line that differs\n", path,
	       number + !have_a);
	print_line("then:", have_a, x);
	print_line("now:", have_b, y);
	return EXIT_FAILED;
}

/* ---- the whole ---- */

static int no_trace(const char *path, const char *said)
{
	struct text text = { 0 }, error = { 0 };
	int code = replay_refuse(path, "run again, it left no trace");

	if (read_whole(said, TRACE_BYTES_MAX, &text, &error))
		fputs(text_of(&text), stderr);
	text_free(&text);
	text_free(&error);
	return code;
}

static int replay_with(const char *path, const struct text *then, const struct command_line *cmd,
		       size_t first, const char *folder, struct ended *ended)
{
	struct text trace = { 0 }, said = { 0 }, now = { 0 }, error = { 0 };
	int code;

	text_add(&trace, "%s/trace", folder);
	text_add(&said, "%s/said", folder);
	code = run_again(cmd, first, text_of(&trace), text_of(&said), ended);
	if (code)
		; /* reported, or asked for */
	else if (!read_whole(text_of(&trace), TRACE_BYTES_MAX, &now, &error) || !now.length)
		code = no_trace(path, text_of(&said));
	else
		code = compare_traces(path, then, &now);
	unlink(text_of(&trace));
	unlink(text_of(&said));
	text_free(&trace);
	text_free(&said);
	text_free(&now);
	text_free(&error);
	return code;
}

static int replay_trace(const char *path, const struct text *then, struct span command)
{
	struct text folder = { 0 }, error = { 0 };
	struct command_line cmd;
	struct ended ended;
	size_t first = 0;
	int code;

	ended_watch(&ended);
	if (command_line_split(&cmd, command.s, command.length))
		first = set_knobs(&cmd);
	if (!first) {
		code = replay_refuse(
			path,
			"the command in its header is none of datsim's commands test and run");
	} else if (!scratch_folder(&folder, &error)) {
		fputs(text_of(&error), stderr);
		code = EXIT_INTERNAL;
	} else {
		code = replay_with(path, then, &cmd, first, folder.s, &ended);
		rmdir(folder.s);
	}
	ended_unwatch(&ended);
	text_free(&folder);
	text_free(&error);
	command_line_free(&cmd);
	return ended_code(&ended, code);
}

static int run_command(char **argv)
{
	struct text then = { 0 }, error = { 0 };
	struct trace_reader reader = { 0 };
	struct span command = { "", 0 };
	struct operands files;
	int code = EXIT_USAGE;

	if (!options_read(&command_replay, argv, NULL, &files))
		return files.code;
	if (files.count != 1)
		return usage_error("replay", "expected one trace file");
	if (!read_whole(files.word[0], TRACE_BYTES_MAX, &then, &error))
		fputs(text_of(&error), stderr);
	else if (!trace_open(&reader, files.word[0], text_of(&then), then.length))
		fputs(text_of(&reader.error), stderr);
	else if (!trace_setting(text_of(&then), then.length, "command", &command))
		code = tell_how(files.word[0], text_of(&then));
	else
		code = replay_trace(files.word[0], &then, command);
	trace_close(&reader);
	text_free(&then);
	text_free(&error);
	return code;
}

const struct command command_replay = {
	.name = "replay",
	.operands = "FILE.trace",
	.summary = "run again what made a trace, and compare",
	.about = about_replay,
	.run = run_command,
};
