/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_message.c - the cost of a message, compared with the floor (floor.c).
 *
 *	bench_message			measure everything and print it
 *	bench_message CASE SIDE ROUNDS	run only this, for a tool that counts instructions:
 *					CASE one, window (64 in flight), many or more;
 *					SIDE library, floor, traced (library, with a trace in
 *					memory) or steps (library, call by call)
 *	bench_message setup PAIRS	connect so many pairs and end without taking them down
 *	bench_message adapters NUMBER PARTNERS ROUNDS
 *					each of NUMBER adapters sends messages to PARTNERS others
 *	bench_message time ROUNDS	run "one steps"; print the ns of a message
 *	bench_message idle FIRST MORE	connect FIRST pairs, then MORE; print the resident memory
 *					that the second group needs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS 15 /* odd, so that there is a median */

struct bench_case {
	const char *name, *title;
	int pairs, in_flight;
	long rounds;   /* of one measurement */
	double wanted; /* ratio to the floor, at most */
};

static const struct bench_case cases[] = {
	{ "one", "one outstanding", 1, 1, 200000, 1.6 },
	{ "window", "64 outstanding", 1, 64, 64 * 3000, 1.4 },
	{ "many", "1,000 pairs, one outstanding", 1000, 1, 200, 1.8 },
	{ "more", "4,000 pairs, one outstanding", 4000, 1, 50, 1.8 },
};

_Noreturn void bench_die(const char *what, unsigned int code)
{
	fprintf(stderr, "bench_message: %s failed (%#x)\n", what, code);
	exit(1);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare_doubles);
	return values[ROUNDS / 2];
}

static double measure_side(const struct bench_side *side, const struct bench_case *c)
{
	double start = bench_now_ns();

	side->run(c->rounds);
	return (bench_now_ns() - start) / ((double)c->rounds * c->pairs);
}

/* Floor and library alternate, so that disturbances of the machine affect both. */
static void print_case(const struct bench_case *c)
{
	double library[ROUNDS], floors[ROUNDS], ns, least;

	bench_floor.set_up(c->pairs, c->in_flight);
	bench_library.set_up(c->pairs, c->in_flight);
	bench_floor.run(c->rounds / 10 / c->in_flight * c->in_flight + c->in_flight);
	bench_library.run(c->rounds / 10 / c->in_flight * c->in_flight + c->in_flight);
	for (int n = 0; n < ROUNDS; n++) {
		floors[n] = measure_side(&bench_floor, c);
		library[n] = measure_side(&bench_library, c);
	}
	ns = median_of(library);
	least = median_of(floors);
	printf("%-30s %8.1f %8.1f %9.2f  at most %.1f\n", c->title, ns, least, ns / least,
	       c->wanted);
	bench_library.tear_down();
	bench_floor.tear_down();
}

/*
 * Traced and untraced alternate. The rounds are few, so that the trace does not become full.
 * `last`: DATSIM_TRACE_LAST; NULL: all of it is kept.
 */
static void print_traced(const char *title, const char *last)
{
	static const struct bench_case c = { "traced", "", 1, 1, 40000, 2.0 };
	double traced[ROUNDS], plain[ROUNDS], ns, least;

	if (last)
		setenv("DATSIM_TRACE_LAST", last, 1);
	bench_library.set_up(c.pairs, c.in_flight);
	unsetenv("DATSIM_TRACE_LAST");
	bench_library.run(c.rounds);
	for (int n = 0; n < ROUNDS; n++) {
		plain[n] = measure_side(&bench_library, &c);
		bench_trace(1);
		traced[n] = measure_side(&bench_library, &c);
		bench_trace(0);
	}
	ns = median_of(traced);
	least = median_of(plain);
	printf("%-30s %8.1f %8.1f %9.2f  at most %.1f\n", title, ns, least, ns / least, c.wanted);
	bench_library.tear_down();
}

static void print_traces(void)
{
	printf("\n%-30s %8s %8s %9s\n", "one outstanding", "traced", "untraced", "ratio");
	print_traced("all of the trace kept", NULL);
	print_traced("its last 256 KiB", "262144");
	print_traced("its last 4 MiB", "4194304");
}

