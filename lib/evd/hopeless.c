/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopeless.c - the warning for a wait that nothing can end.
 *
 * In a private fabric, the only thread waits without timeout and no event is pending: only a signal
 * handler can still run. In lockstep, all threads of all processes wait so; another process may
 * still join. The warning names the object and the EPs that feed it, once for each object.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cno.h"
#include "lib/ep/ep.h"
#include "host/forks.h"
#include "host/say.h"

struct warning {
	char chars[1024];
	size_t length;
};

static void __attribute__((format(printf, 2, 3)))
warning_add(struct warning *warning, const char *format, ...)
{
	size_t room = sizeof(warning->chars) - warning->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(warning->chars + warning->length, room, format, args);
	va_end(args);
	warning->length += (size_t)n < room ? (size_t)n : room - 1;
}

/* Append `before`, the EPs that feed an EVD, and their states; nothing if there is no EP. */
static void warning_add_feeders(struct warning *warning, const struct evd *evd, const char *before)
{
	struct obj *obj;

	TAILQ_FOREACH(obj, &evd->obj.ia->objects, in_ia) {
		const struct ep *ep = obj_as(const struct ep, obj);
		char name[64];

		if (obj->type != DAT_HANDLE_TYPE_EP || !ep_feeds(ep, evd))
			continue;
		obj_name(obj, name, sizeof(name));
		warning_add(warning, "%s%s (%s)", before, name, ep_state_name(ep->state));
		before = ", ";
	}
}

static void warn_hopeless(const char *call, const struct obj *obj, const struct warning *warning)
{
	struct warning whole = { .length = 0 };
	char name[64];

	obj_name(obj, name, sizeof(name));
	warning_add(&whole,
		    "%s on %s waits forever: nothing is in flight on the simulated fabric and %s, "
		    "so nothing can wake it%s",
		    call, name,
		    obj_backend(obj)->shared ? "every other thread of every process on it waits too"
					     : "there is no other thread",
		    warning->chars);
	say("%s", whole.chars);
	forks_stuck(whole.chars);
}

/* False: another process may still join the fabric, so do not wait for a signal. */
static bool wait_for_signal(const struct obj *obj)
{
	if (obj_backend(obj)->shared)
		return false;
	pause();
	return true;
}

bool evd_hopeless(struct evd *evd)
{
	struct warning warning = { .length = 0 };

	if (!evd->warned) {
		warning_add_feeders(&warning, evd, "; it is fed by ");
		warn_hopeless("dat_evd_wait", &evd->obj, &warning);
	}
	evd->warned = true;
	return wait_for_signal(&evd->obj);
}

bool cno_hopeless(struct cno *cno)
{
	const char *before = "; its EVDs: ";
	struct warning warning = { .length = 0 };
	struct evd *evd;
	char name[64];

	if (!cno->warned) {
		TAILQ_FOREACH(evd, &cno->evds, in_cno) {
			obj_name(&evd->obj, name, sizeof(name));
			warning_add(&warning, "%s%s%s", before, name,
				    evd->enabled ? "" : " (disabled)");
			warning_add_feeders(&warning, evd, " fed by ");
			before = "; ";
		}
		if (TAILQ_EMPTY(&cno->evds))
			warning_add(&warning, "; it has no EVD");
		warn_hopeless("dat_cno_wait", &cno->obj, &warning);
	}
	cno->warned = true;
	return wait_for_signal(&cno->obj);
}
