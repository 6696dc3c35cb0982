/* SPDX-License-Identifier: BSD-3-Clause */
/* The features that a script uses and that only a simulated fabric has. */
#include <string.h>

#include "tools/datsim/script/script.h"

/* Settings that a device may ignore: the script tests the same thing with any value. */
static bool setting_is_harmless(const char *setting)
{
	return !strcmp(setting, "mtu") || !strcmp(setting, "seed");
}

static const char *of_fabric(const struct setting *setting)
{
	for (; setting; setting = setting->next) {
		if (!setting_is_harmless(setting->key))
			return "settings of the fabric";
	}
	return NULL;
}

/* "no event by then" holds on any clock; an event at a moment needs virtual time. */
static bool exact_time(const struct statement *st)
{
	return st->kind == STATEMENT_EVENT && !st->event.absent &&
	       (st->when.kind == WHEN_AT || st->when.kind == WHEN_WITHIN);
}

const char *script_needs(const struct script *script)
{
	const struct statement *st;
	const char *what = NULL;

	for (st = script->statements; st && !what; st = st->next) {
		switch (st->kind) {
		case STATEMENT_HOLD:
		case STATEMENT_RELEASE:
			return "held messages";
		case STATEMENT_PACKET:
			return "packets on the wire";
		case STATEMENT_FAULT:
			if (st->fault.kind == FAULT_PACKET)
				return "packet faults";
			if (st->fault.call.verdict == DAT_SIM_PORT_DOWN)
				return "a simulated port";
			if (st->fault.call.delay_ns)
				return "delays of virtual time";
			break;
		case STATEMENT_LINK:
			return "a simulated link";
		case STATEMENT_FABRIC:
			what = of_fabric(st->fabric);
			break;
		default:
			what = exact_time(st) ? "events at exact times" : NULL;
		}
	}
	return what;
}