static void print_connect(void)
{
	enum {
		pairs = 2000
	};
	double times[ROUNDS], start;

	bench_idle_open();
	bench_connect(pairs);
	for (int n = 0; n < ROUNDS; n++) {
		start = bench_now_ns();
		bench_connect(pairs);
		times[n] = (bench_now_ns() - start) / pairs;
	}
	bench_idle_close();
	printf("%-30s %8.1f us                   at most 10 us\n", "pair set up and taken down",
	       median_of(times) / 1000);
}

/* ---- memory ---- */

static long resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = -1;

	if (!file || fscanf(file, "%*s %ld", &pages) != 1)
		bench_die("/proc/self/statm", 0);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

/*
 * The resident memory of an idle connected pair: 16 + 16 DTOs of one segment at either end, EVDs
 * shared. The first pairs are not counted: they include memory that is needed only once.
 */
static long idle_bytes(int first, int more)
{
	long before, after;

	bench_idle_open();
	bench_idle_add(first);
	before = resident_bytes();
	bench_idle_add(more);
	after = resident_bytes();
	bench_idle_close();
	return (after - before) / more;
}

/* ---- the program ---- */

static void print_cpu(void)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256], *name = NULL;

	while (file && fgets(line, sizeof(line), file)) {
		name = strchr(line, ':');
		if (strncmp(line, "model name", 10) == 0 && name)
			break;
		name = NULL;
	}
	printf("CPU: %s", name ? name + 2 : "unknown\n");
	if (file)
		fclose(file);
}

static int print_all(void)
{
	/* First, because memory freed by the other measurements would be used again. */
	long idle = idle_bytes(1000, 4000);

	print_cpu();
	printf("One 64-byte message: post_recv, post_send, both dequeues. Median of %d rounds.\n\n",
	       ROUNDS);
	printf("%-30s %8s %8s %9s  %s\n", "ns a message", "library", "floor", "ratio", "wanted");
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++)
		print_case(&cases[n]);
	print_connect();
	printf("%-30s %8ld bytes                at most 2048 bytes\n", "idle connected pair", idle);
	print_traces();
	if (bench_empty_dequeues())
		printf("(%ld dequeues found nothing)\n", bench_empty_dequeues());
	return 0;
}

static int time_library(long rounds)
{
	bench_steps.set_up(1, 1);
	printf("%.0f\n", bench_quickest(bench_steps.run, rounds));
	bench_steps.tear_down();
	return 0;
}

static int run_one(const char *name, const char *side_name, long rounds)
{
	const struct bench_side *side = strcmp(side_name, "floor") == 0    ? &bench_floor
					: strcmp(side_name, "steps") == 0  ? &bench_steps
					: strcmp(side_name, "traced") == 0 ? &bench_traced
									   : &bench_library;

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		const struct bench_case *c = &cases[n];

		if (strcmp(c->name, name) != 0)
			continue;
		side->set_up(c->pairs, c->in_flight);
		side->run(rounds);
		side->tear_down();
		return 0;
	}
	bench_die("finding the case (one, window, many or more)", 0);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return print_all();
	if (argc == 4 && strcmp(argv[1], "idle") == 0) {
		printf("%ld\n", idle_bytes(atoi(argv[2]), atoi(argv[3])));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "free") == 0) {
		bench_free(atoi(argv[2]), atol(argv[3]));
		return 0;
	}
	if (argc == 5 && strcmp(argv[1], "adapters") == 0) {
		bench_many(atoi(argv[2]), atoi(argv[3]), atol(argv[4]));
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "setup") == 0) {
		bench_idle_open();
		bench_idle_add(atoi(argv[2]));
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "time") == 0)
		return time_library(atol(argv[2]));
	if (argc == 4)
		return run_one(argv[1], argv[2], atol(argv[3]));
	fprintf(stderr,
		"usage: bench_message [CASE SIDE ROUNDS | idle FIRST MORE | free UNREAPED EPS | "
		"setup PAIRS | adapters NUMBER PARTNERS ROUNDS | time ROUNDS]\n");
	return 2;
}
