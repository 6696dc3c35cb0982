/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of scripts that run on a verbs device: real time, and pauses in it. */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool on_device(void)
{
	const char *provider = getenv("DAT_PROVIDER");

	return provider && !strcmp(provider, "hw");
}

uint64_t device_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

void device_sleep(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / UINT64_C(1000000000)),
			       .tv_nsec = (long)(ns % UINT64_C(1000000000)) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}
