/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs of legal calls over both adapters, beside the model of prog.h. A seed decides
 * everything: even ones run on profile ib, odd ones on iwarp; of four in a row two lose packets.
 * Each runs twice, and both runs leave the same trace, byte for byte; and once untraced, with the
 * same outcome. Together they must meet every transition that an Endpoint can make.
 *
 * PROGRAM_SEED, PROGRAM_STEPS; PROGRAM_TRACE=FILE keeps the trace of one that fails.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "prog.h"
#include "tests/support/asserts.h"

enum {
	SEEDS = 16,
	STEPS = 2500,
};

/* ---- the transitions that were met, by all seeds ---- */

/*
 * As the trace has them. Every legal transition of the pages' table that these programs can cause.
 */
static const char *const transitions[] = {
	"from=UNCONNECTED to=ACTIVE_CONNECTION_PENDING by=connect",
	"from=ACTIVE_CONNECTION_PENDING to=CONNECTED by=established",
	"from=ACTIVE_CONNECTION_PENDING to=DISCONNECTED by=refused",
	"from=ACTIVE_CONNECTION_PENDING to=DISCONNECTED by=ended",
	"from=UNCONNECTED to=COMPLETION_PENDING by=accept",
	"from=COMPLETION_PENDING to=CONNECTED by=established",
	"from=COMPLETION_PENDING to=DISCONNECTED by=accept-failed",
	"from=COMPLETION_PENDING to=DISCONNECTED by=ended",
	"from=CONNECTED to=DISCONNECT_PENDING by=disconnect",
	"from=CONNECTED to=DISCONNECTED by=ended",
	"from=DISCONNECT_PENDING to=DISCONNECTED by=ended",
	"from=DISCONNECTED to=UNCONNECTED by=reset",
	"from=UNCONNECTED to=RESERVED by=reserve",
	"from=RESERVED to=UNCONNECTED by=release",
	"from=RESERVED to=PASSIVE_CONNECTION_PENDING by=request",
	"from=PASSIVE_CONNECTION_PENDING to=UNCONNECTED by=reject",
	"from=PASSIVE_CONNECTION_PENDING to=COMPLETION_PENDING by=accept",
	"from=TENTATIVE_CONNECTION_PENDING to=COMPLETION_PENDING by=accept",
};

enum {
	TRANSITIONS = sizeof(transitions) / sizeof(transitions[0])
};

/* Each seed runs in a process of its own. */
static struct marks {
	unsigned long met[TRANSITIONS];
	unsigned long count[N_COUNTS];
	char unknown[128]; /* a transition that no row has */
} * marks;

static void mark_line(const char *line, size_t length)
{
	for (int n = 0; n < TRANSITIONS; n++)
		if (strlen(transitions[n]) == length && !strncmp(transitions[n], line, length)) {
			marks->met[n]++;
			return;
		}
	snprintf(marks->unknown, sizeof(marks->unknown), "%.*s", (int)length, line);
}

static void mark(const char *trace)
{
	static const char key[] = " state ";

	while ((trace = strstr(trace, key)) != NULL) {
		trace += sizeof(key) - 1;
		mark_line(trace, strcspn(trace, "\n"));
	}
}

/* ---- a program ---- */

struct result {
	uint64_t hash;
	char *trace; /* NULL: untraced */
	size_t length;
};

static const struct op *choose(struct prog *p)
{
	const struct op *tables[] = { ep_ops, rdma_ops, conn_ops, cno_ops, fault_ops, world_ops },
			*op;
	unsigned int sum = 0;
	int at;

	for (int t = 0; t < 6; t++)
		for (op = tables[t]; op->name; op++)
			sum += op->weight;
	at = pick(p, (int)sum);
	for (int t = 0; t < 6; t++)
		for (op = tables[t]; op->name; at -= (int)op->weight, op++)
			if (at < (int)op->weight)
				return op;
	return NULL;
}

static void keep_trace(struct prog *p, struct result *result)
{
	const char *text;

	ok(p, "dat_sim_trace_read", dat_sim_trace_read(p->sim, &text, &result->length));
	result->trace = malloc(result->length + 1);
	ck_assert_ptr_nonnull(result->trace);
	memcpy(result->trace, text, result->length + 1);
}

