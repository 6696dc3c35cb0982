/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_message.c - what a message costs, beside what it has to cost at least.
 *
 *	bench_message				measure everything and print it
 *	bench_message CASE SIDE ROUNDS		do only this, so that an outer tool can count:
 *						CASE one, window or many; SIDE library or floor,
 *						or steps: library, one outstanding, call by call
 *	bench_message time ROUNDS		"one steps", and how many ns a message takes
 *	bench_message idle FIRST MORE		connect FIRST pairs, then MORE; print how much resident
 *						memory the second lot took
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS 15 /* odd, so that there is a median */

struct bench_case {
	const char *name, *title;
	int pairs, window;
	long rounds;   /* of one measurement */
	double wanted; /* ratio to the floor; 0: none */
};

static const struct bench_case cases[] = {
	{ "one", "one outstanding", 1, 1, 200000, 2.5 },
	{ "window", "64 outstanding", 1, 64, 64 * 3000, 0 },
	{ "many", "1,000 pairs, one outstanding", 1000, 1, 200, 2.5 },
};

_Noreturn void bench_die(const char *what, unsigned int code)
{
	fprintf(stderr, "bench_message: %s failed (%#x)\n", what, code);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static double measure(const struct bench_side *side, const struct bench_case *c)
{
	double start = bench_now_ns();

	side->run(c->rounds);
	return (bench_now_ns() - start) / ((double)c->rounds * c->pairs);
}

/* Floor and library take turns, so that what disturbs the machine disturbs both. */
static void print_case(const struct bench_case *c)
{
	double library[ROUNDS], floors[ROUNDS], ns, least;
	char wanted[32] = "";

	bench_floor.set_up(c->pairs, c->window);
	bench_library.set_up(c->pairs, c->window);
	bench_floor.run(c->rounds / 10 / c->window * c->window + c->window);
	bench_library.run(c->rounds / 10 / c->window * c->window + c->window);
	for (int n = 0; n < ROUNDS; n++) {
		floors[n] = measure(&bench_floor, c);
		library[n] = measure(&bench_library, c);
	}
	ns = median(library);
	least = median(floors);
	if (c->wanted > 0)
		snprintf(wanted, sizeof(wanted), "at most %.1f", c->wanted);
	printf("%-30s %8.1f %8.1f %9.2f  %s\n", c->title, ns, least, ns / least, wanted);
	bench_library.tear_down();
	bench_floor.tear_down();
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
	       median(times) / 1000);
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
 * What an idle connected pair costs: 16 + 16 DTOs of one segment at either end, EVDs shared. The
 * first pairs pay for what is there once; the others are divided by their number.
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
	/* first, as memory that other parts gave back would be used again */
	long idle = idle_bytes(1000, 4000);

	print_cpu();
	printf("One 64-byte message: post_recv, post_send, both dequeues. Median of %d rounds.\n\n",
	       ROUNDS);
	printf("%-30s %8s %8s %9s  %s\n", "ns a message", "library", "floor", "ratio", "wanted");
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++)
		print_case(&cases[n]);
	print_connect();
	printf("%-30s %8ld bytes                at most 4096 bytes\n", "idle connected pair", idle);
	if (bench_vain_dequeues())
		printf("(%ld dequeues found nothing at their first look)\n", bench_vain_dequeues());
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
	const struct bench_side *side = strcmp(side_name, "floor") == 0   ? &bench_floor
					: strcmp(side_name, "steps") == 0 ? &bench_steps
									  : &bench_library;

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		const struct bench_case *c = &cases[n];

		if (strcmp(c->name, name) != 0)
			continue;
		side->set_up(c->pairs, c->window);
		side->run(rounds);
		side->tear_down();
		return 0;
	}
	bench_die("no such case", 0);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return print_all();
	if (argc == 4 && strcmp(argv[1], "idle") == 0) {
		printf("%ld\n", idle_bytes(atoi(argv[2]), atoi(argv[3])));
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "time") == 0)
		return time_library(atol(argv[2]));
	if (argc == 4)
		return run_one(argv[1], argv[2], atol(argv[3]));
	fprintf(stderr,
		"usage: bench_message [CASE SIDE ROUNDS | idle FIRST MORE | time ROUNDS]\n");
	return 2;
}
