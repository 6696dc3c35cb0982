/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim run: an unmodified program on a simulated fabric.
 *
 * The program is linked with -ldat and knows nothing; all it is told, it is told through the
 * environment. What it did is read from the trace that libdat leaves, also if it was killed.
 */
#include "tools/datsim/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "account.h"
#include "tools/datsim/files.h"
#include "origin.h"
#include "program_script.h"
#include "programs.h"
#include "tools/datsim/run/device.h"
#include "tools/datsim/run/run.h"

#define EXIT_CANNOT_RUN 126 /* as shells have it */
#define EXIT_NO_PROGRAM 127

struct program {
	char **argv;
	const char *seed, *profile, *addresses, *trace, *script;
	const char *aliases[64];
	int alias_count;
	bool quiet;
	struct text script_text;
	struct program_script faults;
	struct programs several; /* count 0: there is one */
	struct text folder;      /* of what is to be thrown away; empty: none */
};

/* ---- what the program is told ---- */

static bool in_folder(struct program *program, const char *name, struct text *path)
{
	struct text error = { 0 };
	bool good = program->folder.length || scratch_folder(&program->folder, &error);

	if (good)
		text_add(path, "%s/%s", text_of(&program->folder), name);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

static void copy_lines(FILE *to, const char *from)
{
	struct text content = { 0 }, error = { 0 };

	if (from && *from && read_whole(from, SCRIPT_BYTES_MAX, &content, &error))
		fwrite(text_of(&content), 1, content.length, to);
	text_free(&content);
	text_free(&error);
}

/* Aliases are lines of a dat.conf in front of those the program would have read anyhow. */
static bool write_aliases(struct program *program)
{
	const char *before = getenv("DAT_OVERRIDE");
	struct text path = { 0 }, error = { 0 };
	FILE *file;
	bool good;
	int i;

	if (!in_folder(program, "dat.conf", &path))
		return false;
	file = create_file(text_of(&path), &error);
	for (i = 0; file && i < program->alias_count; i++) {
		const char *equals = strchr(program->aliases[i], '=');

		fprintf(file, "%.*s u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"%s\" \"\"\n",
			(int)(equals - program->aliases[i]), program->aliases[i], equals + 1);
	}
	if (file)
		copy_lines(file, before ? before : "/etc/dat.conf");
	good = file && finish_file(file, text_of(&path), &error) &&
	       !setenv("DAT_OVERRIDE", text_of(&path), 1);
	fputs(text_of(&error), stderr);
	text_free(&path);
	text_free(&error);
	return good;
}

/* Between processes a message that is traced costs ten times as much: it is not where nobody wants to know. */
static bool is_traced(const struct program *program)
{
	return program->trace || program->script || !program->quiet;
}

static bool tell(struct program *program, struct text *trace)
{
	if (program->trace)
		text_add(trace, "%s", program->trace);
	else if (is_traced(program) && !in_folder(program, "trace", trace))
		return false;
	if (is_traced(program))
		setenv("DATSIM_TRACE", text_of(trace), 1);
	if (program->script)
		program_script_tell(&program->faults);
	if (program->seed)
		setenv("DATSIM_SEED", program->seed, 1);
	if (program->profile)
		setenv("DATSIM_PROFILE", program->profile, 1);
	if (program->addresses)
		setenv("DATSIM_ADDRESSES", program->addresses, 1);
	return !program->alias_count || write_aliases(program);
}

/* The line that does the same again: without the options that say where to what is told of it. */
static void add_command(struct text *command, int argc, char **argv, int first)
{
	int i;

	knobs_add(command);
	text_add(command, "datsim run");
	for (i = 1; i < argc; i++) {
		if (i < first && !strcmp(argv[i], "--trace")) {
			i++;
		} else if (i >= first || strcmp(argv[i], "--quiet") != 0) {
			text_add(command, " ");
			word_add(command, argv[i]);
		}
	}
}

/* ---- running it ---- */

/* Ctrl-C is for the program; the tool stays to say what became of it. */
static int run_program(const struct program *program)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old_int, old_quit;
	int status = 0;
	pid_t pid;

	sigaction(SIGINT, &ignore, &old_int);
	sigaction(SIGQUIT, &ignore, &old_quit);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &old_int, NULL);
		sigaction(SIGQUIT, &old_quit, NULL);
		execvp(program->argv[0], program->argv);
		fprintf(stderr, "datsim run: %s: %s\n", program->argv[0], strerror(errno));
		_exit(errno == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
	if (pid < 0) {
		usage_error("run", "cannot start another process: %s", strerror(errno));
		return EXIT_INTERNAL;
	}
	return program_status(status);
}

/* ---- what it did ---- */

static void add_exit(const struct program *program, int code, struct text *text)
{
	if (program->several.count)
		programs_report(&program->several, text);
	else
		program_report(program->argv[0], code, text);
}

