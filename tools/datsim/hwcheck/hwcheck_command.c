/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim hwcheck: what works on an adapter, on one page that its owner can send in. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"
#include "hwcheck.h"

#define SECONDS_MOST  600
#define SECONDS_QUICK 60
#define SECONDS_ROW   120 /* of one check */

struct hwcheck {
	int seconds;
	bool quick;
	const char *verbs;
	struct probe check;
	uint64_t end_ns;
	int number, passed, failed, skipped;
	bool progress;
	char address[64];
	uint64_t message_ns;
};

/* ---- the head of the page ---- */

static void head_describe(struct probe *c)
{
	const DAT_IA_ATTR *a = &c->attr;
	const struct sockaddr *addr;
	char address[INET6_ADDRSTRLEN] = "?";

	probe_open(c);
	addr = (const struct sockaddr *)a->ia_address_ptr;
	if (addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, address,
			  sizeof(address));
	else
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, address,
			  sizeof(address));
	probe_note(
		"%s\n"
		"device      %s, %s, hardware %d, firmware %d.%d%s\n"
		"limits      %d EPs of %d DTOs, %d segments (Read %d); Reads in %d, out %d\n"
		"            %d EVDs of %d events; %d SRQs of %d Receives\n"
		"            %d LMRs, %d RMRs, %d PZs; messages of %llu bytes; private data %d\n",
		address, c->device, a->vendor_name, (int)a->hardware_version_major,
		(int)a->firmware_version_major, (int)a->firmware_version_minor,
		c->iwarp ? ", iWARP" : "", (int)a->max_eps, (int)a->max_dto_per_ep,
		(int)a->max_iov_segments_per_dto, (int)a->max_iov_segments_per_rdma_read,
		(int)a->max_rdma_read_per_ep_in, (int)a->max_rdma_read_per_ep_out, (int)a->max_evds,
		(int)a->max_evd_qlen, (int)a->max_srqs, (int)a->max_recv_per_srq, (int)a->max_lmrs,
		(int)a->max_rmrs, (int)a->max_pzs, (unsigned long long)a->max_message_size,
		(int)c->private_most);
	probe_close(c);
}

/* The first line of the text is the address. */
static int print_head(struct hwcheck *h)
{
	struct probe_answer answer;
	struct utsname system;
	size_t first;

	probe_run(&h->check, head_describe, SECONDS_ROW, &answer);
	if (answer.verdict != PROBE_PASS) {
		fprintf(stderr, "datsim hwcheck: %s cannot be opened: %s\n", h->check.device,
			answer.text);
		return EXIT_USAGE;
	}
	first = strcspn(answer.text, "\n");
	snprintf(h->address, sizeof(h->address), "%.*s", (int)first, answer.text);
	uname(&system);
	printf("datsim hwcheck %s, %s %s\n%s\n", PACKAGE_VERSION, system.release, system.machine,
	       answer.text + first + 1);
	return EXIT_PASS;
}

/* ---- its lines ---- */

static void print_row(struct hwcheck *h, const char *title, const struct probe_answer *answer)
{
	const char *word = "FAIL";

	if (h->progress)
		stderr_overwrite("");
	if (answer->verdict == PROBE_PASS) {
		h->passed++;
		word = "PASS";
	} else if (answer->verdict == PROBE_SKIP) {
		h->skipped++;
		word = "SKIP";
	} else {
		h->failed++;
	}
	printf("%s  %s%s%s\n", word, title, answer->text[0] ? ": " : "", answer->text);
	fflush(stdout);
}

static unsigned int seconds_left(const struct hwcheck *h)
{
	uint64_t now = probe_now_ns();

	return now < h->end_ns ? (unsigned int)((h->end_ns - now) / 1000000000u) : 0;
}

static void run_row(struct hwcheck *h, const char *title, void (*run)(struct probe *c),
		    struct probe_answer *answer)
{
	unsigned int left = seconds_left(h);
	char line[128];

