/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h - a job that is measured twice: over the library, and over the least code that can do it
 * (the floor).
 *
 * The job: post a Receive, post a 64-byte Send, dequeue the Receive's completion, dequeue the
 * Send's completion. With n messages in flight, n Receives and n Sends are posted first.
 */
#ifndef BENCH_H
#define BENCH_H

#include <time.h>

#define BENCH_BYTES 64

static inline double bench_now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The ns of a message: the minimum of five runs, because disturbances only make a run slower. */
static inline double bench_quickest(void (*run)(long rounds), long rounds)
{
	double least = 0, start, ns;

	for (int n = 0; n < 5; n++) {
		start = bench_now_ns();
		run(rounds);
		ns = (bench_now_ns() - start) / (double)rounds;
		if (n == 0 || ns < least)
			least = ns;
	}
	return least;
}

struct bench_side {
	const char *name;
	/* Connect `pairs` pairs with rings for `in_flight` messages each, at least 16. */
	void (*set_up)(int pairs, int in_flight);
	/* Send this many messages on each pair, a multiple of `in_flight`. */
	void (*run)(long rounds);
	void (*tear_down)(void);
};

extern const struct bench_side bench_library;
/* The same with one pair and one message outstanding; each call is in a function of its own. */
extern const struct bench_side bench_steps;
extern const struct bench_side bench_floor;
/* As bench_library, with a trace in memory. */
extern const struct bench_side bench_traced;

/* Library only, while it is set up: start or stop the trace. */
void bench_trace(int on);

/* Library only: connect `pairs` pairs one after the other; each is disconnected before the next. */
void bench_connect(int pairs);
/* Library only: idle pairs with 16 + 16 DTOs of one segment and shared EVDs. */
void bench_idle_open(void);
void bench_idle_add(int pairs);
void bench_idle_close(void);
/*
 * Library only: Endpoints are freed, one after the other, while an EVD of theirs holds this many
 * completions of another one.
 */
void bench_free(int unreaped, long eps);
/*
 * Library only (many.c): adapters in a circle, each connected with so many behind it. This many
 * times, each sends them a message, and the completions are reaped.
 */
void bench_many(int adapters, int partners, long rounds);
/* The number of dequeues since the start that found nothing. */
long bench_empty_dequeues(void);

_Noreturn void bench_die(const char *what, unsigned int code);

#endif /* BENCH_H */
