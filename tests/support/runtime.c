/* SPDX-License-Identifier: BSD-3-Clause */
/* runtime.c - a folder of the test's own for shared fabrics: see runtime.h. */
#include "runtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asserts.h"

#define TMP_LONGEST 32u /* so that what is below it has paths of ordinary lengths */

static char folder[80];

void runtime_begin(const char *name)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || !*tmp || strlen(tmp) > TMP_LONGEST)
		tmp = "/tmp";
	snprintf(folder, sizeof(folder), "%s/libdat-%s-XXXXXX", tmp, name);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
}

const char *runtime_folder(void)
{
	return folder;
}

static void remove_empty(bool used)
{
	char inside[sizeof(folder) + 8];

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
	char command[sizeof(folder) + 8];

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