static void run(uint64_t seed, unsigned int steps, bool traced, struct result *result)
{
	static struct prog p;
	static char replay[100];
	struct choice choice;

	snprintf(replay, sizeof(replay),
		 "PROGRAM_SEED=%" PRIu64 " PROGRAM_STEPS=%u ./test_programs", seed, steps);
	choice_by_seed(&choice, seed);
	memset(&p, 0, sizeof(p));
	p.choice = &choice;
	p.replay = replay;
	p.lossy = seed % 4 >= 2;
	world_create(&p, seed % 2 ? DAT_SIM_PROFILE_IWARP : DAT_SIM_PROFILE_IB, traced);
	world_open(&p);
	for (p.step = 1; p.step <= steps; p.step++) {
		while (!choose(&p)->run(&p))
			;
		look(&p);
		if (p.step % 64 == 0)
			reckon(&p);
	}
	reckon(&p);
	result->hash = p.hash;
	result->trace = NULL;
	if (traced)
		keep_trace(&p, result);
	world_close(&p);
	world_end(&p);
	for (int n = 0; n < N_COUNTS; n++)
		marks->count[n] += p.count[n];
}

/* ---- the tests ---- */

static unsigned long number_from(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static void compare(const struct result *one, const struct result *two)
{
	size_t at = 0, line = 0;

	if (one->length == two->length && memcmp(one->trace, two->trace, one->length) == 0)
		return;
	for (; one->trace[at] == two->trace[at]; at++)
		if (one->trace[at] == '\n')
			line = at + 1;
	ck_abort_msg("two runs of one seed differ: \"%.*s\" and \"%.*s\"",
		     (int)strcspn(one->trace + line, "\n"), one->trace + line,
		     (int)strcspn(two->trace + line, "\n"), two->trace + line);
}

START_TEST(each_DTO_completes_once_and_all_counts_hold_in_random_programs)
{
	uint64_t seed = number_from("PROGRAM_SEED", (unsigned long)_i);
	unsigned int steps = (unsigned int)number_from("PROGRAM_STEPS", STEPS);
	struct result one, two, untraced;

	run(seed, steps, true, &one);
	mark(one.trace);
	run(seed, steps, true, &two);
	compare(&one, &two);
	/* Without a trace calls may take shorter paths; the outcome must be the same. */
	run(seed, steps, false, &untraced);
	ck_assert_msg(one.hash == untraced.hash, "seed %" PRIu64 ": untraced it went otherwise",
		      seed);
	free(one.trace);
	free(two.trace);
}
END_TEST

/* As tests/campaign.sh reads it */
static void print_counts(const char *seed)
{
	static const char *const names[N_COUNTS] = {
		[N_SENT] = "sent",
		[N_RECEIVED] = "received",
		[N_FLUSHED] = "flushed",
		[N_SUPPRESSED] = "suppressed",
		[N_WRITTEN] = "written",
		[N_READ] = "read",
		[N_BOUND] = "bound",
		[N_VOIDED] = "voided",
		[N_CONNECTED] = "connected",
		[N_ENDED] = "ended",
		[N_BROKEN] = "broken",
		[N_REFUSED] = "refused",
		[N_OVERFLOWS] = "overflows",
		[N_WATERMARKS] = "watermarks",
		[N_WAITS] = "waits",
		[N_TRIGGERS] = "triggers",
		[N_FAULTS] = "faults",
		[N_RECKONINGS] = "reckonings",
		[N_ADAPTERS] = "adapters_closed",
	};

	printf("# test_programs seed=%s profile=%s", seed,
	       strtoul(seed, NULL, 10) % 2 ? "iwarp" : "ib");
	for (int n = 0; n < N_COUNTS; n++)
		printf(" %s=%lu", names[n], marks->count[n]);
	printf("\n");
	fflush(stdout);
}

static void print_transitions(void)
{
	for (int n = 0; n < TRANSITIONS; n++)
		printf("# %lu times %s\n", marks->met[n], transitions[n]);
	fflush(stdout);
}

/* After all seeds: a transition that was never met is not tested. */
START_TEST(every_transition_of_an_endpoint_is_met)
{
	print_counts("all");
	print_transitions();
	if (number_from("PROGRAM_STEPS", STEPS) < STEPS)
		return; /* too short to meet everything */
	ck_assert_msg(!marks->unknown[0], "a transition that no table has: %s", marks->unknown);
	for (int n = 0; n < TRANSITIONS; n++)
		ck_assert_msg(marks->met[n] > 0, "never met: %s", transitions[n]);
	for (int n = 0; n < N_COUNTS; n++)
		ck_assert_msg(marks->count[n] > 0, "count %d: never met", n);
}
END_TEST

int main(void)
{
	const char *one = getenv("PROGRAM_SEED");
	Suite *suite = suite_create("programs");
	TCase *tcase = tcase_create("programs");
	SRunner *runner = srunner_create(suite);
	int failed;

	marks = mmap(NULL, sizeof(*marks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (marks == MAP_FAILED)
		return 99;
	tcase_add_loop_test(tcase, each_DTO_completes_once_and_all_counts_hold_in_random_programs,
			    0, one ? 1 : SEEDS);
	if (!one)
		tcase_add_test(tcase, every_transition_of_an_endpoint_is_met);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	if (one)
		print_counts(one);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
