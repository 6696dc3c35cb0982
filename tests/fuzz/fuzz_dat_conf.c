/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as a dat.conf: each line is an entry, is skipped with a message, or is empty; every
 * entry that is kept is sound.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/registry/dat_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct dat_conf_entry *entry;
	struct dat_conf *conf;
	int entries = 0;

	memcpy(text, data, size);
	conf = dat_conf_parse("fuzz", text, size);
	check(conf != NULL);
	TAILQ_FOREACH(entry, &conf->entries, link) {
		size_t length = strnlen(entry->info.ia_name, DAT_NAME_MAX_LENGTH);

		check(length > 0 && length < DAT_NAME_MAX_LENGTH);
		check(strlen(entry->library) + strlen(entry->instance_data) < size);
		check(!entry->ours || entry->instance_data[0] != '\0');
		entries++;
	}
	check(entries <= conf->lines && (size_t)conf->lines + (size_t)conf->skipped <= size);
	dat_conf_free(conf);
	free(text);
	return 0;
}
