/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_lines.c - see trace_lines.h. */
#include "trace_lines.h"

#include <string.h>

void expect_line(const char *part)
{
	const char *text;
	size_t length;

	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_msg(strstr(text, part) != NULL, "the trace has no \"%s\"", part);
}

int lines_with(const char *part)
{
	const char *text;
	size_t length;
	int n = 0;

	must(dat_sim_trace_read(w.sim, &text, &length));
	while ((text = strstr(text, part)) != NULL) {
		text++;
		n++;
	}
	return n;
}

void traced(void)
{
	must(dat_sim_trace(w.sim, DAT_TRUE));
}
