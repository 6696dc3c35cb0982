/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_main.c - a program that starts itself again with libdat-turns.so: see turns_main.h. */
#include "turns_main.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/support.h"

void (*meet)(const struct outside *table);

/* The library is loaded before the others, if there are any. */
static int start_again(char **argv)
{
	const char *top = getenv("top_builddir"), *others = getenv("LD_PRELOAD");
	const char *options = getenv("ASAN_OPTIONS");
	char path[4096], all[8192];

	snprintf(path, sizeof(path), "%s/verbs/.libs/libdat-turns.so", top ? top : ".");
	snprintf(all, sizeof(all), "%s %s", path, others ? others : "");
	if (access(path, R_OK)) {
		puts("1..0 # SKIP libdat-turns.so is not built");
		return 0;
	}
	setenv("LD_PRELOAD", all, 1);
	setenv("DATSIM_VERBS", "emu", 1);
	/* AddressSanitizer wants to be the first library otherwise. */
	snprintf(all, sizeof(all), "verify_asan_link_order=0:%s", options ? options : "");
	setenv("ASAN_OPTIONS", all, 1);
	execv(argv[0], argv);
	return 99;
}

int turns_main(char **argv, const char *name, void (*fill)(Suite *suite))
{
	meet = (void (*)(const struct outside *))dlsym(RTLD_DEFAULT, "libdat_outside_meet");
	return meet ? unit_run(name, fill, CK_FORK) : start_again(argv);
}
