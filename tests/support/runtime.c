/* SPDX-License-Identifier: BSD-3-Clause */
/* runtime.c - a folder of the test's own for shared fabrics: see runtime.h. */
#include "runtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "asserts.h"

static char folder[64];

void runtime_begin(const char *name)
{
	snprintf(folder, sizeof(folder), "/tmp/libdat-%s-XXXXXX", name);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
}

const char *runtime_folder(void)
{
	return folder;
}

static void remove_empty(bool used)
{
	char inside[96];

	snprintf(inside, sizeof(inside), "%s/datsim", folder);
	if (rmdir(inside))
		ck_assert_msg(!used && errno == ENOENT, "%s cannot be removed: %m", inside);
	ck_assert_int_eq(rmdir(folder), 0);
	folder[0] = '\0';
}

void runtime_end(void)
{
	remove_empty(true);
}

void runtime_end_any(void)
{
	if (folder[0])
		remove_empty(false);
}

void runtime_remove(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	folder[0] = '\0';
}

/* ---- kinds of fabric ---- */

static const struct {
	const char *name, *variable, *value;
} kinds[] = {
	[RUNTIME_PRIVATE] = { "private", "DATSIM_SEED", "1" },
	[RUNTIME_TRACED] = { "traced", "DATSIM_TRACE", "/dev/null" },
	[RUNTIME_SHARED] = { "shared", "DATSIM_FABRIC", "shared" },
	[RUNTIME_LOCKSTEP] = { "in lockstep", "DATSIM_LOCKSTEP", "1000" },
};

void runtime_choose(enum runtime_kind kind)
{
	setenv(kinds[kind].variable, kinds[kind].value, 1);
	if (kind == RUNTIME_LOCKSTEP)
		setenv("DATSIM_FABRIC", "shared", 1);
}

const char *runtime_name(enum runtime_kind kind)
{
	return kinds[kind].name;
}
