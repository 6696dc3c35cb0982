/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of stream, an example with many connections (stream.h). */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_usage(void)
{
	fputs("usage: stream server poll|wait|cno [CONNECTIONS]\n"
	      "       stream client HOST poll|wait|cno [CONNECTIONS [MESSAGES]]\n",
	      stderr);
	return 2;
}

/* The number of a way; -1: unknown. */
static int find_way(const char *name)
{
	static const char *const ways[] = { "poll", "wait", "cno" };

	for (int i = 0; i < 3; i++)
		if (strcmp(name, ways[i]) == 0)
			return i;
	return -1;
}

int main(int argc, char **argv)
{
	int client = argc > 1 && strcmp(argv[1], "client") == 0;
	int at = client ? 3 : 2, way = argc > at ? find_way(argv[at]) : -1;
	int connections = argc > at + 1 ? atoi(argv[at + 1]) : 1;
	int messages = argc > at + 2 ? atoi(argv[at + 2]) : 100;

	if (way < 0 || connections < 1 || connections > STREAM_MOST || messages < 1)
		return print_usage();
	if (client)
		return stream_client(argv[2], (enum stream_way)way, connections, messages);
	if (strcmp(argv[1], "server") != 0)
		return print_usage();
	return stream_server((enum stream_way)way, connections);
}
