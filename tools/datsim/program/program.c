/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim run: an unmodified program on a simulated fabric.
 *
 * The program is linked with -ldat and needs no change: all settings reach it through the
 * environment. The report is made from the trace that libdat writes, which is there even if the
 * program was killed.
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
#include "hang.h"
#include "origin.h"
#include "orphans.h"
#include "program_script.h"
#include "programs.h"
#include "startup.h"
#include "verbs_path.h"
#include "tools/datsim/run/device.h"
#include "tools/datsim/run/run.h"
#include "tools/datsim/aliases.h"
#include "tools/datsim/script/hostile.h"
#include "tools/datsim/show/capture/live.h"

#define LOOK_NS           200000000
#define EXIT_SIGNAL_ABOVE 128

struct program {
	char **argv;
	const char *addresses, *trace, *capture, *script, *hostile;
	uint64_t seed;
	bool has_seed;
	int profile; /* -1: as the environment says */
	struct aliases aliases;
	bool quiet, no_verbs;
	double hang;      /* seconds of processor time, or a tenth of the real time; 0: no limit */
	bool late;        /* it took longer, and was killed */
	struct text hung; /* what it did all the time, then, or when a signal ended it */
	struct hang_look look;
	struct text script_name, script_text;
	struct program_script faults;
	struct programs several; /* count 0: a single program */
	struct ended ended;
	struct text folder; /* temporary folder; empty: none */
};

/* ---- what the program is told ---- */

static const char *const profiles[] = { "ib", "iwarp", NULL };

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

static bool write_aliases(struct program *program)
{
	struct text path = { 0 };
	bool good = !program->aliases.count || (in_folder(program, "dat.conf", &path) &&
						aliases_write(&program->aliases, text_of(&path)));

	text_free(&path);
	return good;
}

/* A change to a posted buffer is a line of the trace, from which the exit status is made. */
static bool is_watched(const struct program *program)
{
	const char *ways = program->hostile ? program->hostile : getenv(HOSTILE_VARIABLE);

	return ways && (strstr(ways, "watch=posted") || strstr(ways, "all"));
}

/* Tracing halves the speed of messages between processes. */
static bool is_traced(const struct program *program)
{
	return program->trace || program->capture || program->script || !program->quiet ||
	       program->hang > 0 || is_watched(program);
}

static bool set_environment(struct program *program, struct text *trace)
{
	char seed[24];

	if (program->trace)
		text_add(trace, "%s", program->trace);
	else if (is_traced(program) && !in_folder(program, "trace", trace))
		return false;
	if (is_traced(program))
		setenv("DATSIM_TRACE", text_of(trace), 1);
	if (program->hang > 0)
		hang_limit_trace();
	if (program->script)
		program_script_tell(&program->faults);
	if (program->has_seed) {
		snprintf(seed, sizeof(seed), "%llu", (unsigned long long)program->seed);
		setenv("DATSIM_SEED", seed, 1);
	}
	if (program->profile >= 0)
		setenv("DATSIM_PROFILE", profiles[program->profile], 1);
	if (program->hostile)
		setenv(HOSTILE_VARIABLE, program->hostile, 1);
	if (program->addresses)
		setenv("DATSIM_ADDRESSES", program->addresses, 1);
	if (program->several.over_verbs && !verbs_path_over(program->several.lockstep)) {
		usage_error("run", "--over-verbs: the library for verbs programs is not installed: "
				   "configure --enable-verbs");
		return false;
	}
	if (!program->no_verbs && !program->several.over_verbs)
		verbs_path_set(program->several.lockstep);
	return write_aliases(program);
}

/*
 * The command that repeats the run: without --trace, --capture and --quiet, which only affect the
 * output.
 */
static void add_command(struct text *command, char **argv, char **first)
{
	char **word;

	knobs_add(command);
	text_add(command, "datsim run");
	for (word = argv + 1; *word; word++) {
		if (word < first &&
		    (option_is(*word, "--trace") || option_is(*word, "--capture"))) {
			word += !strchr(*word, '=');
		} else if (word >= first || strcmp(*word, "--quiet") != 0) {
			text_add(command, " ");
			word_add(command, *word);
		}
	}
}

/* ---- running it ---- */