	h->number++;
	if (h->progress) {
		snprintf(line, sizeof(line), "%d: %s ...", h->number, title);
		stderr_overwrite(line);
	}
	if (left == 0) {
		*answer = (struct probe_answer){ .verdict = PROBE_SKIP, .text = "no time left" };
	} else {
		if (left > SECONDS_ROW)
			left = SECONDS_ROW;
		/* A check that repeats itself leaves time for the others, and for its own end. */
		h->check.until_ns = probe_now_ns() + left * UINT64_C(500000000);
		probe_run(&h->check, run, left, answer);
	}
	print_row(h, title, answer);
}

static const struct hwcheck_row *row_now;

static void run_check(struct probe *c)
{
	probe_open(c);
	row_now->run(c);
	probe_close(c);
}

static void run_rows(struct hwcheck *h, const struct hwcheck_row *rows)
{
	struct probe_answer answer;

	for (row_now = rows; row_now->title; row_now++) {
		run_row(h, row_now->title, run_check, &answer);
		if (answer.result)
			h->message_ns = answer.result;
	}
}

/* bench/bench_verbs of the source tree: the same job, without uDAPL. */
static void run_verbs(struct probe *c)
{
	const struct hwcheck *h =
		(const struct hwcheck *)(const void *)((char *)c - offsetof(struct hwcheck, check));
	char line[64] = "";
	double bare = 0;
	int fds[2];
	pid_t pid;

	if (!h->verbs)
		probe_skip("--verbs was not given");
	if (!h->message_ns)
		probe_skip("the message above was not measured");
	if (pipe(fds))
		probe_fail("no pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], STDOUT_FILENO);
		execlp(h->verbs, h->verbs, c->quick ? "200" : "10000", h->address, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	if (pid > 0 && read(fds[0], line, sizeof(line) - 1) > 0)
		bare = strtod(line, NULL);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (!(bare > 0))
		probe_fail("%s printed no time", h->verbs);
	probe_note("%.2f us by %s, %.2f times that by uDAPL", bare / 1000, h->verbs,
		   (double)h->message_ns / bare);
}

/* ---- the command ---- */

static const struct option options[] = {
	{ "--seconds", "N",
	  "End after about so many, 10 to 600 (the default; with --quick, 60); checks for which "
	  "there is no time left are skipped.",
	  OPTION_NUMBER, OPTION_SETS(struct hwcheck, seconds), .least = 10, .most = SECONDS_MOST },
	{ "--quick", NULL, "Repeat less: 50 connections, 2,000 messages.", OPTION_FLAG,
	  OPTION_SETS(struct hwcheck, quick) },
	{ "--verbs", "PROGRAM",
	  "Compare the time of a message with that of bench/bench_verbs of the source tree, which "
	  "is this program.",
	  OPTION_TEXT, OPTION_SETS(struct hwcheck, verbs), .wants = "a program" },
	{ 0 },
};

static int run_all(struct hwcheck *h)
{
	struct probe_answer answer;
	int code = print_head(h);

	if (code)
		return code;
	run_rows(h, hwcheck_data);
	run_rows(h, hwcheck_queues);
	run_row(h, "the same message over bare verbs", run_verbs, &answer);
	printf("\n%d passed, %d failed, %d skipped\n", h->passed, h->failed, h->skipped);
	if (h->passed == 0 && h->failed == 0)
		fputs("datsim hwcheck: nothing was tested\n", stderr);
	return h->failed || h->passed == 0 ? EXIT_FAILED : EXIT_PASS;
}

static int run_command(char **argv)
{
	struct hwcheck h = { .seconds = 0 };
	struct operands operands;

	if (!options_read(&command_hwcheck, argv, &h, &operands))
		return operands.code;
	if (operands.count != 1)
		return usage_error("hwcheck", "expected one device (ibv_devices lists them)");
	setenv("DAT_PROVIDER", "hw", 1);
	if (!h.seconds)
		h.seconds = h.quick ? SECONDS_QUICK : SECONDS_MOST;
	h.check.device = operands.word[0];
	h.check.quick = h.quick;
	h.progress = stderr_overwrites();
	h.end_ns = probe_now_ns() + (uint64_t)h.seconds * 1000000000u;
	return run_all(&h);
}

const struct command command_hwcheck = {
	.name = "hwcheck",
	.operands = "DEVICE",
	.summary = "check what works on a verbs device, on one page",
	.about = about_hwcheck,
	.details = details_hwcheck,
	.options = options,
	.run = run_command,
};
