/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profile.h"
#include "trace.h"
#include "world.h"

#define TRACE_FULL_NOTE "- note the trace is full: later lines are missing\n"
#define TRACE_ROOM      1024u /* kept free for the note that it is full */

static void append(struct emu_fabric *fab, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void vappend(struct emu_fabric *fab, const char *format, va_list args)
{
	size_t room = EMU_TRACE_BYTES - TRACE_ROOM - fab->trace_length;
	int n = vsnprintf(fab->trace + fab->trace_length, room, format, args);

	if (n < 0 || (size_t)n >= room) {
		fab->trace_full = true;
		fab->trace_on = false;
		return;
	}
	fab->trace_length += (uint64_t)n;
}

static void append(struct emu_fabric *fab, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vappend(fab, format, args);
	va_end(args);
}

void emu_trace_begin(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;
	const struct emu_config *c = &fab->config;
	static const struct nic_config usual = NIC_CONFIG_DEFAULT;

	append(fab, "libdat trace 1\n# profile=%s\n# seed=%lu\n", emu_profile(w)->name, c->seed);
	if (c->latency_ns != usual.latency_ns)
		append(fab, "# latency_ns=%lu\n", c->latency_ns);
	if (c->bandwidth_bps != usual.bandwidth_bps)
		append(fab, "# bandwidth_bps=%lu\n", c->bandwidth_bps);
	if (c->mtu != usual.mtu)
		append(fab, "# mtu=%u\n", c->mtu);
	if (c->rnr_retry != usual.rnr_retry)
		append(fab, "# rnr_retry=%u\n", c->rnr_retry);
	if (c->rnr_timer_ns != usual.rnr_timer_ns)
		append(fab, "# rnr_timer_ns=%lu\n", c->rnr_timer_ns);
	if (c->poll_quantum_ns != usual.poll_quantum_ns)
		append(fab, "# poll_quantum_ns=%lu\n", c->poll_quantum_ns);
}

static void trace_vline(struct emu_world *w, const char *format, va_list args)
{
	struct emu_fabric *fab = w->fab;
	uint64_t start = fab->trace_length;

	append(fab, "%lu ", fab->now);
	vappend(fab, format, args);
	append(fab, "\n");
	if (fab->trace_full) {
		/* No half lines: the last one goes, and the reader is told. */
		fab->trace_length = start;
		memcpy(fab->trace + start, TRACE_FULL_NOTE, sizeof(TRACE_FULL_NOTE));
		fab->trace_length += sizeof(TRACE_FULL_NOTE) - 1;
	}
	fab->trace_lines++;
}

void emu_trace_line(struct emu_world *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trace_vline(w, format, args);
	va_end(args);
}

void emu_trace_vline(struct nic *nic, const char *format, va_list args)
{
	struct emu_world *w = emu_world_of(nic);

	if (w->fab->trace_on)
		trace_vline(w, format, args);
}

int emu_trace_read(struct nic *nic, const char **text, size_t *length)
{
	struct emu_fabric *fab = emu_world_of(nic)->fab;

	fab->trace[fab->trace_length] = '\0';
	*text = fab->trace;
	*length = fab->trace_length;
	return 0;
}

void emu_trace_switch(struct nic *nic, bool on)
{
	struct emu_world *w = emu_world_of(nic);

	if (w->fab->trace_full)
		return;
	w->fab->trace_on = on;
	for (uint32_t i = 0; i <= EMU_ADAPTERS; i++)
		w->nics[i].base.tracing = on;
}

void emu_trace_save(struct emu_world *w)
{
	FILE *file;

	if (!w->trace_file)
		return;
	file = fopen(w->trace_file, "w");
	if (!file || fwrite(w->fab->trace, 1, w->fab->trace_length, file) != w->fab->trace_length ||
	    fprintf(file, "# end lines=%u\n", w->fab->trace_lines) < 0)
		fprintf(stderr, "libdat: cannot write the trace to %s: %s\n", w->trace_file,
			strerror(errno));
	if (file && fclose(file) != 0)
		fprintf(stderr, "libdat: cannot finish the trace in %s: %s\n", w->trace_file,
			strerror(errno));
}
