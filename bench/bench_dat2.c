/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_dat2.c - the job of bench_message, one outstanding, by another library: bench_dat2 ROUNDS */
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
	bench_steps.set_up(1, 1);
	bench_steps.run(argc > 1 ? atol(argv[1]) : 1);
	bench_steps.tear_down();
	return 0;
}