static int run_program(struct program *program)
{
	struct ended *ended = &program->ended;
	double began = hang_clock();
	int status = 0, sig;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		ended_child(ended);
		if (program->several.over_verbs)
			verbs_path_over_child();
		program_exec(program->argv);
	}
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		sig = ended_pause(ended, LOOK_NS);
		program->late |= program->hang > 0 && hang_reached(pid, began, program->hang);
		hang_look(&program->look);
		if (sig || program->late)
			kill(pid, program->late ? SIGKILL : sig);
	}
	if (ended->by)
		programs_end_left(&program->several, NULL);
	if (pid < 0) {
		usage_error("run", "cannot start another process: %s", strerror(errno));
		return EXIT_INTERNAL;
	}
	return program_status(status);
}

/* ---- what it did ---- */

static void add_exit(const struct program *program, int code, struct text *text)
{
	text_append(text, text_of(&program->hung), program->hung.length);
	if (program->several.count)
		programs_report(&program->several, text);
	else
		program_report(program->argv[0], code, text);
}

/* What the trace says. False: it proves nothing, and `faults` says why. */
static bool add_account(const struct program *program, const char *trace, int code,
			struct text *content, struct account *account, struct text *text,
			struct text *faults)
{
	bool good = access(trace, F_OK) == 0;

	if (good && (!read_whole(trace, TRACE_BYTES_MAX, content, faults) ||
		     !account_read(account, trace, text_of(content), content->length, faults)))
		return false;
	if (good && account->opened)
		account_print(account, text, "  ");
	else
		program_tested_nothing(good && !program->several.count, account->apart.count > 0,
				       code, faults);
	if (!good || !account->opened)
		return false;
	text_append(faults, text_of(&account->watch.violations), account->watch.violations.length);
	/* A trace that lost lines may have lost those of a program. */
	if (program->several.count < 2 || account->full || account->kept_end || account->torn ||
	    program->ended.by)
		return true;
	return programs_opened(&program->several, account, faults);
}

/*
 * *verdict: EXIT_FAILED, unless it is a failure already: no program used the fabric, or a fault,
 * which is not optional, never acted; EXIT_CHECKER: the trace is not that of a NIC as it should be;
 * EXIT_USAGE: it cannot be read, or the file that was asked for has no room for all of it.
 */
