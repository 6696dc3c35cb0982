/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes aliases of adapters to a dat.conf (aliases.h). */
#include "aliases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/files.h"
#include "tools/datsim/run/run.h"

bool alias_take(void *into, const char *word)
{
	struct aliases *aliases = into;
	const char *equals = strchr(word, '=');

	if (!equals || equals == word || !equals[1] || strpbrk(word, " \t\n\"\\#") ||
	    aliases->count == (int)ARRAY_SIZE(aliases->words))
		return false;
	aliases->words[aliases->count++] = word;
	return true;
}

static void copy_lines(FILE *to, const char *from)
{
	struct text content = { 0 }, error = { 0 };

	if (from && *from && read_whole(from, SCRIPT_BYTES_MAX, &content, &error))
		fwrite(text_of(&content), 1, content.length, to);
	text_free(&content);
	text_free(&error);
}

/* The lines stand in front of those of the dat.conf that the program would read. */
bool aliases_write(const struct aliases *aliases, const char *path)
{
	const char *before = getenv("DAT_OVERRIDE");
	struct text error = { 0 };
	FILE *file = create_file(path, &error);
	bool good;
	int i;

	for (i = 0; file && i < aliases->count; i++) {
		const char *equals = strchr(aliases->words[i], '=');

		fprintf(file, "%.*s u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"%s\" \"\"\n",
			(int)(equals - aliases->words[i]), aliases->words[i], equals + 1);
	}
	if (file)
		copy_lines(file, before ? before : "/etc/dat.conf");
	good = file && finish_file(file, path, &error) && !setenv("DAT_OVERRIDE", path, 1);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}
