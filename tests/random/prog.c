/* SPDX-License-Identifier: BSD-3-Clause */
/* prog.c - what a program says, and how it fails. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prog.h"
#include "tests/support/asserts.h"

int pick(struct prog *p, int n)
{
	return choice_pick(p->choice, n);
}

/* An odometer leaves to chance's usual side what is not worth a wheel. */
bool chance(struct prog *p, int percent)
{
	return !p->choice->odometer && pick(p, 100) < percent;
}

void says(struct prog *p, const char *format, ...)
{
	char *line = p->log[p->logged++ % LOG];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(p->log[0]), format, args);
	va_end(args);
	for (const char *at = line; *at; at++)
		p->hash = (p->hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	if (p->config.trace && p->sim)
		(void)dat_sim_trace_note(p->sim, line);
}

static void print_log(const struct prog *p)
{
	unsigned int from = p->logged > LOG ? p->logged - LOG : 0;

	printf("# the last steps:\n");
	for (unsigned int n = from; n < p->logged; n++)
		printf("#   %s\n", p->log[n % LOG]);
}

/* PROGRAM_TRACE=FILE gets the whole of it, steps among the packets. */
static void leave_trace(const struct prog *p)
{
	const char *path = getenv("PROGRAM_TRACE"), *text;
	FILE *file = path ? fopen(path, "w") : NULL;
	size_t length;

	if (!file)
		return;
	if (p->sim && dat_sim_trace_read(p->sim, &text, &length) == DAT_SUCCESS)
		fwrite(text, 1, length, file);
	fclose(file);
}

void fails(struct prog *p, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("# step %u: %s\n", p->step, text);
	print_log(p);
	leave_trace(p);
	printf("# replay: %s\n", p->replay);
	fflush(stdout);
	ck_abort_msg("step %u: %s; replay: %s", p->step, text, p->replay);
}

static const char *return_text(DAT_RETURN ret)
{
	static char text[128];
	const char *major, *minor;

	if (dat_strerror(ret, &major, &minor) != DAT_SUCCESS)
		snprintf(text, sizeof(text), "%#x", ret);
	else
		snprintf(text, sizeof(text), "%s, %s", major, minor);
	return text;
}

void ok(struct prog *p, const char *call, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		fails(p, "%s returned %s", call, return_text(ret));
}

/* Ruling G1: with the class of errors. */
void refused(struct prog *p, const char *call, DAT_RETURN ret, DAT_RETURN type)
{
	if (DAT_GET_TYPE(ret) != type || !(ret & DAT_CLASS_ERROR))
		fails(p, "%s returned %s, expected type %#x", call, return_text(ret), type);
	p->count[N_REFUSED]++;
}

const char *state_name(DAT_EP_STATE state)
{
	static const char *const names[] = {
		[DAT_EP_STATE_UNCONNECTED] = "UNCONNECTED",
		[DAT_EP_STATE_RESERVED] = "RESERVED",
		[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] = "PASSIVE_CONNECTION_PENDING",
		[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = "ACTIVE_CONNECTION_PENDING",
		[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] = "TENTATIVE_CONNECTION_PENDING",
		[DAT_EP_STATE_CONNECTED] = "CONNECTED",
		[DAT_EP_STATE_DISCONNECT_PENDING] = "DISCONNECT_PENDING",
		[DAT_EP_STATE_DISCONNECTED] = "DISCONNECTED",
		[DAT_EP_STATE_COMPLETION_PENDING] = "COMPLETION_PENDING",
	};
	const char *name = (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : NULL;

	return name ? name : "a state that does not exist";
}
