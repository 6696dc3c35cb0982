/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setting.c - what devices look like: DATSIM_LINK_LAYER, DATSIM_VERBS_NAME, and of DATSIM_PROFILE
 * what kind of device it makes of them; and whether they are the hardware of DAT_PROVIDER=hw:
 * DATSIM_VERBS. They are read once.
 */
#include <ctype.h>
#include <string.h>

#include "host/nic_process.h"
#include "host/say.h"
#include "vb.h"

#define NAME_LONGEST 32u /* a number follows, and the whole has to fit into struct ibv_device */

static struct {
	const char *name;
	bool ethernet, iwarp, for_hw;
	int err;
} setting = { .name = "emu" };
static pthread_once_t setting_once = PTHREAD_ONCE_INIT;

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length > NAME_LONGEST || !isalpha((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-')
			return false;
	return true;
}

static void read_settings(void)
{
	const char *layer = process_env("DATSIM_LINK_LAYER"), *name, *profile;
	const char *verbs = process_env("DATSIM_VERBS");

	name = process_env("DATSIM_VERBS_NAME");
	profile = process_env("DATSIM_PROFILE");
	setting.iwarp = profile && strcmp(profile, "iwarp") == 0;
	setting.ethernet = setting.iwarp || (layer && strcmp(layer, "ethernet") == 0);
	if (layer && !setting.ethernet && strcmp(layer, "infiniband") != 0) {
		say("DATSIM_LINK_LAYER=%.64s: expected infiniband or ethernet", layer);
		setting.err = -EINVAL;
	}
	setting.for_hw = verbs && strcmp(verbs, "emu") == 0;
	if (verbs && !setting.for_hw) {
		say("DATSIM_VERBS=%.64s: expected emu", verbs);
		setting.err = -EINVAL;
	}
	if (name && !is_name(name)) {
		say("DATSIM_VERBS_NAME=%.64s: expected a letter, then letters, digits, _ and -, "
		    "at most %u of them",
		    name, NAME_LONGEST);
		setting.err = -EINVAL;
	} else if (name) {
		setting.name = name;
	}
}

int vb_setting_check(void)
{
	pthread_once(&setting_once, read_settings);
	return setting.err;
}

const char *vb_setting_name(void)
{
	vb_setting_check();
	return setting.name;
}

bool vb_setting_for_hw(void)
{
	vb_setting_check();
	return setting.for_hw;
}

bool vb_setting_ethernet(void)
{
	vb_setting_check();
	return setting.ethernet;
}

bool vb_setting_iwarp(void)
{
	vb_setting_check();
	return setting.iwarp;
}
