/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices that the stub can be: a run of the passthrough's tests chooses one by STUB_PROFILE.
 * Without it the device does everything at once and well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

struct stub_config stub_config;

static const struct {
	const char *name;
	struct stub_config config;
} profiles[] = {
	{ "lossy-req", { .lose = STUB_REQ, .resends = true } },
	{ "lossy-rep", { .lose = STUB_REP, .resends = true } },
	{ "lossy-rtu", { .lose = STUB_RTU, .resends = true } },
	{ "lossy-rej", { .lose = STUB_REJ, .resends = true } },
	{ "lossy-dreq", { .lose = STUB_DREQ, .resends = true } },
	{ "lossy-drep", { .lose = STUB_DREP, .resends = true } },
	{ "irdma", { .iwarp = true, .reset = -ECONNRESET, .early = true } },
	{ "mlx5", { .cleans = true, .flush_polls = 2, .last_wqe_polls = 2, .blocks = true } },
	{ "mlx5-silent",
	  { .cleans = true, .flush_polls = 2, .last_wqe_polls = -1, .blocks = true } },
};

const struct stub_config *stub_profile(const char *name)
{
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i].config;
	return NULL;
}

/* STUB_FAIL=CALL:N: each of these calls fails from the nth one on. */
static void fail_call(char *text)
{
	char *colon = strchr(text, ':');

	if (!colon)
		return;
	*colon = 0;
	stub_fail(text, atoi(colon + 1), EIO, true);
}

static __attribute__((constructor)) void choose(void)
{
	const char *name = getenv("STUB_PROFILE");
	const struct stub_config *config = name && *name ? stub_profile(name) : NULL;

	if (name && *name && !config) {
		fprintf(stderr, "STUB_PROFILE=%s: expected a name in tests/stubverbs/profile.c\n",
			name);
		exit(99);
	}
	if (config)
		stub_config = *config;
	stub_config.places_late = getenv("STUB_PLACES_LATE") != NULL;
	stub_config.corrupts = getenv("STUB_CORRUPTS") != NULL;
	if (getenv("STUB_FAIL"))
		fail_call(strdup(getenv("STUB_FAIL")));
}
