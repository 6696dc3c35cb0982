/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.h - one job, done twice: by the library, and by as little code as can do it (the floor).
 *
 * The job: a Receive is posted, a 64-byte Send is posted, the Receive's completion is dequeued, the
 * Send's completion is dequeued. With a window of n, n Receives and n Sends are posted first.
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

/* What a message takes in ns: of five lots the quickest, for whatever disturbs the machine makes none quicker. */
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
	/* pairs connected pairs, with rings for `window` messages each, at least 16 */
	void (*set_up)(int pairs, int window);
	/* So many messages of each pair; a multiple of the window */
	void (*run)(long rounds);
	void (*tear_down)(void);
};

extern const struct bench_side bench_library;
/* The same, one pair and one outstanding, each call in a function of its own. */
extern const struct bench_side bench_steps;
extern const struct bench_side bench_floor;

/* Library only: connect `pairs` pairs one after the other, and take each down before the next. */
void bench_connect(int pairs);
/* Library only: idle pairs with 16 + 16 DTOs of one segment and shared EVDs. */
void bench_idle_open(void);
void bench_idle_add(int pairs);
void bench_idle_close(void);
/* How many dequeues found nothing although they let time pass, since the start */
long bench_vain_dequeues(void);

_Noreturn void bench_die(const char *what, unsigned int code);

#endif /* BENCH_H */