/* False: a fault of the script never happened. */
static bool report(const struct program *program, const char *trace, int code)
{
	struct text content = { 0 }, text = { 0 }, faults = { 0 }, error = { 0 };
	struct account account = { .ns = 0 };
	bool good = true;

	add_exit(program, code, &text);
	if (on_device())
		text_add(
			&text,
			"  on a device, which has no trace: how often faults acted is not known\n");
	else if (!read_whole(trace, TRACE_BYTES_MAX, &content, &error))
		text_add(&text, "  it opened no simulated adapter\n");
	else if (account_read(&account, trace, text_of(&content), content.length, &error))
		account_print(&account, &text, "  ");
	else
		text_add(&text, "  %s", text_of(&error));
	if (program->trace && content.length)
		text_add(&text, "  %-10s %s (datsim show %s)\n", "trace", trace, trace);
	if (program->script && !on_device())
		good = program_script_report(&program->faults, &account, &faults);
	if (!program->quiet)
		fputs(text_of(&text), stderr);
	if (!program->quiet || !good)
		fputs(text_of(&faults), stderr);
	account_free(&account);
	text_free(&content);
	text_free(&text);
	text_free(&faults);
	text_free(&error);
	return good;
}

static void clean_up(struct program *program)
{
	static const char *const names[] = { "trace", "dat.conf" };
	struct text path = { 0 };
	size_t i;

	for (i = 0; program->folder.length && i < ARRAY_SIZE(names); i++) {
		path.length = 0;
		text_add(&path, "%s/%s", text_of(&program->folder), names[i]);
		unlink(text_of(&path));
	}
	if (program->folder.length)
		rmdir(text_of(&program->folder));
	text_free(&path);
	text_free(&program->folder);
}

/* ---- the command line ---- */

static bool add_alias(struct program *program, const char *alias)
{
	const char *equals = strchr(alias, '=');

	if (!equals || equals == alias || !equals[1] || strpbrk(alias, " \t\n\"\\#") ||
	    program->alias_count == (int)ARRAY_SIZE(program->aliases))
		return false;
	program->aliases[program->alias_count++] = alias;
	return true;
}

static bool take_option(struct program *program, const char *option, const char *value)
{
	if (!strcmp(option, "--seed"))
		program->seed = value;
	else if (!strcmp(option, "--profile"))
		program->profile = value;
	else if (!strcmp(option, "--addresses"))
		program->addresses = value;
	else if (!strcmp(option, "--trace"))
		program->trace = value;
	else if (!strcmp(option, "--script"))
		program->script = value;
	else if (!strcmp(option, "--alias"))
		return add_alias(program, value);
	else
		return false;
	return true;
}

/* The index of the program's name; 0: *code is what to exit with. */
static int parse_options(int argc, char **argv, struct program *program, int *code)
{
	int i;

	*code = EXIT_USAGE;
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (!strcmp(argv[i], "--help")) {
			fputs(help_run, stdout);
			*code = EXIT_PASS;
			return 0;
		}
		if (!strcmp(argv[i], "--quiet")) {
			program->quiet = true;
		} else if (!strcmp(argv[i], "--lockstep")) {
			program->several.lockstep = true;
		} else if (i + 1 == argc || !take_option(program, argv[i], argv[i + 1])) {
			usage_error("run", "%s: no such option, or not with that value", argv[i]);
			return 0;
		} else {
			i++;
		}
	}
	return i;
}

static bool load_script(struct program *program)
{
	struct text error = { 0 };
	bool good;

	if (!program->script)
		return true;
	good = read_whole(program->script, SCRIPT_BYTES_MAX, &program->script_text, &error) &&
	       program_script_load(&program->faults, program->script,
				   text_of(&program->script_text), program->script_text.length,
				   program->several.count > 0, &error);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

/* That of an earlier run is not to be taken for this one's. */
static bool clear_trace(const struct program *program)
{
	struct text error = { 0 };
	bool good = !program->trace || clear_file(program->trace, &error);

	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

/* What the tool exits with. */
static int run_and_report(struct program *program, const char *trace, const char *command)
{
	int code;

	code = program->several.count ? programs_run(&program->several) : run_program(program);
	/* What several do in real time, they do never again. */
	if (program->trace && (!program->several.count || program->several.lockstep))
		origin_insert_file(program->trace, command);
	if (is_traced(program) && !report(program, trace, code) && code == EXIT_PASS)
		code = EXIT_FAILED;
	return code;
}

/* "+" between programs, or one that is told its node: each runs in a process of one fabric. */
static bool split(struct program *program)
{
	char **word = program->argv;

	while (*word && strcmp(*word, "+") != 0 && strcmp(*word, "--and") != 0)
		word++;
	if (!*word && !program->several.lockstep)
		return true;
	if (program->script && !program->several.lockstep) {
		usage_error("run", "--script is for one program, or for several with --lockstep");
		return false;
	}
	return programs_split(&program->several, program->argv);
}

int command_run(int argc, char **argv)
{
	struct program program = { .argv = NULL };
	struct text trace = { 0 }, command = { 0 };
	int code, first = parse_options(argc, argv, &program, &code);

	if (!first)
		return code;
	if (first >= argc)
		return usage_error("run", "expected a program: datsim run -- PROGRAM ARGS...");
	program.argv = argv + first;
	add_command(&command, argc, argv, first); /* before knobs are set for the program */
	code = EXIT_USAGE;
	if (split(&program) && load_script(&program) && clear_trace(&program)) {
		code = EXIT_INTERNAL;
		if (tell(&program, &trace))
			code = run_and_report(&program, text_of(&trace), text_of(&command));
		clean_up(&program);
	}
	program_script_free(&program.faults);
	text_free(&program.script_text);
	text_free(&trace);
	text_free(&command);
	return code;
}
