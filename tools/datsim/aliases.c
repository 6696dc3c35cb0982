/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks aliases and addresses of adapters, and writes the aliases to a dat.conf (aliases.h). */
#include "aliases.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/files.h"
#include "tools/datsim/run/run.h"

#define PREFIX_LEAST 8
#define PREFIX_MOST  28

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

/* The same checks as in host/knob.c, which runs only when a program opens an adapter. */
bool addresses_take(void *into, const char *word)
{
	const char *slash = strchr(word, '/');
	char address[INET_ADDRSTRLEN] = "";
	unsigned long prefix;
	struct in_addr in;
	uint32_t network;
	char *end;

	if (!slash || (size_t)(slash - word) >= sizeof(address) || slash[1] < '1' || slash[1] > '9')
		return false;
	memcpy(address, word, (size_t)(slash - word));
	prefix = strtoul(slash + 1, &end, 10);
	if (*end || prefix < PREFIX_LEAST || prefix > PREFIX_MOST ||
	    inet_pton(AF_INET, address, &in) != 1)
		return false;
	network = ntohl(in.s_addr);
	if (network >> 24 == 0 || network >> 24 == IN_LOOPBACKNET || network >> 24 >= 224 ||
	    (uint32_t)(network << prefix))
		return false;
	*(const char **)into = word;
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
