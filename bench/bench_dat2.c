/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_dat2 [time] ROUNDS - the job of bench_message with one message outstanding, over another
 * DAT library. bench_dat2.sh compiles it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

_Noreturn void bench_die(const char *what, unsigned int code)
{
	fprintf(stderr, "bench_dat2: %s failed (%#x)\n", what, code);
	exit(1);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[argc - 1]) : 1;

	bench_steps.set_up(1, 1);
	if (argc > 2)
		printf("%.0f\n", bench_quickest(bench_steps.run, rounds));
	else
		bench_steps.run(rounds);
	fflush(stdout);
	bench_steps.tear_down();
	return 0;
}
