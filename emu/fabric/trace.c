/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes lines to the trace in the fabric, and reads it.
 */
#include <stdio.h>
#include <string.h>

#include "emu/wire/profile.h"
#include "sharing.h"
#include "trace.h"
#include "world.h"

#define TRACE_ROOM 1024u /* kept free for the note that it is full, and for the end mark */

static void trace_append(struct emu_world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void trace_vappend(struct emu_world *w, const char *format, va_list args)
{
	struct emu_fabric *fab = w->fab;
	size_t room;
	va_list again;
	int n;

	/* Another process wrote garbage to these fields. */
	if (emu_is_shared(w) && (fab->trace_room > EMU_TRACE_BYTES ||
				 fab->trace_length + TRACE_ROOM > fab->trace_room)) {
		fab->trace_on = false;
		return;
	}
	for (;;) {
		room = fab->trace_room - TRACE_ROOM - fab->trace_length;
		va_copy(again, args);
		n = vsnprintf(fab->trace + fab->trace_length, room, format, again);
		va_end(again);
		if (n >= 0 && (size_t)n < room)
			break;
		if (n < 0 || !emu_trace_grow(w, (size_t)n + 1)) {
			fab->trace_full = true;
			fab->trace_on = false;
			return;
		}
	}
	fab->trace_length += (uint64_t)n;
}

static void trace_append(struct emu_world *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trace_vappend(w, format, args);
	va_end(args);
}

void emu_trace_begin(struct emu_world *w)
{
	const struct emu_config *c = &w->config;
	static const struct nic_config defaults = NIC_CONFIG_DEFAULT;

	trace_append(w, "libdat trace 1\n# profile=%s\n# seed=%lu\n", emu_profile(w)->name,
		     c->seed);
	if (c->latency_ns != defaults.latency_ns)
		trace_append(w, "# latency_ns=%lu\n", c->latency_ns);
	if (c->bandwidth_bps != defaults.bandwidth_bps)
		trace_append(w, "# bandwidth_bps=%lu\n", c->bandwidth_bps);
	if (c->mtu != defaults.mtu)
		trace_append(w, "# mtu=%u\n", c->mtu);
	if (c->rnr_retry != defaults.rnr_retry)
		trace_append(w, "# rnr_retry=%u\n", c->rnr_retry);
	if (c->rnr_timer_ns != defaults.rnr_timer_ns)
		trace_append(w, "# rnr_timer_ns=%lu\n", c->rnr_timer_ns);
	if (c->retry != defaults.retry)
		trace_append(w, "# retry=%u\n", c->retry);
	if (c->retry_timer_ns != defaults.retry_timer_ns)
		trace_append(w, "# retry_timer_ns=%lu\n", c->retry_timer_ns);
	if (c->poll_quantum_ns != defaults.poll_quantum_ns)
		trace_append(w, "# poll_quantum_ns=%lu\n", c->poll_quantum_ns);
}

/* In place of the line at `start`, for which there was no room. */
static void note_full(struct emu_fabric *fab, uint64_t start)
{
	int n = sprintf(fab->trace + start,
			"%lu - note the trace is full (DATSIM_TRACE_BYTES): later lines are "
			"missing\n",
			fab->now);

	fab->trace_length = start + (uint64_t)n;
}

static void trace_vline(struct emu_world *w, const char *format, va_list args)
{
	struct emu_fabric *fab = w->fab;
	uint64_t start = fab->trace_length;

	trace_append(w, "%lu ", fab->now);
	trace_vappend(w, format, args);
	trace_append(w, "\n");
	if (fab->trace_full && start < EMU_TRACE_BYTES - TRACE_ROOM)
		note_full(fab, start);
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

const char *emu_trace_noun(uint8_t noun)
{
	static const char *const
		nouns[] = { [NIC_NOUN_EP] = "ep", [NIC_NOUN_QP] = "qp", [NIC_NOUN_ID] = "id" };

	return noun < NIC_NOUNS ? nouns[noun] : "?";
}

int emu_trace_read(struct nic *nic, const char **text, size_t *length)
{
	const struct emu_fabric *fab = emu_world_of(nic)->fab;

	/* The writer of a line ends it with a NUL. Another process may have spoilt the length. */
	*text = fab->trace;
	*length = fab->trace_length % EMU_TRACE_BYTES;
	return 0;
}

void emu_trace_switch(struct nic *nic, bool on)
{
	struct emu_world *w = emu_world_of(nic);

	if (w->fab->trace_full)
		return;
	w->fab->trace_on = on;
	for (uint32_t i = 0; i <= emu_adapter_high(w->fab); i++)
		w->nics[i].base.tracing = on;
}
