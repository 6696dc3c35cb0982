/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ib and iwarp do; profile.h explains each column.
 */
#include <string.h>

#include "profile.h"

const struct emu_profile emu_profiles[] = {
	{
		.name = "ib",
		.in_order = true,
		.rnr = true,
		.nak_covers = true,
		.stream = false,
		.teardown = { EMU_TEAR_TELL, EMU_TEAR_SENDS, EMU_TEAR_RECEIVES },
	},
	{
		.name = "iwarp",
		.in_order = false,
		.rnr = false,
		.nak_covers = false,
		.stream = true,
		.teardown = { EMU_TEAR_RECEIVES, EMU_TEAR_SENDS, EMU_TEAR_TELL },
	},
};

int emu_profile_find(const char *name)
{
	for (size_t i = 0; i < sizeof(emu_profiles) / sizeof(emu_profiles[0]); i++)
		if (strcmp(emu_profiles[i].name, name) == 0)
			return (int)i;
	return -1;
}
