/* SPDX-License-Identifier: BSD-3-Clause */
/* say.c - print a line for the user on stderr, in one write. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "nic_process.h"
#include "say.h"

void say(const char *format, ...)
{
	char *line = NULL;
	int cancel = process_cancel_hold();
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	/* One write, so that lines of several threads do not mix. */
	fprintf(stderr, "libdat: %s\n", line ? line : format);
	free(line);
	process_cancel_release(cancel);
}