static void program_report_all(const struct program *program, const char *trace, int code,
			       int *verdict)
{
	struct text content = { 0 }, text = { 0 }, faults = { 0 };
	struct account account = { .ns = 0 };
	bool good = true;

	add_exit(program, code, &text);
	if (on_device())
		text_put(&text, "  on a device, which has no trace: the number of times that "
				"faults acted is unknown\n");
	else
		good = add_account(program, trace, code, &content, &account, &text, &faults);
	if (program->trace && content.length) {
		text_add(&text, "  %-10s %s (datsim show ", "trace", trace);
		path_add(&text, trace);
		text_add(&text, ")\n");
	}
	if (program->script && !on_device())
		good &= program_script_report(&program->faults, &account, &faults);
	fputs(text_of(program->quiet ? &program->hung : &text), stderr);
	if (!program->quiet || !good || account.watch.violation_count)
		fputs(text_of(&faults), stderr);
	if (account.watch.violation_count && good)
		*verdict = EXIT_CHECKER;
	else if (*verdict == EXIT_PASS && (!good || (program->trace && account.stuck)))
		*verdict = !good && (content.length || access(trace, F_OK)) ? EXIT_FAILED
									    : EXIT_USAGE;
	account_free(&account);
	text_free(&content);
	text_free(&text);
	text_free(&faults);
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

static const struct option options[] = {
	{ "--script", "FILE",
	  "faults that the program meets, and settings of the fabric: see below", OPTION_TEXT,
	  .wants = "a file", OPTION_SETS(struct program, script) },
	{ "--seed", "N", "seed of the fabric's generator", OPTION_NUMBER,
	  OPTION_SETS(struct program, seed) },
	{ "--profile", "ib|iwarp", "the transport that the fabric models (default: ib)",
	  OPTION_CHOICE, .choices = profiles, OPTION_SETS(struct program, profile) },
	{ "--hostile", "WAY,WAY",
	  "the adapters are as unkind as devices may be: watch=posted, poison=on, "
	  "placement=tail or placement=random, ends=device, retry=spurious, complete=sent; "
	  "all: each of them",
	  OPTION_OWN, .take = hostile_take,
	  .wants = "ways with commas between them, such as watch=posted,poison=on; or all",
	  OPTION_SETS(struct program, hostile) },
	{ "--alias", "NAME=ADAPTER",
	  "when the program opens NAME, give it ADAPTER (ib0=emu0, OpenIB-cma=emu0)", OPTION_OWN,
	  .repeats = true, .take = alias_take, OPTION_SETS(struct program, aliases),
	  .wants = "NAME=ADAPTER, without blanks, quotes, \\ or #, and 64 times at most" },
	{ "--addresses", "NETWORK",
	  "the network of the adapters' IPv4 addresses (default: 198.18.0.0/16)", OPTION_OWN,
	  .take = addresses_take, .wants = NETWORK_WANTS, OPTION_SETS(struct program, addresses) },
	{ "--lockstep", NULL,
	  "the threads of all processes run one at a time, in virtual time: the same seed gives "
	  "the same trace, byte for byte, unless the trace says `preempted`. A thread that blocks "
	  "outside uDAPL for 50 ms (DATSIM_LOCKSTEP), or computes for ten times as long, is "
	  "preempted: it loses its turn to run",
	  OPTION_FLAG, OPTION_SETS(struct program, several.lockstep) },
	{ "--hang", "S",
	  "end a program that takes S seconds of processor time, or 10 S of real time, with exit "
	  "status 4; the report says what it repeats, and the trace is short (32 MiB)",
	  OPTION_OWN, .take = hang_take, .wants = HANG_WANTS, OPTION_SETS(struct program, hang) },
	{ "--no-verbs", NULL,
	  "a program that uses libibverbs gets the system's, and not the one on the fabric",
	  OPTION_FLAG, OPTION_SETS(struct program, no_verbs) },
	{ "--over-verbs", NULL,
	  "a uDAPL program uses the passthrough (DAT_PROVIDER=hw), and that the fabric as its "
	  "hardware: what it would run on a device, without one",
	  OPTION_FLAG, OPTION_SETS(struct program, several.over_verbs) },
	{ "--trace", "FILE", "keep the trace, for `datsim show FILE`", OPTION_OWN,
	  .take = file_take, .wants = "a file to write", OPTION_SETS(struct program, trace) },
	{ "--capture", "FILE",
	  "write the packets for Wireshark while they pass, as `datsim show --pcapng` does. With - "
	  "as FILE they are the standard output, and what the programs print goes to stderr: "
	  "datsim run --capture - -- PROGRAM | wireshark -k -i -. A reader that goes away ends "
	  "the capture, not the programs",
	  OPTION_TEXT, .wants = "a file to write", OPTION_SETS(struct program, capture) },
	{ "--quiet", NULL, "no report; without --trace nothing is traced then, which is faster",
	  OPTION_FLAG, OPTION_SETS(struct program, quiet) },
	{ .name = NULL },
};

static bool load_script(struct program *program)
{
	struct text error = { 0 }, *text = &program->script_text;
	bool good;

	if (!program->script)
		return true;
	good = read_script(program->script, text, &error) &&
	       program_script_load(&program->faults, program->script, text_of(text), text->length,
				   program->several.count > 0, &error);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

/* Remove the trace of an earlier run, so that it is not mistaken for the new one. */
static bool clear_trace(const struct program *program)
{
	struct text error = { 0 };
	bool good = !program->trace || clear_file(program->trace, &error);

	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

/* Returns the exit code of the tool. */
static int run_and_report(struct program *program, const char *trace, const char *command)
{
	int code, verdict = EXIT_PASS, out = -1;
	struct live *live;

	if (program->capture && !strcmp(program->capture, "-"))
		out = output_divert();
	if (!live_begin(&live, program->capture, out, trace, &program->several)) {
		output_restore(out);
		return EXIT_USAGE;
	}
	if (program->hang <= 0 && is_traced(program))
		program->look.trace = trace;
	code = program->several.count ? programs_run(&program->several) : run_program(program);
	if (!live_finish(live, &program->ended))
		verdict = EXIT_USAGE;
	program->late |= program->several.late;
	if (program->late)
		hang_tell(trace, program->hang, &program->hung);
	else if (is_traced(program) && (program->ended.by || code > EXIT_SIGNAL_ABOVE))
		hang_tell_ended(trace, &program->hung);
	/* Several programs in real time cannot be replayed. */
	if (program->trace && (!program->several.count || program->several.lockstep) &&
	    !origin_insert_file(program->trace, command))
		verdict = EXIT_USAGE;
	output_restore(out);
	if (is_traced(program))
		program_report_all(program, trace, code, &verdict);
	if (program->late) {
		orphans_end(program->several.kept, ARRAY_SIZE(program->several.kept));
		return EXIT_NOT_QUIET;
	}
	return code == EXIT_PASS && !program->ended.by ? verdict : code;
}

/*
 * Split at "+". Several programs, or programs in lockstep, run as processes on one shared fabric.
 */
static bool program_split(struct program *program)
{
	char **word = program->argv;

	while (*word && !programs_is_separator(*word))
		word++;
	if (!*word && !program->several.lockstep)
		return program_has_no_node("run", program->argv);
	if (program->script && !program->several.lockstep) {
		usage_error("run", "--script is for one program, or for several with --lockstep");
		return false;
	}
	return programs_split(&program->several, "run", program->argv);
}

/* A trace or a capture over the program or its script would destroy it before it runs. */
static bool outputs_differ(const struct program *program)
{
	const struct programs *several = &program->several;
	int i = 0;

	do {
		const struct named_file files[] = {
			{ "the program",
			  program_file(several->count ? several->one[i].argv : program->argv),
			  false },
			{ "the script", program->script, false },
			{ "--trace", program->trace, true },
			{ "--capture", program->capture, true },
			{ .what = NULL },
		};

		if (!files_differ("run", files))
			return false;
	} while (++i < several->count);
	return true;
}

/* What follows a trace, or counts what a program repeats, has to see all of it. */
static void keep_whole_trace(const struct program *program)
{
	const char *option = program->capture ? "--capture" : program->hang > 0 ? "--hang" : NULL;

	if (option)
		trace_last_leave_out("run", option);
}

static int run_command(char **argv)
{
	struct program program = {
		.profile = -1,
		.several = { .patient = true, .ended = &program.ended, .look = &program.look }
	};
	struct text trace = { 0 }, command = { 0 };
	struct operands words;
	int code;

	if (!options_read(&command_run, argv, &program, &words))
		return words.code;
	if (!words.count)
		return usage_error("run", "expected a program: datsim run -- PROGRAM ARGS...");
	if (on_device() && !program.several.over_verbs && (program.trace || program.capture))
		return usage_error("run", "%s: a device has no trace: expected emu as DAT_PROVIDER",
				   program.trace ? "--trace" : "--capture");
	if (output_is_terminal(program.capture))
		return usage_error("run", "--capture -: expected a pipe or a file as standard "
					  "output, found a terminal: add | wireshark -k -i -");
	keep_whole_trace(&program);
	program.argv = words.word;
	program.several.limit = program.hang;
	program.has_seed = option_given(&command_run, &words, "--seed");
	add_command(&command, argv, words.word); /* before knobs are set for the program */
	program.script = program_script_named(program.script, &program.script_name);
	code = EXIT_USAGE;
	if (program_split(&program) && outputs_differ(&program) && load_script(&program) &&
	    clear_trace(&program)) {
		if (!program.several.count)
			startup_warn_of_launcher(program.argv[0]);
		ended_watch(&program.ended);
		orphans_adopt(program.several.kept, ARRAY_SIZE(program.several.kept));
		code = EXIT_INTERNAL;
		if (set_environment(&program, &trace))
			code = run_and_report(&program, text_of(&trace), text_of(&command));
		clean_up(&program);
		ended_unwatch(&program.ended);
		code = ended_code(&program.ended, code);
	}
	program_script_free(&program.faults);
	text_free(&program.script_text);
	text_free(&program.script_name);
	text_free(&program.hung);
	text_free(&trace);
	text_free(&command);
	return code;
}

const struct command command_run = {
	.name = "run",
	.operands = "[--] PROGRAM ARGS... [+ PROGRAM ARGS...]...",
	.summary = "run programs, of uDAPL or verbs, on a simulated fabric",
	.about = about_run,
	.options = options,
	.details = details_run,
	.run = run_command,
};
