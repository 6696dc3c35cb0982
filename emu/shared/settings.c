/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric has the settings of the process that made it. A process that joins it and asks for
 * others is told so; what is left at its default is not asked for.
 */
#include "settings.h"

#include <stdio.h>
#include <string.h>

#include "emu/wire/profile.h"
#include "shared.h"

#define RNR_RETRY_REAL_TIME 7u /* host/knob.c */

static const struct nic_config defaults = NIC_CONFIG_DEFAULT;

static void tell_number(const struct emu_world *w, const char *name, uint64_t asked, uint64_t has)
{
	fprintf(stderr, "libdat: shared fabric %s: %s=%lu has no effect: it was made with %lu\n",
		w->membership->path, name, asked, has);
}

static void tell_text(const struct emu_world *w, const char *name, const char *asked,
		      const char *has)
{
	fprintf(stderr, "libdat: shared fabric %s: %s=%.200s has no effect: it was made with %s\n",
		w->membership->path, name, asked, has);
}

/* In real time, links have no latency by default, and no limit of their bandwidth. */
static void tell_numbers(const struct emu_world *w, const struct nic_config *asked)
{
	const struct emu_config *has = &w->config;
	const struct {
		const char *name;
		uint64_t asked, has, by_default, in_real_time;
	} numbers[] = {
		{ "DATSIM_SEED", asked->seed, has->seed, defaults.seed, defaults.seed },
		{ "DATSIM_LATENCY_NS", asked->latency_ns, has->latency_ns, defaults.latency_ns, 0 },
		{ "DATSIM_BANDWIDTH_BPS", asked->bandwidth_bps, has->bandwidth_bps,
		  defaults.bandwidth_bps, 0 },
		{ "DATSIM_MTU", asked->mtu, has->mtu, defaults.mtu, defaults.mtu },
		{ "DATSIM_RNR_RETRY", asked->rnr_retry, has->rnr_retry, defaults.rnr_retry,
		  RNR_RETRY_REAL_TIME },
		{ "DATSIM_RNR_TIMER_NS", asked->rnr_timer_ns, has->rnr_timer_ns,
		  defaults.rnr_timer_ns, defaults.rnr_timer_ns },
		{ "DATSIM_RETRY", asked->retry, has->retry, defaults.retry, defaults.retry },
		{ "DATSIM_RETRY_TIMER_NS", asked->retry_timer_ns, has->retry_timer_ns,
		  defaults.retry_timer_ns, defaults.retry_timer_ns },
		{ "DATSIM_TRACE_LAST", asked->trace_last, has->trace_last, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].asked != numbers[i].has &&
		    numbers[i].asked != numbers[i].by_default &&
		    numbers[i].asked != numbers[i].in_real_time)
			tell_number(w, numbers[i].name, numbers[i].asked, numbers[i].has);
}

void emu_settings_tell(const struct emu_world *w, const struct nic_config *asked)
{
	const struct emu_shared *shared = &w->fab->shared;
	char trace[sizeof(shared->trace_path)];
	int profile = emu_profile_find(asked->profile);
	char want[NIC_HOSTILE_TEXT], has[NIC_HOSTILE_TEXT];

	tell_numbers(w, asked);
	if (asked->hostile && asked->hostile != w->config.hostile) {
		nic_hostile_text(asked->hostile, want);
		nic_hostile_text(w->config.hostile, has);
		tell_text(w, "DATSIM_HOSTILE", want, has[0] ? has : "none");
	}
	if (profile != (int)w->config.profile && strcmp(asked->profile, defaults.profile) != 0)
		tell_text(w, "DATSIM_PROFILE", asked->profile, emu_profile(w)->name);
	if (asked->lockstep && !shared->lockstep.on)
		fprintf(stderr,
			"libdat: shared fabric %s: DATSIM_LOCKSTEP has no effect: it was made to "
			"run in real time\n",
			w->membership->path);
	if (!asked->trace_file)
		return;
	emu_shared_trace_path(trace, sizeof(trace), asked->trace_file);
	if (strcmp(trace, shared->trace_path) != 0)
		tell_text(w, "DATSIM_TRACE", asked->trace_file,
			  shared->trace_path[0] ? shared->trace_path : "no trace");
}
